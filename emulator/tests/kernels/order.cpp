// Kernels whose accesses lack an order, and the same with it.
#include "kernel_operator.h"

using namespace AscendC;

// Bit `which` of `broken` takes the order of one pair of accesses away.
#define WITH(bit, statement)      \
    if ((broken >> (bit) & 1) == 0) { \
        statement;                \
    }

extern "C" __global__ __aicore__ void order_vector(GM_ADDR x, GM_ADDR z, int32_t broken)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GlobalTensor<float> from;
    GlobalTensor<float> to;
    from.SetGlobalBuffer((__gm__ float*)x, 4096);
    to.SetGlobalBuffer((__gm__ float*)z, 4096);
    LocalTensor<float> a(TPosition::VECIN, 0, 1024);
    LocalTensor<float> b(TPosition::VECOUT, 4096, 1024);
    DataCopy(a, from, 1024); // load-first
    WITH(0, (SetFlag<HardEvent::MTE2_V>(0), WaitFlag<HardEvent::MTE2_V>(0)))
    Adds(b, a, 1.0f, 1024); // raw-mte2-v
    WITH(1, PipeBarrier<PIPE_V>())
    Muls(b, b, 2.0f, 1024); // raw-v-v
    WITH(2, (SetFlag<HardEvent::V_MTE3>(0), WaitFlag<HardEvent::V_MTE3>(0)))
    DataCopy(to, b, 1024); // raw-v-mte3
    WITH(3, (SetFlag<HardEvent::V_MTE2>(0), WaitFlag<HardEvent::V_MTE2>(0)))
    DataCopy(a, from[1024], 1024); // war-v-mte2
    WITH(8, PipeBarrier<PIPE_MTE2>())
    DataCopy(a, from[2048], 512); // waw-mte2
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    WITH(4, (SetFlag<HardEvent::MTE3_V>(0), WaitFlag<HardEvent::MTE3_V>(0)))
    Adds(b, a, 1.0f, 1024); // war-mte3-v
    PipeBarrier<PIPE_V>();
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(to[2048], b, 512);
    WITH(5, PipeBarrier<PIPE_MTE3>())
    DataCopy(to[2304], b, 512); // waw-mte3
    PipeBarrier<PIPE_ALL>();
    b.SetValue(0, 3.0f);
    WITH(6, (SetFlag<HardEvent::S_V>(0), WaitFlag<HardEvent::S_V>(0)))
    Adds(a, b, 1.0f, 64); // raw-s-v
    WITH(7, (SetFlag<HardEvent::V_S>(0), WaitFlag<HardEvent::V_S>(0)))
    const float value = a.GetValue(0); // raw-v-s
    PipeBarrier<PIPE_ALL>();
    SetAtomicAdd<float>();
    Duplicate(b, value, 64);
    SetFlag<HardEvent::V_MTE3>(1);
    WaitFlag<HardEvent::V_MTE3>(1);
    DataCopy(to, b, 64);
    DataCopy(to, b, 64); // atomic stores come in any order
    SetAtomicNone();
}

extern "C" __global__ __aicore__ void order_cube(GM_ADDR x, GM_ADDR z, int32_t broken)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    GlobalTensor<half> from;
    GlobalTensor<float> to;
    from.SetGlobalBuffer((__gm__ half*)x, 4096);
    to.SetGlobalBuffer((__gm__ float*)z, 4096);
    LocalTensor<half> l1(TPosition::A1, 0, 1024);
    LocalTensor<half> a(TPosition::A2, 0, 1024);
    LocalTensor<half> b(TPosition::B2, 0, 1024);
    LocalTensor<float> c(TPosition::CO1, 0, 1024);
    const Nd2NzParams nd(1, 32, 32, 0, 32, 32, 1, 0);
    const LoadData2DParams load(0, 4, 1, 0, 0, false, 0);
    DataCopy(l1, from, nd);
    WITH(0, (SetFlag<HardEvent::MTE2_MTE1>(0), WaitFlag<HardEvent::MTE2_MTE1>(0)))
    LoadData(a, l1, load); // raw-mte2-mte1
    LoadData(b, l1, load);
    WITH(1, (SetFlag<HardEvent::MTE1_M>(0), WaitFlag<HardEvent::MTE1_M>(0)))
    Mmad(c, a, b, MmadParams(32, 32, 32, 0, false, true)); // raw-mte1-m
    WITH(2, PipeBarrier<PIPE_M>())
    Mmad(c, a, b, MmadParams(32, 32, 32, 0, false, false)); // raw-m-m
    WITH(3, (SetFlag<HardEvent::M_FIX>(0), WaitFlag<HardEvent::M_FIX>(0)))
    FixpipeParamsV220 fix(32, 32, 32, 32, false);
    Fixpipe(to, c, fix); // raw-m-fix
    WITH(4, (SetFlag<HardEvent::M_MTE1>(0), WaitFlag<HardEvent::M_MTE1>(0)))
    LoadData(a, l1, load); // war-m-mte1
    SetFlag<HardEvent::MTE1_M>(0);
    WaitFlag<HardEvent::MTE1_M>(0);
    WITH(5, (SetFlag<HardEvent::FIX_M>(0), WaitFlag<HardEvent::FIX_M>(0)))
    Mmad(c, a, b, MmadParams(32, 32, 32, 0, false, true)); // war-fix-m
    SetFlag<HardEvent::M_FIX>(0);
    WaitFlag<HardEvent::M_FIX>(0);
    Fixpipe(to[1024], c, fix);
    WITH(6, PipeBarrier<PIPE_FIX>())
    Fixpipe(to[1536], c, fix); // waw-fix
    PipeBarrier<PIPE_ALL>();
}

