// A mixed kernel: the cube core multiplies, two vector cores take a softmax of the rows.
#include "kernel_operator.h"

using namespace AscendC;

struct MixTiling {
    uint32_t rows;
    uint32_t cols;
    uint32_t depth;
    uint32_t tiles;
};

constexpr uint16_t kScoresReady = 0;
constexpr uint16_t kScoresTaken = 1;
constexpr uint32_t kC0 = 16;

__aicore__ inline uint32_t Round16(uint32_t value)
{
    return (value + 15) / 16 * 16;
}

__aicore__ inline void LoadOperands(GM_ADDR a, GM_ADDR b, const MixTiling& t)
{
    GlobalTensor<half> aGm;
    GlobalTensor<half> bGm;
    aGm.SetGlobalBuffer((__gm__ half*)a);
    bGm.SetGlobalBuffer((__gm__ half*)b);
    LocalTensor<half> aL1(TPosition::A1, 0, Round16(t.rows) * Round16(t.depth));
    LocalTensor<half> bL1(TPosition::B1, 65536, Round16(t.cols) * Round16(t.depth));
    Nd2NzParams params;
    params.ndNum = 1;
    params.nValue = t.rows;
    params.dValue = t.depth;
    params.srcDValue = t.depth;
    params.dstNzC0Stride = Round16(t.rows);
    params.dstNzNStride = 1;
    DataCopy(aL1, aGm, params);
    params.nValue = t.cols;
    params.dstNzC0Stride = Round16(t.cols);
    DataCopy(bL1, bGm, params);
    SetFlag<HardEvent::MTE2_MTE1>(0);
    WaitFlag<HardEvent::MTE2_MTE1>(0);
    LocalTensor<half> aL0(TPosition::A2, 0, Round16(t.rows) * Round16(t.depth));
    LocalTensor<half> bL0(TPosition::B2, 0, Round16(t.cols) * Round16(t.depth));
    const uint32_t m16 = Round16(t.rows) / 16;
    const uint32_t n16 = Round16(t.cols) / 16;
    const uint32_t k16 = Round16(t.depth) / 16;
    LoadData2DParams load;
    for (uint32_t i = 0; i < m16; ++i) {
        load.startIndex = i;
        load.repeatTimes = k16;
        load.srcStride = m16;
        LoadData(aL0[i * 16 * k16 * kC0], aL1, load);
    }
    load.startIndex = 0;
    load.srcStride = 1;
    load.repeatTimes = n16;
    for (uint32_t k = 0; k < k16; ++k) {
        load.startIndex = k * n16;
        LoadData(bL0[k * n16 * 256], bL1, load);
    }
    SetFlag<HardEvent::MTE1_M>(0);
    WaitFlag<HardEvent::MTE1_M>(0);
}

__aicore__ inline void Cube(GM_ADDR a, GM_ADDR b, GM_ADDR workspace, const MixTiling& t)
{
    LocalTensor<half> aL0(TPosition::A2, 0, Round16(t.rows) * Round16(t.depth));
    LocalTensor<half> bL0(TPosition::B2, 0, Round16(t.cols) * Round16(t.depth));
    LocalTensor<float> cL0(TPosition::CO1, 0, Round16(t.rows) * Round16(t.cols));
    GlobalTensor<float> scores;
    scores.SetGlobalBuffer((__gm__ float*)workspace + GetBlockIdx() * t.rows * Round16(t.cols));
    LoadOperands(a, b, t);
    for (uint32_t tile = 0; tile < t.tiles; ++tile) {
        if (tile > 0) {
            WaitFlag<HardEvent::FIX_M>(0);
        }
        Mmad(cL0, aL0, bL0, MmadParams(Round16(t.rows), Round16(t.cols), t.depth, 0, false, true));
        SetFlag<HardEvent::M_FIX>(0);
        WaitFlag<HardEvent::M_FIX>(0);
        if (tile > 0) {
            CrossCoreWaitFlag(kScoresTaken);
        }
        FixpipeParamsV220 fix;
        fix.nSize = Round16(t.cols);
        fix.mSize = t.rows;
        fix.srcStride = Round16(t.rows);
        fix.dstStride = Round16(t.cols);
        Fixpipe<float, float, CFG_ROW_MAJOR>(scores, cL0, fix);
        SetFlag<HardEvent::FIX_M>(0);
        CrossCoreSetFlag<2, PIPE_FIX>(kScoresReady);
    }
    WaitFlag<HardEvent::FIX_M>(0);
    CrossCoreWaitFlag(kScoresTaken);
    PipeBarrier<PIPE_ALL>();
}

