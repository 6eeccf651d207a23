/*!
 * \file select.h
 * \brief Comparisons, selection, gathering and transposition.
 */
#ifndef FA_EMU_SELECT_H
#define FA_EMU_SELECT_H

#include "arith.h"

namespace AscendC {

template <typename T, typename U, bool isSetMask = true>
inline void Compare(
    const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode,
    const uint64_t mask[], uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int32_t>, "Compare takes half, float, and int32_t for EQ");
    static_assert(fa_emu::kOneOf<U, int8_t, uint8_t>, "Compare writes int8_t or uint8_t bit masks");
    (void)mask;
    fa_emu::Record record(FA_OP_COMPARE, "Compare", emuLoc);
    record.template Lanes<false>(0);
    fa_emu::Strides(record, repeatTime, repeatParams).Param(7, static_cast<int64_t>(cmpMode));
    fa_emu::Binary(record, dst, src0, src1);
}

template <typename T, typename U, bool isSetMask = true>
inline void Compares(
    const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar, CMPMODE cmpMode, const uint64_t mask[],
    uint8_t repeatTime, const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int32_t>, "Compares takes half, float, and int32_t for EQ");
    static_assert(fa_emu::kOneOf<U, uint8_t>, "Compares writes uint8_t bit masks");
    (void)mask;
    fa_emu::Record record(FA_OP_COMPARES, "Compares", emuLoc);
    record.template Lanes<false>(0).Scalar(fa_emu::ScalarBits(src1Scalar));
    fa_emu::Strides(record, repeatTime, repeatParams).Param(7, static_cast<int64_t>(cmpMode));
    fa_emu::Unary(record, dst, src0);
}

template <typename T, typename U, bool isSetMask = true>
inline void CompareScalar(
    const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar, CMPMODE cmpMode, const uint64_t mask[],
    uint8_t repeatTime, const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    Compares<T, U, isSetMask>(dst, src0, src1Scalar, cmpMode, mask, repeatTime, repeatParams, emuLoc);
}

template <typename T, typename U, bool isSetMask = true>
inline void Compare(
    const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode,
    const uint64_t mask, uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int32_t>, "Compare takes half, float, and int32_t for EQ");
    static_assert(fa_emu::kOneOf<U, int8_t, uint8_t>, "Compare writes int8_t or uint8_t bit masks");
    (void)mask;
    fa_emu::Record record(FA_OP_COMPARE, "Compare", emuLoc);
    record.template Lanes<false>(0);
    fa_emu::Strides(record, repeatTime, repeatParams).Param(7, static_cast<int64_t>(cmpMode));
    fa_emu::Binary(record, dst, src0, src1);
}

template <typename T, typename U, bool isSetMask = true>
inline void Compares(
    const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar, CMPMODE cmpMode, const uint64_t mask,
    uint8_t repeatTime, const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int32_t>, "Compares takes half, float, and int32_t for EQ");
    static_assert(fa_emu::kOneOf<U, uint8_t>, "Compares writes uint8_t bit masks");
    (void)mask;
    fa_emu::Record record(FA_OP_COMPARES, "Compares", emuLoc);
    record.template Lanes<false>(0).Scalar(fa_emu::ScalarBits(src1Scalar));
    fa_emu::Strides(record, repeatTime, repeatParams).Param(7, static_cast<int64_t>(cmpMode));
    fa_emu::Unary(record, dst, src0);
}

template <typename T, typename U, bool isSetMask = true>
inline void CompareScalar(
    const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar, CMPMODE cmpMode, const uint64_t mask,
    uint8_t repeatTime, const UnaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    Compares<T, U, isSetMask>(dst, src0, src1Scalar, cmpMode, mask, repeatTime, repeatParams, emuLoc);
}

template <typename T, bool isSetMask = true>
inline void Compare(
    const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode, const uint64_t mask[],
    const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "Compare into the mask register takes half and float");
    fa_emu::Record record(FA_OP_COMPARE_SPR, "Compare", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Strides(record, 1, repeatParams).Param(7, static_cast<int64_t>(cmpMode));
    if constexpr (fa_emu::kIsAiv) {
        record.Operand(1, src0).Operand(2, src1).Issue();
    }
}

