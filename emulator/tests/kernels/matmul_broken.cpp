// What is wrong with a kernel's use of Matmul objects, one mistake a launch.
#include "kernel_operator.h"
#include "lib/matmul_intf.h"

using namespace AscendC;

template <typename T, bool trans = false> using Gm = MatmulType<TPosition::GM, CubeFormat::ND, T, trans>;
using Plain = Matmul<Gm<half>, Gm<half>, Gm<float>>;
using IntoUb = Matmul<Gm<half>, Gm<half>, MatmulType<TPosition::VECIN, CubeFormat::ND, float>>;

#define BROKEN(bit) if (broken == (bit))

extern "C" __global__ __mix__(1, 2) void broken_calls(
    GM_ADDR a, GM_ADDR b, GM_ADDR c, __kfc_workspace__ GM_ADDR workspace, TCubeTiling t, int32_t broken)
{
    (void)workspace;
    TPipe pipe;
    Plain mm;
    IntoUb other;
    Plain stranger;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t, other, &t); // mm-regist
    GlobalTensor<half> aGm;
    GlobalTensor<half> bGm;
    GlobalTensor<float> cGm;
    const int64_t part = GetBlockIdx() * t.singleCoreM;
    aGm.SetGlobalBuffer((__gm__ half*)a + part * t.Ka);
    bGm.SetGlobalBuffer((__gm__ half*)b);
    cGm.SetGlobalBuffer((__gm__ float*)c + part * t.N);
    TBuf<TPosition::VECIN> room;
    pipe.InitBuffer(room, 32768);
    LocalTensor<float> ub = room.Get<float>();
    BROKEN(0)
    {
        stranger.Init(&t);
        stranger.SetTensorA(aGm);
        stranger.SetTensorB(bGm);
        stranger.IterateAll(cGm); // mm-unregistered
    }
    BROKEN(1)
    {
        mm.SetTensorB(bGm);
        mm.IterateAll(cGm); // mm-no-a
    }
    mm.SetTensorA(aGm);
    mm.SetTensorB(bGm);
    other.SetTensorA(aGm);
    other.SetTensorB(bGm);
    BROKEN(2)
    {
        mm.IterateAll(cGm); // mm-no-bias
    }
    BROKEN(3)
    {
        mm.IterateAll(cGm);
        other.IterateAll(ub); // mm-while-open
        other.End();
        mm.End();
    }
    BROKEN(4)
    {
        mm.IterateAll(cGm); // mm-end
    }
    BROKEN(5)
    {
        mm.IterateAll<false>(cGm, 0, false, true); // mm-not-waited
    }
    BROKEN(6)
    {
        mm.IterateAll<false>(cGm);
        mm.WaitIterateAll(); // mm-nothing
    }
    BROKEN(7)
    {
        mm.GetTensorC(cGm); // mm-no-block
    }
    BROKEN(8)
    {
        mm.Iterate(); // mm-dropped
        mm.Iterate();
        mm.GetTensorC(cGm);
        mm.End();
    }
    BROKEN(9)
    {
        mm.SetTensorB(bGm, true); // mm-transposed
        mm.IterateAll(cGm);
        mm.End();
    }
    BROKEN(10)
    {
        mm.IterateAll(cGm);
        CrossCoreSetFlag<2, PIPE_MTE3>(3); // mm-flag
        mm.End();
    }
    BROKEN(11)
    {
        mm.Iterate();
        mm.SetTensorA(aGm);
        mm.Iterate(true); // mm-partial
        mm.GetTensorC(cGm);
        mm.End();
    }
    BROKEN(12)
    {
        other.Iterate<false>(); // mm-no-workspace
    }
    BROKEN(13)
    {
        mm.SetSingleShape(t.singleCoreM, 0, t.singleCoreK);
        mm.IterateAll(cGm); // mm-shape
    }
    BROKEN(14)
    {
        mm.SetBias(cGm); // mm-bias-off
    }
    BROKEN(15)
    {
        other.Iterate();
        other.GetTensorC(ub, 1, true); // mm-atomic-ub
        other.GetTensorC(ub, 0, true);
        other.End();
    }
    BROKEN(16)
    {
        mm.SetOrgShape(t.M, 70000, t.Ka);
        mm.IterateAll(cGm); // mm-pitch
        mm.End();
    }
    BROKEN(17)
    {
        mm.IterateAll<false>(cGm); // mm-behind
        DataCopy(ub, cGm, 64);
    }
    BROKEN(18)
    {
        if (GetBlockIdx() == 0) {
            mm.SetSingleShape(t.baseM, t.baseN, t.singleCoreK);
            mm.Iterate();
            mm.SetTensorA(aGm);
            mm.Iterate(true);
            SyncAll();
            mm.GetTensorC(cGm);
            mm.End();
        } else {
            mm.IterateAll(cGm);
            mm.End();
            SyncAll();
        }
    }
    BROKEN(19)
    {
        mm.Iterate(true); // mm-partial-first
    }
    BROKEN(20)
    {
        other.SetSingleShape(t.M, 4096, t.singleCoreK);
        other.IterateAll(ub); // mm-stage
        other.End();
    }
    BROKEN(21)
    {
        mm.IterateAll(cGm[1 << 20]); // mm-past-end
        mm.End();
    }
}

extern "C" __global__ __mix__(1, 2) void no_workspace(GM_ADDR workspace, TCubeTiling t)
{
    (void)workspace;
    TPipe pipe;
    Plain mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t); // mm-workspace
}

extern "C" __global__ __mix__(1, 2) void no_tiling(__kfc_workspace__ GM_ADDR workspace, GM_ADDR x)
{
    (void)workspace;
    TPipe pipe;
    Plain mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm);
    GlobalTensor<float> gm;
    gm.SetGlobalBuffer((__gm__ float*)x);
    mm.IterateAll(gm); // mm-no-tiling
}

extern "C" __global__ __vector__ void no_cube(__kfc_workspace__ GM_ADDR workspace, TCubeTiling t)
{
    (void)workspace;
    TPipe pipe;
    Plain mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t); // mm-type
}

extern "C" __global__ __mix__(1, 2) void own_products(GM_ADDR a, __kfc_workspace__ GM_ADDR workspace, TCubeTiling t)
{
    (void)a;
    (void)workspace;
    TPipe pipe;
    Plain mm;
    if ASCEND_IS_AIC {
        LocalTensor<half> left(TPosition::A2, 0, 256);
        LocalTensor<half> right(TPosition::B2, 0, 256);
        LocalTensor<float> sums(TPosition::CO1, 0, 256);
        InitConstValue(left, InitConstValueParams<half>(1, half(1.0f)));
        InitConstValue(right, InitConstValueParams<half>(1, half(1.0f)));
        SetFlag<HardEvent::MTE1_M>(0);
        WaitFlag<HardEvent::MTE1_M>(0);
        Mmad(sums, left, right, MmadParams(16, 16, 16, 0, false, true));
    }
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t); // mm-product
}
