// One mistake per case; each line that makes it carries a marker.
#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t kUbBytes = 192 * 1024;

extern "C" __global__ __aicore__ void refuse_vector(GM_ADDR gm, int32_t which)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    InitSocState();
    GlobalTensor<float> g;
    g.SetGlobalBuffer((__gm__ float*)gm, 1024);
    LocalTensor<float> a(TPosition::VECCALC, 0, 16384);
    LocalTensor<float> b(TPosition::VECCALC, 65536, 16384);
    LocalTensor<half> h(TPosition::VECCALC, 65536, 16384);
    LocalTensor<int32_t> n(TPosition::VECCALC, 0, 16384);
    LocalTensor<uint8_t> bits(TPosition::VECCALC, 131072, 4096);
    LocalTensor<uint32_t> offsets(TPosition::VECCALC, 140000 / 32 * 32, 64);
    LocalTensor<half> l1(TPosition::A1, 0, 256);
    uint64_t none[2] = {0, 0};
    uint64_t high[2] = {1, 1};
    Duplicate(a, 1.0f, 16384);
    Duplicate(b, 1.0f, 16384);
    const BinaryRepeatParams flat;
    const UnaryRepeatParams line;
    switch (which) {
        case 0: DataCopy(a, g[1024], 64); break; // gm-past-end
        case 1: DataCopy(a, g[1020], 64); break; // gm-straddles
        case 2: Adds(LocalTensor<float>(TPosition::VECCALC, kUbBytes - 128, 64), a, 1.0f, 64); break; // ub-past-end
        case 3: Add(a[4], b, b, 64); break; // misaligned-dst
        case 4: DataCopy(a[1], g, 64); break; // misaligned-copy
        case 5: DataCopy(a, g, 5); break; // copy-length
        case 6: Add(a, b, b, static_cast<uint64_t>(65), 1, flat); break; // mask-too-wide
        case 7: Add(a, b, b, none, 1, flat); break; // mask-empty
        case 8: Add(a, b, b, high, 1, flat); break; // mask-high-word
        case 9: Adds(LocalTensor<float>(TPosition::VECCALC, 0, 32), b, 1.0f, 64); break; // beyond-extent
        case 10: Adds(a[8], a, 1.0f, 256); break; // overlap-shifted
        case 11: Cast(h.ReinterpretCast<float>(), h, RoundMode::CAST_NONE, 1024); break; // overlap-widening
        case 12: Cast(h, a, static_cast<RoundMode>(9), 64); break; // cast-mode
        case 13: Cast(b.ReinterpretCast<bfloat16_t>(), a, RoundMode::CAST_NONE, 64); break; // cast-bf16-none
        case 14: Compare(bits, n, n, CMPMODE::LT, 64); break; // compare-int-less
        case 15: Compare(bits, a, b, CMPMODE::LT, 65); break; // compare-count
        case 16: WholeReduceSum(a, b, 64, 256, 1, 1, 8); break; // reduce-repeat
        case 17: BlockReduceSum(a[1], b, 1, 64, 1, 1, 8); break; // reduce-align
        case 18: SetFlag<HardEvent::MTE2_V>(8); break; // event-too-high
        case 19: SetFlag<HardEvent::MTE2_V>(1); SetFlag<HardEvent::MTE2_V>(1); break; // set-twice
        case 20: SetFlag<HardEvent::MTE2_V>(2); break; // left-over
        case 21: WaitFlag<HardEvent::MTE2_V>(3); Adds(a, b, 1.0f, 64); break; // never-set
        case 22: WaitFlag<HardEvent::V_S>(3); break; // scalar-stuck
        case 23: Gather(a, b, offsets, 0, 64); break; // garbage-offset
        case 24: {
            LocalTensor<float> fresh(TPosition::VECCALC, 163840, 8);
            a.SetValue(0, fresh.GetValue(0)); // garbage-scalar
            break;
        }
        case 25: {
            LocalTensor<float> fresh(TPosition::VECCALC, 163840, 256);
            Adds(a, fresh, 1.0f, 256);
            SetFlag<HardEvent::V_MTE3>(0);
            WaitFlag<HardEvent::V_MTE3>(0);
            DataCopy(g, a, 256); // garbage-stored
            break;
        }
        case 26: Select(a, bits, a, b, SELMODE::VSEL_TENSOR_SCALAR_MODE, 64); break; // select-mode
        case 27: {
            LocalTensor<float> tail(TPosition::VECCALC, kUbBytes - 4096, 64);
            Duplicate(tail, 0.0f, 64);
            Duplicate(bits.ReinterpretCast<uint16_t>(), static_cast<uint16_t>(0), 64);
            Select(a, bits, a, 2.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 64); // select-reserved
            break;
        }
        case 28: DataCopyPad(a, g, DataCopyExtParams(4096, 32, 0, 0, 0), DataCopyPadExtParams<float>()); break; // pad-blocks
        case 29: DataCopyPad(a, g, DataCopyExtParams(1, 30, 0, 0, 0), DataCopyPadExtParams<float>()); break; // pad-length
        case 30: DataCopyPad(a, g, DataCopyExtParams(1, 32, 0, 0, 0), DataCopyPadExtParams<float>(true, 9, 0, 0.0f)); break; // pad-left
        case 31: DataCopyPad(a, g, DataCopyExtParams(1, 2097152, 0, 0, 0), DataCopyPadExtParams<float>()); break; // pad-huge
        case 32: CrossCoreSetFlag<2, PIPE_MTE3>(0); break; // cross-in-aiv-only
        case 33: Trap(); break; // trap
        case 34: Add(LocalTensor<float>(TPosition::A1, 0, 64), a, b, 64); break; // wrong-memory
        case 35: SetAtomicAdd<half>(); DataCopy(g, a, 64); SetAtomicNone(); break; // atomic-type
        case 36: SetFlag<HardEvent::MTE2_V>(6); WaitFlag<HardEvent::MTE2_V>(6); break; // event-reserved
        case 37: Brcb(a, b[4], 1, BrcbRepeatParams(1, 8)); break; // brcb-align
        case 38: GatherMask(a, b, 9, false, 0, {1, 1, 8, 8}, none[0]); break; // pattern
        case 39: Cast(h, n, RoundMode::CAST_NONE, 64); break; // deq-scale
        case 40: ascendc_assert(which == 0); break; // assertion
        case 41: DataCopy(a, g, DataCopyParams(4096, 1, 0, 0)); break; // copy-blocks
        case 42: SyncAll(); break; // sync-all-type
        case 43: DataCopy(l1, h, 64); break; // ub-to-l1
        case 44: SoftMax<float>(a, a, a, b, SoftMaxTiling()); break; // no-pipe
        default: break;
    }
    if (which < 0) {
        DataCopyPad(l1.ReinterpretCast<float>(), g, DataCopyExtParams(1, 32, 0, 0, 0), DataCopyPadExtParams<float>());
        (void)line;
    }
    PipeBarrier<PIPE_ALL>();
}