template <typename T, bool isSetMask = true>
inline void Compare(
    const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode, const uint64_t mask,
    const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "Compare into the mask register takes half and float");
    fa_emu::Record record(FA_OP_COMPARE_SPR, "Compare", emuLoc);
    record.template Lanes<isSetMask>(mask);
    fa_emu::Strides(record, 1, repeatParams).Param(7, static_cast<int64_t>(cmpMode));
    if constexpr (fa_emu::kIsAiv) {
        record.Operand(1, src0).Operand(2, src1).Issue();
    }
}

template <typename T, typename U>
inline void Compare(
    const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode,
    uint32_t count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int32_t>, "Compare takes half, float, and int32_t for EQ");
    static_assert(fa_emu::kOneOf<U, int8_t, uint8_t>, "Compare writes int8_t or uint8_t bit masks");
    fa_emu::Record record(FA_OP_COMPARE, "Compare", emuLoc);
    record.Count(count).Param(7, static_cast<int64_t>(cmpMode));
    fa_emu::Binary(record, dst, src0, src1);
}

template <typename T, typename U>
inline void Compares(
    const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar, CMPMODE cmpMode, uint32_t count,
    FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float, int32_t>, "Compares takes half, float, and int32_t for EQ");
    static_assert(fa_emu::kOneOf<U, uint8_t>, "Compares writes uint8_t bit masks");
    fa_emu::Record record(FA_OP_COMPARES, "Compares", emuLoc);
    record.Count(count).Param(7, static_cast<int64_t>(cmpMode)).Scalar(fa_emu::ScalarBits(src1Scalar));
    fa_emu::Unary(record, dst, src0);
}

template <typename T, typename U>
inline void CompareScalar(
    const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar, CMPMODE cmpMode, uint32_t count,
    FA_EMU_HERE)
{
    Compares(dst, src0, src1Scalar, cmpMode, count, emuLoc);
}

template <typename T> inline void GetCmpMask(const LocalTensor<T>& dst, FA_EMU_HERE)
{
    if constexpr (fa_emu::kIsAiv) {
        fa_emu::Record(FA_OP_GETCMPMASK, "GetCmpMask", emuLoc).Operand(0, dst).Issue();
    }
}

template <typename T> inline void SetCmpMask(const LocalTensor<T>& src, FA_EMU_HERE)
{
    if constexpr (fa_emu::kIsAiv) {
        fa_emu::Record(FA_OP_SETCMPMASK, "SetCmpMask", emuLoc).Operand(1, src).Issue();
    }
}

#ifdef FA_EMU_NO_RESERVED_UB
#define FA_EMU_NEEDS_RESERVED_UB(T, name) \
    static_assert(sizeof(T) == 0, name " is forbidden with --cce-disable-asc-reserved-ubuf")
#else
#define FA_EMU_NEEDS_RESERVED_UB(T, name) static_assert(sizeof(T) != 0, name)
#endif

template <typename T, typename U>
inline void EmuSelect(
    fa_emu::Record& record, const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
    SELMODE selMode)
{
    FA_EMU_NEEDS_RESERVED_UB(T, "Select");
    static_assert(fa_emu::kOneOf<T, half, float>, "Select takes half and float on this chip");
    static_assert(fa_emu::kOneOf<U, uint8_t, uint16_t, uint32_t, uint64_t>, "the mask of Select is an unsigned integer");
    if constexpr (fa_emu::kIsAiv) {
        record.Operand(0, dst).Operand(1, src0).Operand(3, selMask).Param(7, static_cast<int64_t>(selMode)).Issue();
    }
}

template <typename T, typename U>
inline void Select(
    const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
    SELMODE selMode, uint32_t count, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_SELECT, "Select", emuLoc);
    EmuSelect(record.Count(count).Operand(2, src1), dst, selMask, src0, selMode);
}

