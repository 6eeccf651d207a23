/*!
 * \file types.h
 * \brief Qualifiers, element types and enumerations of the API.
 */
#ifndef FA_EMU_TYPES_H
#define FA_EMU_TYPES_H

#include <cstddef>
#include <type_traits>

#include "abi.h"

#ifdef FA_EMU_SCAN
#define __global__ fa_emu_scan_kernel
#define __mix__(aic, aiv) fa_emu_scan_mix(aic, aiv)
#define __cube__ fa_emu_scan_cube
#define __vector__ fa_emu_scan_vector
#define KERNEL_TASK_TYPE_DEFAULT(value) fa_emu_scan_type(value)
#define __kfc_workspace__ fa_emu_scan_workspace
#else
#define __global__ __attribute__((visibility("default"), used))
#define __mix__(aic, aiv)
#define __cube__
#define __vector__
#define KERNEL_TASK_TYPE_DEFAULT(value)
#define __kfc_workspace__
#endif
#define KERNEL_TASK_TYPE(key, value) static_assert(false, "tiling keys belong to custom-operator projects, which the emulated toolkit does not build")
#define __aicore__
#define __schedmode__(mode)
#define __gm__
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __fbuf__
#define __inout_pipe__(p)
#define __in_pipe__(p)
#define __out_pipe__(p)
#define __check_sync_alias__
#define __BLOCK_LOCAL__ thread_local

using GM_ADDR = __gm__ uint8_t*;

#ifdef SPLIT_CORE_CUBE
#define ASCEND_IS_AIC constexpr(true)
#define ASCEND_IS_AIV constexpr(false)
#else
#define ASCEND_IS_AIC constexpr(false)
#define ASCEND_IS_AIV constexpr(true)
#endif
#define ASCEND_IS_NOT_AIC ASCEND_IS_AIV
#define ASCEND_IS_NOT_AIV ASCEND_IS_AIC

namespace fa_emu {
#ifdef SPLIT_CORE_CUBE
constexpr bool kIsAic = true;
#else
constexpr bool kIsAic = false;
#endif
constexpr bool kIsAiv = !kIsAic;

constexpr uint32_t Bits(float value) { return __builtin_bit_cast(uint32_t, value); }
constexpr float Float(uint32_t bits) { return __builtin_bit_cast(float, bits); }

/*! Round to nearest even, with subnormals. */
constexpr uint16_t HalfFromFloat(float value)
{
    const uint32_t bits = Bits(value);
    const uint32_t sign = (bits >> 16) & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
        return static_cast<uint16_t>(sign | 0x7e00u);
    }
    if (magnitude >= 0x477ff000u) {
        return static_cast<uint16_t>(sign | 0x7c00u);
    }
    if (magnitude < 0x38800000u) {
        const uint32_t scaled = Bits(Float(magnitude) + 0.5f);
        return static_cast<uint16_t>(sign | (scaled - 0x3f000000u));
    }
    const uint32_t odd = (magnitude >> 13) & 1u;
    return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

constexpr float HalfToFloat(uint16_t half)
{
    const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
    const uint32_t magnitude = half & 0x7fffu;
    if (magnitude >= 0x7c00u) {
        return Float(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
    }
    if (magnitude < 0x400u) {
        const float scaled = static_cast<float>(magnitude) * (1.0f / 16777216.0f);
        return Float(Bits(scaled) | sign);
    }
    return Float(sign | ((magnitude << 13) + 0x38000000u));
}

constexpr uint16_t BfloatFromFloat(float value)
{
    const uint32_t bits = Bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return static_cast<uint16_t>((bits >> 16) | 0x40u);
    }
    return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
} // namespace fa_emu

/*! The device's 16-bit float as a scalar: converts like a built-in type, computes in float. */
struct half {
    uint16_t bits = 0;

    constexpr half() = default;
    template <typename N, typename std::enable_if<std::is_arithmetic<N>::value, bool>::type = true>
    constexpr half(N value) : bits(fa_emu::HalfFromFloat(static_cast<float>(value)))
    {}
    constexpr operator float() const { return fa_emu::HalfToFloat(bits); }
};

/*! The device's brain float as a scalar; it has no scalar arithmetic. */
struct bfloat16_t {
    uint16_t bits = 0;

