/*!
 * \file matmul_types.h
 * \brief What a Matmul object is told when it is declared: its operands and its configuration.
 *
 * Names, defaults and orders are the public ones. What the emulated object does not do is refused here, by name.
 */
#ifndef FA_EMU_MATMUL_TYPES_H
#define FA_EMU_MATMUL_TYPES_H

#include "absent.h"
#include "../kernel_tiling/kernel_tiling.h"

enum class CubeFormat { ND = 0, NZ, ZN, ZZ, NN, VECTOR, SCALAR, ND_ALIGN, COLUMN_MAJOR };
enum class LayoutMode { NONE = 0, BSNGD, SBNGD, BNGS1S2, NORMAL };
enum class BatchMode { NONE = 0, BATCH_LESS_THAN_L1, BATCH_LARGE_THAN_L1, SINGLE_LARGE_THAN_L1 };
enum class BatchOutMode { SINGLE_BATCH, MULTI_BATCH, DYNAMIC };
enum class IterateOrder { ORDER_M = 0, ORDER_N, UNDEF };
enum class ScheduleType { INNER_PRODUCT = 0, OUTER_PRODUCT, N_BUFFER_33 };
enum IterateMode : uint8_t {
    ITERATE_MODE_NORMAL = 0b00000001,
    ITERATE_MODE_ALL = 0b00000010,
    ITERATE_MODE_BATCH = 0b00000100,
    ITERATE_MODE_N_BATCH = 0b00001000,
    ITERATE_MODE_DEFAULT = 0b11111111,
};

struct MatmulConfig {
    bool doNorm = false;
    bool doBasicBlock = false;
    bool doMultiDataLoad = false;
    uint32_t basicM = 0;
    uint32_t basicN = 0;
    uint32_t basicK = 0;
    bool intrinsicsCheck = false;
    bool isNBatch = false;
    bool enVecND2NZ = false;
    bool doSpecialBasicBlock = false;
    uint32_t doMTE2Preload = 0;
    uint32_t singleCoreM = 0;
    uint32_t singleCoreN = 0;
    uint32_t singleCoreK = 0;
    uint32_t stepM = 0;
    uint32_t stepN = 0;
    uint32_t baseMN = 0;
    uint32_t singleCoreMN = 0;
    bool enUnitFlag = true;
    bool isPerTensor = false;
    bool hasAntiQuantOffset = false;
    bool doIBShareNorm = false;
    bool doSpecialMDL = false;
    bool enableInit = true;
    BatchMode batchMode = BatchMode::NONE;
    bool enableEnd = true;
    bool enableGetTensorC = true;
    bool enableSetOrgShape = true;
    bool enableSetBias = true;
    bool enableSetTail = true;
    bool enableQuantVector = true;
    bool enableSetDefineData = true;
    uint8_t iterateMode = ITERATE_MODE_DEFAULT;
    bool enableReuse = true;
    bool enableUBReuse = true;
    bool enableL1CacheUB = false;
    bool intraBlockPartSum = false;
    IterateOrder iterateOrder = IterateOrder::UNDEF;
    ScheduleType scheduleType = ScheduleType::INNER_PRODUCT;
    bool enableDoubleCache = false;
    bool isBiasBatch = true;
    bool enableStaticPadZeros = false;
    bool isPartialOutput = false;
    bool enableMixDualMaster = false;
    bool isA2B2Shared = false;
    bool isEnableChannelSplit = false;
    bool enableKdimReorderLoad = false;
    bool isCO1Shared = false;
    uint32_t sharedCO1BufferSize = 65536;
    BatchOutMode bmmOutMode = BatchOutMode::SINGLE_BATCH;
    bool enableL1BankConflictOptimise = false;
    bool enableRelu = false;
};

/*! Base blocks go to L1 one by one. */
constexpr MatmulConfig GetNormalConfig(
    const bool intrinsicsLimit = false, const bool batchLoop = false, const bool isVecND2NZ = false,
    const BatchMode bmmMode = BatchMode::BATCH_LESS_THAN_L1, const bool isMsgReuse = true,
    const IterateOrder iterateOrder = IterateOrder::UNDEF,
    const ScheduleType scheduleType = ScheduleType::INNER_PRODUCT, const bool enUnitFlag = true,
    const bool enableMixDualMaster = false, const BatchOutMode bmmOutMode = BatchOutMode::SINGLE_BATCH)
{
    MatmulConfig config;
    config.doNorm = true;
    config.intrinsicsCheck = intrinsicsLimit;
    config.isNBatch = batchLoop;
    config.enVecND2NZ = isVecND2NZ;
    config.batchMode = bmmMode;
    config.enableReuse = isMsgReuse;
    config.iterateOrder = iterateOrder;
    config.scheduleType = scheduleType;
    config.enUnitFlag = enUnitFlag;
    config.enableMixDualMaster = enableMixDualMaster;
    config.bmmOutMode = bmmOutMode;
    return config;
}

