/*!
 * \file arith.h
 * \brief Vector arithmetic: binary, unary and scalar forms, and the fills.
 */
#ifndef FA_EMU_ARITH_H
#define FA_EMU_ARITH_H

#include "system.h"

namespace fa_emu {
template <typename D, typename S0, typename S1>
inline void Binary(Record& record, const D& dst, const S0& src0, const S1& src1)
{
    if constexpr (kIsAiv) {
        record.Operand(0, dst).Operand(1, src0).Operand(2, src1).Issue();
    }
}

inline Record& Strides(Record& record, uint8_t repeat, const AscendC::BinaryRepeatParams& p)
{
    return record.Repeat(repeat, p.dstBlkStride, p.src0BlkStride, p.src1BlkStride, p.dstRepStride, p.src0RepStride,
                         p.src1RepStride);
}

inline Record& Strides(Record& record, uint8_t repeat, const AscendC::UnaryRepeatParams& p)
{
    return record.Repeat(repeat, p.dstBlkStride, p.srcBlkStride, 1, p.dstRepStride, p.srcRepStride, 0);
}

template <typename D, typename S> inline void Unary(Record& record, const D& dst, const S& src)
{
    if constexpr (kIsAiv) {
        record.Operand(0, dst).Operand(1, src).Issue();
    }
}
} // namespace fa_emu

namespace AscendC {

template <typename T, bool isSetMask = true>
inline void Add(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask[],
    const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t, int32_t>, "Add takes half, float, int16_t and int32_t on this chip");
    fa_emu::Record record(FA_OP_ADD, "Add", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Binary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src0, src1);
}

template <typename T, bool isSetMask = true>
inline void Add(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask,
    const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t, int32_t>, "Add takes half, float, int16_t and int32_t on this chip");
    fa_emu::Record record(FA_OP_ADD, "Add", emuLoc);
    record.template Lanes<isSetMask>(mask);
    fa_emu::Binary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src0, src1);
}

template <typename T>
inline void Add(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int32_t& count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t, int32_t>, "Add takes half, float, int16_t and int32_t on this chip");
    fa_emu::Record record(FA_OP_ADD, "Add", emuLoc);
    fa_emu::Binary(record.Count(count), dst, src0, src1);
}

template <typename T, bool isSetMask = true>
inline void Sub(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask[],
    const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t, int32_t>, "Sub takes half, float, int16_t and int32_t on this chip");
    fa_emu::Record record(FA_OP_SUB, "Sub", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Binary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src0, src1);
}

template <typename T, bool isSetMask = true>
inline void Sub(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask,
    const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t, int32_t>, "Sub takes half, float, int16_t and int32_t on this chip");
    fa_emu::Record record(FA_OP_SUB, "Sub", emuLoc);
    record.template Lanes<isSetMask>(mask);
    fa_emu::Binary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src0, src1);
}

template <typename T>
inline void Sub(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int32_t& count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t, int32_t>, "Sub takes half, float, int16_t and int32_t on this chip");
    fa_emu::Record record(FA_OP_SUB, "Sub", emuLoc);
    fa_emu::Binary(record.Count(count), dst, src0, src1);
}

template <typename T, bool isSetMask = true>
inline void Mul(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask[],
    const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t, int32_t>, "Mul takes half, float, int16_t and int32_t on this chip");
    fa_emu::Record record(FA_OP_MUL, "Mul", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Binary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src0, src1);
}

template <typename T, bool isSetMask = true>
inline void Mul(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask,
    const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t, int32_t>, "Mul takes half, float, int16_t and int32_t on this chip");
    fa_emu::Record record(FA_OP_MUL, "Mul", emuLoc);
    record.template Lanes<isSetMask>(mask);
    fa_emu::Binary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src0, src1);
}

template <typename T>
inline void Mul(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int32_t& count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t, int32_t>, "Mul takes half, float, int16_t and int32_t on this chip");
    fa_emu::Record record(FA_OP_MUL, "Mul", emuLoc);
    fa_emu::Binary(record.Count(count), dst, src0, src1);
}

template <typename T, bool isSetMask = true>
inline void Max(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask[],
    const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t, int32_t>, "Max takes half, float, int16_t and int32_t on this chip");
    fa_emu::Record record(FA_OP_MAX, "Max", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Binary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src0, src1);
}

