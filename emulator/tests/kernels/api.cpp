// What kernels of the field use beyond the basic instructions: queues over pools, sorting, library calls, words in
// global memory, image-to-column loads.
#include "kernel_operator.h"

using namespace AscendC;

/*! Scores in, values and indices out, in descending order. */
template <typename T> __aicore__ inline void SortAll(GM_ADDR x, GM_ADDR values, GM_ADDR indices, int32_t count)
{
    GlobalTensor<T> xGm;
    GlobalTensor<T> valueGm;
    GlobalTensor<uint32_t> indexGm;
    xGm.SetGlobalBuffer((__gm__ T*)x, count);
    valueGm.SetGlobalBuffer((__gm__ T*)values, count);
    indexGm.SetGlobalBuffer((__gm__ uint32_t*)indices, count);
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> outValue;
    TQue<TPosition::VECOUT, 1> outIndex;
    TBuf<TPosition::VECCALC> index;
    TBuf<TPosition::VECCALC> sorted;
    TBuf<TPosition::VECCALC> work;
    const uint32_t records = GetSortLen<T>(count) * sizeof(T);
    pipe.InitBuffer(sorted, records);
    pipe.InitBuffer(work, records);
    pipe.InitBuffer(index, count * sizeof(uint32_t));
    pipe.InitBuffer(in, 1, count * sizeof(T));
    pipe.InitBuffer(outValue, 1, count * sizeof(T));
    pipe.InitBuffer(outIndex, 1, count * sizeof(uint32_t));
    LocalTensor<T> scores = in.AllocTensor<T>();
    DataCopy(scores, xGm, count);
    in.EnQue(scores);
    scores = in.DeQue<T>();
    LocalTensor<uint32_t> places = index.Get<uint32_t>();
    LocalTensor<int32_t> numbers = places.template ReinterpretCast<int32_t>();
    ArithProgression(numbers, 0, 1, count);
    LocalTensor<T> concat;
    LocalTensor<T> tmp = work.Get<T>();
    Concat(concat, scores, tmp, count / 16);
    LocalTensor<T> all = sorted.Get<T>();
    Sort<T, true>(all, concat, places, tmp, count / 32);
    PipeBarrier<PIPE_V>();
    LocalTensor<T> value = outValue.AllocTensor<T>();
    LocalTensor<uint32_t> place = outIndex.AllocTensor<uint32_t>();
    Extract(value, place, all, count / 32);
    outValue.EnQue(value);
    outIndex.EnQue(place);
    in.FreeTensor(scores);
    value = outValue.DeQue<T>();
    place = outIndex.DeQue<uint32_t>();
    DataCopy(valueGm, value, count);
    DataCopy(indexGm, place, count);
    outValue.FreeTensor(value);
    outIndex.FreeTensor(place);
}

extern "C" __global__ __aicore__ __vector__ void sort_all(
    GM_ADDR x, GM_ADDR values, GM_ADDR indices, int32_t count, int32_t isHalf)
{
    if (isHalf != 0) {
        SortAll<half>(x, values, indices, count);
    } else {
        SortAll<float>(x, values, indices, count);
    }
}

/*! Stops when the first list is spent; the counts go out. */
extern "C" __global__ __aicore__ __vector__ void merge_some(GM_ADDR x, GM_ADDR out, GM_ADDR counts)
{
    InitSocState();
    GlobalTensor<float> xGm;
    GlobalTensor<float> outGm;
    GlobalTensor<int32_t> countGm;
    xGm.SetGlobalBuffer((__gm__ float*)x, 64);
    outGm.SetGlobalBuffer((__gm__ float*)out, 128);
    countGm.SetGlobalBuffer((__gm__ int32_t*)counts, 8);
    LocalTensor<float> scores(TPosition::VECCALC, 0, 64);
    LocalTensor<uint32_t> index(TPosition::VECCALC, 256, 64);
    LocalTensor<float> runs(TPosition::VECCALC, 512, 128);
    LocalTensor<float> merged(TPosition::VECCALC, 1024, 128);
    LocalTensor<int32_t> taken(TPosition::VECCALC, 2048, 8);
    DataCopy(scores, xGm, 64);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    Duplicate(index, 7u, 64);
    Duplicate(merged, 0.0f, 128);
    PipeBarrier<PIPE_V>();
    Sort32(runs, scores, index, 2);
    PipeBarrier<PIPE_V>();
    const uint16_t lengths[4] = {32, 32, 0, 0};
    uint32_t sorted[4];
    MrgSort<float, true>(merged, {runs, runs[64], runs, runs}, lengths, sorted, 3, 1);
    for (int32_t i = 0; i < 4; ++i) {
        taken.SetValue(i, sorted[i]);
        taken.SetValue(i + 4, 0);
    }
    SetFlag<HardEvent::S_MTE3>(0);
    WaitFlag<HardEvent::S_MTE3>(0);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(outGm, merged, 128);
    DataCopy(countGm, taken, 8);
    PipeBarrier<PIPE_ALL>();
}

