// Vector instructions, one kernel per family; inputs and outputs are plain arrays.
#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t kCount = 1000; // no multiple of a repeat
constexpr uint32_t kRound = 1024;

extern "C" __global__ __aicore__ void add_static(GM_ADDR x, GM_ADDR y, GM_ADDR z, int32_t perBlock)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    InitSocState();
    GlobalTensor<float> xGm;
    GlobalTensor<float> yGm;
    GlobalTensor<float> zGm;
    const uint64_t offset = static_cast<uint64_t>(GetBlockIdx()) * perBlock;
    xGm.SetGlobalBuffer((__gm__ float*)x + offset, perBlock);
    yGm.SetGlobalBuffer((__gm__ float*)y + offset, perBlock);
    zGm.SetGlobalBuffer((__gm__ float*)z + offset, perBlock);
    constexpr int32_t kTile = 256;
    LocalTensor<float> xs[2] = {{TPosition::VECIN, 0, kTile}, {TPosition::VECIN, 1024, kTile}};
    LocalTensor<float> ys[2] = {{TPosition::VECIN, 2048, kTile}, {TPosition::VECIN, 3072, kTile}};
    LocalTensor<float> zs[2] = {{TPosition::VECOUT, 4096, kTile}, {TPosition::VECOUT, 5120, kTile}};
    SetFlag<HardEvent::V_MTE2>(0);
    SetFlag<HardEvent::V_MTE2>(1);
    SetFlag<HardEvent::MTE3_V>(0);
    SetFlag<HardEvent::MTE3_V>(1);
    for (int32_t i = 0; i < perBlock / kTile; ++i) {
        const int32_t slot = i % 2;
        WaitFlag<HardEvent::V_MTE2>(slot);
        DataCopy(xs[slot], xGm[i * kTile], kTile);
        DataCopy(ys[slot], yGm[i * kTile], kTile);
        SetFlag<HardEvent::MTE2_V>(slot);
        WaitFlag<HardEvent::MTE2_V>(slot);
        WaitFlag<HardEvent::MTE3_V>(slot);
        Add(zs[slot], xs[slot], ys[slot], kTile);
        SetFlag<HardEvent::V_MTE2>(slot);
        SetFlag<HardEvent::V_MTE3>(slot);
        WaitFlag<HardEvent::V_MTE3>(slot);
        DataCopy(zGm[i * kTile], zs[slot], kTile);
        SetFlag<HardEvent::MTE3_V>(slot);
    }
    WaitFlag<HardEvent::V_MTE2>(0);
    WaitFlag<HardEvent::V_MTE2>(1);
    WaitFlag<HardEvent::MTE3_V>(0);
    WaitFlag<HardEvent::MTE3_V>(1);
    PipeBarrier<PIPE_ALL>();
}

class AddWithQueues {
public:
    __aicore__ inline AddWithQueues() {}
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z, int32_t count)
    {
        tiles_ = count / kTile;
        xGm_.SetGlobalBuffer((__gm__ half*)x, count);
        yGm_.SetGlobalBuffer((__gm__ half*)y, count);
        zGm_.SetGlobalBuffer((__gm__ half*)z, count);
        pipe_.InitBuffer(xQue_, 2, kTile * sizeof(half));
        pipe_.InitBuffer(yQue_, 2, kTile * sizeof(half));
        pipe_.InitBuffer(zQue_, 2, kTile * sizeof(half));
        pipe_.InitBuffer(tmp_, kTile * sizeof(half));
    }
    __aicore__ inline void Process()
    {
        for (int32_t i = 0; i < tiles_; ++i) {
            LocalTensor<half> x = xQue_.AllocTensor<half>();
            LocalTensor<half> y = yQue_.AllocTensor<half>();
            DataCopy(x, xGm_[i * kTile], kTile);
            DataCopy(y, yGm_[i * kTile], kTile);
            xQue_.EnQue(x);
            yQue_.EnQue(y);
            Compute();
            LocalTensor<half> z = zQue_.DeQue<half>();
            DataCopy(zGm_[i * kTile], z, kTile);
            zQue_.FreeTensor(z);
        }
    }