extern "C" __global__ __aicore__ void refuse_cube(GM_ADDR gm, int32_t which)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    GlobalTensor<half> g;
    GlobalTensor<float> out;
    g.SetGlobalBuffer((__gm__ half*)gm, 2048);
    out.SetGlobalBuffer((__gm__ float*)gm, 1024);
    LocalTensor<half> l1(TPosition::A1, 0, 4096);
    LocalTensor<half> a(TPosition::A2, 0, 4096);
    LocalTensor<half> b(TPosition::B2, 0, 4096);
    LocalTensor<float> c(TPosition::CO1, 0, 4096);
    Nd2NzParams nd(1, 16, 16, 0, 16, 16, 1, 0);
    LoadData2DParams load(0, 1, 1, 0, 0, false, 0);
    FixpipeParamsV220 fix(16, 16, 16, 16, false);
    DataCopy(l1, g, nd);
    SetFlag<HardEvent::MTE2_MTE1>(0);
    WaitFlag<HardEvent::MTE2_MTE1>(0);
    LoadData(a, l1, load);
    LoadData(b, l1, load);
    SetFlag<HardEvent::MTE1_M>(0);
    WaitFlag<HardEvent::MTE1_M>(0);
    Mmad(c, a, b, MmadParams(16, 16, 16, 0, false, true));
    switch (which) {
        case 0: nd.srcDValue = 0; DataCopy(l1, g, nd); break; // nd-pitch
        case 1: nd.dstNzC0Stride = 16385; DataCopy(l1, g, nd); break; // nd-stride
        case 2: nd.nValue = 16385; DataCopy(l1, g, nd); break; // nd-rows
        case 3: nd.nValue = 200; DataCopy(l1, g, nd); break; // nd-past-end
        case 4: LoadData(a[8], l1, load); break; // load-align
        case 5: load.repeatTimes = 20; LoadData(a, l1, load); break; // load-span
        case 6: load.sid = 1; LoadData(a, l1, load); break; // load-sid
        case 7: {
            load.ifTranspose = true;
            LoadData(a.ReinterpretCast<float>(), l1.ReinterpretCast<float>(), load); // load-transpose
            break;
        }
        case 8: Mmad(c, a, b, MmadParams(4096, 16, 16, 0, false, true)); break; // mmad-range
        case 9: Mmad(c[16], a, b, MmadParams(16, 16, 16, 0, false, true)); break; // mmad-dst
        case 10: Mmad(c, a[16], b, MmadParams(16, 16, 16, 0, false, true)); break; // mmad-align
        case 11: Mmad(c, b, a, MmadParams(16, 16, 16, 0, false, true)); break; // mmad-position
        case 12: Mmad(c, a, b, MmadParams(16, 16, 16, 1, false, true)); break; // mmad-unit-flag
        case 13: fix.nSize = 4096; Fixpipe(out, c, fix); break; // fix-n
        case 14: fix.mSize = 8193; Fixpipe(out, c, fix); break; // fix-m
        case 15: fix.dstStride = 0; Fixpipe(out, c, fix); break; // fix-stride
        case 16: Fixpipe(g, c, fix); break; // fix-quant
        case 17: fix.nSize = 8; Fixpipe<float, float, CFG_NZ>(out, c, fix); break; // fix-nz
        case 18: fix.dstStride = 1000; Fixpipe(out, c, fix); break; // fix-past-end
        case 19: fix.ndNum = 2; fix.srcNdStride = 513; fix.dstNdStride = 1; Fixpipe(out, c, fix); break; // fix-nd
        case 20: {
            LocalTensor<int32_t> ci(TPosition::CO1, 0, 4096);
            fix.quantPre = QuantMode_t::DEQF16;
            Fixpipe(g, ci, fix); // fix-deq
            break;
        }
        case 21: Mmad(c, a, b, MmadParams(100, 100, 16, 0, false, true)); break; // mmad-extent
        case 23: Mmad(c, a, b[16], MmadParams(16, 16, 16, 0, false, true)); break; // mmad-b-align
        case 24: DataCopy(LocalTensor<half>(TPosition::A1, 524224, 64), g, 64); break; // l1-past-end
        case 25: LoadData(LocalTensor<half>(TPosition::A2, 65024, 512), l1, LoadData2DParams(0, 2, 1, 0, 0, false, 0)); break; // l0a-past-end
        case 26: LoadData(LocalTensor<half>(TPosition::B2, 65024, 512), l1, LoadData2DParams(0, 2, 1, 0, 0, false, 0)); break; // l0b-past-end
        case 27: Mmad(LocalTensor<float>(TPosition::CO1, 130048, 512), a, b, MmadParams(32, 16, 16, 0, false, true)); break; // l0c-past-end
        case 22:
            Mmad(c[1024], a, b, MmadParams(16, 16, 16, 0, false, false)); // garbage-accumulated
            SetFlag<HardEvent::M_FIX>(0);
            WaitFlag<HardEvent::M_FIX>(0);
            Fixpipe(out, c[1024], fix);
            break;
        default: break;
    }
    PipeBarrier<PIPE_ALL>();
}