struct Rows {
    uint32_t rows;
    uint32_t pitch;
    uint32_t columns;
    uint32_t op;
};

/*! 0 softmax, 1 first and second step of the running softmax, 2 softmax from statistics, 3 row sums of a product. */
template <typename T, typename S, bool nz>
__aicore__ inline void SoftmaxCalls(GM_ADDR x, GM_ADDR y, GM_ADDR out, GM_ADDR stats, const Rows& p)
{
    const uint32_t count = p.rows * p.pitch;
    const uint32_t blocks = p.rows * 32 / sizeof(S);
    GlobalTensor<T> xGm;
    GlobalTensor<T> yGm;
    GlobalTensor<T> outGm;
    GlobalTensor<S> statGm;
    xGm.SetGlobalBuffer((__gm__ T*)x, count);
    yGm.SetGlobalBuffer((__gm__ T*)y, count);
    outGm.SetGlobalBuffer((__gm__ T*)out, count);
    statGm.SetGlobalBuffer((__gm__ S*)stats, 2 * blocks);
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    TQueBind<TPosition::VECOUT, TPosition::GM, 1> result;
    TBuf<TPosition::VECCALC> max;
    TBuf<TPosition::VECCALC> sum;
    TBuf<TPosition::VECCALC> factor;
    pipe.InitBuffer(in, 2, count * sizeof(T));
    pipe.InitBuffer(result, 1, count * sizeof(T));
    pipe.InitBuffer(max, blocks * sizeof(S));
    pipe.InitBuffer(sum, blocks * sizeof(S));
    pipe.InitBuffer(factor, p.rows * 32);
    LocalTensor<T> a = in.AllocTensor<T>();
    DataCopy(a, xGm, count);
    in.EnQue(a);
    LocalTensor<T> b = in.AllocTensor<T>();
    DataCopy(b, yGm, count);
    in.EnQue(b);
    a = in.DeQue<T>();
    b = in.DeQue<T>();
    LocalTensor<T> dst = result.AllocTensor<T>();
    LocalTensor<S> m = max.Get<S>();
    LocalTensor<S> s = sum.Get<S>();
    LocalTensor<T> f = factor.Get<T>();
    Duplicate(dst, T(0), static_cast<int32_t>(count));
    PipeBarrier<PIPE_V>();
    SoftMaxTiling tiling;
    tiling.srcM = p.rows;
    tiling.srcK = p.pitch;
    const SoftMaxShapeInfo shape = {p.rows, p.pitch, p.rows, p.columns};
    switch (p.op) {
        case 0: SoftMax<T, false, false, nz>(dst, s, m, a, tiling, shape); break;
        case 1:
            SoftmaxFlashV2<T, false, false, false, nz>(dst, s, m, a, f, s, m, tiling, shape);
            SoftmaxFlashV2<T, true, false, false, nz>(dst, s, m, b, f, s, m, tiling, shape);
            break;
        case 2:
            SoftMax<T, false, false, nz>(dst, s, m, a, tiling, shape);
            SimpleSoftMax<T, false, false, nz>(dst, s, m, a, tiling, shape);
            break;
        default:
            if constexpr (std::is_same<T, S>::value) {
                SoftmaxGradFront<T, false, nz>(s, a, b, tiling, shape);
                Duplicate(m, T(0), static_cast<int32_t>(blocks));
                PipeBarrier<PIPE_V>();
                const bool found =
                    AdjustSoftMaxRes<T, S, nz>(dst, m, 0u, T(3.0f), {p.rows, p.pitch, p.rows, p.columns});
                ascendc_assert(found);
            }
            break;
    }
    result.EnQue(dst);
    in.FreeTensor(a);
    in.FreeTensor(b);
    dst = result.template DeQue<T>();
    DataCopy(outGm, dst, count);
    const int32_t id = pipe.FetchEventID(HardEvent::V_MTE3);
    SetFlag<HardEvent::V_MTE3>(id);
    WaitFlag<HardEvent::V_MTE3>(id);
    DataCopy(statGm, m, blocks);
    DataCopy(statGm[blocks], s, blocks);
    result.FreeTensor(dst);
}

