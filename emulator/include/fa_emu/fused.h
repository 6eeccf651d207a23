/*!
 * \file fused.h
 * \brief Sums, differences and products that clamp at zero and convert in one instruction.
 */
#ifndef FA_EMU_FUSED_H
#define FA_EMU_FUSED_H

#include "arith.h"

namespace fa_emu {
template <typename T, typename U> constexpr bool MulCastExists()
{
    return std::is_same<U, half>::value && kOneOf<T, int8_t, uint8_t>;
}

template <typename T, typename U> constexpr bool ReluCastExists()
{
    return (std::is_same<T, int8_t>::value && kOneOf<U, half, int16_t>) ||
           (std::is_same<T, half>::value && std::is_same<U, float>::value);
}

template <typename T, typename U> constexpr bool DeqReluExists()
{
    return std::is_same<T, half>::value && std::is_same<U, int32_t>::value;
}
} // namespace fa_emu

namespace AscendC {
/*! Defines the three forms of one such instruction. */
#define FA_EMU_FUSED(Name, OP, Exists, Types)                                                                        \
    template <typename T, typename U, bool isSetMask = true>                                                         \
    inline void Name(                                                                                                \
        const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, uint64_t mask[],          \
        const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)                               \
    {                                                                                                                \
        static_assert(fa_emu::Exists<T, U>(), #Name " takes " Types " on this chip");                                \
        fa_emu::Record record(OP, #Name, emuLoc);                                                                    \
        record.template MaskBits<isSetMask>(mask);                                                                   \
        fa_emu::Binary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src0, src1);                          \
    }                                                                                                                \
    template <typename T, typename U, bool isSetMask = true>                                                         \
    inline void Name(                                                                                                \
        const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, uint64_t mask,            \
        const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)                               \
    {                                                                                                                \
        static_assert(fa_emu::Exists<T, U>(), #Name " takes " Types " on this chip");                                \
        fa_emu::Record record(OP, #Name, emuLoc);                                                                    \
        record.template Lanes<isSetMask>(mask);                                                                      \
        fa_emu::Binary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src0, src1);                          \
    }                                                                                                                \
    template <typename T, typename U>                                                                                \
    inline void Name(                                                                                                \
        const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, const uint32_t count,     \
        FA_EMU_HERE)                                                                                                 \
    {                                                                                                                \
        static_assert(fa_emu::Exists<T, U>(), #Name " takes " Types " on this chip");                                \
        fa_emu::Record record(OP, #Name, emuLoc);                                                                    \
        fa_emu::Binary(record.Count(count), dst, src0, src1);                                                        \
    }

FA_EMU_FUSED(MulCast, FA_OP_MULCAST, MulCastExists, "half into int8_t or uint8_t")
FA_EMU_FUSED(AddReluCast, FA_OP_ADDRELUCAST, ReluCastExists, "half or int16_t into int8_t, or float into half")
FA_EMU_FUSED(SubReluCast, FA_OP_SUBRELUCAST, ReluCastExists, "half or int16_t into int8_t, or float into half")
FA_EMU_FUSED(AddDeqRelu, FA_OP_ADDDEQRELU, DeqReluExists, "int32_t into half")
#undef FA_EMU_FUSED
} // namespace AscendC

#endif
