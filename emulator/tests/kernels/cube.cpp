// Matrix products through L1, the operand buffers and Fixpipe.
#include "kernel_operator.h"

using namespace AscendC;

struct Product {
    uint32_t m;
    uint32_t n;
    uint32_t k;
    uint32_t bIsKn;   // B is [K, N] in memory, otherwise [N, K]
    uint32_t output;  // 0 float rows, 1 half rows, 2 bfloat16 rows, 3 float NZ, 4 half by way of L1
    uint32_t kStep;   // columns of A per Mmad
    uint32_t relu;
    uint32_t repeat;  // whole products, for timing
};

__aicore__ inline uint32_t Up(uint32_t value, uint32_t unit)
{
    return (value + unit - 1) / unit * unit;
}

template <typename T> class Multiply {
public:
    __aicore__ inline Multiply(GM_ADDR a, GM_ADDR b, GM_ADDR c, const Product& p) : p_(p), out_(c)
    {
        aGm_.SetGlobalBuffer((__gm__ T*)a);
        bGm_.SetGlobalBuffer((__gm__ T*)b);
        m_ = Up(p.m, 16);
        n_ = Up(p.n, 16);
        k_ = Up(p.k, kC0);
    }

    __aicore__ inline void Run()
    {
        Load(aL1_, aGm_, p_.m, p_.k, m_);
        if (p_.bIsKn != 0) {
            Load(bL1_, bGm_, p_.k, p_.n, Up(p_.k, 16));
        } else {
            Load(bL1_, bGm_, p_.n, p_.k, n_);
        }
        SetFlag<HardEvent::MTE2_MTE1>(0);
        WaitFlag<HardEvent::MTE2_MTE1>(0);
        for (uint32_t i = 0; i < p_.repeat; ++i) {
            Steps();
        }
        SetFlag<HardEvent::M_FIX>(0);
        WaitFlag<HardEvent::M_FIX>(0);
        Store();
        PipeBarrier<PIPE_ALL>();
    }

private:
    static constexpr uint32_t kC0 = 32 / sizeof(T);

    __aicore__ inline void Load(
        const LocalTensor<T>& dst, const GlobalTensor<T>& src, uint32_t rows, uint32_t cols, uint32_t rowsUp)
    {
        DataCopy(dst, src, Nd2NzParams(1, rows, cols, 0, cols, rowsUp, 1, 0));
    }

    __aicore__ inline void Steps()
    {
        for (uint32_t k0 = 0; k0 < p_.k; k0 += p_.kStep) {
            const uint32_t depth = p_.k - k0 < p_.kStep ? p_.k - k0 : p_.kStep;
            LoadA(k0, Up(depth, kC0) / kC0);
            LoadB(k0, depth);
            SetFlag<HardEvent::MTE1_M>(0);
            WaitFlag<HardEvent::MTE1_M>(0);
            MmadParams mmad;
            mmad.m = m_;
            mmad.n = p_.n;
            mmad.k = depth;
            mmad.cmatrixInitVal = k0 == 0;
            Mmad(c_, a_, b_, mmad);
            PipeBarrier<PIPE_M>();
            SetFlag<HardEvent::M_MTE1>(0);
            WaitFlag<HardEvent::M_MTE1>(0);
        }
    }

    __aicore__ inline void LoadA(uint32_t k0, uint32_t blocks)
    {
        LoadData2DParams load;
        load.repeatTimes = blocks;
        load.srcStride = m_ / 16;
        for (uint32_t i = 0; i < m_ / 16; ++i) {
            load.startIndex = i + k0 / kC0 * (m_ / 16);
            LoadData(a_[i * 16 * blocks * kC0], aL1_, load);
        }
    }

    __aicore__ inline void LoadB(uint32_t k0, uint32_t depth)
    {
        LoadData2DParams load;
        load.repeatTimes = n_ / 16;
        const uint32_t blocks = Up(depth, kC0) / kC0;
        const uint32_t kRows = Up(p_.k, 16) / 16;
        for (uint32_t k = 0; k < blocks; ++k) {
            if (p_.bIsKn != 0) {
                load.startIndex = k0 / kC0 + k;
                load.srcStride = kRows;
                load.ifTranspose = true;
            } else {
                load.startIndex = (k0 / kC0 + k) * (n_ / 16);
                load.srcStride = 1;
            }
            LoadData(b_[k * n_ * kC0], bL1_, load);
        }
    }

    __aicore__ inline void Store()
    {
        FixpipeParamsV220 fix;
        fix.nSize = p_.n;
        fix.mSize = p_.m;
        fix.srcStride = m_;
        fix.dstStride = p_.n;
        fix.reluEn = p_.relu != 0;
        GlobalTensor<float> f;
        GlobalTensor<half> h;
        GlobalTensor<bfloat16_t> b;
        f.SetGlobalBuffer((__gm__ float*)out_);
        h.SetGlobalBuffer((__gm__ half*)out_);
        b.SetGlobalBuffer((__gm__ bfloat16_t*)out_);
        switch (p_.output) {
            case 0: Fixpipe<float, float, CFG_ROW_MAJOR>(f, c_, fix); break;
            case 1: fix.quantPre = QuantMode_t::F322F16; Fixpipe(h, c_, fix); break;
            case 2: fix.quantPre = QuantMode_t::F322BF16; Fixpipe(b, c_, fix); break;
            case 3:
                fix.nSize = n_;
                fix.dstStride = m_ * 2;
                Fixpipe<float, float, CFG_NZ>(f, c_, fix);
                break;
            default: {
                LocalTensor<half> l1(TPosition::A1, 0, m_ * n_);
                fix.quantPre = QuantMode_t::F322F16;
                fix.nSize = n_;
                fix.dstStride = m_;
                Fixpipe<half, float, CFG_NZ>(l1, c_, fix);
                SetFlag<HardEvent::FIX_MTE3>(0);
                WaitFlag<HardEvent::FIX_MTE3>(0);
                DataCopy(h, l1, m_ * n_);
            }
        }
    }

    Product p_;
    GM_ADDR out_;
    GlobalTensor<T> aGm_;
    GlobalTensor<T> bGm_;
    uint32_t m_;
    uint32_t n_;
    uint32_t k_;
    LocalTensor<T> aL1_{TPosition::A1, 0, 65536 / sizeof(T)};
    LocalTensor<T> bL1_{TPosition::B1, 65536, 65536 / sizeof(T)};
    LocalTensor<T> a_{TPosition::A2, 0, 65536 / sizeof(T)};
    LocalTensor<T> b_{TPosition::B2, 0, 65536 / sizeof(T)};
    LocalTensor<float> c_{TPosition::CO1, 0, 32768};
};