template <typename T, typename U>
inline void Select(
    const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, T src1, SELMODE selMode,
    uint32_t count, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_SELECT, "Select", emuLoc);
    EmuSelect(record.Count(count).Scalar(fa_emu::ScalarBits(src1)), dst, selMask, src0, selMode);
}

template <typename T, typename U, bool isSetMask = true>
inline void Select(
    const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
    SELMODE selMode, uint64_t mask[], uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_SELECT, "Select", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Strides(record, repeatTime, repeatParams).Operand(2, src1);
    EmuSelect(record, dst, selMask, src0, selMode);
}

template <typename T, typename U, bool isSetMask = true>
inline void Select(
    const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, T src1, SELMODE selMode,
    uint64_t mask[], uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_SELECT, "Select", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Strides(record, repeatTime, repeatParams).Scalar(fa_emu::ScalarBits(src1));
    EmuSelect(record, dst, selMask, src0, selMode);
}

template <typename T, typename U, bool isSetMask = true>
inline void Select(
    const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
    SELMODE selMode, uint64_t mask, uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_SELECT, "Select", emuLoc);
    record.template Lanes<isSetMask>(mask);
    fa_emu::Strides(record, repeatTime, repeatParams).Operand(2, src1);
    EmuSelect(record, dst, selMask, src0, selMode);
}

template <typename T, typename U, bool isSetMask = true>
inline void Select(
    const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, T src1, SELMODE selMode,
    uint64_t mask, uint8_t repeatTime, const BinaryRepeatParams& repeatParams, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_SELECT, "Select", emuLoc);
    record.template Lanes<isSetMask>(mask);
    fa_emu::Strides(record, repeatTime, repeatParams).Scalar(fa_emu::ScalarBits(src1));
    EmuSelect(record, dst, selMask, src0, selMode);
}

template <typename T>
inline void Gather(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& srcOffset,
    const uint32_t srcBaseOffset, const uint32_t count, FA_EMU_HERE)
{
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Gather takes 16-bit and 32-bit elements");
    fa_emu::Record record(FA_OP_GATHER, "Gather", emuLoc);
    fa_emu::Binary(record.Count(count).Param(7, srcBaseOffset), dst, src, srcOffset);
}

template <typename T>
inline void Gather(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& srcOffset,
    const uint32_t srcBaseOffset, const uint64_t mask, const uint8_t repeatTime, const uint16_t dstRepStride,
    FA_EMU_HERE)
{
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Gather takes 16-bit and 32-bit elements");
    fa_emu::Record record(FA_OP_GATHER, "Gather", emuLoc);
    record.template Lanes<true>(mask).Repeat(repeatTime, 1, 1, 1, dstRepStride, 0, 0).Param(7, srcBaseOffset);
    fa_emu::Binary(record, dst, src, srcOffset);
}

template <typename T>
inline void Gather(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& srcOffset,
    const uint32_t srcBaseOffset, const uint64_t mask[], const uint8_t repeatTime, const uint16_t dstRepStride,
    FA_EMU_HERE)
{
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Gather takes 16-bit and 32-bit elements");
    fa_emu::Record record(FA_OP_GATHER, "Gather", emuLoc);
    record.template MaskBits<true>(mask).Repeat(repeatTime, 1, 1, 1, dstRepStride, 0, 0).Param(7, srcBaseOffset);
    fa_emu::Binary(record, dst, src, srcOffset);
}

template <typename T>
inline void Gatherb(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<uint32_t>& offset,
    const uint8_t repeatTime, const GatherRepeatParams& repeatParams, FA_EMU_HERE)
{
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Gatherb takes 16-bit and 32-bit elements");
    fa_emu::Record record(FA_OP_GATHERB, "Gatherb", emuLoc);
    record.Repeat(repeatTime, repeatParams.dstBlkStride, 1, 1, repeatParams.dstRepStride, 0, 0);
    fa_emu::Binary(record, dst, src0, offset);
}

