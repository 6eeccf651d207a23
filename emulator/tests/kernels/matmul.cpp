// Matmul objects called from the vector cores.
#include "kernel_operator.h"
#include "lib/matmul_intf.h"

using namespace AscendC;

// What a launch does beyond its tiling.
struct How {
    int32_t atomic;
    int32_t parts;    // pieces of K, summed with atomics or in L0C
    int32_t columnsC; // of C where they are not those of B
    int32_t broken;   // bit of a mistake
};

template <typename T, bool trans = false, CubeFormat format = CubeFormat::ND>
using Gm = MatmulType<TPosition::GM, format, T, trans>;

// A kernel's matrices, and the part of this core.
template <typename T, typename CT, typename Bias> struct Part {
    GlobalTensor<T> a;
    GlobalTensor<T> b;
    GlobalTensor<CT> c;
    GlobalTensor<Bias> bias;
    int32_t rows;
    int32_t columns;
    bool works;

    __aicore__ inline Part(
        GM_ADDR aIn, GM_ADDR bIn, GM_ADDR biasIn, GM_ADDR cOut, const TCubeTiling& t, bool transA, bool transB, int32_t pitch)
    {
        const int32_t core = GetBlockIdx();
        const int32_t high = DivCeil(t.M, t.singleCoreM);
        const int32_t row = core % high * t.singleCoreM;
        const int32_t column = core / high * t.singleCoreN;
        works = core < t.usedCoreNum;
        rows = t.M - row < t.singleCoreM ? t.M - row : t.singleCoreM;
        columns = t.N - column < t.singleCoreN ? t.N - column : t.singleCoreN;
        a.SetGlobalBuffer((__gm__ T*)aIn + (transA ? row : row * t.Ka));
        b.SetGlobalBuffer((__gm__ T*)bIn + (transB ? column * t.Kb : column));
        c.SetGlobalBuffer((__gm__ CT*)cOut + row * pitch + column);
        bias.SetGlobalBuffer((__gm__ Bias*)biasIn + column);
    }
};

// C by one call a core.
template <typename T, typename CT, bool transA, bool transB, const auto& config>
__aicore__ inline void Whole(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, const TCubeTiling& t, const How& how)
{
    using Sum = std::conditional_t<std::is_same_v<T, int8_t>, int32_t, float>;
    TPipe pipe;
    Matmul<Gm<T, transA>, Gm<T, transB>, Gm<CT>, Gm<Sum>, config> mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
    const int32_t pitch = how.columnsC != 0 ? how.columnsC : t.N;
    Part<T, CT, Sum> part(a, b, bias, c, t, transA, transB, pitch);
    if (!part.works) {
        return;
    }
    if (how.columnsC != 0) {
        mm.SetOrgShape(t.M, t.N, t.Ka, t.Kb, how.columnsC);
    }
    mm.SetSingleShape(part.rows, part.columns, t.singleCoreK);
    mm.SetTensorA(part.a, transA);
    mm.SetTensorB(part.b, transB);
    if (t.isBias) {
        mm.SetBias(part.bias);
    }
    mm.IterateAll(part.c, how.atomic);
    mm.End();
}

#define WHOLE(name, T, CT, transA, transB, config)                                                                   \
    extern "C" __global__ __aicore__ void name(                                                                      \
        GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, __kfc_workspace__ GM_ADDR workspace, TCubeTiling t, How how)   \
    {                                                                                                                \
        KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);                                                           \
        (void)workspace;                                                                                             \
        Whole<T, CT, transA, transB, config>(a, b, bias, c, t, how);                                                 \
    }

WHOLE(half_nn, half, float, false, false, CFG_NORM)