__aicore__ inline void SoftmaxRows(const LocalTensor<float>& x, uint32_t rows, uint32_t cols)
{
    const uint32_t stride = Round16(cols);
    LocalTensor<float> stat(TPosition::VECCALC, 128 * 1024, 64);
    LocalTensor<float> spread(TPosition::VECCALC, 128 * 1024 + 256, 64 * 8);
    const uint8_t rowStride = stride / 8;
    BinaryRepeatParams perRow(1, 1, 0, rowStride, rowStride, 1);
    const uint8_t groups = (rows + 7) / 8;
    WholeReduceMax(stat, x, static_cast<int32_t>(cols), rows, 1, 1, rowStride, ReduceOrder::ORDER_ONLY_VALUE);
    PipeBarrier<PIPE_V>();
    Brcb(spread, stat, groups, BrcbRepeatParams(1, 8));
    PipeBarrier<PIPE_V>();
    Sub(x, x, spread, static_cast<uint64_t>(cols), rows, perRow);
    PipeBarrier<PIPE_V>();
    Exp(x, x, static_cast<uint64_t>(cols), rows, UnaryRepeatParams(1, 1, rowStride, rowStride));
    PipeBarrier<PIPE_V>();
    WholeReduceSum(stat, x, static_cast<int32_t>(cols), rows, 1, 1, rowStride);
    PipeBarrier<PIPE_V>();
    Brcb(spread, stat, groups, BrcbRepeatParams(1, 8));
    PipeBarrier<PIPE_V>();
    Div(x, x, spread, static_cast<uint64_t>(cols), rows, perRow);
}

__aicore__ inline void Vector(GM_ADDR workspace, GM_ADDR out, const MixTiling& t)
{
    const uint32_t stride = Round16(t.cols);
    const uint32_t block = GetBlockIdx() / GetSubBlockNum();
    const uint32_t half0 = (t.rows + 1) / 2;
    const uint32_t first = GetSubBlockIdx() == 0 ? 0 : half0;
    const uint32_t rows = GetSubBlockIdx() == 0 ? half0 : t.rows - half0;
    GlobalTensor<float> scores;
    GlobalTensor<float> result;
    scores.SetGlobalBuffer((__gm__ float*)workspace + block * t.rows * stride);
    result.SetGlobalBuffer((__gm__ float*)out + block * t.rows * t.cols);
    LocalTensor<float> x(TPosition::VECCALC, 0, 32 * 1024);
    for (uint32_t tile = 0; tile < t.tiles; ++tile) {
        CrossCoreWaitFlag(kScoresReady);
        if (tile > 0) {
            WaitFlag<HardEvent::MTE3_MTE2>(1);
        }
        if (rows > 0) {
            DataCopy(x, scores[first * stride], rows * stride);
        }
        SetFlag<HardEvent::MTE2_V>(0);
        CrossCoreSetFlag<2, PIPE_MTE2>(kScoresTaken);
        WaitFlag<HardEvent::MTE2_V>(0);
        if (rows > 0) {
            SoftmaxRows(x, rows, t.cols);
        }
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        if (rows > 0) {
            DataCopyExtParams copy(rows, t.cols * sizeof(float), (stride - t.cols) / 8, 0, 0);
            DataCopyPad(result[first * t.cols], x, copy);
        }
        SetFlag<HardEvent::MTE3_MTE2>(1);
    }
    WaitFlag<HardEvent::MTE3_MTE2>(1);
    PipeBarrier<PIPE_ALL>();
}

extern "C" __global__ __aicore__ void mix_softmax(
    uint64_t fftsAddr, GM_ADDR a, GM_ADDR b, GM_ADDR workspace, GM_ADDR out, MixTiling tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    InitSocState();
    SetSyncBaseAddr(fftsAddr);
    if ASCEND_IS_AIC {
        Cube(a, b, workspace, tiling);
    }
    if ASCEND_IS_AIV {
        Vector(workspace, out, tiling);
    }
}