template <typename T, bool isSetMask = true>
inline void Max(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask,
    const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t, int32_t>, "Max takes half, float, int16_t and int32_t on this chip");
    fa_emu::Record record(FA_OP_MAX, "Max", emuLoc);
    record.template Lanes<isSetMask>(mask);
    fa_emu::Binary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src0, src1);
}

template <typename T>
inline void Max(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int32_t& count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t, int32_t>, "Max takes half, float, int16_t and int32_t on this chip");
    fa_emu::Record record(FA_OP_MAX, "Max", emuLoc);
    fa_emu::Binary(record.Count(count), dst, src0, src1);
}

template <typename T, bool isSetMask = true>
inline void Min(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask[],
    const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t, int32_t>, "Min takes half, float, int16_t and int32_t on this chip");
    fa_emu::Record record(FA_OP_MIN, "Min", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Binary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src0, src1);
}

template <typename T, bool isSetMask = true>
inline void Min(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask,
    const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t, int32_t>, "Min takes half, float, int16_t and int32_t on this chip");
    fa_emu::Record record(FA_OP_MIN, "Min", emuLoc);
    record.template Lanes<isSetMask>(mask);
    fa_emu::Binary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src0, src1);
}

template <typename T>
inline void Min(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int32_t& count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t, int32_t>, "Min takes half, float, int16_t and int32_t on this chip");
    fa_emu::Record record(FA_OP_MIN, "Min", emuLoc);
    fa_emu::Binary(record.Count(count), dst, src0, src1);
}

template <typename T, bool isSetMask = true>
inline void Div(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask[],
    const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "Div takes half and float on this chip");
    fa_emu::Record record(FA_OP_DIV, "Div", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Binary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src0, src1);
}

template <typename T, bool isSetMask = true>
inline void Div(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask,
    const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "Div takes half and float on this chip");
    fa_emu::Record record(FA_OP_DIV, "Div", emuLoc);
    record.template Lanes<isSetMask>(mask);
    fa_emu::Binary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src0, src1);
}

template <typename T>
inline void Div(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int32_t& count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "Div takes half and float on this chip");
    fa_emu::Record record(FA_OP_DIV, "Div", emuLoc);
    fa_emu::Binary(record.Count(count), dst, src0, src1);
}

template <typename T, bool isSetMask = true>
inline void And(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask[],
    const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, int16_t, uint16_t>, "And takes int16_t and uint16_t on this chip");
    fa_emu::Record record(FA_OP_AND, "And", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Binary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src0, src1);
}

template <typename T, bool isSetMask = true>
inline void And(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask,
    const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, int16_t, uint16_t>, "And takes int16_t and uint16_t on this chip");
    fa_emu::Record record(FA_OP_AND, "And", emuLoc);
    record.template Lanes<isSetMask>(mask);
    fa_emu::Binary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src0, src1);
}

template <typename T>
inline void And(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int32_t& count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, int16_t, uint16_t>, "And takes int16_t and uint16_t on this chip");
    fa_emu::Record record(FA_OP_AND, "And", emuLoc);
    fa_emu::Binary(record.Count(count), dst, src0, src1);
}

template <typename T, bool isSetMask = true>
inline void Or(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask[],
    const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, int16_t, uint16_t>, "Or takes int16_t and uint16_t on this chip");
    fa_emu::Record record(FA_OP_OR, "Or", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Binary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src0, src1);
}

template <typename T, bool isSetMask = true>
inline void Or(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask,
    const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, int16_t, uint16_t>, "Or takes int16_t and uint16_t on this chip");
    fa_emu::Record record(FA_OP_OR, "Or", emuLoc);
    record.template Lanes<isSetMask>(mask);
    fa_emu::Binary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src0, src1);
}

template <typename T>
inline void Or(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int32_t& count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, int16_t, uint16_t>, "Or takes int16_t and uint16_t on this chip");
    fa_emu::Record record(FA_OP_OR, "Or", emuLoc);
    fa_emu::Binary(record.Count(count), dst, src0, src1);
}

template <typename T, bool isSetMask = true>
inline void AddRelu(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask[],
    const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t>, "AddRelu takes half, float and int16_t");
    fa_emu::Record record(FA_OP_ADDRELU, "AddRelu", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Binary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src0, src1);
}