extern "C" __global__ __aicore__ __vector__ void softmax_calls(
    GM_ADDR x, GM_ADDR y, GM_ADDR out, GM_ADDR stats, Rows p, int32_t types)
{
    switch (types) {
        case 0: SoftmaxCalls<float, float, false>(x, y, out, stats, p); break;
        case 1: SoftmaxCalls<half, float, false>(x, y, out, stats, p); break;
        case 2: SoftmaxCalls<half, half, false>(x, y, out, stats, p); break;
        case 3: SoftmaxCalls<float, float, true>(x, y, out, stats, p); break;
        default: SoftmaxCalls<half, half, true>(x, y, out, stats, p); break;
    }
}

/*! Two phases in one pool, and whole-tensor operators: (x + y) * y, then where x < y the first, otherwise x / y. */
extern "C" __global__ __aicore__ __vector__ void pools(GM_ADDR x, GM_ADDR y, GM_ADDR out)
{
    constexpr uint32_t kCount = 256;
    GlobalTensor<float> xGm;
    GlobalTensor<float> yGm;
    GlobalTensor<float> outGm;
    xGm.SetGlobalBuffer((__gm__ float*)x, kCount);
    yGm.SetGlobalBuffer((__gm__ float*)y, kCount);
    outGm.SetGlobalBuffer((__gm__ float*)out, 2 * kCount);
    TPipe pipe;
    TBufPool<TPosition::VECCALC, 4> first;
    TBufPool<TPosition::VECCALC, 4> second;
    pipe.InitBufPool(first, 4 * kCount * sizeof(float));
    pipe.InitBufPool(second, 4 * kCount * sizeof(float), first);
    for (uint32_t phase = 0; phase < 2; ++phase) {
        TQue<TPosition::VECIN, 1> in;
        TQue<TPosition::VECOUT, 1> result;
        TBuf<TPosition::VECCALC> bits;
        TBufPool<TPosition::VECCALC, 4>& pool = phase == 0 ? first : second;
        pool.InitBuffer(in, 2, kCount * sizeof(float));
        pool.InitBuffer(result, 1, kCount * sizeof(float));
        pool.InitBuffer(bits, kCount / 8);
        LocalTensor<float> a = in.AllocTensor<float>();
        DataCopy(a, xGm, kCount);
        in.EnQue(a);
        LocalTensor<float> b = in.AllocTensor<float>();
        DataCopy(b, yGm, kCount);
        in.EnQue(b);
        a = in.DeQue<float>();
        b = in.DeQue<float>();
        LocalTensor<float> c = result.AllocTensor<float>();
        if (phase == 0) {
            c = a + b;
            PipeBarrier<PIPE_V>();
            c = c * b;
        } else {
            LocalTensor<uint8_t> mask = bits.Get<uint8_t>();
            c = a / b;
            mask = a < b;
            PipeBarrier<PIPE_V>();
            Select(c, mask, a, c, SELMODE::VSEL_TENSOR_TENSOR_MODE, kCount);
        }
        result.EnQue(c);
        in.FreeTensor(a);
        in.FreeTensor(b);
        c = result.DeQue<float>();
        DataCopy(outGm[phase * kCount], c, kCount);
        result.FreeTensor(c);
        pool.Reset();
        // The other pool has the same bytes.
        PipeBarrier<PIPE_ALL>();
    }
}

