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
        GM_ADDR aIn, GM_ADDR bIn, GM_ADDR biasIn, GM_ADDR cOut, const TCubeTiling& t, bool transA, bool transB,
        int32_t pitch)
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
WHOLE(half_tt, half, float, true, true, CFG_NORM)
WHOLE(half_many, half, half, false, true, CFG_MDL)
WHOLE(half_many_t, half, float, true, false, CFG_MDL)
WHOLE(brain, bfloat16_t, bfloat16_t, false, true, CFG_NORM)
WHOLE(brain_float, bfloat16_t, float, true, false, CFG_NORM)
WHOLE(float_nn, float, float, false, false, CFG_NORM)
WHOLE(float_tt, float, float, true, true, CFG_MDL)
WHOLE(bytes_nn, int8_t, int32_t, false, false, CFG_NORM)
WHOLE(bytes_tt, int8_t, int32_t, true, true, CFG_MDL)

// One vector core a cube core.
extern "C" __global__ __aicore__ __mix__(1, 1) void half_one(
    GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR workspace, TCubeTiling t, How how)
{
    SetSysWorkspaceForce(workspace);
    Whole<half, float, false, true, CFG_NORM>(a, b, bias, c, t, how);
}

// Column groups in and out.
extern "C" __global__ __mix__(1, 2) void groups(
    GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, __kfc_workspace__ GM_ADDR workspace, TCubeTiling t, How how)
{
    (void)bias;
    (void)workspace;
    (void)how;
    TPipe pipe;
    using Nz = matmul::MatmulType<TPosition::GM, CubeFormat::NZ, half>;
    matmul::Matmul<Nz, Gm<half, true, CubeFormat::NZ>, Gm<float, false, CubeFormat::NZ>> mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm);
    mm.Init(&t);
    if (GetBlockIdx() != 0) {
        return;
    }
    GlobalTensor<half> aGm;
    GlobalTensor<half> bGm;
    GlobalTensor<float> cGm;
    aGm.SetGlobalBuffer((__gm__ half*)a);
    bGm.SetGlobalBuffer((__gm__ half*)b);
    cGm.SetGlobalBuffer((__gm__ float*)c);
    mm.SetTensorA(aGm);
    mm.SetTensorB(bGm, true);
    while (mm.Iterate()) {
        mm.GetTensorC(cGm);
    }
    mm.End();
}

// Blocks of C in UB, a vector pass over each, and out: max(x, x / 8).
template <bool behind> class Fused {
public:
    __aicore__ inline void Run(
        GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR own, const TCubeTiling& t)
    {
        TPipe pipe;
        REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm_, &t);
        Part<half, float, float> part(a, b, bias, c, t, false, true, t.N);
        if (!part.works) {
            return;
        }
        t_ = t;
        const uint32_t bytes = t.baseM * t.baseN * sizeof(float);
        pipe.InitBuffer(in_, 2, bytes);
        pipe.InitBuffer(out_, 2, bytes);
        mm_.SetTail(part.rows, part.columns);
        mm_.SetTensorA(part.a);
        mm_.SetTensorB(part.b, true);
        mm_.SetBias(part.bias);
        int32_t index = 0;
        if constexpr (behind) {
            GlobalTensor<float> room;
            room.SetGlobalBuffer((__gm__ float*)own + GetBlockIdx() * t.singleCoreM * t.singleCoreN * 2);
            mm_.SetWorkspace(room);
            mm_.template Iterate<false>();
            const int32_t blocks = DivCeil(part.rows, t.baseM) * DivCeil(part.columns, t.baseN);
            for (; index < blocks; ++index) {
                Block(part, index);
            }
        } else {
            while (mm_.template Iterate<true>()) {
                Block(part, index++);
            }
        }
        mm_.End();
    }

private:
    __aicore__ inline void Block(const Part<half, float, float>& part, int32_t index)
    {
        const int32_t high = DivCeil(part.rows, t_.baseM);
        const int32_t wide = DivCeil(part.columns, t_.baseN);
        const int32_t row = (t_.iterateOrder == 0 ? index % high : index / wide) * t_.baseM;
        const int32_t column = (t_.iterateOrder == 0 ? index / high : index % wide) * t_.baseN;
        const int32_t rows = part.rows - row < t_.baseM ? part.rows - row : t_.baseM;
        const int32_t columns = part.columns - column < t_.baseN ? part.columns - column : t_.baseN;
        LocalTensor<float> sums = in_.AllocTensor<float>();
        mm_.template GetTensorC<!behind>(sums, false, true);
        in_.EnQue(sums);
        sums = in_.DeQue<float>();
        LocalTensor<float> bent = out_.AllocTensor<float>();
        LeakyRelu(bent, sums, 0.125f, rows * DivCeil(columns, 8) * 8);
        out_.EnQue(bent);
        in_.FreeTensor(sums);
        bent = out_.DeQue<float>();
        const uint32_t gap = (t_.N - columns) * sizeof(float);
        DataCopyPad(part.c[row * t_.N + column], bent,
                    DataCopyExtParams(rows, columns * sizeof(float), 0, gap, 0));
        out_.FreeTensor(bent);
    }

    using Aligned = MatmulType<TPosition::VECIN, CubeFormat::ND_ALIGN, float>;
    Matmul<Gm<half>, Gm<half, true>, Aligned, Gm<float>> mm_;
    TQue<TPosition::VECIN, 1> in_;
    TQue<TPosition::VECOUT, 1> out_;
    TCubeTiling t_;
};