template <typename T, bool isSetMask = true>
inline void AddRelu(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask,
    const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t>, "AddRelu takes half, float and int16_t");
    fa_emu::Record record(FA_OP_ADDRELU, "AddRelu", emuLoc);
    record.template Lanes<isSetMask>(mask);
    fa_emu::Binary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src0, src1);
}

template <typename T>
inline void AddRelu(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int32_t& count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t>, "AddRelu takes half, float and int16_t");
    fa_emu::Record record(FA_OP_ADDRELU, "AddRelu", emuLoc);
    fa_emu::Binary(record.Count(count), dst, src0, src1);
}

template <typename T, bool isSetMask = true>
inline void SubRelu(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask[],
    const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t>, "SubRelu takes half, float and int16_t");
    fa_emu::Record record(FA_OP_SUBRELU, "SubRelu", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Binary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src0, src1);
}

template <typename T, bool isSetMask = true>
inline void SubRelu(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask,
    const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t>, "SubRelu takes half, float and int16_t");
    fa_emu::Record record(FA_OP_SUBRELU, "SubRelu", emuLoc);
    record.template Lanes<isSetMask>(mask);
    fa_emu::Binary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src0, src1);
}

template <typename T>
inline void SubRelu(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int32_t& count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t>, "SubRelu takes half, float and int16_t");
    fa_emu::Record record(FA_OP_SUBRELU, "SubRelu", emuLoc);
    fa_emu::Binary(record.Count(count), dst, src0, src1);
}

template <typename T, bool isSetMask = true>
inline void FusedMulAdd(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask[],
    const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "FusedMulAdd takes half and float");
    fa_emu::Record record(FA_OP_FUSEDMULADD, "FusedMulAdd", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Binary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src0, src1);
}

template <typename T, bool isSetMask = true>
inline void FusedMulAdd(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask,
    const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "FusedMulAdd takes half and float");
    fa_emu::Record record(FA_OP_FUSEDMULADD, "FusedMulAdd", emuLoc);
    record.template Lanes<isSetMask>(mask);
    fa_emu::Binary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src0, src1);
}

template <typename T>
inline void FusedMulAdd(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int32_t& count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "FusedMulAdd takes half and float");
    fa_emu::Record record(FA_OP_FUSEDMULADD, "FusedMulAdd", emuLoc);
    fa_emu::Binary(record.Count(count), dst, src0, src1);
}

template <typename T, bool isSetMask = true>
inline void MulAddRelu(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask[],
    const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "MulAddRelu takes half and float");
    fa_emu::Record record(FA_OP_FUSEDMULADDRELU, "MulAddRelu", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Binary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src0, src1);
}

template <typename T, bool isSetMask = true>
inline void MulAddRelu(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask,
    const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "MulAddRelu takes half and float");
    fa_emu::Record record(FA_OP_FUSEDMULADDRELU, "MulAddRelu", emuLoc);
    record.template Lanes<isSetMask>(mask);
    fa_emu::Binary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src0, src1);
}

template <typename T>
inline void MulAddRelu(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int32_t& count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "MulAddRelu takes half and float");
    fa_emu::Record record(FA_OP_FUSEDMULADDRELU, "MulAddRelu", emuLoc);
    fa_emu::Binary(record.Count(count), dst, src0, src1);
}

template <typename T, bool isSetMask = true>
inline void FusedMulAddRelu(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask[],
    const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "FusedMulAddRelu takes half and float");
    fa_emu::Record record(FA_OP_FUSEDMULADDRELU, "FusedMulAddRelu", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Binary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src0, src1);
}

template <typename T, bool isSetMask = true>
inline void FusedMulAddRelu(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask,
    const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "FusedMulAddRelu takes half and float");
    fa_emu::Record record(FA_OP_FUSEDMULADDRELU, "FusedMulAddRelu", emuLoc);
    record.template Lanes<isSetMask>(mask);
    fa_emu::Binary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src0, src1);
}

template <typename T>
inline void FusedMulAddRelu(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int32_t& count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "FusedMulAddRelu takes half and float");
    fa_emu::Record record(FA_OP_FUSEDMULADDRELU, "FusedMulAddRelu", emuLoc);
    fa_emu::Binary(record.Count(count), dst, src0, src1);
}

