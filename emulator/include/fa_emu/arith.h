/*!
 * \file arith.h
 * \brief Vector arithmetic on two tensors, and what all vector calls share.
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

} // namespace AscendC

#endif