private:
    __aicore__ inline void Compute()
    {
        LocalTensor<half> x = xQue_.DeQue<half>();
        LocalTensor<half> y = yQue_.DeQue<half>();
        LocalTensor<half> z = zQue_.AllocTensor<half>();
        LocalTensor<half> doubled = tmp_.Get<half>();
        Muls(doubled, x, static_cast<half>(2.0f), kTile);
        PipeBarrier<PIPE_V>();
        Add(z, doubled, y, kTile);
        PipeBarrier<PIPE_V>(); // the next tile writes `doubled` again
        zQue_.EnQue(z);
        xQue_.FreeTensor(x);
        yQue_.FreeTensor(y);
    }

    static constexpr int32_t kTile = 128;
    TPipe pipe_;
    TQue<TPosition::VECIN, 1> xQue_;
    TQue<TPosition::VECIN, 1> yQue_;
    TQue<TPosition::VECOUT, 1> zQue_;
    TBuf<TPosition::VECCALC> tmp_;
    GlobalTensor<half> xGm_;
    GlobalTensor<half> yGm_;
    GlobalTensor<half> zGm_;
    int32_t tiles_ = 0;
};

extern "C" __global__ __aicore__ void add_queues(GM_ADDR x, GM_ADDR y, GM_ADDR z, int32_t count)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    AddWithQueues op;
    op.Init(x, y, z, count);
    op.Process();
}

/*! Two inputs, one output of kRound elements. */
template <typename T> class Lanes {
public:
    __aicore__ inline Lanes(GM_ADDR x, GM_ADDR y, GM_ADDR out)
    {
        xGm.SetGlobalBuffer((__gm__ T*)x, kRound);
        yGm.SetGlobalBuffer((__gm__ T*)y, kRound);
        outGm.SetGlobalBuffer((__gm__ T*)out, kRound);
        DataCopy(x_, xGm, kRound);
        DataCopy(y_, yGm, kRound);
        SetFlag<HardEvent::MTE2_V>(0);
        WaitFlag<HardEvent::MTE2_V>(0);
        Duplicate(z_, static_cast<T>(7), kRound);
        PipeBarrier<PIPE_V>();
    }
    __aicore__ inline void Store()
    {
        SetFlag<HardEvent::S_MTE3>(0);
        WaitFlag<HardEvent::S_MTE3>(0);
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        DataCopy(outGm, z_, kRound);
        PipeBarrier<PIPE_ALL>();
    }
    GlobalTensor<T> xGm;
    GlobalTensor<T> yGm;
    GlobalTensor<T> outGm;
    LocalTensor<T> x_{TPosition::VECCALC, 0, kRound};
    LocalTensor<T> y_{TPosition::VECCALC, 8192, kRound};
    LocalTensor<T> z_{TPosition::VECCALC, 16384, kRound};
};

extern "C" __global__ __aicore__ void float_ops(GM_ADDR x, GM_ADDR y, GM_ADDR out, int32_t op)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    Lanes<float> l(x, y, out);
    constexpr int32_t n = kCount;
    uint64_t even[2] = {0x5555555555555555ull, 0};
    switch (op) {
        case 0: Add(l.z_, l.x_, l.y_, n); break;
        case 1: Sub(l.z_, l.x_, l.y_, n); break;
        case 2: Mul(l.z_, l.x_, l.y_, n); break;
        case 3: Div(l.z_, l.x_, l.y_, n); break;
        case 4: Max(l.z_, l.x_, l.y_, n); break;
        case 5: Min(l.z_, l.x_, l.y_, n); break;
        case 6: Exp(l.z_, l.x_, n); break;
        case 7: Abs(l.z_, l.x_, n); break;
        case 8: Relu(l.z_, l.x_, n); break;
        case 9: Adds(l.z_, l.x_, 2.5f, n); break;
        case 10: Muls(l.z_, l.x_, -3.0f, n); break;
        case 11: Maxs(l.z_, l.x_, 0.25f, n); break;
        case 12: Mins(l.z_, l.x_, 0.25f, n); break;
        case 13: Axpy(l.z_, l.x_, 0.5f, n); break;
        case 14: MulAddDst(l.z_, l.x_, l.y_, n); break;
        case 15: Adds(l.z_, l.x_, 1.0f, even, 16, UnaryRepeatParams(1, 1, 8, 8)); break;
        case 16: Add(l.z_, l.x_, l.y_, static_cast<uint64_t>(10), 16, BinaryRepeatParams(1, 1, 0, 8, 8, 1)); break;
        case 17:
            SetMaskCount();
            SetVectorMask<float, MaskMode::COUNTER>(100);
            Add<float, false>(l.z_, l.x_, l.y_, MASK_PLACEHOLDER, 1, BinaryRepeatParams());
            SetMaskNorm();
            ResetMask();
            break;
        case 18: Copy(l.z_, l.x_, static_cast<uint64_t>(64), 4, CopyRepeatParams(1, 1, 8, 16)); break;
        case 19: Max(l.z_, l.x_, l.z_, static_cast<uint64_t>(64), 16, BinaryRepeatParams(1, 1, 1, 0, 8, 0)); break;
        default: break;
    }
    l.Store();
}