template <typename T, typename U, bool isSetMask = true>
inline void MulAddDst(
    const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
    const uint64_t mask[], const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert((std::is_same<T, U>::value && fa_emu::kOneOf<T, half, float>) ||
                      (std::is_same<T, float>::value && std::is_same<U, half>::value),
                  "MulAddDst takes half, float, or half into float");
    fa_emu::Record record(FA_OP_MULADDDST, "MulAddDst", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Strides(record, repeatTime, repeatParams);
    fa_emu::Binary(record, dst, src0, src1);
}

template <typename T, typename U, bool isSetMask = true>
inline void MulAddDst(
    const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
    uint64_t mask, const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert((std::is_same<T, U>::value && fa_emu::kOneOf<T, half, float>) ||
                      (std::is_same<T, float>::value && std::is_same<U, half>::value),
                  "MulAddDst takes half, float, or half into float");
    fa_emu::Record record(FA_OP_MULADDDST, "MulAddDst", emuLoc);
    record.template Lanes<isSetMask>(mask);
    fa_emu::Strides(record, repeatTime, repeatParams);
    fa_emu::Binary(record, dst, src0, src1);
}

template <typename T, typename U>
inline void MulAddDst(
    const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
    const int32_t& count, FA_EMU_HERE)
{
    static_assert((std::is_same<T, U>::value && fa_emu::kOneOf<T, half, float>) ||
                      (std::is_same<T, float>::value && std::is_same<U, half>::value),
                  "MulAddDst takes half, float, or half into float");
    fa_emu::Record record(FA_OP_MULADDDST, "MulAddDst", emuLoc);
    record.Count(count);
    fa_emu::Binary(record, dst, src0, src1);
}

template <typename T, bool isSetMask = true>
inline void Abs(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask[], const uint8_t repeatTime,
    const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "Abs takes half and float on this chip");
    fa_emu::Record record(FA_OP_ABS, "Abs", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T, bool isSetMask = true>
inline void Abs(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask, const uint8_t repeatTime,
    const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "Abs takes half and float on this chip");
    fa_emu::Record record(FA_OP_ABS, "Abs", emuLoc);
    record.template Lanes<isSetMask>(mask);
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T>
inline void Abs(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "Abs takes half and float on this chip");
    fa_emu::Record record(FA_OP_ABS, "Abs", emuLoc);
    fa_emu::Unary(record.Count(count), dst, src);
}

template <typename T, bool isSetMask = true>
inline void Exp(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask[], const uint8_t repeatTime,
    const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "Exp takes half and float on this chip");
    fa_emu::Record record(FA_OP_EXP, "Exp", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T, bool isSetMask = true>
inline void Exp(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask, const uint8_t repeatTime,
    const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "Exp takes half and float on this chip");
    fa_emu::Record record(FA_OP_EXP, "Exp", emuLoc);
    record.template Lanes<isSetMask>(mask);
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T>
inline void Exp(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "Exp takes half and float on this chip");
    fa_emu::Record record(FA_OP_EXP, "Exp", emuLoc);
    fa_emu::Unary(record.Count(count), dst, src);
}

template <typename T, bool isSetMask = true>
inline void Ln(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask[], const uint8_t repeatTime,
    const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "Ln takes half and float on this chip");
    fa_emu::Record record(FA_OP_LN, "Ln", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T, bool isSetMask = true>
inline void Ln(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask, const uint8_t repeatTime,
    const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "Ln takes half and float on this chip");
    fa_emu::Record record(FA_OP_LN, "Ln", emuLoc);
    record.template Lanes<isSetMask>(mask);
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T>
inline void Ln(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "Ln takes half and float on this chip");
    fa_emu::Record record(FA_OP_LN, "Ln", emuLoc);
    fa_emu::Unary(record.Count(count), dst, src);
}

template <typename T, bool isSetMask = true>
inline void Sqrt(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask[], const uint8_t repeatTime,
    const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "Sqrt takes half and float on this chip");
    fa_emu::Record record(FA_OP_SQRT, "Sqrt", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T, bool isSetMask = true>
inline void Sqrt(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask, const uint8_t repeatTime,
    const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "Sqrt takes half and float on this chip");
    fa_emu::Record record(FA_OP_SQRT, "Sqrt", emuLoc);
    record.template Lanes<isSetMask>(mask);
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T>
inline void Sqrt(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "Sqrt takes half and float on this chip");
    fa_emu::Record record(FA_OP_SQRT, "Sqrt", emuLoc);
    fa_emu::Unary(record.Count(count), dst, src);
}

template <typename T, bool isSetMask = true>
inline void Rsqrt(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask[], const uint8_t repeatTime,
    const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "Rsqrt takes half and float on this chip");
    fa_emu::Record record(FA_OP_RSQRT, "Rsqrt", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T, bool isSetMask = true>
inline void Rsqrt(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask, const uint8_t repeatTime,
    const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "Rsqrt takes half and float on this chip");
    fa_emu::Record record(FA_OP_RSQRT, "Rsqrt", emuLoc);
    record.template Lanes<isSetMask>(mask);
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T>
inline void Rsqrt(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "Rsqrt takes half and float on this chip");
    fa_emu::Record record(FA_OP_RSQRT, "Rsqrt", emuLoc);
    fa_emu::Unary(record.Count(count), dst, src);
}

template <typename T, bool isSetMask = true>
inline void Reciprocal(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask[], const uint8_t repeatTime,
    const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "Reciprocal takes half and float on this chip");
    fa_emu::Record record(FA_OP_RECIPROCAL, "Reciprocal", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T, bool isSetMask = true>
inline void Reciprocal(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask, const uint8_t repeatTime,
    const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "Reciprocal takes half and float on this chip");
    fa_emu::Record record(FA_OP_RECIPROCAL, "Reciprocal", emuLoc);
    record.template Lanes<isSetMask>(mask);
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T>
inline void Reciprocal(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "Reciprocal takes half and float on this chip");
    fa_emu::Record record(FA_OP_RECIPROCAL, "Reciprocal", emuLoc);
    fa_emu::Unary(record.Count(count), dst, src);
}

template <typename T, bool isSetMask = true>
inline void Relu(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask[], const uint8_t repeatTime,
    const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int32_t>, "Relu takes half, float and int32_t on this chip");
    fa_emu::Record record(FA_OP_RELU, "Relu", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T, bool isSetMask = true>
inline void Relu(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask, const uint8_t repeatTime,
    const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int32_t>, "Relu takes half, float and int32_t on this chip");
    fa_emu::Record record(FA_OP_RELU, "Relu", emuLoc);
    record.template Lanes<isSetMask>(mask);
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T>
inline void Relu(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int32_t>, "Relu takes half, float and int32_t on this chip");
    fa_emu::Record record(FA_OP_RELU, "Relu", emuLoc);
    fa_emu::Unary(record.Count(count), dst, src);
}

template <typename T, bool isSetMask = true>
inline void Not(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask[], const uint8_t repeatTime,
    const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, int16_t, uint16_t>, "Not takes int16_t and uint16_t on this chip");
    fa_emu::Record record(FA_OP_NOT, "Not", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T, bool isSetMask = true>
inline void Not(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask, const uint8_t repeatTime,
    const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, int16_t, uint16_t>, "Not takes int16_t and uint16_t on this chip");
    fa_emu::Record record(FA_OP_NOT, "Not", emuLoc);
    record.template Lanes<isSetMask>(mask);
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T>
inline void Not(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, int16_t, uint16_t>, "Not takes int16_t and uint16_t on this chip");
    fa_emu::Record record(FA_OP_NOT, "Not", emuLoc);
    fa_emu::Unary(record.Count(count), dst, src);
}

template <typename T, bool isSetMask = true>
inline void Adds(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, uint64_t mask[],
    const uint8_t repeatTime, const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t, int32_t>, "Adds takes half, float, int16_t and int32_t on this chip");
    fa_emu::Record record(FA_OP_ADDS, "Adds", emuLoc);
    record.template MaskBits<isSetMask>(mask).Scalar(fa_emu::ScalarBits(scalarValue));
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T, bool isSetMask = true>
inline void Adds(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, uint64_t mask,
    const uint8_t repeatTime, const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t, int32_t>, "Adds takes half, float, int16_t and int32_t on this chip");
    fa_emu::Record record(FA_OP_ADDS, "Adds", emuLoc);
    record.template Lanes<isSetMask>(mask).Scalar(fa_emu::ScalarBits(scalarValue));
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T, bool isSetMask = true>
inline void Adds(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, const int32_t& count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t, int32_t>, "Adds takes half, float, int16_t and int32_t on this chip");
    fa_emu::Record record(FA_OP_ADDS, "Adds", emuLoc);
    record.Scalar(fa_emu::ScalarBits(scalarValue));
    fa_emu::Unary(record.Count(count), dst, src);
}