extern "C" __global__ __aicore__ __cube__ void matmul_half(GM_ADDR a, GM_ADDR b, GM_ADDR c, Product p)
{
    if ASCEND_IS_AIC {
        Multiply<half>(a, b, c, p).Run();
    }
}

extern "C" __global__ __aicore__ __cube__ void matmul_bfloat(GM_ADDR a, GM_ADDR b, GM_ADDR c, Product p)
{
    if ASCEND_IS_AIC {
        Multiply<bfloat16_t>(a, b, c, p).Run();
    }
}

extern "C" __global__ __aicore__ __cube__ void matmul_float(GM_ADDR a, GM_ADDR b, GM_ADDR c, Product p)
{
    if ASCEND_IS_AIC {
        Multiply<float>(a, b, c, p).Run();
    }
}

extern "C" __global__ __aicore__ void int8_dequantised(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR bias)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    constexpr uint32_t kM = 16;
    constexpr uint32_t kN = 32;
    constexpr uint32_t kK = 64;
    GlobalTensor<int8_t> aGm;
    GlobalTensor<int8_t> bGm;
    GlobalTensor<half> cGm;
    GlobalTensor<int32_t> biasGm;
    aGm.SetGlobalBuffer((__gm__ int8_t*)a, kM * kK);
    bGm.SetGlobalBuffer((__gm__ int8_t*)b, kN * kK);
    cGm.SetGlobalBuffer((__gm__ half*)c, kM * kN);
    biasGm.SetGlobalBuffer((__gm__ int32_t*)bias, kN);
    LocalTensor<int8_t> aL1(TPosition::A1, 0, kM * kK);
    LocalTensor<int8_t> bL1(TPosition::B1, 4096, kN * kK);
    LocalTensor<int32_t> biasL1(TPosition::C1, 16384, kN);
    LocalTensor<int8_t> aL0(TPosition::A2, 0, kM * kK);
    LocalTensor<int8_t> bL0(TPosition::B2, 0, kN * kK);
    LocalTensor<int32_t> biasBt(TPosition::C2, 0, kN);
    LocalTensor<int32_t> cL0(TPosition::CO1, 0, kM * kN);
    DataCopy(aL1, aGm, Nd2NzParams(1, kM, kK, 0, kK, kM, 1, 0));
    DataCopy(bL1, bGm, Nd2NzParams(1, kN, kK, 0, kK, kN, 1, 0));
    DataCopy(biasL1, biasGm, kN);
    SetFlag<HardEvent::MTE2_MTE1>(0);
    WaitFlag<HardEvent::MTE2_MTE1>(0);
    DataCopy(biasBt, biasL1, DataCopyParams(1, kN * 4 / 64, 0, 0));
    LoadData(aL0, aL1, LoadData2DParams(0, kK / 32, 1, 0, 0, false, 0));
    LoadData(bL0, bL1, LoadData2DParams(0, kN / 16 * kK / 32, 1, 0, 0, false, 0));
    SetFlag<HardEvent::MTE1_M>(0);
    WaitFlag<HardEvent::MTE1_M>(0);
    Mmad(cL0, aL0, bL0, biasBt, MmadParams(kM, kN, kK, 0, true, false));
    SetFlag<HardEvent::M_FIX>(0);
    WaitFlag<HardEvent::M_FIX>(0);
    FixpipeParamsV220 fix(kN, kM, kM, kN, false);
    fix.quantPre = QuantMode_t::DEQF16;
    const float scale = 0.125f;
    fix.deqScalar = static_cast<uint64_t>(*reinterpret_cast<const int32_t*>(&scale));
    Fixpipe(cGm, cL0, fix);
    PipeBarrier<PIPE_ALL>();
}