extern "C" __global__ __aicore__ void int_ops(GM_ADDR x, GM_ADDR y, GM_ADDR out, int32_t op)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    Lanes<uint16_t> l(x, y, out);
    constexpr int32_t n = kCount;
    switch (op) {
        case 0: And(l.z_, l.x_, l.y_, n); break;
        case 1: Or(l.z_, l.x_, l.y_, n); break;
        case 2: Not(l.z_, l.x_, n); break;
        case 3: ShiftLeft(l.z_, l.x_, static_cast<uint16_t>(3), n); break;
        case 4: ShiftRight(l.z_, l.x_, static_cast<uint16_t>(3), n); break;
        default: break;
    }
    l.Store();
}

extern "C" __global__ __aicore__ void reduce_ops(GM_ADDR x, GM_ADDR y, GM_ADDR out, int32_t op)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    Lanes<float> l(x, y, out);
    LocalTensor<float> tmp(TPosition::VECCALC, 32768, 1024);
    switch (op) {
        case 0: WholeReduceSum(l.z_, l.x_, 64, 16, 1, 1, 8); break;
        case 1: WholeReduceMax(l.z_, l.x_, 40, 16, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE); break;
        case 2: WholeReduceMin(l.z_, l.x_, 64, 16, 1, 1, 8); break;
        case 3: BlockReduceMax(l.z_, l.x_, 16, 64, 1, 1, 8); break;
        case 4: PairReduceSum(l.z_, l.x_, 16, 64, 1, 1, 8); break;
        case 5: ReduceSum(l.z_, l.x_, tmp, static_cast<int32_t>(kCount)); break;
        case 6: ReduceMax(l.z_, l.x_, tmp, static_cast<int32_t>(kCount), true); break;
        case 7: ReduceRepeat<ReduceType::MAX>(l.z_, l.x_, 64, 16, 1, 1, 8, ReduceOrder::ORDER_ONLY_INDEX); break;
        case 8: ReduceDataBlock<ReduceType::SUM>(l.z_, l.x_, 60, 16, 1, 1, 8); break;
        default: break;
    }
    l.Store();
}

extern "C" __global__ __aicore__ void select_ops(GM_ADDR x, GM_ADDR y, GM_ADDR out, int32_t op)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    TPipe pipe;
    Lanes<float> l(x, y, out);
    LocalTensor<uint8_t> bits(TPosition::VECCALC, 24576, 128);
    LocalTensor<uint32_t> offsets(TPosition::VECCALC, 32768, 1024);
    if (op < 6) {
        Compare(bits, l.x_, l.y_, static_cast<CMPMODE>(op), kRound);
        PipeBarrier<PIPE_V>();
        Select(l.z_, bits, l.x_, -9.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, kRound);
    } else if (op == 6) {
        Compares(bits, l.x_, 0.0f, CMPMODE::GE, kRound);
        PipeBarrier<PIPE_V>();
        Select(l.z_, bits, l.x_, l.y_, SELMODE::VSEL_TENSOR_TENSOR_MODE, kCount);
    } else if (op == 7) {
        Compares(bits, l.x_, 0.0f, CMPMODE::GE, 64);
        PipeBarrier<PIPE_V>();
        Select(l.z_, bits, l.x_, l.y_, SELMODE::VSEL_CMPMASK_SPR, static_cast<uint64_t>(64), 16,
               BinaryRepeatParams());
    } else if (op == 8) {
        CreateVecIndex(offsets.ReinterpretCast<int32_t>(), 0, kRound);
        Muls(offsets.ReinterpretCast<int32_t>(), offsets.ReinterpretCast<int32_t>(), -4, kRound);
        Adds(offsets.ReinterpretCast<int32_t>(), offsets.ReinterpretCast<int32_t>(), 4092, kRound);
        Gather(l.z_, l.x_, offsets, 0, kRound);
    } else if (op == 9) {
        uint64_t kept = 0;
        GatherMask(l.z_, l.x_, 2, false, 0, GatherMaskParams(1, 16, 8, 0), kept);
        l.z_.SetValue(1000, static_cast<float>(kept));
    } else {
        LocalTensor<half> source = l.x_.ReinterpretCast<half>();
        Transpose(l.z_.ReinterpretCast<half>(), source);
    }
    l.Store();
}

