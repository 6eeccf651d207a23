// y = factor * x, tile by tile with queues; and the same with static tensors and a flag that is missing.
#include "kernel_operator.h"

constexpr uint32_t kCount = 512; // elements of a block
constexpr uint32_t kTile = 128;  // elements of a tile

class Scale {
public:
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, float factor)
    {
        const uint32_t first = AscendC::GetBlockIdx() * kCount;
        xGm_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x) + first, kCount);
        yGm_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y) + first, kCount);
        pipe_.InitBuffer(in_, 2, kTile * sizeof(float));
        pipe_.InitBuffer(out_, 2, kTile * sizeof(float));
        factor_ = factor;
    }

    __aicore__ inline void Process()
    {
        for (uint32_t at = 0; at < kCount; at += kTile) {
            AscendC::LocalTensor<float> x = in_.AllocTensor<float>();
            AscendC::DataCopy(x, xGm_[at], kTile);
            in_.EnQue(x);
            x = in_.DeQue<float>();
            AscendC::LocalTensor<float> y = out_.AllocTensor<float>();
            AscendC::Muls(y, x, factor_, kTile);
            out_.EnQue(y);
            in_.FreeTensor(x);
            y = out_.DeQue<float>();
            AscendC::DataCopy(yGm_[at], y, kTile);
            out_.FreeTensor(y);
        }
    }

private:
    AscendC::TPipe pipe_;
    AscendC::TQue<AscendC::TPosition::VECIN, 1> in_;
    AscendC::TQue<AscendC::TPosition::VECOUT, 1> out_;
    AscendC::GlobalTensor<float> xGm_;
    AscendC::GlobalTensor<float> yGm_;
    float factor_ = 1.0f;
};

extern "C" __global__ __aicore__ __vector__ void scale(GM_ADDR x, GM_ADDR y, float factor)
{
    AscendC::printf("block %d scales %u elements\n", static_cast<int>(AscendC::GetBlockIdx()), kCount);
    Scale op;
    op.Init(x, y, factor);
    op.Process();
}

extern "C" __global__ __aicore__ __vector__ void scale_unordered(GM_ADDR x, GM_ADDR y, float factor)
{
    AscendC::InitSocState();
    AscendC::GlobalTensor<float> xGm;
    AscendC::GlobalTensor<float> yGm;
    const uint32_t first = AscendC::GetBlockIdx() * kCount;
    xGm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x) + first, kCount);
    yGm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y) + first, kCount);
    AscendC::LocalTensor<float> in(AscendC::TPosition::VECIN, 0, kCount);
    AscendC::LocalTensor<float> out(AscendC::TPosition::VECOUT, kCount * sizeof(float), kCount);
    AscendC::DataCopy(in, xGm, kCount);
    AscendC::Muls(out, in, factor, kCount); // unordered
    AscendC::SetFlag<AscendC::HardEvent::V_MTE3>(0);
    AscendC::WaitFlag<AscendC::HardEvent::V_MTE3>(0);
    AscendC::DataCopy(yGm, out, kCount);
    AscendC::PipeBarrier<PIPE_ALL>();
}
