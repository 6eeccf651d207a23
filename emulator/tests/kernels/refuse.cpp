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
            default: break;
        }
    }
    if ASCEND_IS_AIV {
        if (which == 1 && GetSubBlockIdx() == 0) {
            CrossCoreSetFlag<2, PIPE_MTE3>(4);
        }
        if (which == 5 && GetSubBlockIdx() == 0) {
            SyncAll<false>(); // one-is-missing
        }
    }
}
