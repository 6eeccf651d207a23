/*!
 * \file fill.h
 * \brief Fills, broadcasts and index sequences.
 */
#ifndef FA_EMU_FILL_H
#define FA_EMU_FILL_H

#include "arith.h"

namespace AscendC {
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

template <typename T>
inline void CreateVecIndex(
    LocalTensor<T>& dst, const T& firstValue, uint64_t mask[], uint8_t repeatTime, uint16_t dstBlkStride,
    uint8_t dstRepStride, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_VECINDEX, "CreateVecIndex", emuLoc);
    record.template MaskBits<true>(mask).Repeat(repeatTime, dstBlkStride, 1, 1, dstRepStride, 0, 0);
    EmuIndex(record, dst, firstValue);
}
} // namespace AscendC

#endif