__aicore__ inline int64_t Slot()
{
    if ASCEND_IS_AIC {
        return GetBlockIdx();
    }
    return GetBlockNum() + GetBlockIdx();
}

extern "C" __global__ __aicore__ void everyone_meets(uint64_t sync, GM_ADDR counts)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    SetSyncBaseAddr(sync);
    GlobalTensor<int32_t> gm;
    gm.SetGlobalBuffer((__gm__ int32_t*)counts);
    const int64_t slot = Slot();
    gm.SetValue(slot * 8, static_cast<int32_t>(slot + 1));
    DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(gm[slot * 8]);
    SyncAll<false>();
    int32_t sum = 0;
    for (int64_t i = 0; i < 3 * GetBlockNum(); ++i) {
        sum += gm.GetValue(i * 8);
    }
    gm.SetValue(slot * 8 + 1, sum);
    CrossCoreSetFlag<0, PIPE_MTE3>(1);
    CrossCoreWaitFlag(1);
    if ASCEND_IS_AIV {
        CrossCoreSetFlag<1, PIPE_MTE3>(2);
        CrossCoreWaitFlag(2);
    }
}

extern "C" __global__ __aicore__ void product_by_load3d(GM_ADDR a, GM_ADDR b, GM_ADDR c)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    constexpr uint16_t kM = 32;
    constexpr uint16_t kN = 48;
    constexpr uint16_t kK = 64;
    GlobalTensor<half> aGm;
    GlobalTensor<half> bGm;
    GlobalTensor<float> cGm;
    aGm.SetGlobalBuffer((__gm__ half*)a, kM * kK);
    bGm.SetGlobalBuffer((__gm__ half*)b, kN * kK);
    cGm.SetGlobalBuffer((__gm__ float*)c, kM * kN);
    LocalTensor<half> aL1(TPosition::A1, 0, kM * kK);
    LocalTensor<half> bL1(TPosition::B1, 8192, kN * kK);
    LocalTensor<half> aL0(TPosition::A2, 0, kM * kK);
    LocalTensor<half> bL0(TPosition::B2, 0, kN * kK);
    LocalTensor<float> cL0(TPosition::CO1, 0, kM * kN);
    DataCopy(aL1, aGm, Nd2NzParams(1, kK, kM, 0, kM, kK, 1, 0));
    DataCopy(bL1, bGm, Nd2NzParams(1, kK, kN, 0, kN, kK, 1, 0));
    SetFlag<HardEvent::MTE2_MTE1>(0);
    WaitFlag<HardEvent::MTE2_MTE1>(0);
    LoadData3DParamsV2<half> load;
    load.l1H = 1;
    load.l1W = kK;
    load.mExtension = kK;
    load.channelSize = kM;
    load.kExtension = kM;
    load.enTranspose = true;
    LoadData(aL0, aL1, load);
    load.channelSize = kN;
    load.kExtension = kN;
    LoadData(bL0, bL1, load);
    SetFlag<HardEvent::MTE1_M>(0);
    WaitFlag<HardEvent::MTE1_M>(0);
    Mmad(cL0, aL0, bL0, MmadParams(kM, kN, kK, 0, false, true));
    SetFlag<HardEvent::M_FIX>(0);
    WaitFlag<HardEvent::M_FIX>(0);
    Fixpipe(cGm, cL0, FixpipeParamsV220(kN, kM, kM, kN, false));
    PipeBarrier<PIPE_ALL>();
}

// Rows and columns that a copy into column groups leaves or fills.
extern "C" __global__ __aicore__ void group_tails(GM_ADDR x, GM_ADDR out)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    GlobalTensor<half> xGm;
    GlobalTensor<half> outGm;
    xGm.SetGlobalBuffer((__gm__ half*)x, 100);
    outGm.SetGlobalBuffer((__gm__ half*)out, 512);
    LocalTensor<half> l1(TPosition::A1, 0, 512);
    InitConstValue(l1, InitConstValueParams<half>(1, 32, 0, half(7)));
    PipeBarrier<PIPE_MTE2>();
    DataCopy(l1, xGm, Nd2NzParams(1, 5, 20, 0, 20, 16, 1, 0));
    SetFlag<HardEvent::MTE2_MTE3>(0);
    WaitFlag<HardEvent::MTE2_MTE3>(0);
    DataCopy(outGm, l1, 512);
    PipeBarrier<PIPE_ALL>();
}