template <typename T, bool isSetMask = true>
inline void Muls(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, uint64_t mask[],
    const uint8_t repeatTime, const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t, int32_t>, "Muls takes half, float, int16_t and int32_t on this chip");
    fa_emu::Record record(FA_OP_MULS, "Muls", emuLoc);
    record.template MaskBits<isSetMask>(mask).Scalar(fa_emu::ScalarBits(scalarValue));
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T, bool isSetMask = true>
inline void Muls(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, uint64_t mask,
    const uint8_t repeatTime, const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t, int32_t>, "Muls takes half, float, int16_t and int32_t on this chip");
    fa_emu::Record record(FA_OP_MULS, "Muls", emuLoc);
    record.template Lanes<isSetMask>(mask).Scalar(fa_emu::ScalarBits(scalarValue));
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T, bool isSetMask = true>
inline void Muls(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, const int32_t& count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t, int32_t>, "Muls takes half, float, int16_t and int32_t on this chip");
    fa_emu::Record record(FA_OP_MULS, "Muls", emuLoc);
    record.Scalar(fa_emu::ScalarBits(scalarValue));
    fa_emu::Unary(record.Count(count), dst, src);
}

template <typename T, bool isSetMask = true>
inline void Maxs(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, uint64_t mask[],
    const uint8_t repeatTime, const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t, int32_t>, "Maxs takes half, float, int16_t and int32_t on this chip");
    fa_emu::Record record(FA_OP_MAXS, "Maxs", emuLoc);
    record.template MaskBits<isSetMask>(mask).Scalar(fa_emu::ScalarBits(scalarValue));
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T, bool isSetMask = true>
inline void Maxs(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, uint64_t mask,
    const uint8_t repeatTime, const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t, int32_t>, "Maxs takes half, float, int16_t and int32_t on this chip");
    fa_emu::Record record(FA_OP_MAXS, "Maxs", emuLoc);
    record.template Lanes<isSetMask>(mask).Scalar(fa_emu::ScalarBits(scalarValue));
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T, bool isSetMask = true>
inline void Maxs(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, const int32_t& count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t, int32_t>, "Maxs takes half, float, int16_t and int32_t on this chip");
    fa_emu::Record record(FA_OP_MAXS, "Maxs", emuLoc);
    record.Scalar(fa_emu::ScalarBits(scalarValue));
    fa_emu::Unary(record.Count(count), dst, src);
}