extern "C" __global__ __aicore__ void refuse_mix(uint64_t sync, int32_t which)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    SetSyncBaseAddr(sync); // sync-base
    if ASCEND_IS_AIC {
        switch (which) {
            case 0: CrossCoreWaitFlag(3); break; // wait-forever
            case 1: CrossCoreWaitFlag(4); break; // half-set
            case 2: CrossCoreSetFlag<2, PIPE_FIX>(5); break; // nobody-waits
            case 3:
                for (int32_t i = 0; i < 16; ++i) {
                    CrossCoreSetFlag<2, PIPE_FIX>(6); // sixteenth
                }
                break;
            case 4: CrossCoreSetFlag<2, PIPE_FIX>(16); break; // no-such-flag
            case 5: SyncAll<false>(); break;
            case 6: CrossCoreSetFlag<2, PIPE_FIX>(11); break; // flag-reserved
            default: break;
        }
    }
    if ASCEND_IS_AIV {
        if (which == 1 && GetSubBlockIdx() == 0) {
            CrossCoreSetFlag<2, PIPE_MTE3>(4);
        }
        if (which == 6) {
            CrossCoreWaitFlag(11);
        }
        if (which == 5 && GetSubBlockIdx() == 0) {
            SyncAll<false>(); // one-is-missing
        }
    }
}