/*! Several base blocks go to L1 in one copy. */
constexpr MatmulConfig GetMDLConfig(
    const bool intrinsicsLimit = false, const bool batchLoop = false, const uint32_t doMTE2Preload = 0,
    const bool isVecND2NZ = false, bool isPerTensor = false, bool hasAntiQuantOffset = false,
    const bool enUnitFlag = false, const bool isMsgReuse = true, const bool enableUBReuse = true,
    const bool enableL1CacheUB = false, const bool enableMixDualMaster = false,
    const bool enableKdimReorderLoad = false)
{
    MatmulConfig config;
    config.doMultiDataLoad = true;
    config.intrinsicsCheck = intrinsicsLimit;
    config.isNBatch = batchLoop;
    config.doMTE2Preload = doMTE2Preload;
    config.enVecND2NZ = isVecND2NZ;
    config.isPerTensor = isPerTensor;
    config.hasAntiQuantOffset = hasAntiQuantOffset;
    config.enUnitFlag = enUnitFlag;
    config.enableReuse = isMsgReuse;
    config.enableUBReuse = enableUBReuse;
    config.enableL1CacheUB = enableL1CacheUB;
    config.enableMixDualMaster = enableMixDualMaster;
    config.enableKdimReorderLoad = enableKdimReorderLoad;
    return config;
}

namespace fa_emu {
/*! A configuration of which only the refusal matters. */
constexpr MatmulConfig RefusedConfig(bool MatmulConfig::* what)
{
    MatmulConfig config;
    config.*what = true;
    return config;
}

/*! What the object does beyond loading base blocks and multiplying them, and is not emulated. */
constexpr bool ConfigIsPlain(const MatmulConfig& config)
{
    return !config.isNBatch && !config.enVecND2NZ && !config.isPerTensor && !config.hasAntiQuantOffset &&
           !config.enableL1CacheUB && !config.intraBlockPartSum && !config.enableStaticPadZeros &&
           !config.isPartialOutput && !config.isA2B2Shared && !config.isEnableChannelSplit &&
           !config.enableKdimReorderLoad && !config.isCO1Shared && !config.enableL1BankConflictOptimise &&
           !config.enableRelu && config.scheduleType == ScheduleType::INNER_PRODUCT && config.enableReuse;
}
} // namespace fa_emu

inline constexpr MatmulConfig CFG_NORM = GetNormalConfig();
inline constexpr MatmulConfig CFG_MDL = GetMDLConfig();
inline constexpr MatmulConfig CFG_IBSHARE_NORM = fa_emu::RefusedConfig(&MatmulConfig::doIBShareNorm);
inline constexpr MatmulConfig MM_CFG_BB = fa_emu::RefusedConfig(&MatmulConfig::doBasicBlock);