template <typename T, bool isSetMask = true>
inline void Mins(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, uint64_t mask[],
    const uint8_t repeatTime, const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t, int32_t>, "Mins takes half, float, int16_t and int32_t on this chip");
    fa_emu::Record record(FA_OP_MINS, "Mins", emuLoc);
    record.template MaskBits<isSetMask>(mask).Scalar(fa_emu::ScalarBits(scalarValue));
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T, bool isSetMask = true>
inline void Mins(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, uint64_t mask,
    const uint8_t repeatTime, const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t, int32_t>, "Mins takes half, float, int16_t and int32_t on this chip");
    fa_emu::Record record(FA_OP_MINS, "Mins", emuLoc);
    record.template Lanes<isSetMask>(mask).Scalar(fa_emu::ScalarBits(scalarValue));
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T, bool isSetMask = true>
inline void Mins(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, const int32_t& count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int16_t, int32_t>, "Mins takes half, float, int16_t and int32_t on this chip");
    fa_emu::Record record(FA_OP_MINS, "Mins", emuLoc);
    record.Scalar(fa_emu::ScalarBits(scalarValue));
    fa_emu::Unary(record.Count(count), dst, src);
}

template <typename T, bool isSetMask = true>
inline void ShiftLeft(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, uint64_t mask[],
    const uint8_t repeatTime, const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, int16_t, uint16_t, int32_t, uint32_t>, "ShiftLeft takes 16-bit and 32-bit integers");
    fa_emu::Record record(FA_OP_SHL, "ShiftLeft", emuLoc);
    record.template MaskBits<isSetMask>(mask).Scalar(fa_emu::ScalarBits(scalarValue));
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T, bool isSetMask = true>
inline void ShiftLeft(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, uint64_t mask,
    const uint8_t repeatTime, const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, int16_t, uint16_t, int32_t, uint32_t>, "ShiftLeft takes 16-bit and 32-bit integers");
    fa_emu::Record record(FA_OP_SHL, "ShiftLeft", emuLoc);
    record.template Lanes<isSetMask>(mask).Scalar(fa_emu::ScalarBits(scalarValue));
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T, bool isSetMask = true>
inline void ShiftLeft(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, const int32_t& count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, int16_t, uint16_t, int32_t, uint32_t>, "ShiftLeft takes 16-bit and 32-bit integers");
    fa_emu::Record record(FA_OP_SHL, "ShiftLeft", emuLoc);
    record.Scalar(fa_emu::ScalarBits(scalarValue));
    fa_emu::Unary(record.Count(count), dst, src);
}