/*! Conversions in one pass, one after the other in `out`. */
extern "C" __global__ __aicore__ __vector__ void fused(GM_ADDR x, GM_ADDR y, GM_ADDR out)
{
    constexpr uint32_t kCount = 128;
    InitSocState();
    GlobalTensor<float> xGm;
    GlobalTensor<float> yGm;
    GlobalTensor<uint8_t> outGm;
    xGm.SetGlobalBuffer((__gm__ float*)x, kCount);
    yGm.SetGlobalBuffer((__gm__ float*)y, kCount);
    outGm.SetGlobalBuffer((__gm__ uint8_t*)out, 1024);
    LocalTensor<float> a(TPosition::VECCALC, 0, kCount);
    LocalTensor<float> b(TPosition::VECCALC, 512, kCount);
    LocalTensor<half> ah(TPosition::VECCALC, 1024, kCount);
    LocalTensor<half> bh(TPosition::VECCALC, 1536, kCount);
    LocalTensor<int16_t> as(TPosition::VECCALC, 2048, kCount);
    LocalTensor<int16_t> bs(TPosition::VECCALC, 2560, kCount);
    LocalTensor<int32_t> ai(TPosition::VECCALC, 3072, kCount);
    LocalTensor<int32_t> bi(TPosition::VECCALC, 3584, kCount);
    LocalTensor<uint8_t> all(TPosition::VECCALC, 4096, 1024);
    DataCopy(a, xGm, kCount);
    DataCopy(b, yGm, kCount);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    Duplicate(all.ReinterpretCast<uint16_t>(), static_cast<uint16_t>(0), 512);
    Cast(ah, a, RoundMode::CAST_RINT, kCount);
    Cast(bh, b, RoundMode::CAST_RINT, kCount);
    Cast(as, a, RoundMode::CAST_RINT, kCount);
    Cast(bs, b, RoundMode::CAST_RINT, kCount);
    Cast(ai, a, RoundMode::CAST_RINT, kCount);
    Cast(bi, b, RoundMode::CAST_RINT, kCount);
    SetDeqScale(half(0.5f));
    PipeBarrier<PIPE_V>();
    const BinaryRepeatParams narrow(1, 1, 1, 4, 8, 8);
    MulCast(all.ReinterpretCast<int8_t>(), ah, bh, kCount);
    MulCast(all[128], ah, bh, kCount);
    AddReluCast(all[256].ReinterpretCast<int8_t>(), as, bs, static_cast<uint64_t>(128), 1, narrow);
    SubReluCast(all[384].ReinterpretCast<int8_t>(), ah, bh, kCount);
    AddReluCast(all[512].ReinterpretCast<half>(), a, b, static_cast<uint64_t>(64), 2, narrow);
    AddDeqRelu(all[768].ReinterpretCast<half>(), ai, bi, kCount);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(outGm, all, 1024);
    PipeBarrier<PIPE_ALL>();
}

/*! 16 x 16 transposes of 8-bit and 32-bit elements; columns of 16 to rows; a stored sum. */
extern "C" __global__ __aicore__ __vector__ void shuffles(GM_ADDR x, GM_ADDR out)
{
    InitSocState();
    GlobalTensor<uint8_t> xGm;
    GlobalTensor<uint8_t> outGm;
    xGm.SetGlobalBuffer((__gm__ uint8_t*)x, 2048);
    outGm.SetGlobalBuffer((__gm__ uint8_t*)out, 4096);
    LocalTensor<uint8_t> in(TPosition::VECCALC, 0, 2048);
    LocalTensor<uint8_t> bytes(TPosition::VECCALC, 2048, 512);
    LocalTensor<uint8_t> words(TPosition::VECCALC, 4096, 1024);
    DataCopy(in, xGm, 2048);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    Duplicate(bytes.ReinterpretCast<uint16_t>(), static_cast<uint16_t>(0), 256);
    PipeBarrier<PIPE_V>();
    LocalTensor<uint8_t> from[16];
    LocalTensor<uint8_t> to[16];
    LocalTensor<float> wideFrom[16];
    LocalTensor<float> wideTo[16];
    for (int32_t i = 0; i < 16; ++i) {
        from[i] = in[i * 32];
        to[i] = bytes[i * 32];
        // 16 rows of 8: even places take the upper half of a column, odd ones the lower.
        wideFrom[i] = in[i * 32].ReinterpretCast<float>();
        wideTo[i] = words[i * 32].ReinterpretCast<float>();
    }
    TransDataTo5HD<uint8_t>(to, from, TransDataTo5HDParams(true, true, 1, 0, 0));
    TransDataTo5HD<float>(wideTo, wideFrom, TransDataTo5HDParams(false, false, 1, 0, 0));
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(outGm, bytes, 512);
    DataCopy(outGm[512], words, 512);
    // Two column groups of 16 rows become rows of 32.
    GlobalTensor<half> rows;
    rows.SetGlobalBuffer((__gm__ half*)out + 1024, 512);
    SetFlag<HardEvent::MTE2_MTE3>(0);
    WaitFlag<HardEvent::MTE2_MTE3>(0);
    DataCopy(rows, in.ReinterpretCast<half>(), Nz2NdParamsFull(1, 16, 32, 0, 16, 32, 0));
    GlobalTensor<float> sum;
    sum.SetGlobalBuffer((__gm__ float*)out + 768, 16);
    SetStoreAtomicConfig<AtomicDtype::ATOMIC_F32, AtomicOp::ATOMIC_SUM>();
    DataCopy(sum, in.ReinterpretCast<float>(), 16);
    SetAtomicNone();
    PipeBarrier<PIPE_ALL>();
}

