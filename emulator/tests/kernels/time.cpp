// Instruction sequences whose durations are published.
#include "kernel_operator.h"

using namespace AscendC;

// Two vectors of 64 repeats; the second starts in the same bank group as the first, or half a cycle of groups on.
extern "C" __global__ __aicore__ void time_add(GM_ADDR, int32_t conflict)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    LocalTensor<float> a(TPosition::VECCALC, 0, 4096);
    LocalTensor<float> b(TPosition::VECCALC, 16384 + (conflict != 0 ? 0 : 256), 4096);
    LocalTensor<float> c(TPosition::VECCALC, 65536, 4096);
    Add(c, a, b, 4096);
    PipeBarrier<PIPE_ALL>();
}

extern "C" __global__ __aicore__ void time_cube(GM_ADDR, int32_t which)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    LocalTensor<half> l1(TPosition::A1, 0, 16384);
    LocalTensor<half> a(TPosition::A2, 0, 16384);
    LocalTensor<half> b(TPosition::B2, 0, 16384);
    LocalTensor<float> c(TPosition::CO1, 0, 16384);
    const LoadData2DParams load(0, 64, 1, 0, 0, false, 0);
    switch (which) {
        case 0: LoadData(a, l1, load); break;
        case 1: LoadData(b, l1, load); break;
        default: Mmad(c, a, b, MmadParams(128, 128, 128, 0, false, true)); break;
    }
    PipeBarrier<PIPE_ALL>();
}

// Tiles of 64 rows x 512 bytes that nobody has read before, one after another.
extern "C" __global__ __aicore__ void time_nd2nz(GM_ADDR gm, int32_t tiles)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    GlobalTensor<half> g;
    g.SetGlobalBuffer((__gm__ half*)gm + GetBlockIdx() * tiles * 16384);
    const Nd2NzParams nd(1, 64, 256, 0, 256, 64, 1, 0);
    for (int32_t i = 0; i < tiles; ++i) {
        LocalTensor<half> l1(TPosition::A1, (i % 8) * 32768, 16384);
        DataCopy(l1, g[i * 16384], nd);
    }
    PipeBarrier<PIPE_ALL>();
}

extern "C" __global__ __aicore__ void time_small_copies(GM_ADDR gm, int32_t count)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GlobalTensor<float> g;
    g.SetGlobalBuffer((__gm__ float*)gm);
    for (int32_t i = 0; i < count; ++i) {
        LocalTensor<float> ub(TPosition::VECIN, i % 256 * 128, 32);
        DataCopy(ub, g[i * 32], 32);
    }
    PipeBarrier<PIPE_ALL>();
}

// z = x + y in pieces of 32 KiB, `rounds` times over the same pieces.
extern "C" __global__ __aicore__ void time_stream(GM_ADDR gm, int32_t pieces, int32_t rounds, int32_t stores)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    constexpr int32_t kPiece = 8192;
    GlobalTensor<float> x;
    x.SetGlobalBuffer((__gm__ float*)gm + GetBlockIdx() * pieces * 3 * kPiece);
    SetFlag<HardEvent::V_MTE2>(0);
    SetFlag<HardEvent::V_MTE2>(1);
    SetFlag<HardEvent::MTE3_V>(0);
    SetFlag<HardEvent::MTE3_V>(1);
    for (int32_t i = 0; i < pieces * rounds; ++i) {
        const int32_t slot = i % 2;
        const int32_t at = i % pieces * 3 * kPiece;
        LocalTensor<float> a(TPosition::VECIN, slot * 65536, kPiece);
        LocalTensor<float> b(TPosition::VECIN, slot * 65536 + 32768, kPiece);
        WaitFlag<HardEvent::V_MTE2>(slot);
        DataCopy(a, x[at], kPiece);
        DataCopy(b, x[at + kPiece], kPiece);
        SetFlag<HardEvent::MTE2_V>(slot);
        WaitFlag<HardEvent::MTE2_V>(slot);
        WaitFlag<HardEvent::MTE3_V>(slot);
        Add(a, a, b, kPiece);
        SetFlag<HardEvent::V_MTE3>(slot);
        WaitFlag<HardEvent::V_MTE3>(slot);
        if (stores != 0) {
            DataCopy(x[at + 2 * kPiece], a, kPiece);
        }
        SetFlag<HardEvent::MTE3_V>(slot);
        SetFlag<HardEvent::V_MTE2>(slot);
    }
    WaitFlag<HardEvent::V_MTE2>(0);
    WaitFlag<HardEvent::V_MTE2>(1);
    WaitFlag<HardEvent::MTE3_V>(0);
    WaitFlag<HardEvent::MTE3_V>(1);
    PipeBarrier<PIPE_ALL>();
}