template <typename T, bool isSetMask = true>
inline void ShiftRight(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, uint64_t mask[],
    const uint8_t repeatTime, const UnaryRepeatParams& repeatParams, bool roundEn = false, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, int16_t, uint16_t, int32_t, uint32_t>, "ShiftRight takes 16-bit and 32-bit integers");
    fa_emu::Record record(FA_OP_SHR, "ShiftRight", emuLoc);
    record.Param(7, roundEn);
    record.template MaskBits<isSetMask>(mask).Scalar(fa_emu::ScalarBits(scalarValue));
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T, bool isSetMask = true>
inline void ShiftRight(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, uint64_t mask,
    const uint8_t repeatTime, const UnaryRepeatParams& repeatParams, bool roundEn = false, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, int16_t, uint16_t, int32_t, uint32_t>, "ShiftRight takes 16-bit and 32-bit integers");
    fa_emu::Record record(FA_OP_SHR, "ShiftRight", emuLoc);
    record.Param(7, roundEn);
    record.template Lanes<isSetMask>(mask).Scalar(fa_emu::ScalarBits(scalarValue));
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T, bool isSetMask = true>
inline void ShiftRight(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, const int32_t& count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, int16_t, uint16_t, int32_t, uint32_t>, "ShiftRight takes 16-bit and 32-bit integers");
    fa_emu::Record record(FA_OP_SHR, "ShiftRight", emuLoc);
    record.Scalar(fa_emu::ScalarBits(scalarValue));
    fa_emu::Unary(record.Count(count), dst, src);
}

template <typename T, bool isSetMask = true>
inline void LeakyRelu(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, uint64_t mask[],
    const uint8_t repeatTime, const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "LeakyRelu takes half and float");
    fa_emu::Record record(FA_OP_LEAKYRELU, "LeakyRelu", emuLoc);
    record.template MaskBits<isSetMask>(mask).Scalar(fa_emu::ScalarBits(scalarValue));
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T, bool isSetMask = true>
inline void LeakyRelu(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, uint64_t mask,
    const uint8_t repeatTime, const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "LeakyRelu takes half and float");
    fa_emu::Record record(FA_OP_LEAKYRELU, "LeakyRelu", emuLoc);
    record.template Lanes<isSetMask>(mask).Scalar(fa_emu::ScalarBits(scalarValue));
    fa_emu::Unary(fa_emu::Strides(record, repeatTime, repeatParams), dst, src);
}

template <typename T, bool isSetMask = true>
inline void LeakyRelu(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, const int32_t& count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "LeakyRelu takes half and float");
    fa_emu::Record record(FA_OP_LEAKYRELU, "LeakyRelu", emuLoc);
    record.Scalar(fa_emu::ScalarBits(scalarValue));
    fa_emu::Unary(record.Count(count), dst, src);
}

template <typename T, typename U, bool isSetMask = true>
inline void Axpy(
    const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalarValue,
    uint64_t mask, const uint8_t repeatTime, const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert((std::is_same<T, U>::value && fa_emu::kOneOf<T, half, float>) ||
                      (std::is_same<T, float>::value && std::is_same<U, half>::value),
                  "Axpy takes half, float, or half into float");
    fa_emu::Record record(FA_OP_AXPY, "Axpy", emuLoc);
    record.template Lanes<isSetMask>(mask);
    fa_emu::Strides(record, repeatTime, repeatParams);
    record.Scalar(fa_emu::ScalarBits(scalarValue));
    fa_emu::Unary(record, dst, src);
}