/*! Byte masks, dropout by bits and by bytes. */
extern "C" __global__ __aicore__ __vector__ void filters(GM_ADDR x, GM_ADDR mask, GM_ADDR out, int32_t op)
{
    constexpr uint32_t kRows = 3;
    constexpr uint32_t kColumns = 160;
    constexpr uint32_t kPitch = 192;
    constexpr uint32_t kCount = kRows * kColumns;
    GlobalTensor<float> xGm;
    GlobalTensor<uint8_t> maskGm;
    GlobalTensor<float> outGm;
    xGm.SetGlobalBuffer((__gm__ float*)x, kCount);
    maskGm.SetGlobalBuffer((__gm__ uint8_t*)mask, kRows * kPitch);
    outGm.SetGlobalBuffer((__gm__ float*)out, kCount);
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECIN, 1> inMask;
    TQue<TPosition::VECOUT, 1> result;
    pipe.InitBuffer(in, 1, kCount * sizeof(float));
    pipe.InitBuffer(inMask, 1, kRows * kPitch);
    pipe.InitBuffer(result, 1, kCount * sizeof(float));
    TBuf<TPosition::VECCALC> work;
    pipe.InitBuffer(work, 2048);
    LocalTensor<float> a = in.AllocTensor<float>();
    LocalTensor<uint8_t> m = inMask.AllocTensor<uint8_t>();
    DataCopy(a, xGm, kCount);
    DataCopy(m, maskGm, kRows * kPitch);
    in.EnQue(a);
    inMask.EnQue(m);
    a = in.DeQue<float>();
    m = inMask.DeQue<uint8_t>();
    LocalTensor<float> c = result.AllocTensor<float>();
    LocalTensor<uint8_t> tmp = work.Get<uint8_t>();
    SelectWithBytesMaskShapeInfo select;
    select.firstAxis = kRows;
    select.srcLastAxis = kColumns;
    select.maskLastAxis = kPitch;
    DropOutShapeInfo drop;
    drop.firstAxis = kRows;
    drop.srcLastAxis = kColumns;
    switch (op) {
        case 0: Select(c, a, -5.0f, m, tmp, select); break;
        case 1: Select(c, -5.0f, a, m, tmp, select); break;
        case 2: drop.maskLastAxis = kColumns / 8; DropOut<float, true, 3>(c, a, m, tmp, 0.5f, drop); break;
        case 3: drop.maskLastAxis = kPitch / 8; DropOut<float, true, 4>(c, a, m, tmp, 0.5f, drop); break;
        default: drop.maskLastAxis = kPitch; DropOut<float>(c, a, m, 0.5f, drop); break;
    }
    result.EnQue(c);
    in.FreeTensor(a);
    inMask.FreeTensor(m);
    c = result.DeQue<float>();
    DataCopy(outGm, c, kCount);
    result.FreeTensor(c);
}