// C = A B for square matrices of `size`; each core makes `blocks` blocks of 128 x 256, 64 deep at a time, L1 256.
extern "C" __global__ __aicore__ void time_matmul(GM_ADDR gm, int32_t size, int32_t blocks)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    GlobalTensor<half> x;
    GlobalTensor<half> y;
    GlobalTensor<float> z;
    x.SetGlobalBuffer((__gm__ half*)gm);
    y.SetGlobalBuffer((__gm__ half*)gm + static_cast<int64_t>(size) * size);
    z.SetGlobalBuffer((__gm__ float*)gm + static_cast<int64_t>(size) * size);
    constexpr int32_t kDepth = 64;
    constexpr int32_t kSteps = 4; // that one piece of L1 holds
    // 24 blocks at a time, three down and eight across; down first.
    constexpr int32_t kAcross = 8;
    const int32_t down = GetBlockNum() / kAcross;
    const int32_t waves = size / 128 / down;
    for (int32_t slot = 0; slot < 2; ++slot) {
        SetFlag<HardEvent::MTE1_MTE2>(slot);
        SetFlag<HardEvent::M_MTE1>(slot);
    }
    SetFlag<HardEvent::FIX_M>(0);
    LocalTensor<float> c(TPosition::CO1, 0, 32768);
    for (int32_t block = 0; block < blocks; ++block) {
        const int64_t row = (block % waves * down + GetBlockIdx() / kAcross) * 128;
        const int64_t column = (block / waves * kAcross + GetBlockIdx() % kAcross) * 256;
        WaitFlag<HardEvent::FIX_M>(0);
        for (int32_t step = 0; step < size / kDepth; ++step) {
            const int32_t slot = step % 2;
            const int32_t piece = step / kSteps % 2;
            const int32_t at = step % kSteps;
            LocalTensor<half> l1a(TPosition::A1, piece * 196608, 128 * kDepth * kSteps);
            LocalTensor<half> l1b(TPosition::B1, piece * 196608 + 65536, 256 * kDepth * kSteps);
            LocalTensor<half> a(TPosition::A2, slot * 32768, 8192);
            LocalTensor<half> b(TPosition::B2, slot * 32768, 16384);
            if (at == 0) {
                constexpr int32_t kLong = kDepth * kSteps;
                const int64_t from = static_cast<int64_t>(step) * kDepth;
                WaitFlag<HardEvent::MTE1_MTE2>(piece);
                DataCopy(l1a, x[row * size + from], Nd2NzParams(1, 128, kLong, 0, size, 128, 1, 0));
                DataCopy(l1b, y[from * size + column], Nd2NzParams(1, kLong, 256, 0, size, kLong, 1, 0));
                SetFlag<HardEvent::MTE2_MTE1>(piece);
                WaitFlag<HardEvent::MTE2_MTE1>(piece);
            }
            WaitFlag<HardEvent::M_MTE1>(slot);
            LoadData(a, l1a[at * 8192], LoadData2DParams(0, 32, 1, 0, 0, false, 0));
            LoadData(b, l1b[at * 16384], LoadData2DParams(0, 64, 1, 0, 0, true, 0));
            if (at == kSteps - 1) {
                SetFlag<HardEvent::MTE1_MTE2>(piece);
            }
            SetFlag<HardEvent::MTE1_M>(slot);
            WaitFlag<HardEvent::MTE1_M>(slot);
            Mmad(c, a, b, MmadParams(128, 256, kDepth, 0, false, step == 0));
            SetFlag<HardEvent::M_MTE1>(slot);
        }
        SetFlag<HardEvent::M_FIX>(0);
        WaitFlag<HardEvent::M_FIX>(0);
        FixpipeParamsV220 fix(256, 128, 128, size, false);
        fix.quantPre = QuantMode_t::NoQuant;
        Fixpipe(z[row * size + column], c, fix);
        SetFlag<HardEvent::FIX_M>(0);
    }
    for (int32_t slot = 0; slot < 2; ++slot) {
        WaitFlag<HardEvent::MTE1_MTE2>(slot);
        WaitFlag<HardEvent::M_MTE1>(slot);
    }
    WaitFlag<HardEvent::FIX_M>(0);
    PipeBarrier<PIPE_ALL>();
}
