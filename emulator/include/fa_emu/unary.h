/*!
 * \file unary.h
 * \brief Vector arithmetic on one tensor, alone or with a scalar.
 */
#ifndef FA_EMU_UNARY_H
#define FA_EMU_UNARY_H

#include "arith.h"

namespace AscendC {
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

} // namespace AscendC

#endif
