// Matmul objects called on the cube core.
#include "kernel_operator.h"
#define ASCENDC_CUBE_ONLY
#include "lib/matmul_intf.h"

using namespace AscendC;

template <typename T, bool trans = false> using Gm = MatmulType<TPosition::GM, CubeFormat::ND, T, trans>;

struct How {
    int32_t atomic;
    int32_t parts; // 0 a call a core, 1 a call a block
    int32_t columnsC;
    int32_t broken;
};

template <typename T> class Product {
public:
    __aicore__ inline void Run(
        GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, const TCubeTiling& t, const How& how, bool rounds)
    {
        const int32_t core = GetBlockIdx();
        const int32_t high = DivCeil(t.M, t.singleCoreM);
        const int32_t row = core % high * t.singleCoreM;
        const int32_t column = core / high * t.singleCoreN;
        if (core >= t.usedCoreNum) {
            return;
        }
        GlobalTensor<T> aGm;
        GlobalTensor<T> bGm;
        GlobalTensor<float> biasGm;
        GlobalTensor<float> cGm;
        aGm.SetGlobalBuffer((__gm__ T*)a + row * t.Ka);
        bGm.SetGlobalBuffer((__gm__ T*)b + column);
        biasGm.SetGlobalBuffer((__gm__ float*)bias + column);
        cGm.SetGlobalBuffer((__gm__ float*)c + row * t.N + column);
        const int32_t rows = t.M - row < t.singleCoreM ? t.M - row : t.singleCoreM;
        const int32_t columns = t.N - column < t.singleCoreN ? t.N - column : t.singleCoreN;
        mm.SetTail(rows, columns);
        mm.SetTensorA(aGm);
        mm.SetTensorB(bGm);
        if (t.isBias) {
            mm.SetBias(biasGm);
        }
        mm.SetHF32(rounds);
        if (how.parts == 0) {
            mm.IterateAll(cGm, how.atomic);
        } else {
            while (mm.Iterate()) {
                mm.GetTensorC(cGm, how.atomic);
            }
        }
        mm.SetHF32(false);
        mm.End();
    }

    Matmul<Gm<T>, Gm<T>, Gm<float>, Gm<float>, CFG_MDL> mm;
};

extern "C" __global__ __cube__ void half_cube(
    GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR workspace, TCubeTiling t, How how)
{
    (void)workspace;
    Product<half> product;
    TPipe pipe;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), product.mm, &t);
    product.Run(a, b, bias, c, t, how, false);
}

// The type follows from the source: the cube core alone.
extern "C" __global__ __aicore__ void rounded(
    GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR workspace, TCubeTiling t, How how)
{
    (void)workspace;
    Product<float> product;
    TPipe pipe;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), product.mm, &t);
    product.Run(a, b, bias, c, t, how, true);
}

// Beside vector code: the two sides meet by flags of the kernel's own.
extern "C" __global__ __mix__(1, 2) void beside(
    GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR workspace, TCubeTiling t, How how)
{
    (void)workspace;
    if ASCEND_IS_AIC {
        Product<half> product;
        TPipe pipe;
        REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), product.mm, &t);
        product.Run(a, b, bias, c, t, how, false);
        CrossCoreSetFlag<2, PIPE_FIX>(0);
    }
    if ASCEND_IS_AIV {
        CrossCoreWaitFlag(0);
        GlobalTensor<float> cGm;
        cGm.SetGlobalBuffer((__gm__ float*)c + GetSubBlockIdx() * (t.M / 2) * t.N);
        LocalTensor<float> ub(TPosition::VECCALC, 0, t.M / 2 * t.N);
        DataCopy(ub, cGm, t.M / 2 * t.N);
        SetFlag<HardEvent::MTE2_V>(0);
        WaitFlag<HardEvent::MTE2_V>(0);
        Adds(ub, ub, 1.0f, t.M / 2 * t.N);
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        DataCopy(cGm, ub, t.M / 2 * t.N);
    }
}