template <typename D, typename S>
__aicore__ inline void CastAll(GM_ADDR x, GM_ADDR out, RoundMode mode)
{
    GlobalTensor<S> xGm;
    GlobalTensor<D> outGm;
    xGm.SetGlobalBuffer((__gm__ S*)x, 256);
    outGm.SetGlobalBuffer((__gm__ D*)out, 256);
    LocalTensor<S> s(TPosition::VECCALC, 0, 256);
    LocalTensor<D> d(TPosition::VECCALC, 4096, 256);
    DataCopy(s, xGm, 256);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    Cast(d, s, mode, 256);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(outGm, d, 256);
    PipeBarrier<PIPE_ALL>();
}

extern "C" __global__ __aicore__ void casts(GM_ADDR x, GM_ADDR out, int32_t pair, int32_t mode)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    const RoundMode round = static_cast<RoundMode>(mode);
    switch (pair) {
        case 0: CastAll<half, float>(x, out, round); break;
        case 1: CastAll<bfloat16_t, float>(x, out, round); break;
        case 2: CastAll<int32_t, float>(x, out, round); break;
        case 3: CastAll<float, half>(x, out, round); break;
        case 4: CastAll<float, bfloat16_t>(x, out, round); break;
        case 5: CastAll<float, int32_t>(x, out, round); break;
        case 6: CastAll<half, uint8_t>(x, out, round); break;
        case 7: CastAll<int8_t, half>(x, out, round); break;
        case 8: CastAll<float, float>(x, out, round); break;
        case 9: CastAll<int16_t, half>(x, out, round); break;
        case 10: CastAll<int64_t, int32_t>(x, out, round); break;
        default: break;
    }
}

extern "C" __global__ __aicore__ void cast_in_place(GM_ADDR x, GM_ADDR out)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GlobalTensor<float> xGm;
    GlobalTensor<half> outGm;
    xGm.SetGlobalBuffer((__gm__ float*)x, 1024);
    outGm.SetGlobalBuffer((__gm__ half*)out, 1024);
    LocalTensor<float> wide(TPosition::VECCALC, 0, 1024);
    LocalTensor<half> narrow = wide.ReinterpretCast<half>();
    DataCopy(wide, xGm, 1024);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    Cast(narrow, wide, RoundMode::CAST_RINT, static_cast<uint64_t>(64), 16, UnaryRepeatParams(1, 1, 4, 8));
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(outGm, narrow, 1024);
    PipeBarrier<PIPE_ALL>();
}

extern "C" __global__ __aicore__ void overflow(GM_ADDR x, GM_ADDR out, int32_t infnan)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    SetCtrlSpr<48, 48>(infnan);
    CastAll<half, float>(x, out, RoundMode::CAST_RINT);
}

extern "C" __global__ __aicore__ void pad_tails(GM_ADDR x, GM_ADDR out, int32_t rows, int32_t cols)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GlobalTensor<half> xGm;
    GlobalTensor<half> outGm;
    xGm.SetGlobalBuffer((__gm__ half*)x);
    outGm.SetGlobalBuffer((__gm__ half*)out);
    LocalTensor<half> u(TPosition::VECIN, 0, 4096);
    const uint32_t bytes = cols * sizeof(half);
    DataCopyExtParams in(rows, bytes, 0, 0, 0);
    DataCopyPadExtParams<half> pad(true, 1, 0, half(3.0f));
    DataCopyPad(u, xGm, in, pad);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    Adds(u, u, half(1.0f), 4096 / 16);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopyExtParams back(rows, bytes, 0, sizeof(half), 0);
    DataCopyPad(outGm, u, back);
    PipeBarrier<PIPE_ALL>();
}