extern "C" __global__ __aicore__ __mix__(1, 2) void fused(
    GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, __kfc_workspace__ GM_ADDR workspace, TCubeTiling t, How how)
{
    (void)how;
    Fused<false>().Run(a, b, bias, c, workspace, t);
}

extern "C" __global__ __aicore__ __mix__(1, 2) void fused_behind(
    GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, __kfc_workspace__ GM_ADDR workspace, TCubeTiling t, How how)
{
    (void)how;
    Fused<true>().Run(a, b, bias, c, workspace + (8 << 20), t);
}

// A whole part of C in UB, and out.
extern "C" __global__ __aicore__ __mix__(1, 2) void to_ub(
    GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, __kfc_workspace__ GM_ADDR workspace, TCubeTiling t, How how)
{
    (void)workspace;
    TPipe pipe;
    Matmul<Gm<half>, Gm<half>, MatmulType<TPosition::VECIN, CubeFormat::ND, float>> mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
    Part<half, float, float> part(a, b, bias, c, t, false, false, t.N);
    if (!part.works) {
        return;
    }
    TBuf<TPosition::VECCALC> room;
    pipe.InitBuffer(room, t.singleCoreM * t.singleCoreN * sizeof(float));
    LocalTensor<float> ub = room.Get<float>();
    mm.SetTensorA(part.a);
    mm.SetTensorB(part.b);
    if (how.parts != 0) {
        while (mm.Iterate()) {
            mm.GetTensorC(ub);
        }
    } else {
        mm.IterateAll(ub);
    }
    mm.End();
    Adds(ub, ub, 1.0f, t.singleCoreM * t.singleCoreN);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    const uint32_t gap = (t.N - t.singleCoreN) * sizeof(float);
    DataCopyPad(part.c, ub, DataCopyExtParams(t.singleCoreM, t.singleCoreN * sizeof(float), 0, gap, 0));
}

// K in parts: added with atomics by calls that nothing waits for until all are under way.
extern "C" __global__ __aicore__ __mix__(1, 2) void behind(
    GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, __kfc_workspace__ GM_ADDR workspace, TCubeTiling t, How how)
{
    (void)workspace;
    TPipe pipe;
    Matmul<Gm<half>, Gm<half>, Gm<float>> mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
    Part<half, float, float> part(a, b, bias, c, t, false, false, t.N);
    if (!part.works) {
        return;
    }
    for (int32_t i = 0; i < how.parts; ++i) {
        mm.SetSingleShape(part.rows, part.columns, t.singleCoreK);
        mm.SetTensorA(part.a[i * t.singleCoreK]);
        mm.SetTensorB(part.b[i * t.singleCoreK * t.N]);
        mm.IterateAll<false>(part.c, 1, false, true);
    }
    for (int32_t i = 0; i < how.parts; ++i) {
        mm.WaitIterateAll();
    }
}

// K in parts, summed in L0C.
extern "C" __global__ __aicore__ __mix__(1, 2) void partial(
    GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, __kfc_workspace__ GM_ADDR workspace, TCubeTiling t, How how)
{
    (void)workspace;
    TPipe pipe;
    Matmul<Gm<half>, Gm<half>, Gm<float>> mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
    Part<half, float, float> part(a, b, bias, c, t, false, false, t.N);
    if (!part.works) {
        return;
    }
    if (t.isBias) {
        mm.SetBias(part.bias);
    }
    for (int32_t i = 0; i < how.parts; ++i) {
        mm.SetSingleShape(part.rows, part.columns, t.singleCoreK);
        mm.SetTensorA(part.a[i * t.singleCoreK]);
        mm.SetTensorB(part.b[i * t.singleCoreK * t.N]);
        mm.Iterate(i != 0);
    }
    mm.GetTensorC(part.c);
    mm.End();
}