// Products and moves that only the unit orders, and halves of that.
extern "C" __global__ __aicore__ void order_unit(GM_ADDR x, GM_ADDR z, int32_t which)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    GlobalTensor<half> from;
    GlobalTensor<float> to;
    from.SetGlobalBuffer((__gm__ half*)x, 4096);
    to.SetGlobalBuffer((__gm__ float*)z, 4096);
    LocalTensor<half> l1(TPosition::A1, 0, 1024);
    LocalTensor<half> a(TPosition::A2, 0, 1024);
    LocalTensor<half> b(TPosition::B2, 0, 1024);
    LocalTensor<float> c(TPosition::CO1, 0, 1024);
    FixpipeParamsV220 fix(32, 32, 32, 32, false);
    DataCopy(l1, from, Nd2NzParams(1, 32, 32, 0, 32, 32, 1, 0));
    SetFlag<HardEvent::MTE2_MTE1>(0);
    WaitFlag<HardEvent::MTE2_MTE1>(0);
    LoadData(a, l1, LoadData2DParams(0, 4, 1, 0, 0, false, 0));
    LoadData(b, l1, LoadData2DParams(0, 4, 1, 0, 0, false, 0));
    SetFlag<HardEvent::MTE1_M>(0);
    WaitFlag<HardEvent::MTE1_M>(0);
    SetMMRowMajor();
    fix.unitFlag = 3;
    switch (which) {
        case 0:
            Mmad(c, a, b, MmadParams(32, 32, 32, 2, false, true));
            PipeBarrier<PIPE_M>();
            Mmad(c, a, b, MmadParams(32, 32, 32, 3, false, false));
            fix.unitFlag = 2; // the sums are read again
            Fixpipe(to, c, fix);
            fix.unitFlag = 3;
            Fixpipe(to[1024], c, fix);
            Mmad(c, a, b, MmadParams(32, 32, 32, 3, false, true));
            Fixpipe(to[2048], c, fix);
            break;
        case 1:
            Mmad(c, a, b, MmadParams(32, 32, 32, 3, false, true)); // unit-untaken
            fix.unitFlag = 0;
            break;
        case 2: Mmad(c, a, b, MmadParams(32, 32, 32, 0, false, true)); break;
        case 3:
            Mmad(c, a, b, MmadParams(32, 32, 32, 3, false, true));
            Mmad(c, a, b, MmadParams(32, 32, 32, 3, false, true)); // unit-refilled
            break;
        case 4:
            Mmad(c, a, b, MmadParams(32, 32, 32, 2, false, true)); // unit-begun
            fix.unitFlag = 0;
            break;
        case 5:
            Mmad(c, a, b, MmadParams(32, 32, 32, 3, false, true)); // unit-half
            fix.nSize = 16;
            break;
        default: break;
    }
    if (which != 0) {
        SetFlag<HardEvent::M_FIX>(0);
        WaitFlag<HardEvent::M_FIX>(0);
        Fixpipe(to, c, fix); // unit-unfilled
    }
    PipeBarrier<PIPE_ALL>();
}