    constexpr bfloat16_t() = default;
    template <typename N, typename std::enable_if<std::is_arithmetic<N>::value, bool>::type = true>
    constexpr bfloat16_t(N value) : bits(fa_emu::BfloatFromFloat(static_cast<float>(value)))
    {}
    constexpr explicit operator float() const { return fa_emu::Float(static_cast<uint32_t>(bits) << 16); }
};

enum pipe_t : uint8_t {
    PIPE_S = 0, PIPE_V = 1, PIPE_M = 2, PIPE_MTE1 = 3, PIPE_MTE2 = 4, PIPE_MTE3 = 5, PIPE_ALL = 6, PIPE_FIX = 10,
};

enum event_t : uint8_t {
    EVENT_ID0 = 0, EVENT_ID1, EVENT_ID2, EVENT_ID3, EVENT_ID4, EVENT_ID5, EVENT_ID6, EVENT_ID7,
};

enum QuantMode_t : uint8_t {
    NoQuant, F322F16, F322BF16, DEQF16, VDEQF16, QF322B8_PRE, VQF322B8_PRE, REQ8, VREQ8,
};

namespace AscendC {
enum class TPosition : uint8_t {
    GM, A1, A2, B1, B2, C1, C2, CO1, CO2, VECIN, VECOUT, VECCALC, LCM = VECCALC, SPM, SHM = SPM, TSCM, C2PIPE2GM,
    C2PIPE2LOCAL, MAX,
};
using QuePosition = TPosition;

enum class Hardware : uint8_t { GM, UB, L1, L0A, L0B, L0C, BIAS, FIXBUF, MAX };

enum class HardEvent : uint8_t {
    MTE2_MTE1, MTE1_MTE2, MTE1_M, M_MTE1, MTE2_V, V_MTE2, MTE3_V, V_MTE3, M_V, V_M, V_V, MTE3_MTE1, MTE1_MTE3, MTE1_V,
    MTE2_M, M_MTE2, V_MTE1, M_FIX, FIX_M, MTE3_MTE2, MTE2_MTE3, S_V, V_S, S_MTE2, MTE2_S, S_MTE3, MTE3_S, MTE2_FIX,
    FIX_MTE2, FIX_S, M_S, FIX_MTE3, MTE1_FIX, FIX_MTE1, FIX_FIX, MAX,
};

enum class RoundMode : uint8_t {
    CAST_NONE = 0, CAST_RINT, CAST_FLOOR, CAST_CEIL, CAST_ROUND, CAST_TRUNC, CAST_ODD, UNKNOWN = 0xFF,
};
enum class CMPMODE : uint8_t { LT = 0, GT, EQ, LE, GE, NE };
enum class SELMODE : uint8_t { VSEL_CMPMASK_SPR = 0, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE };
enum class ReduceType { SUM, MAX, MIN };
enum class ReduceOrder : uint8_t { ORDER_VALUE_INDEX = 0, ORDER_INDEX_VALUE, ORDER_ONLY_VALUE, ORDER_ONLY_INDEX };
enum class MaskMode : uint8_t { NORMAL = 0, COUNTER };
enum class MemDsbT : uint8_t { ALL = 0, DDR, UB, SEQ };
enum class CacheLine : uint64_t { SINGLE_CACHE_LINE = 0, ENTIRE_DATA_CACHE };
enum class DcciDst : uint64_t { CACHELINE_ALL = 0, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };
enum class CacheMode { CACHE_MODE_DISABLE = 0, CACHE_MODE_NORMAL = 1, CACHE_MODE_LAST = 2, CACHE_MODE_PERSISTENT = 4 };
enum class CacheRwMode { READ = 1, WRITE = 2, RW = 3 };
enum class HF32Mode { ENABLE, DISABLE };
enum class HF32TransMode { NEAREST_ZERO, NEAREST_EVEN };
enum class AtomicDtype { ATOMIC_NONE = 0, ATOMIC_F32, ATOMIC_F16, ATOMIC_S16, ATOMIC_S32, ATOMIC_S8, ATOMIC_BF16 };
enum class AtomicOp { ATOMIC_SUM = 0 };
enum class DataFormat : uint8_t { ND = 0, NZ, NCHW, NC1HWC0, NHWC, NCDHW, NDC1HWC0, FRACTAL_Z_3D };

using TEventID = int8_t;
using TTagType = int32_t;

constexpr uint64_t MASK_PLACEHOLDER = 0;
constexpr uint64_t MASK_PLACEHOLDER_LIST[2] = {0, 0};
constexpr int32_t ONE_BLK_SIZE = 32;
constexpr int32_t DEFAULT_BLK_NUM = 8;
constexpr int32_t DEFAULT_BLK_STRIDE = 1;
constexpr uint8_t DEFAULT_REPEAT_STRIDE = 8;
constexpr int32_t NCHW_CONV_ADDR_LIST_SIZE = 16;
constexpr int32_t PAD_SIZE = 4;
constexpr int32_t K_MAX_SHAPE_DIM = 8;
constexpr int32_t QUE_MAX_EVENT = 8;

template <typename T, typename U> using IsSameType = std::is_same<T, U>;

template <typename T> constexpr T DivCeil(T value, T unit) { return (value + unit - 1) / unit; }

inline float ToFloat(bfloat16_t value) { return static_cast<float>(value); }
inline bfloat16_t ToBfloat16(float value) { return bfloat16_t(value); }
} // namespace AscendC

namespace fa_emu {
enum Dtype : uint8_t {
    kNone = 0, kF32 = 1, kF16 = 2, kBf16 = 3, kI8 = 4, kU8 = 5, kI16 = 6, kU16 = 7, kI32 = 8, kU32 = 9, kI64 = 10,
    kU64 = 11,
};

template <typename T> struct DtypeOf {
    static_assert(sizeof(T) == 0, "this element type does not exist on this chip");
};
template <> struct DtypeOf<float> { static constexpr Dtype value = kF32; };
template <> struct DtypeOf<half> { static constexpr Dtype value = kF16; };
template <> struct DtypeOf<bfloat16_t> { static constexpr Dtype value = kBf16; };
template <> struct DtypeOf<int8_t> { static constexpr Dtype value = kI8; };
template <> struct DtypeOf<uint8_t> { static constexpr Dtype value = kU8; };
template <> struct DtypeOf<int16_t> { static constexpr Dtype value = kI16; };
template <> struct DtypeOf<uint16_t> { static constexpr Dtype value = kU16; };
template <> struct DtypeOf<int32_t> { static constexpr Dtype value = kI32; };
template <> struct DtypeOf<uint32_t> { static constexpr Dtype value = kU32; };
template <> struct DtypeOf<int64_t> { static constexpr Dtype value = kI64; };
template <> struct DtypeOf<uint64_t> { static constexpr Dtype value = kU64; };
template <> struct DtypeOf<bool> { static constexpr Dtype value = kU8; };

template <typename T, typename... Ts> constexpr bool kOneOf = (std::is_same<T, Ts>::value || ...);

/*! The bit pattern of a scalar operand, zero-extended. */
template <typename T> constexpr uint64_t ScalarBits(const T& value)
{
    if constexpr (std::is_same<T, float>::value) {
        return Bits(value);
    } else if constexpr (std::is_same<T, half>::value || std::is_same<T, bfloat16_t>::value) {
        return value.bits;
    } else {
        return static_cast<uint64_t>(value);
    }
}

template <typename T> constexpr T FromBits(uint64_t bits)
{
    if constexpr (std::is_same<T, float>::value) {
        return Float(static_cast<uint32_t>(bits));
    } else if constexpr (std::is_same<T, half>::value || std::is_same<T, bfloat16_t>::value) {
        T value;
        value.bits = static_cast<uint16_t>(bits);
        return value;
    } else {
        return static_cast<T>(bits);
    }
}
} // namespace fa_emu

#endif
