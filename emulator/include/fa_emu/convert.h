/*!
 * \file convert.h
 * \brief Type conversions of the vector unit.
 */
#ifndef FA_EMU_CONVERT_H
#define FA_EMU_CONVERT_H

#include "arith.h"

namespace fa_emu {
/*! The conversions that exist on this chip; the rounding modes of each are checked when it is issued. */
template <typename T, typename U> constexpr bool CastExists()
{
    if (std::is_same<U, float>::value) {
        return kOneOf<T, half, bfloat16_t, float, int16_t, int32_t, int64_t>;
    }
    if (std::is_same<U, half>::value) {
        return kOneOf<T, float, int32_t, int16_t, int8_t, uint8_t>;
    }
    if (std::is_same<U, bfloat16_t>::value) {
        return kOneOf<T, float, int32_t>;
    }
    if (std::is_same<U, int32_t>::value) {
        return kOneOf<T, float, half, int16_t, int64_t>;
    }
    if (std::is_same<U, int16_t>::value) {
        return kOneOf<T, half, float>;
    }
    if (std::is_same<U, int64_t>::value) {
        return kOneOf<T, int32_t, float>;
    }
    return kOneOf<U, int8_t, uint8_t> && std::is_same<T, half>::value;
}
} // namespace fa_emu

namespace AscendC {
template <typename T, typename U, bool isSetMask = true>
inline void Cast(
    const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode, const uint64_t mask[],
    const uint8_t repeatTime, const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::CastExists<T, U>(), "Cast between these types does not exist on this chip");
    fa_emu::Record record(FA_OP_CAST, "Cast", emuLoc);
    record.template MaskBits<isSetMask>(mask).Param(7, static_cast<int64_t>(roundMode));
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T, typename U, bool isSetMask = true>
inline void Cast(
    const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode, const uint64_t mask,
    const uint8_t repeatTime, const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::CastExists<T, U>(), "Cast between these types does not exist on this chip");
    fa_emu::Record record(FA_OP_CAST, "Cast", emuLoc);
    record.template Lanes<isSetMask>(mask).Param(7, static_cast<int64_t>(roundMode));
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T, typename U>
inline void Cast(
    const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode, const uint32_t count,
    FA_EMU_HERE)
{
    static_assert(fa_emu::CastExists<T, U>(), "Cast between these types does not exist on this chip");
    fa_emu::Record record(FA_OP_CAST, "Cast", emuLoc);
    record.Param(7, static_cast<int64_t>(roundMode));
    fa_emu::Unary(record.Count(count), dst, src);
}

inline void SetDeqScale(half scale, FA_EMU_HERE)
{
    if constexpr (fa_emu::kIsAiv) {
        fa_emu::Record(FA_OP_SETDEQSCALE, "SetDeqScale", emuLoc).Scalar(scale.bits).Issue();
    }
}
} // namespace AscendC

#endif