// A hand-over from the cube core to the vector cores through global memory, and between vector cores.
extern "C" __global__ __aicore__ void order_mix(uint64_t sync, GM_ADDR x, GM_ADDR z, int32_t broken)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    SetSyncBaseAddr(sync);
    GlobalTensor<float> to;
    to.SetGlobalBuffer((__gm__ float*)z, 4096);
    if ASCEND_IS_AIC {
        GlobalTensor<half> from;
        from.SetGlobalBuffer((__gm__ half*)x, 4096);
        LocalTensor<half> l1(TPosition::A1, 0, 1024);
        LocalTensor<half> a(TPosition::A2, 0, 1024);
        LocalTensor<half> b(TPosition::B2, 0, 1024);
        LocalTensor<float> c(TPosition::CO1, 0, 1024);
        DataCopy(l1, from, Nd2NzParams(1, 32, 32, 0, 32, 32, 1, 0));
        SetFlag<HardEvent::MTE2_MTE1>(0);
        WaitFlag<HardEvent::MTE2_MTE1>(0);
        LoadData(a, l1, LoadData2DParams(0, 4, 1, 0, 0, false, 0));
        LoadData(b, l1, LoadData2DParams(0, 4, 1, 0, 0, false, 0));
        SetFlag<HardEvent::MTE1_M>(0);
        WaitFlag<HardEvent::MTE1_M>(0);
        Mmad(c, a, b, MmadParams(32, 32, 32, 0, false, true));
        SetFlag<HardEvent::M_FIX>(0);
        WaitFlag<HardEvent::M_FIX>(0);
        Fixpipe(to, c, FixpipeParamsV220(32, 32, 32, 32, false));
        if ((broken & 1) == 0) {
            CrossCoreSetFlag<2, PIPE_FIX>(0);
        } else {
            CrossCoreSetFlag<2, PIPE_M>(0);
        }
    }
    if ASCEND_IS_AIV {
        LocalTensor<float> ub(TPosition::VECIN, 0, 1024);
        LocalTensor<float> early(TPosition::VECIN, 8192, 64);
        GlobalTensor<float> other;
        other.SetGlobalBuffer((__gm__ float*)x, 64);
        DataCopy(early, other, 64);
        CrossCoreWaitFlag(0);
        if ((broken & 4) == 0) {
            SetFlag<HardEvent::MTE2_V>(0);
            WaitFlag<HardEvent::MTE2_V>(0);
        }
        Adds(early, early, 1.0f, 64); // raw-not-drained
        DataCopy(ub, to, 1024); // raw-fix-mte2
        SetFlag<HardEvent::MTE2_MTE3>(0);
        WaitFlag<HardEvent::MTE2_MTE3>(0);
        DataCopy(to[1024 + GetSubBlockIdx() * 1024], ub, 1024);
        if ((broken & 2) == 0) {
            SyncAll();
        }
        DataCopy(ub, to[2048 - GetSubBlockIdx() * 1024], 1024); // raw-between-cores
    }
    PipeBarrier<PIPE_ALL>();
}

__aicore__ inline void Clean(const GlobalTensor<float>& line)
{
    DataCacheCleanAndInvalid<float, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(line);
}

// What the scalar unit stores and what it has read stays in its data cache until somebody cleans that.
extern "C" __global__ __aicore__ void order_cache(uint64_t sync, GM_ADDR z, int32_t broken)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
    SetSyncBaseAddr(sync);
    GlobalTensor<float> to;
    to.SetGlobalBuffer((__gm__ float*)z, 4096);
    LocalTensor<float> a(TPosition::VECIN, 0, 64);
    LocalTensor<float> b(TPosition::VECOUT, 256, 64);
    float sum = 0.0f;
    if (GetBlockIdx() == 0) {
        to.SetValue(0, 1.0f); // cache-store
        WITH(0, Clean(to))
        SetFlag<HardEvent::S_MTE2>(0);
        WaitFlag<HardEvent::S_MTE2>(0);
        DataCopy(a, to, 64); // stale-store
        sum = to.GetValue(64); // cache-load
        Duplicate(b, 2.0f, 64);
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        DataCopy(to[64], b, 8); // cache-overtaken
        SetFlag<HardEvent::MTE3_S>(0);
        WaitFlag<HardEvent::MTE3_S>(0);
        sum += to.GetValue(80); // a line that nobody has changed
        sum += to.GetValue(72); // bytes of that line that nobody has changed
        WITH(1, Clean(to[79]))
        sum += to.GetValue(65); // stale-load
        to.SetValue(128, sum); // cache-other-core
        WITH(2, (DataCacheCleanAndInvalid<float, CacheLine::ENTIRE_DATA_CACHE>(to)))
    }
    PipeBarrier<PIPE_ALL>();
    SyncAll();
    if (GetBlockIdx() == 1) {
        to.SetValue(192, to.GetValue(128)); // stale-other-core
    }
    PipeBarrier<PIPE_ALL>();
}

// Never ends.
extern "C" __global__ __aicore__ void endless(GM_ADDR)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    for (;;) {
        PipeBarrier<PIPE_V>(); // endless
    }
}