extern "C" __global__ __aicore__ void atomic_sum(GM_ADDR x, GM_ADDR out)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
    GlobalTensor<float> xGm;
    GlobalTensor<float> outGm;
    xGm.SetGlobalBuffer((__gm__ float*)x + GetBlockIdx() * 64, 64);
    outGm.SetGlobalBuffer((__gm__ float*)out, 64);
    LocalTensor<float> u(TPosition::VECIN, 0, 64);
    DataCopy(u, xGm, 64);
    SetFlag<HardEvent::MTE2_MTE3>(0);
    WaitFlag<HardEvent::MTE2_MTE3>(0);
    SetAtomicAdd<float>();
    DataCopy(outGm, u, 64);
    SetAtomicNone();
    SyncAll();
    if (GetBlockIdx() == 0) {
        DataCopy(u, outGm, 64);
        SetFlag<HardEvent::MTE2_V>(0);
        WaitFlag<HardEvent::MTE2_V>(0);
        Muls(u, u, 2.0f, 64);
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        DataCopy(outGm, u, 64);
    }
    PipeBarrier<PIPE_ALL>();
}

extern "C" __global__ __aicore__ void busy(int32_t loops)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    LocalTensor<float> x(TPosition::VECCALC, 0, 8192);
    LocalTensor<float> y(TPosition::VECCALC, 65536, 8192);
    LocalTensor<float> row(TPosition::VECCALC, 131072, 1024);
    Duplicate(x, 0.5f, 8192);
    Duplicate(row, 0.25f, 1024);
    for (int32_t i = 0; i < loops; ++i) {
        Sub(y, x, row, static_cast<uint64_t>(64), 128, BinaryRepeatParams(1, 1, 0, 8, 8, 1));
        Muls(y, y, 0.5f, static_cast<uint64_t>(64), 128, UnaryRepeatParams(1, 1, 8, 8));
        Exp(y, y, static_cast<uint64_t>(64), 128, UnaryRepeatParams(1, 1, 8, 8));
        Cast(y.ReinterpretCast<half>(), y, RoundMode::CAST_RINT, static_cast<uint64_t>(64), 128, UnaryRepeatParams(1, 1, 4, 8));
    }
}