extern "C" __global__ __aicore__ void row_times_matrix(GM_ADDR a, GM_ADDR b, GM_ADDR c)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    constexpr uint16_t kN = 16;
    constexpr uint16_t kK = 256;
    GlobalTensor<half> aGm;
    GlobalTensor<half> bGm;
    GlobalTensor<float> cGm;
    aGm.SetGlobalBuffer((__gm__ half*)a, kK);
    bGm.SetGlobalBuffer((__gm__ half*)b, kN * kK);
    cGm.SetGlobalBuffer((__gm__ float*)c, kN);
    LocalTensor<half> aL1(TPosition::A1, 0, kK);
    LocalTensor<half> bL1(TPosition::B1, 8192, kN * kK);
    LocalTensor<half> aL0(TPosition::A2, 0, kK);
    LocalTensor<half> bL0(TPosition::B2, 0, kN * kK);
    LocalTensor<float> cL0(TPosition::CO1, 0, 256);
    DataCopy(aL1, aGm, kK);
    DataCopy(bL1, bGm, Nd2NzParams(1, kN, kK, 0, kK, kN, 1, 0));
    SetFlag<HardEvent::MTE2_MTE1>(0);
    WaitFlag<HardEvent::MTE2_MTE1>(0);
    LoadData(aL0, aL1, LoadData2DParams(0, 1, 1, 0, 0, false, 0));
    LoadData(bL0, bL1, LoadData2DParams(0, kK / 16, 1, 0, 0, false, 0));
    SetFlag<HardEvent::MTE1_M>(0);
    WaitFlag<HardEvent::MTE1_M>(0);
    Mmad(cL0, aL0, bL0, MmadParams(1, kN, kK, 0, false, true));
    SetFlag<HardEvent::M_FIX>(0);
    WaitFlag<HardEvent::M_FIX>(0);
    DataCopyCO12DstParams out(kN, 1, kN, 16, QuantMode_t::NoQuant, 0, false, true);
    SetFixpipeNz2ndFlag(1, 1, 1);
    DataCopy(cGm, cL0, out);
    PipeBarrier<PIPE_ALL>();
}

extern "C" __global__ __aicore__ void float_transposed(GM_ADDR a, GM_ADDR b, GM_ADDR c, int32_t shorter)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    if (shorter != 0) {
        SetHF32Mode(HF32Mode::ENABLE);
        SetHF32TransMode(shorter == 1 ? HF32TransMode::NEAREST_EVEN : HF32TransMode::NEAREST_ZERO);
    }
    constexpr uint16_t kSide = 16;
    GlobalTensor<float> aGm;
    GlobalTensor<float> bGm;
    GlobalTensor<float> cGm;
    aGm.SetGlobalBuffer((__gm__ float*)a, kSide * kSide);
    bGm.SetGlobalBuffer((__gm__ float*)b, kSide * kSide);
    cGm.SetGlobalBuffer((__gm__ float*)c, kSide * kSide);
    LocalTensor<float> aL1(TPosition::A1, 0, kSide * kSide);
    LocalTensor<float> bL1(TPosition::B1, 8192, kSide * kSide);
    LocalTensor<float> aL0(TPosition::A2, 0, kSide * kSide);
    LocalTensor<float> bL0(TPosition::B2, 0, kSide * kSide);
    LocalTensor<float> cL0(TPosition::CO1, 0, kSide * kSide);
    const Nd2NzParams nd(1, kSide, kSide, 0, kSide, kSide, 1, 0);
    DataCopy(aL1, aGm, nd);
    DataCopy(bL1, bGm, nd);
    SetFlag<HardEvent::MTE2_MTE1>(0);
    WaitFlag<HardEvent::MTE2_MTE1>(0);
    LoadData(aL0, aL1, LoadData2DParams(0, 2, 1, 0, 0, false, 0));
    LoadDataWithTranspose(bL0, bL1, LoadData2dTransposeParams(0, 1, 0, 0, 0));
    SetFlag<HardEvent::MTE1_M>(0);
    WaitFlag<HardEvent::MTE1_M>(0);
    Mmad(cL0, aL0, bL0, MmadParams(kSide, kSide, kSide, 0, false, true));
    SetFlag<HardEvent::M_FIX>(0);
    WaitFlag<HardEvent::M_FIX>(0);
    Fixpipe(cGm, cL0, FixpipeParamsV220(kSide, kSide, kSide, kSide, false));
    PipeBarrier<PIPE_ALL>();
}
