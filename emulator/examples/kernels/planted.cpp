// Five mistakes that hardware leaves silent or answers with a number: all are found in one run.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void planted(GM_ADDR x, GM_ADDR z)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GlobalTensor<float> from;
    GlobalTensor<float> to;
    from.SetGlobalBuffer((__gm__ float*)x, 4096);
    to.SetGlobalBuffer((__gm__ float*)z, 4096);
    LocalTensor<float> a(TPosition::VECIN, 0, 1024);
    LocalTensor<float> b(TPosition::VECOUT, 4096, 1024);
    LocalTensor<float> c(TPosition::VECCALC, 8192, 1024);
    LocalTensor<uint32_t> offsets(TPosition::VECCALC, 16384, 64);
    DataCopy(a, from, 1024);
    SetFlag<HardEvent::MTE2_V>(0);
    Adds(b, a, 1.0f, 1024); // planted-race
    WaitFlag<HardEvent::MTE2_V>(0);
    PipeBarrier<PIPE_V>();
    Adds(b[8], b, 1.0f, 512); // planted-overlap
    Adds(c[4], a, 1.0f, 64); // planted-misalignment
    Gather(c, a, offsets, 0u, 64); // planted-uninitialised
    SetFlag<HardEvent::V_MTE3>(1); // planted-lost-flag
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(to, b, 1024);
    PipeBarrier<PIPE_ALL>();
}