template <typename T>
inline uint64_t EmuGatherMask(
    fa_emu::Record& record, const LocalTensor<T>& dst, const LocalTensor<T>& src0, bool reduceMode, uint32_t mask,
    const GatherMaskParams& params)
{
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "GatherMask takes 16-bit and 32-bit elements");
    if constexpr (fa_emu::kIsAiv) {
        return record.Operand(0, dst).Operand(1, src0)
            .Repeat(params.repeatTimes, 1, params.src0BlockStride, 1, 0, params.src0RepeatStride,
                    params.src1RepeatStride)
            .Param(8, reduceMode).Param(9, mask).Issue();
    }
    return 0;
}

template <typename T, typename U, GatherMaskMode mode = defaultGatherMaskMode>
inline void GatherMask(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<U>& src1Pattern, const bool reduceMode,
    const uint32_t mask, const GatherMaskParams& gatherMaskParams, uint64_t& rsvdCnt, FA_EMU_HERE)
{
    static_assert(sizeof(U) == sizeof(T) && std::is_unsigned<U>::value,
                  "the pattern is uint16_t for 16-bit and uint32_t for 32-bit elements");
    fa_emu::Record record(FA_OP_GATHERMASK, "GatherMask", emuLoc);
    rsvdCnt = EmuGatherMask(record.Operand(2, src1Pattern), dst, src0, reduceMode, mask, gatherMaskParams);
}

template <typename T, GatherMaskMode mode = defaultGatherMaskMode>
inline void GatherMask(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const uint8_t src1Pattern, const bool reduceMode,
    const uint32_t mask, const GatherMaskParams& gatherMaskParams, uint64_t& rsvdCnt, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_GATHERMASK, "GatherMask", emuLoc);
    rsvdCnt = EmuGatherMask(record.Param(7, src1Pattern), dst, src0, reduceMode, mask, gatherMaskParams);
}

template <typename T> inline void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, int16_t, uint16_t, half>, "Transpose takes 16-bit elements");
    fa_emu::Record record(FA_OP_TRANSPOSE, "Transpose", emuLoc);
    fa_emu::Unary(record, dst, src);
}

template <typename T>
inline void TransDataTo5HD(
    uint64_t dstList[NCHW_CONV_ADDR_LIST_SIZE], uint64_t srcList[NCHW_CONV_ADDR_LIST_SIZE],
    const TransDataTo5HDParams& params, FA_EMU_HERE)
{
    static_assert(sizeof(T) <= 4, "TransDataTo5HD takes 8-bit, 16-bit and 32-bit elements");
    if constexpr (fa_emu::kIsAiv) {
        fa_emu::Record record(FA_OP_TRANS5HD, "TransDataTo5HD", emuLoc);
        record.raw.t[0].dtype = fa_emu::DtypeOf<T>::value;
        record.Param(0, params.repeatTimes).Param(1, params.dstRepStride).Param(2, params.srcRepStride)
            .Param(3, params.dstHighHalf).Param(4, params.srcHighHalf);
        // The two lists travel by address: the record is read before the call returns.
        record.raw.mask[0] = reinterpret_cast<uint64_t>(dstList);
        record.raw.mask[1] = reinterpret_cast<uint64_t>(srcList);
        record.Issue();
    }
}

template <typename T>
inline void TransDataTo5HD(
    const LocalTensor<T> (&dstList)[NCHW_CONV_ADDR_LIST_SIZE],
    const LocalTensor<T> (&srcList)[NCHW_CONV_ADDR_LIST_SIZE], const TransDataTo5HDParams& params, FA_EMU_HERE)
{
    uint64_t dst[NCHW_CONV_ADDR_LIST_SIZE];
    uint64_t src[NCHW_CONV_ADDR_LIST_SIZE];
    for (int32_t i = 0; i < NCHW_CONV_ADDR_LIST_SIZE; ++i) {
        dst[i] = dstList[i].GetPhyAddr();
        src[i] = srcList[i].GetPhyAddr();
    }
    TransDataTo5HD<T>(dst, src, params, emuLoc);
}
} // namespace AscendC

#endif