/*! Mistakes of the framework, of library calls and of rarer fields. */
extern "C" __global__ __aicore__ void refuse_more(GM_ADDR gm, int32_t which)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GlobalTensor<float> g;
    GlobalTensor<int32_t> gi;
    g.SetGlobalBuffer((__gm__ float*)gm, 1024);
    gi.SetGlobalBuffer((__gm__ int32_t*)gm, 1024);
    TPipe pipe;
    TBuf<TPosition::VECCALC> room;
    TBuf<TPosition::VECCALC> more;
    pipe.InitBuffer(room, 65536);
    pipe.InitBuffer(more, 32768);
    LocalTensor<float> a = room.Get<float>();
    LocalTensor<float> b = more.Get<float>();
    LocalTensor<uint32_t> index = more.GetWithOffset<uint32_t>(1024, 16384);
    LocalTensor<uint8_t> tmp = more.GetWithOffset<uint8_t>(2048, 24576);
    LocalTensor<half> h = more.GetWithOffset<half>(1024, 28672);
    Duplicate(a, 1.0f, 16384);
    Duplicate(b, 1.0f, 8192);
    PipeBarrier<PIPE_V>();
    const uint16_t lengths[4] = {32, 32, 32, 32};
    MrgSort4Info info(lengths, false, 15, 1);
    MrgSortSrcList<float> lists(b, b[64], b[128], b[192]);
    DropOutShapeInfo drop;
    drop.firstAxis = 1;
    drop.srcLastAxis = 64;
    drop.maskLastAxis = 64;
    SelectWithBytesMaskShapeInfo select;
    select.firstAxis = 1;
    select.srcLastAxis = 64;
    select.maskLastAxis = 40;
    SoftMaxTiling tiling;
    tiling.srcM = 8;
    tiling.srcK = 64;
    LocalTensor<uint8_t> lists8[16];
    for (int32_t i = 0; i < 16; ++i) {
        lists8[i] = tmp[i * 32];
    }
    TQue<TPosition::VECIN, 1> que;
    TBufPool<TPosition::VECCALC, 2> pool;
    TBuf<TPosition::VECCALC> small;
    switch (which) {
        case 0: pipe.InitBuffer(que, 17, 32); break; // buffers-17
        case 1: pipe.InitBuffer(que, 1, 32); que.DeQue<float>(); break; // deque-empty
        case 2: pipe.InitBuffer(que, 1, 32); que.AllocTensor<float>(); que.AllocTensor<float>(); break; // alloc-twice
        case 3: pipe.InitBuffer(que, 1, 32); que.EnQue(a); break; // not-mine
        case 4: pipe.InitBuffer(small, 131072); break; // ub-budget
        case 5:
            for (int32_t i = 0; i < 9; ++i) {
                pipe.AllocEventID<HardEvent::MTE2_V>(); // nine-ids
            }
            break;
        case 6: pipe.InitBufPool(pool, 64); pool.InitBuffer(small, 96); break; // pool-budget
        case 8: pipe.InitBufPool(pool, 256); pool.InitBuffer(que, 3, 32); break; // pool-count
        case 9: GetUserWorkspace(gm); break; // no-workspace
        case 10: Sort32(a, b, index, 256); break; // sort-repeat
        case 11: Sort32(a[8], b, index, 1); break; // sort-dst
        case 12: Sort32(a, b[8], index, 1); break; // sort-scores
        case 13: Sort32(b, b, index, 1); break; // sort-in-place
        case 14: info.validBit = 5; MrgSort(a, lists, info); break; // merge-valid
        case 15: info.elementLengths[1] = 4096; MrgSort(a, lists, info); break; // merge-length
        case 16: info.repeatTimes = 2; info.elementLengths[3] = 16; MrgSort(a, lists, info); break; // merge-repeat
        case 17: MrgSort(a, {b[1], b, b, b}, info); break; // merge-align
        case 18: DropOut<float, false, 2>(a, b, tmp, tmp, 1.0f, drop); break; // keep-all
        case 19: Select(a, b, 0.0f, tmp, tmp, select); break; // byte-pitch
        case 20: SoftMax<float>(a, a, a, b, tmp[2000], tiling); break; // softmax-room
        case 21: IBWait(gi, index.ReinterpretCast<int32_t>(), -1, 0); break; // word-before
        case 22: IBSet(gi, index.ReinterpretCast<int32_t>(), 200, 0); break; // word-past-end
        case 23: {
            LocalTensor<int32_t> ub = index.ReinterpretCast<int32_t>();
            WaitPreBlock(gi, ub); // no-turns
            break;
        }
        case 24: {
            LocalTensor<int32_t> ub = index.ReinterpretCast<int32_t>();
            InitDetermineComputeWorkspace(gi, ub);
            NotifyNextBlock(gi, ub);
            NotifyNextBlock(gi, ub);
            WaitPreBlock(gi, ub);
            break;
        }
        case 25: IBWait(gi, index.ReinterpretCast<int32_t>(), 100, 0); break; // word-never-up
        case 26: IBSet(gi[512], index.ReinterpretCast<int32_t>(), 0, 0); break; // word-left-up
        case 27: AddDeqRelu(h, index.ReinterpretCast<int32_t>(), index.ReinterpretCast<int32_t>(), 64); break; // deq-relu
        case 28: TransDataTo5HD<uint8_t>(lists8, lists8, TransDataTo5HDParams(false, false, 1, 1, 1)); break; // five-strides
        case 29: {
            LocalTensor<uint8_t> high(TPosition::VECCALC, 1024, 64);
            lists8[15] = high[16];
            TransDataTo5HD<uint8_t>(lists8, lists8, TransDataTo5HDParams(false, false, 1, 0, 0)); // five-align
            break;
        }
        case 30: DataCopy(g, a, Nz2NdParamsFull(1, 16, 24, 1, 16, 32, 1)); break; // nz-columns
        case 31: Add(a, b, b, static_cast<uint64_t>(64), 255, BinaryRepeatParams(1, 1, 1, 8, 8, 255)); break; // far-repeat
        case 32: ReduceSum(a[0], b, b[4], 64); break; // reduce-tmp
        case 33: Compare(tmp[8], a, b, CMPMODE::LT, 64); break; // compare-dst
        case 34: Compare(tmp, a, b, static_cast<CMPMODE>(6), 64); break; // compare-mode
        case 36: PairReduceSum(a[4], b, 1, 64, 1, 1, 8); break; // pair-align
        case 37: Duplicate(a, 1.0f, static_cast<uint64_t>(0), 1, 1, 8); break; // fill-mask
        case 38: Adds(a, b, 1.0f, -1); break; // count-negative
        case 39: {
            GlobalTensor<int64_t> wide;
            wide.SetGlobalBuffer((__gm__ int64_t*)gm, 512);
            const DataCopyPadExtParams<int64_t> five(true, 0, 1, 5);
            DataCopyPad(a.ReinterpretCast<int64_t>(), wide, DataCopyExtParams(1, 8, 0, 0, 0), five); // pad-wide
            break;
        }
        case 40: WholeReduceMax(a, b, 64, 1, 1, 1, 8, static_cast<ReduceOrder>(4)); break; // reduce-order
        case 41: CrossCoreWaitFlag(1); break; // cross-wait-aiv-only
        case 43: Select(a, tmp[8], a, 2.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 64); break; // select-mask
        case 44: g.SetValue(2000, 1.0f); break; // scalar-past-end
        case 45: Brcb(a, b, 1, BrcbRepeatParams(4000, 8)); break; // brcb-far
        case 46: Transpose(h[8], h); break; // transpose-align
        case 47: a.SetValue(0, b.ReinterpretCast<float>()[16384].GetValue(60000)); break; // scalar-ub-past-end
        default: break;
    }
    PipeBarrier<PIPE_ALL>();
}