template <typename T, typename U, bool isSetMask = true>
inline void Axpy(
    const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalarValue,
    uint64_t mask[], const uint8_t repeatTime, const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert((std::is_same<T, U>::value && fa_emu::kOneOf<T, half, float>) ||
                      (std::is_same<T, float>::value && std::is_same<U, half>::value),
                  "Axpy takes half, float, or half into float");
    fa_emu::Record record(FA_OP_AXPY, "Axpy", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Strides(record, repeatTime, repeatParams);
    record.Scalar(fa_emu::ScalarBits(scalarValue));
    fa_emu::Unary(record, dst, src);
}

template <typename T, typename U>
inline void Axpy(
    const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalarValue,
    const int32_t& count, FA_EMU_HERE)
{
    static_assert((std::is_same<T, U>::value && fa_emu::kOneOf<T, half, float>) ||
                      (std::is_same<T, float>::value && std::is_same<U, half>::value),
                  "Axpy takes half, float, or half into float");
    fa_emu::Record record(FA_OP_AXPY, "Axpy", emuLoc);
    record.Count(count);
    record.Scalar(fa_emu::ScalarBits(scalarValue));
    fa_emu::Unary(record, dst, src);
}

template <typename T> inline void EmuFill(fa_emu::Record& record, const LocalTensor<T>& dst, const T& value)
{
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Duplicate fills 16-bit and 32-bit elements on this chip");
    if constexpr (fa_emu::kIsAiv) {
        record.Operand(0, dst).Scalar(fa_emu::ScalarBits(value)).Issue();
    }
}

template <typename T, bool isSetMask = true>
inline void Duplicate(
    const LocalTensor<T>& dst, const T& scalarValue, uint64_t mask, const uint8_t repeatTime,
    const uint16_t dstBlockStride, const uint8_t dstRepeatStride, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_DUPLICATE, "Duplicate", emuLoc);
    record.template Lanes<isSetMask>(mask).Repeat(repeatTime, dstBlockStride, 1, 1, dstRepeatStride, 0, 0);
    EmuFill(record, dst, scalarValue);
}

template <typename T, bool isSetMask = true>
inline void Duplicate(
    const LocalTensor<T>& dst, const T& scalarValue, uint64_t mask[], const uint8_t repeatTime,
    const uint16_t dstBlockStride, const uint8_t dstRepeatStride, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_DUPLICATE, "Duplicate", emuLoc);
    record.template MaskBits<isSetMask>(mask).Repeat(repeatTime, dstBlockStride, 1, 1, dstRepeatStride, 0, 0);
    EmuFill(record, dst, scalarValue);
}

template <typename T>
inline void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, const int32_t& count, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_DUPLICATE, "Duplicate", emuLoc);
    EmuFill(record.Count(count), dst, scalarValue);
}

template <typename T>
inline void Brcb(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const uint8_t repeatTime,
    const BrcbRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Brcb broadcasts 16-bit and 32-bit elements");
    fa_emu::Record record(FA_OP_BRCB, "Brcb", emuLoc);
    record.Repeat(repeatTime, repeatParams.dstBlkStride, 0, 0, repeatParams.dstRepStride, 0, 0);
    fa_emu::Unary(record, dst, src0);
}

template <typename T> inline void EmuIndex(fa_emu::Record& record, const LocalTensor<T>& dst, const T& first)
{
    static_assert(fa_emu::kOneOf<T, int16_t, int32_t, half, float>,
                  "CreateVecIndex takes int16_t, int32_t, half and float");
    if constexpr (fa_emu::kIsAiv) {
        record.Operand(0, dst).Scalar(fa_emu::ScalarBits(first)).Issue();
    }
}

template <typename T>
inline void CreateVecIndex(LocalTensor<T> dst, const T& firstValue, uint32_t count, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_VECINDEX, "CreateVecIndex", emuLoc);
    EmuIndex(record.Count(count), dst, firstValue);
}

template <typename T>
inline void CreateVecIndex(
    LocalTensor<T>& dst, const T& firstValue, uint64_t mask, uint8_t repeatTime, uint16_t dstBlkStride,
    uint8_t dstRepStride, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_VECINDEX, "CreateVecIndex", emuLoc);
    record.template Lanes<true>(mask).Repeat(repeatTime, dstBlkStride, 1, 1, dstRepStride, 0, 0);
    EmuIndex(record, dst, firstValue);
}
} // namespace AscendC

#endif