/*! Core 0 passes a value to core 1 and on, each adding one; then all add their share in the order of the blocks. */
extern "C" __global__ __aicore__ __vector__ void in_order(GM_ADDR words, GM_ADDR turns, GM_ADDR x, GM_ADDR sum)
{
    const int32_t block = static_cast<int32_t>(GetBlockIdx());
    const int32_t blocks = static_cast<int32_t>(GetBlockNum());
    GlobalTensor<int32_t> wordGm;
    GlobalTensor<int32_t> turnGm;
    GlobalTensor<float> xGm;
    GlobalTensor<float> sumGm;
    wordGm.SetGlobalBuffer((__gm__ int32_t*)words, blocks * 16);
    turnGm.SetGlobalBuffer((__gm__ int32_t*)turns, blocks * 8);
    xGm.SetGlobalBuffer((__gm__ float*)x + block * 64, 64);
    sumGm.SetGlobalBuffer((__gm__ float*)sum, 128);
    TPipe pipe;
    TBuf<TPosition::VECCALC> ubBuffer;
    TBuf<TPosition::VECCALC> dataBuffer;
    pipe.InitBuffer(ubBuffer, blocks * 32 + 32);
    pipe.InitBuffer(dataBuffer, 512);
    LocalTensor<int32_t> ub = ubBuffer.Get<int32_t>();
    LocalTensor<float> data = dataBuffer.Get<float>();
    if (block > 0) {
        IBWait(wordGm, ub, block - 1, 0);
        DataCopy(data, sumGm, 64);
        SetFlag<HardEvent::MTE2_V>(0);
        WaitFlag<HardEvent::MTE2_V>(0);
        Adds(data, data, 1.0f, 64);
    } else {
        Duplicate(data, 1.0f, 64);
    }
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(sumGm, data, 64);
    if (block + 1 < blocks) {
        IBSet(wordGm, ub, block, 0);
    }
    SetFlag<HardEvent::MTE3_MTE2>(0);
    WaitFlag<HardEvent::MTE3_MTE2>(0);
    DataCopy(data[64], xGm, 64);
    InitDetermineComputeWorkspace(turnGm, ub);
    SetFlag<HardEvent::MTE2_MTE3>(0);
    WaitFlag<HardEvent::MTE2_MTE3>(0);
    WaitPreBlock(turnGm, ub);
    SetAtomicAdd<float>();
    DataCopy(sumGm[64], data[64], 64);
    SetAtomicNone();
    NotifyNextBlock(turnGm, ub);
}

struct Filter {
    uint16_t height;
    uint16_t width;
    uint16_t outputs;
    uint16_t depth;
    uint16_t columns;
};

/*! Convolution of 16 channels: image in NC1HWC0, weights [columns, depth] row by row. */
extern "C" __global__ __aicore__ __cube__ void convolution(GM_ADDR image, GM_ADDR weights, GM_ADDR out, Filter f)
{
    GlobalTensor<half> imageGm;
    GlobalTensor<half> weightGm;
    GlobalTensor<float> outGm;
    imageGm.SetGlobalBuffer((__gm__ half*)image);
    weightGm.SetGlobalBuffer((__gm__ half*)weights);
    outGm.SetGlobalBuffer((__gm__ float*)out);
    const uint32_t pixels = f.height * f.width;
    LocalTensor<half> imageL1(TPosition::A1, 0, 8192);
    LocalTensor<half> weightL1(TPosition::B1, 16384, 16384);
    LocalTensor<half> a(TPosition::A2, 0, 32768);
    LocalTensor<half> b(TPosition::B2, 0, 32768);
    LocalTensor<float> c(TPosition::CO1, 0, 8192);
    DataCopy(imageL1, imageGm, pixels * 16);
    DataCopy(weightL1, weightGm, Nd2NzParams(1, f.columns, f.depth, 0, f.depth, f.columns, 1, 0));
    SetFlag<HardEvent::MTE2_MTE1>(0);
    WaitFlag<HardEvent::MTE2_MTE1>(0);
    const uint8_t pad[4] = {1, 0, 1, 1};
    const uint16_t outputsUp = (f.outputs + 15) / 16 * 16;
    SetFmatrix(f.height, f.width, pad, FmatrixMode::FMATRIX_LEFT);
    SetLoadDataPaddingValue(half(0.5f));
    static constexpr IsResetLoad3dConfig kKeep = {false, false};
    LoadData3DParamsV2<half> load;
    load.channelSize = 16;
    load.kExtension = f.depth;
    load.mExtension = outputsUp;
    load.filterW = 3;
    load.filterH = 2;
    load.strideW = 2;
    LoadData<half, kKeep>(a, imageL1, load);
    LoadData2DParams plain;
    plain.repeatTimes = f.depth / 16 * (f.columns / 16);
    plain.srcStride = 1;
    LoadData(b, weightL1, plain);
    SetFlag<HardEvent::MTE1_M>(0);
    WaitFlag<HardEvent::MTE1_M>(0);
    Mmad(c, a, b, MmadParams(f.outputs, f.columns, f.depth, 0, false, true));
    SetFlag<HardEvent::M_FIX>(0);
    WaitFlag<HardEvent::M_FIX>(0);
    Fixpipe(outGm, c, FixpipeParamsV220(f.columns, f.outputs, outputsUp, f.columns, false));
    PipeBarrier<PIPE_ALL>();
}