#define FA_EMU_NO_CONFIG(name)                                                                                      \
    template <typename... Args> constexpr MatmulConfig name(Args&&...)                                              \
    {                                                                                                               \
        static_assert(sizeof...(Args) > 1000, #name " is not emulated: GetNormalConfig and GetMDLConfig are");      \
        return {};                                                                                                  \
    }
FA_EMU_NO_CONFIG(GetSpecialMDLConfig)
FA_EMU_NO_CONFIG(GetIBShareNormConfig)
FA_EMU_NO_CONFIG(GetBasicConfig)
FA_EMU_NO_CONFIG(GetSpecialBasicConfig)
FA_EMU_NO_CONFIG(GetMMConfig)

namespace AscendC {
using ::BatchMode;
using ::BatchOutMode;
using ::CFG_IBSHARE_NORM;
using ::CFG_MDL;
using ::CFG_NORM;
using ::CubeFormat;
using ::GetMDLConfig;
using ::GetNormalConfig;
using ::IterateOrder;
using ::LayoutMode;
using ::MatmulConfig;
using ::ScheduleType;

constexpr uint32_t DEFAULT_C0_SIZE = 32;

template <
    TPosition POSITION, CubeFormat FORMAT, typename TYPE, bool ISTRANS = false, LayoutMode LAYOUT = LayoutMode::NONE,
    bool IBSHARE = false, TPosition SRCPOS = TPosition::GM>
struct MatmulType {
    static constexpr TPosition pos = POSITION;
    static constexpr CubeFormat format = FORMAT;
    using T = TYPE;
    static constexpr bool isTrans = ISTRANS;
    static constexpr LayoutMode layout = LAYOUT;
    static constexpr bool ibShare = IBSHARE;
    static constexpr TPosition srcPos = SRCPOS;
};

/*! Copies of the kernel's own in place of the object's; only the absence of all three is emulated. */
template <auto copyOut = nullptr, auto copyA1 = nullptr, auto copyB1 = nullptr> struct MatmulCallBackFunc {};

template <class A, class B, class C, class BIAS>
constexpr MatmulConfig GetMatmulApiTiling(const MatmulConfig&, int32_t = 0)
{
    static_assert(sizeof(A) == 0, "GetMatmulApiTiling is not emulated: register the object with a TCubeTiling");
    return {};
}
} // namespace AscendC

namespace fa_emu {
/*! What the operands and the configuration of an object ask for, and the emulated one does. */
template <class A, class B, class C, class BIAS, const auto& CFG> constexpr bool MatmulIsEmulated()
{
    using AscendC::TPosition;
    using AT = typename A::T;
    using BT = typename B::T;
    using CT = typename C::T;
    static_assert(std::is_same<std::decay_t<decltype(CFG)>, MatmulConfig>::value,
                  "constant tilings are not emulated: pass a MatmulConfig, and the TCubeTiling when registering");
    static_assert(A::pos != TPosition::TSCM && B::pos != TPosition::TSCM && BIAS::pos != TPosition::TSCM,
                  "operands of a Matmul object in TSCM are not emulated: keep them in global memory, or in VECOUT");
    static_assert(C::pos != TPosition::CO1, "a C in CO1 is not emulated: take it with GetTensorC");
    static_assert(A::format != CubeFormat::VECTOR && A::format != CubeFormat::SCALAR,
                  "CubeFormat::VECTOR and SCALAR are not emulated: declare A as ND with one row");
    static_assert(A::format == CubeFormat::ND || A::format == CubeFormat::NZ, "A of a Matmul object is ND or NZ");
    static_assert(B::format == CubeFormat::ND || B::format == CubeFormat::NZ, "B of a Matmul object is ND or NZ");
    static_assert(C::format == CubeFormat::ND || C::format == CubeFormat::NZ || C::format == CubeFormat::ND_ALIGN,
                  "C of a Matmul object is ND, NZ or ND_ALIGN");
    static_assert(A::layout == LayoutMode::NONE && B::layout == LayoutMode::NONE && C::layout == LayoutMode::NONE,
                  "batches of a Matmul object are not emulated: call it once a matrix");
    static_assert(!A::ibShare && !B::ibShare, "IBSHARE is not emulated: each vector core has its own copy in L1");
    static_assert(A::pos == TPosition::GM || A::pos == TPosition::VECOUT, "A of a Matmul object is in GM or VECOUT");
    static_assert(B::pos == TPosition::GM || B::pos == TPosition::VECOUT, "B of a Matmul object is in GM or VECOUT");
    static_assert(C::pos == TPosition::GM || C::pos == TPosition::VECIN || C::pos == TPosition::VECCALC,
                  "C of a Matmul object is in GM or VECIN");
    static_assert(std::is_same<AT, BT>::value && kOneOf<AT, half, bfloat16_t, float, int8_t>,
                  "a Matmul object multiplies half, bfloat16_t, float or int8_t by the same type");
    static_assert(std::is_same<AT, int8_t>::value ? kOneOf<CT, int32_t, half, int8_t>
                  : std::is_same<AT, float>::value ? kOneOf<CT, float, half, bfloat16_t>
                                                   : kOneOf<CT, float, half, bfloat16_t, int8_t>,
                  "a Matmul object cannot turn these sums into this C");
    static_assert(!CFG.doIBShareNorm && !CFG.doBasicBlock && !CFG.doSpecialBasicBlock && !CFG.doSpecialMDL,
                  "the Norm and MDL templates of a Matmul object are emulated: CFG_NORM computes the same");
    static_assert(!CFG.enableMixDualMaster,
                  "enableMixDualMaster is not emulated: the cube core serves its vector cores");
    static_assert(ConfigIsPlain(CFG),
                  "this MatmulConfig sets a field that is not emulated: start from CFG_NORM or CFG_MDL");
    return true;
}
} // namespace fa_emu

#endif