// A doubled in UB, rows padded to blocks; B in column groups.
extern "C" __global__ __aicore__ __mix__(1, 2) void from_ub(
    GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, __kfc_workspace__ GM_ADDR workspace, TCubeTiling t, How how)
{
    (void)workspace;
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    TQue<TPosition::VECOUT, 1> line;
    TPipe pipe;
    Matmul<MatmulType<TPosition::VECOUT, CubeFormat::ND, half>, Gm<half>, Gm<float>,
           MatmulType<TPosition::VECOUT, CubeFormat::ND, float>> mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
    Part<half, float, float> part(a, b, bias, c, t, false, false, t.N);
    if (!part.works) {
        return;
    }
    const uint32_t pitch = DivCeil(t.singleCoreK, 16) * 16;
    const uint32_t count = t.singleCoreM * pitch;
    pipe.InitBuffer(in, 1, count * sizeof(half));
    pipe.InitBuffer(out, 1, count * sizeof(half));
    pipe.InitBuffer(line, 1, t.singleCoreN * sizeof(float));
    LocalTensor<half> raw = in.AllocTensor<half>();
    const uint32_t gap = (t.Ka - t.singleCoreK) * sizeof(half);
    DataCopyPad(raw, part.a, DataCopyExtParams(part.rows, t.singleCoreK * sizeof(half), gap, 0, 0),
                DataCopyPadExtParams<half>(false, 0, 0, 0));
    in.EnQue(raw);
    raw = in.DeQue<half>();
    LocalTensor<half> twice = out.AllocTensor<half>();
    Muls(twice, raw, half(2.0f), part.rows * pitch);
    in.FreeTensor(raw);
    LocalTensor<float> ones = line.AllocTensor<float>();
    Duplicate(ones, 1.0f, t.singleCoreN);
    out.EnQue(twice);
    line.EnQue(ones);
    twice = out.DeQue<half>();
    ones = line.DeQue<float>();
    mm.SetTail(part.rows, part.columns);
    mm.SetTensorA(twice);
    mm.SetTensorB(part.b);
    mm.SetBias(ones);
    if (how.parts == 0) {
        mm.IterateAll(part.c);
    } else if (how.parts == 1) {
        while (mm.Iterate()) {
            mm.GetTensorC(part.c);
        }
    } else {
        mm.IterateAll<false>(part.c, 0, false, true);
        mm.WaitIterateAll();
    }
    out.FreeTensor(twice);
    line.FreeTensor(ones);
    mm.End();
}

// Two objects: the product, and that with B transposed added to it; one after the other, or at once.
extern "C" __global__ __aicore__ __mix__(1, 2) void two(
    GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, __kfc_workspace__ GM_ADDR workspace, TCubeTiling t, How how)
{
    (void)workspace;
    TPipe pipe;
    Matmul<Gm<half>, Gm<half>, Gm<float>> rows;
    Matmul<Gm<half>, Gm<half, true>, Gm<float>> columns;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), rows, &t, columns, &t);
    Part<half, float, float> part(a, b, bias, c, t, false, false, t.N);
    Part<half, float, float> other(a, b, bias, c, t, false, true, t.N);
    if (!part.works) {
        return;
    }
    rows.SetTail(part.rows, part.columns);
    rows.SetTensorA(part.a);
    rows.SetTensorB(part.b);
    columns.SetTail(part.rows, part.columns);
    columns.SetTensorA(part.a);
    columns.SetTensorB(other.b, true);
    if (how.parts == 0) {
        rows.IterateAll(part.c, 1);
        rows.End();
        columns.IterateAll(part.c, 1);
        columns.End();
    } else {
        rows.IterateAll<false>(part.c, 1, false, true);
        columns.IterateAll<false>(part.c, 1, false, true);
        columns.WaitIterateAll();
        rows.WaitIterateAll();
    }
}

// What others do with flags beside an object: from 2 on they are free.
extern "C" __global__ __aicore__ __mix__(1, 2) void with_flags(
    GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, __kfc_workspace__ GM_ADDR workspace, TCubeTiling t, How how)
{
    (void)workspace;
    (void)how;
    TPipe pipe;
    Matmul<Gm<half>, Gm<half>, Gm<float>> mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
    Part<half, float, float> part(a, b, bias, c, t, false, false, t.N);
    mm.SetTail(part.rows, part.columns);
    mm.SetTensorA(part.a);
    mm.SetTensorB(part.b);
    mm.IterateAll(part.c);
    CrossCoreSetFlag<1, PIPE_MTE3>(2);
    CrossCoreWaitFlag(2);
    mm.End();
}

// Scales turn sums into half and int8_t.
template <typename T, typename CT>
__aicore__ inline void Scaled(GM_ADDR a, GM_ADDR b, GM_ADDR scales, GM_ADDR c, const TCubeTiling& t, const How& how)
{
    TPipe pipe;
    Matmul<Gm<T>, Gm<T>, Gm<CT>> mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
    Part<T, CT, uint64_t> part(a, b, scales, c, t, false, false, t.N);
    if (!part.works) {
        return;
    }
    if (how.parts == 0) {
        mm.SetQuantScalar(0x3d800000ull); // 1 / 16
    } else {
        mm.SetQuantVector(part.bias);
    }
    mm.SetTail(part.rows, part.columns);
    mm.SetTensorA(part.a);
    mm.SetTensorB(part.b);
    mm.IterateAll(part.c);
    mm.End();
}

extern "C" __global__ __aicore__ __mix__(1, 2) void bytes_half(
    GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, __kfc_workspace__ GM_ADDR workspace, TCubeTiling t, How how)
{
    (void)workspace;
    Scaled<int8_t, half>(a, b, bias, c, t, how);
}

extern "C" __global__ __aicore__ __mix__(1, 2) void bytes_bytes(
    GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, __kfc_workspace__ GM_ADDR workspace, TCubeTiling t, How how)
{
    (void)workspace;
    Scaled<int8_t, int8_t>(a, b, bias, c, t, how);
}