extern "C" __global__ __aicore__ void refuse_loads(GM_ADDR gm, int32_t which)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    GlobalTensor<half> g;
    GlobalTensor<float> out;
    GlobalTensor<int8_t> bytes;
    g.SetGlobalBuffer((__gm__ half*)gm, 2048);
    out.SetGlobalBuffer((__gm__ float*)gm, 1024);
    bytes.SetGlobalBuffer((__gm__ int8_t*)gm, 4096);
    LocalTensor<half> l1(TPosition::A1, 0, 4096);
    LocalTensor<half> a(TPosition::A2, 0, 4096);
    LocalTensor<half> b(TPosition::B2, 0, 4096);
    LocalTensor<float> c(TPosition::CO1, 0, 4096);
    LocalTensor<float> bt(TPosition::C2, 0, 64);
    LocalTensor<uint64_t> scales(TPosition::A1, 65536, 64);
    LoadData3DParamsV2<half> load;
    load.l1H = 1;
    load.l1W = 32;
    load.channelSize = 32;
    load.kExtension = 32;
    load.mExtension = 32;
    FixpipeParamsV220 fix(16, 16, 16, 16, false);
    Nd2NzParams nd(1, 16, 16, 0, 16, 16, 1, 0);
    LoadData2dTransposeParams square(0, 1, 1, 0, 0);
    DataCopy(l1, g, nd);
    InitConstValue(l1[256], InitConstValueParams<half>(1, 100, 0, half(0)));
    SetFlag<HardEvent::MTE2_MTE1>(0);
    WaitFlag<HardEvent::MTE2_MTE1>(0);
    switch (which) {
        case 0: load.strideW = 0; LoadData(a, l1, load); break; // conv-stride
        case 1: load.strideH = 64; LoadData(a, l1, load); break; // conv-stride-high
        case 2: load.filterW = 0; LoadData(a, l1, load); break; // conv-filter
        case 3: load.dilationFilterH = 0; LoadData(a, l1, load); break; // conv-dilation
        case 4: load.kStartPt = 8; LoadData(a, l1, load); break; // conv-k-start
        case 5: load.mStartPt = 8; LoadData(a, l1, load); break; // conv-m-start
        case 6: load.kExtension = 64; LoadData(a, l1, load); break; // conv-k-far
        case 7: load.mStartPt = 32; LoadData(a, l1, load); break; // conv-m-far
        case 8: load.l1W = 4096; LoadData(a, l1, load); break; // conv-span
        case 9: LoadData(c.ReinterpretCast<half>(), l1, load); break; // conv-position
        case 10: square.addrMode = 1; LoadDataWithTranspose(a, l1, square); break; // square-mode
        case 11: LoadDataWithTranspose(a[8], l1, square); break; // square-align
        case 12: square.repeatTimes = 20; LoadDataWithTranspose(a, l1, square); break; // square-span
        case 13: fix.quantPre = QuantMode_t::VQF322B8_PRE; Fixpipe(bytes, c, fix); break; // fix-no-scales
        case 14: fix.quantPre = QuantMode_t::VQF322B8_PRE; Fixpipe(bytes, c, scales[1], fix); break; // fix-scales-align
        case 15: fix.isChannelSplit = true; Fixpipe(out, c, fix); break; // fix-split
        case 16: fix.unitFlag = 1; Fixpipe(out, c, fix); break; // fix-unit-flag
        case 17: Fixpipe(out, c[3], fix); break; // fix-src-align
        case 18: Fixpipe<float, float, CFG_COLUMN_MAJOR>(out, c, fix); break; // fix-column-major
        case 19: Fixpipe<float, float, CFG_NZ>(c, c, fix); break; // fix-position
        case 20: Mmad(c, a, b, bt[8], MmadParams(16, 16, 16, 0, false, true)); break; // mmad-bias-align
        case 21: Mmad(c, a, b, c, MmadParams(16, 16, 16, 0, false, true)); break; // mmad-bias-position
        case 22: nd.ndNum = 4096; DataCopy(l1, g, nd); break; // nd-count
        case 23: nd.dstNzNStride = 0; DataCopy(l1, g, nd); break; // nd-n-stride
        case 24: DataCopy(bt, l1.ReinterpretCast<float>(), 8); break; // bt-length
        case 25: DataCopy(bt[8], l1.ReinterpretCast<float>(), 16); break; // bt-align
        case 26: DataCopy(l1[4], g, 64); break; // l1-align
        case 27: LoadData(a, l1, LoadData2DParams(0, 1, 1, 0, 0, false, 1)); break; // load-mode
        case 28: LoadData(a, g, LoadData2DParams(0, 1, 1, 0, 0, true, 0)); break; // load-gm-transpose
        case 29: InitConstValue(a, InitConstValueParams<half>(20, 1, 0, half(0))); break; // fill-span
        case 30: fix.mSize = 0; fix.dstStride = 0; Fixpipe(out, c, fix); break; // fix-stride-zero
        case 31: DataCopy(c, l1.ReinterpretCast<float>(), 16); break; // no-such-path
        case 32: {
            DataCopyCO12DstParams old(16, 16, 16, 16, QuantMode_t::F322BF16, 0, false, true);
            DataCopy(g, c, old); // co1-quant
            break;
        }
        case 33: DataCopy(LocalTensor<float>(TPosition::C2, 960, 32), l1.ReinterpretCast<float>(), 32); break; // bt-past-end
        case 34: DataCopy(LocalTensor<uint64_t>(TPosition::C2PIPE2GM, 0, 16), scales, 8); break; // fb-length
        case 35: DataCopy(LocalTensor<uint64_t>(TPosition::C2PIPE2GM, 7040, 32), scales, 32); break; // fb-past-end
        case 36: DataCopyPad(l1, g, DataCopyExtParams(1, 32, 0, 0, 0), DataCopyPadExtParams<half>()); break; // pad-to-l1
        case 37: {
            DataCopyCO12DstParams old(16, 16, 16, 16, QuantMode_t::NoQuant, 0, false, true);
            DataCopy(out, c[64], old); // co1-align
            break;
        }
        case 38: DataCopy(LocalTensor<half>(TPosition::A1, 524032, 64), g, 64); break; // beyond-usable
        default: break;
    }
    PipeBarrier<PIPE_ALL>();
}