/*! Rules that a plain loop does not show; the destination starts as sevens. */
extern "C" __global__ __aicore__ void rules(GM_ADDR x, GM_ADDR y, GM_ADDR out, int32_t op)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    Lanes<float> l(x, y, out);
    LocalTensor<half> h(TPosition::VECCALC, 32768, 1024);
    LocalTensor<half> narrow = l.z_.ReinterpretCast<half>();
    uint64_t firstBlock[2] = {0xff, 0};
    uint64_t some[2] = {0x0000ffffffff0003ull, 0};
    switch (op) {
        // Copy takes its mask per repeat and honours the repeat count in counter mode too.
        case 0:
            SetMaskCount();
            SetVectorMask<float, MaskMode::COUNTER>(16);
            Copy<float, false>(l.z_, l.x_, MASK_PLACEHOLDER, 3, CopyRepeatParams(1, 1, 8, 8));
            SetMaskNorm();
            ResetMask();
            break;
        // Brcb ignores the mask; a block stride of 0 counts as 1.
        case 1:
            SetVectorMask<float>(0, 1);
            Brcb(l.z_, l.x_, 2, BrcbRepeatParams(0, 8));
            ResetMask();
            break;
        // A wholly masked block leaves the destination as it was.
        case 2: ReduceDataBlock<ReduceType::MAX>(l.z_, l.x_, firstBlock, 1, 1, 1, 8); break;
        // The first of equal values gives the index, the bits of which stand in an element.
        case 3: WholeReduceMax(l.z_, l.y_, some, 2, 2, 1, 8, ReduceOrder::ORDER_INDEX_VALUE); break;
        case 4: WholeReduceMin(l.z_, l.y_, 64, 2, 1, 1, 8, ReduceOrder::ORDER_VALUE_INDEX); break;
        // Results of whole reductions may start at any element, those of half blocks at 16 bytes.
        case 5:
            Cast(h, l.x_, RoundMode::CAST_RINT, kRound);
            PipeBarrier<PIPE_V>();
            WholeReduceMax(narrow[1], h, 128, 4, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);
            BlockReduceMax(narrow[24], h, 2, 128, 1, 1, 8);
            break;
        // A mask stays set for calls that keep it, a count puts the full mask back.
        case 6:
            Adds(l.z_, l.x_, 1.0f, some, 1, UnaryRepeatParams(1, 1, 8, 8));
            Adds<float, false>(l.z_[64], l.x_[64], 1.0f, MASK_PLACEHOLDER, 1, UnaryRepeatParams(1, 1, 8, 8));
            Adds(l.z_[128], l.x_[128], 1.0f, 3);
            Adds<float, false>(l.z_[192], l.x_[192], 1.0f, MASK_PLACEHOLDER, 1, UnaryRepeatParams(1, 1, 8, 8));
            break;
        // Block stride 0 reads one block for all, repeat stride 0 the same repeat again.
        case 7: Add(l.z_, l.x_, l.y_, static_cast<uint64_t>(64), 2, BinaryRepeatParams(1, 0, 1, 8, 0, 0)); break;
        // Overwriting is the default of neither block count nor repeat: 0 does nothing.
        case 8:
            Adds(l.z_, l.x_, 1.0f, static_cast<uint64_t>(64), 0, UnaryRepeatParams());
            DataCopy(l.z_, l.x_, DataCopyParams(3, 2, 2, 1));
            break;
        // The mask form of a sum folds the results of its repeats in a second tree.
        case 9: {
            LocalTensor<float> tmp(TPosition::VECCALC, 36864, 1024);
            ReduceSum(l.z_, l.x_, tmp, static_cast<int32_t>(64), static_cast<int32_t>(16), 8);
            break;
        }
        // Compare ignores the mask: every bit of the repeat is written.
        case 10: {
            LocalTensor<uint8_t> bits = l.z_.ReinterpretCast<uint8_t>();
            Compare(bits, l.x_, l.y_, CMPMODE::LT, static_cast<uint64_t>(1), 2, BinaryRepeatParams());
            break;
        }
        // The mask register: written by a comparison, read and set by hand.
        case 11:
            Compare(l.x_, l.y_, CMPMODE::GE, static_cast<uint64_t>(64), BinaryRepeatParams());
            GetCmpMask(l.z_);
            break;
        // Blocks by their byte addresses.
        case 12: {
            LocalTensor<uint32_t> places(TPosition::VECCALC, 36864, 16);
            CreateVecIndex(places.ReinterpretCast<int32_t>(), 0, 16);
            PipeBarrier<PIPE_V>();
            Muls(places.ReinterpretCast<int32_t>(), places.ReinterpretCast<int32_t>(), 64, 16);
            PipeBarrier<PIPE_V>();
            Gatherb(l.z_, l.x_, places, 2, GatherRepeatParams(1, 8));
            break;
        }
        // What a reduction leaves in registers.
        case 13: {
            WholeReduceMax(l.z_, l.x_, 64, 1, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);
            SetFlag<HardEvent::V_S>(0);
            WaitFlag<HardEvent::V_S>(0);
            float value = 0.0f;
            float index = 0.0f;
            GetReduceRepeatMaxMinSpr<float>(value, index);
            l.z_.SetValue(8, value);
            l.z_.SetValue(9, index);
            break;
        }
        // Paddings without isPad take the value of SetPadValue; the older parameters count bytes too.
        case 14: {
            SetFlag<HardEvent::V_MTE2>(0);
            WaitFlag<HardEvent::V_MTE2>(0);
            SetPadValue(3.0f);
            DataCopyPad(l.z_, l.xGm, DataCopyParams(2, 12, 20, 1), DataCopyPadParams(false, 2, 1, 0));
            DataCopyPad(l.z_[64], l.xGm, DataCopyParams(1, 20, 0, 0), DataCopyPadParams(true, 1, 2, 0x40a00000));
            SetFlag<HardEvent::MTE2_MTE3>(0);
            WaitFlag<HardEvent::MTE2_MTE3>(0);
            break;
        }
        // Larger of what is stored and what was there.
        case 15: {
            LocalTensor<float> low(TPosition::VECCALC, 36864, 1024);
            Duplicate(low, 0.25f, kRound);
            SetFlag<HardEvent::V_MTE3>(1);
            WaitFlag<HardEvent::V_MTE3>(1);
            DataCopy(l.outGm, low, kRound);
            PipeBarrier<PIPE_MTE3>();
            SetAtomicMax<float>();
            DataCopy(l.outGm, l.x_, kRound);
            SetAtomicNone();
            PipeBarrier<PIPE_ALL>();
            return;
        }
        // Without paddings the filler up to a block is the first element of the piece.
        case 16: {
            SetFlag<HardEvent::V_MTE2>(0);
            WaitFlag<HardEvent::V_MTE2>(0);
            DataCopyPad(l.z_, l.xGm, DataCopyExtParams(2, 20, 44, 1, 0), DataCopyPadExtParams<float>(false, 0, 0, 0.0f));
            SetFlag<HardEvent::MTE2_MTE3>(0);
            WaitFlag<HardEvent::MTE2_MTE3>(0);
            break;
        }
        default: break;
    }
    l.Store();
}