/*! A 32 x 32 product of bytes whose right operand is stored with K along its rows. */
extern "C" __global__ __aicore__ __cube__ void bytes_transposed(GM_ADDR a, GM_ADDR b, GM_ADDR c)
{
    GlobalTensor<int8_t> aGm;
    GlobalTensor<int8_t> bGm;
    GlobalTensor<int32_t> cGm;
    aGm.SetGlobalBuffer((__gm__ int8_t*)a, 1024);
    bGm.SetGlobalBuffer((__gm__ int8_t*)b, 1024);
    cGm.SetGlobalBuffer((__gm__ int32_t*)c, 1024);
    LocalTensor<int8_t> aL1(TPosition::A1, 0, 1024);
    LocalTensor<int8_t> bL1(TPosition::B1, 1024, 1024);
    LocalTensor<int8_t> a2(TPosition::A2, 0, 1024);
    LocalTensor<int8_t> b2(TPosition::B2, 0, 1024);
    LocalTensor<int32_t> c1(TPosition::CO1, 0, 1024);
    DataCopy(aL1, aGm, Nd2NzParams(1, 32, 32, 0, 32, 32, 1, 0));
    DataCopy(bL1, bGm, Nd2NzParams(1, 32, 32, 0, 32, 32, 1, 0));
    SetFlag<HardEvent::MTE2_MTE1>(0);
    WaitFlag<HardEvent::MTE2_MTE1>(0);
    LoadData(a2, aL1, LoadData2DParams(0, 2, 1, 0, 0, false, 0));
    LoadDataWithTranspose(b2, bL1, LoadData2dTransposeParams(0, 1, 1, 0, 0));
    SetFlag<HardEvent::MTE1_M>(0);
    WaitFlag<HardEvent::MTE1_M>(0);
    Mmad(c1, a2, b2, MmadParams(32, 32, 32, 0, false, true));
    SetFlag<HardEvent::M_FIX>(0);
    WaitFlag<HardEvent::M_FIX>(0);
    Fixpipe(cGm, c1, FixpipeParamsV220(32, 32, 32, 32, false));
    PipeBarrier<PIPE_ALL>();
}

/*! A 32 x 32 product of bytes, or a 16 x 16 product of halves, on every way out that converts. */
extern "C" __global__ __aicore__ __cube__ void ways_out(
    GM_ADDR a, GM_ADDR b, GM_ADDR scales, GM_ADDR out, int32_t way, uint64_t scale)
{
    GlobalTensor<int8_t> aGm;
    GlobalTensor<int8_t> bGm;
    GlobalTensor<uint64_t> scaleGm;
    aGm.SetGlobalBuffer((__gm__ int8_t*)a, 1024);
    bGm.SetGlobalBuffer((__gm__ int8_t*)b, 1024);
    scaleGm.SetGlobalBuffer((__gm__ uint64_t*)scales, 32);
    GlobalTensor<half> asHalf;
    GlobalTensor<int8_t> asInt8;
    GlobalTensor<uint8_t> asUint8;
    GlobalTensor<float> asFloat;
    asHalf.SetGlobalBuffer((__gm__ half*)out);
    asInt8.SetGlobalBuffer((__gm__ int8_t*)out);
    asUint8.SetGlobalBuffer((__gm__ uint8_t*)out);
    asFloat.SetGlobalBuffer((__gm__ float*)out);
    LocalTensor<int8_t> aL1(TPosition::A1, 0, 1024);
    LocalTensor<int8_t> bL1(TPosition::B1, 1024, 1024);
    LocalTensor<uint64_t> scaleL1(TPosition::A1, 2048, 32);
    LocalTensor<int8_t> a2(TPosition::A2, 0, 2048);
    LocalTensor<int8_t> b2(TPosition::B2, 0, 1024);
    LocalTensor<int32_t> c1(TPosition::CO1, 0, 1024);
    LocalTensor<float> f1(TPosition::CO1, 4096, 256);
    LocalTensor<float> bias(TPosition::C2, 0, 16);
    DataCopy(scaleL1, scaleGm, 32);
    const bool whole = way < 4;
    if (whole) {
        DataCopy(aL1, aGm, Nd2NzParams(1, 32, 32, 0, 32, 32, 1, 0));
        DataCopy(bL1, bGm, Nd2NzParams(1, 32, 32, 0, 32, 32, 1, 0));
    } else {
        DataCopy(aL1, aGm, 512);
        DataCopy(bL1, bGm, 512);
    }
    SetFlag<HardEvent::MTE2_MTE1>(0);
    WaitFlag<HardEvent::MTE2_MTE1>(0);
    // The two fractals of A with one of room between them, which the second load closes.
    LoadData(a2, aL1, LoadData2DParams(0, whole ? 2 : 1, 1, 0, 1, false, 0));
    if (whole) {
        LoadData(a2[512], aL1, LoadData2DParams(1, 1, 1, 0, 0, false, 0));
    }
    LoadData(b2, bL1, LoadData2DParams(0, whole ? 2 : 1, 1, 0, 0, false, 0));
    DataCopy(bias, scaleL1.ReinterpretCast<float>(), DataCopyParams(1, 1, 0, 0));
    SetFlag<HardEvent::MTE1_M>(0);
    WaitFlag<HardEvent::MTE1_M>(0);
    if (whole) {
        Mmad(c1, a2, b2, MmadParams(32, 32, 32, 0, false, true));
    } else {
        // The accumulator may start from the bias table without a tensor: from its first byte.
        const bool biased = way == 7;
        Mmad(f1, a2.ReinterpretCast<half>(), b2.ReinterpretCast<half>(), MmadParams(16, 16, 16, 0, biased, !biased));
    }
    SetFlag<HardEvent::M_FIX>(0);
    WaitFlag<HardEvent::M_FIX>(0);
    SetFlag<HardEvent::MTE2_FIX>(0);
    WaitFlag<HardEvent::MTE2_FIX>(0);
    FixpipeParamsV220 fix(32, 32, 32, 32, false);
    FixpipeParamsV220 small(16, 16, 16, 16, false);
    fix.deqScalar = scale;
    small.deqScalar = scale;
    switch (way) {
        case 0: fix.quantPre = QuantMode_t::DEQF16; Fixpipe(asHalf, c1, fix); break;
        case 1: fix.quantPre = QuantMode_t::VDEQF16; Fixpipe(asHalf, c1, scaleL1, fix); break;
        case 2: fix.quantPre = QuantMode_t::REQ8; Fixpipe(asInt8, c1, fix); break;
        case 3: fix.quantPre = QuantMode_t::VREQ8; Fixpipe(asUint8, c1, scaleL1, fix); break;
        case 4: small.quantPre = QuantMode_t::QF322B8_PRE; Fixpipe(asInt8, f1, small); break;
        case 5: small.quantPre = QuantMode_t::VQF322B8_PRE; Fixpipe(asUint8, f1, scaleL1, small); break;
        case 6:
            small.isChannelSplit = true;
            small.dstStride = 16;
            Fixpipe<float, float, CFG_NZ>(asFloat, f1, small);
            break;
        default: Fixpipe(asFloat, f1, small); break;
    }
    PipeBarrier<PIPE_ALL>();
}
