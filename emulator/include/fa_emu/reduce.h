/*!
 * \file reduce.h
 * \brief Reductions over a repeat, a block, a pair, or a whole tensor.
 */
#ifndef FA_EMU_REDUCE_H
#define FA_EMU_REDUCE_H

#include "arith.h"

namespace fa_emu {
struct ReduceShape {
    int32_t repeat;
    int32_t dstRep;
    int32_t srcBlk;
    int32_t srcRep;
    AscendC::ReduceType type;
    AscendC::ReduceOrder order;
};

template <typename T>
inline void Reduce(
    Record& record, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, const ReduceShape& shape)
{
    static_assert(kOneOf<T, half, float>, "reductions take half and float on this chip");
    record.Repeat(shape.repeat, 1, shape.srcBlk, 1, shape.dstRep, shape.srcRep, 0)
        .Param(7, static_cast<int64_t>(shape.type)).Param(8, static_cast<int64_t>(shape.order));
    Unary(record, dst, src);
}
} // namespace fa_emu

namespace AscendC {

template <ReduceType reduceType, typename T, typename U, bool isSetMask = true>
inline void ReduceRepeat(
    const LocalTensor<T>& dst, const LocalTensor<U>& src, const int32_t mask, const int32_t repeatTime,
    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,
    ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, FA_EMU_HERE)
{
    static_assert(std::is_same<T, U>::value, "source and destination have one type on this chip");
    fa_emu::Record record(FA_OP_REDUCE_REPEAT, "ReduceRepeat", emuLoc);
    record.template Lanes<isSetMask>(static_cast<uint64_t>(static_cast<int64_t>(mask)));
    fa_emu::Reduce(record, dst, src, {repeatTime, dstRepStride, srcBlkStride, srcRepStride, reduceType, order});
}

template <ReduceType reduceType, typename T, typename U, bool isSetMask = true>
inline void ReduceRepeat(
    const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint64_t mask[], const int32_t repeatTime,
    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,
    ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, FA_EMU_HERE)
{
    static_assert(std::is_same<T, U>::value, "source and destination have one type on this chip");
    fa_emu::Record record(FA_OP_REDUCE_REPEAT, "ReduceRepeat", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Reduce(record, dst, src, {repeatTime, dstRepStride, srcBlkStride, srcRepStride, reduceType, order});
}

template <ReduceType reduceType, typename T, typename U, bool isSetMask = true>
inline void ReduceDataBlock(
    const LocalTensor<T>& dst, const LocalTensor<U>& src, const int32_t mask, const int32_t repeatTime,
    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride, FA_EMU_HERE)
{
    static_assert(std::is_same<T, U>::value, "source and destination have one type on this chip");
    fa_emu::Record record(FA_OP_REDUCE_BLOCK, "ReduceDataBlock", emuLoc);
    record.template Lanes<isSetMask>(static_cast<uint64_t>(static_cast<int64_t>(mask)));
    fa_emu::Reduce(record, dst, src, {repeatTime, dstRepStride, srcBlkStride, srcRepStride, reduceType, ReduceOrder::ORDER_VALUE_INDEX});
}

template <ReduceType reduceType, typename T, typename U, bool isSetMask = true>
inline void ReduceDataBlock(
    const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint64_t mask[], const int32_t repeatTime,
    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride, FA_EMU_HERE)
{
    static_assert(std::is_same<T, U>::value, "source and destination have one type on this chip");
    fa_emu::Record record(FA_OP_REDUCE_BLOCK, "ReduceDataBlock", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Reduce(record, dst, src, {repeatTime, dstRepStride, srcBlkStride, srcRepStride, reduceType, ReduceOrder::ORDER_VALUE_INDEX});
}

template <ReduceType reduceType, typename T, typename U, bool isSetMask = true>
inline void ReducePairElem(
    const LocalTensor<T>& dst, const LocalTensor<U>& src, const int32_t mask, const int32_t repeatTime,
    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride, FA_EMU_HERE)
{
    static_assert(std::is_same<T, U>::value, "source and destination have one type on this chip");
    static_assert(reduceType == ReduceType::SUM, "ReducePairElem sums");
    fa_emu::Record record(FA_OP_REDUCE_PAIR, "ReducePairElem", emuLoc);
    record.template Lanes<isSetMask>(static_cast<uint64_t>(static_cast<int64_t>(mask)));
    fa_emu::Reduce(record, dst, src, {repeatTime, dstRepStride, srcBlkStride, srcRepStride, reduceType, ReduceOrder::ORDER_VALUE_INDEX});
}

template <ReduceType reduceType, typename T, typename U, bool isSetMask = true>
inline void ReducePairElem(
    const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint64_t mask[], const int32_t repeatTime,
    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride, FA_EMU_HERE)
{
    static_assert(std::is_same<T, U>::value, "source and destination have one type on this chip");
    static_assert(reduceType == ReduceType::SUM, "ReducePairElem sums");
    fa_emu::Record record(FA_OP_REDUCE_PAIR, "ReducePairElem", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Reduce(record, dst, src, {repeatTime, dstRepStride, srcBlkStride, srcRepStride, reduceType, ReduceOrder::ORDER_VALUE_INDEX});
}

template <typename T, bool isSetMask = true>
inline void WholeReduceMax(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t mask, const int32_t repeatTime,
    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,
    ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_REDUCE_REPEAT, "WholeReduceMax", emuLoc);
    record.template Lanes<isSetMask>(static_cast<uint64_t>(static_cast<int64_t>(mask)));
    fa_emu::Reduce(record, dst, src, {repeatTime, dstRepStride, srcBlkStride, srcRepStride, ReduceType::MAX, order});
}

template <typename T, bool isSetMask = true>
inline void WholeReduceMax(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[], const int32_t repeatTime,
    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,
    ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_REDUCE_REPEAT, "WholeReduceMax", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Reduce(record, dst, src, {repeatTime, dstRepStride, srcBlkStride, srcRepStride, ReduceType::MAX, order});
}

template <typename T, bool isSetMask = true>
inline void WholeReduceMin(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t mask, const int32_t repeatTime,
    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,
    ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_REDUCE_REPEAT, "WholeReduceMin", emuLoc);
    record.template Lanes<isSetMask>(static_cast<uint64_t>(static_cast<int64_t>(mask)));
    fa_emu::Reduce(record, dst, src, {repeatTime, dstRepStride, srcBlkStride, srcRepStride, ReduceType::MIN, order});
}

template <typename T, bool isSetMask = true>
inline void WholeReduceMin(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[], const int32_t repeatTime,
    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,
    ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_REDUCE_REPEAT, "WholeReduceMin", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Reduce(record, dst, src, {repeatTime, dstRepStride, srcBlkStride, srcRepStride, ReduceType::MIN, order});
}

template <typename T, bool isSetMask = true>
inline void WholeReduceSum(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t mask, const int32_t repeatTime,
    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_REDUCE_REPEAT, "WholeReduceSum", emuLoc);
    record.template Lanes<isSetMask>(static_cast<uint64_t>(static_cast<int64_t>(mask)));
    fa_emu::Reduce(record, dst, src, {repeatTime, dstRepStride, srcBlkStride, srcRepStride, ReduceType::SUM, ReduceOrder::ORDER_VALUE_INDEX});
}

template <typename T, bool isSetMask = true>
inline void WholeReduceSum(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[], const int32_t repeatTime,
    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_REDUCE_REPEAT, "WholeReduceSum", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Reduce(record, dst, src, {repeatTime, dstRepStride, srcBlkStride, srcRepStride, ReduceType::SUM, ReduceOrder::ORDER_VALUE_INDEX});
}

template <typename T, bool isSetMask = true>
inline void BlockReduceMax(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTime, const int32_t mask,
    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_REDUCE_BLOCK, "BlockReduceMax", emuLoc);
    record.template Lanes<isSetMask>(static_cast<uint64_t>(static_cast<int64_t>(mask)));
    fa_emu::Reduce(record, dst, src, {repeatTime, dstRepStride, srcBlkStride, srcRepStride, ReduceType::MAX, ReduceOrder::ORDER_VALUE_INDEX});
}

template <typename T, bool isSetMask = true>
inline void BlockReduceMax(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTime, const uint64_t mask[],
    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_REDUCE_BLOCK, "BlockReduceMax", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Reduce(record, dst, src, {repeatTime, dstRepStride, srcBlkStride, srcRepStride, ReduceType::MAX, ReduceOrder::ORDER_VALUE_INDEX});
}

template <typename T, bool isSetMask = true>
inline void BlockReduceMin(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTime, const int32_t mask,
    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_REDUCE_BLOCK, "BlockReduceMin", emuLoc);
    record.template Lanes<isSetMask>(static_cast<uint64_t>(static_cast<int64_t>(mask)));
    fa_emu::Reduce(record, dst, src, {repeatTime, dstRepStride, srcBlkStride, srcRepStride, ReduceType::MIN, ReduceOrder::ORDER_VALUE_INDEX});
}

template <typename T, bool isSetMask = true>
inline void BlockReduceMin(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTime, const uint64_t mask[],
    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_REDUCE_BLOCK, "BlockReduceMin", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Reduce(record, dst, src, {repeatTime, dstRepStride, srcBlkStride, srcRepStride, ReduceType::MIN, ReduceOrder::ORDER_VALUE_INDEX});
}

template <typename T, bool isSetMask = true>
inline void BlockReduceSum(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTime, const int32_t mask,
    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_REDUCE_BLOCK, "BlockReduceSum", emuLoc);
    record.template Lanes<isSetMask>(static_cast<uint64_t>(static_cast<int64_t>(mask)));
    fa_emu::Reduce(record, dst, src, {repeatTime, dstRepStride, srcBlkStride, srcRepStride, ReduceType::SUM, ReduceOrder::ORDER_VALUE_INDEX});
}

template <typename T, bool isSetMask = true>
inline void BlockReduceSum(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTime, const uint64_t mask[],
    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_REDUCE_BLOCK, "BlockReduceSum", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Reduce(record, dst, src, {repeatTime, dstRepStride, srcBlkStride, srcRepStride, ReduceType::SUM, ReduceOrder::ORDER_VALUE_INDEX});
}

template <typename T, bool isSetMask = true>
inline void PairReduceSum(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTime, const int32_t mask,
    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_REDUCE_PAIR, "PairReduceSum", emuLoc);
    record.template Lanes<isSetMask>(static_cast<uint64_t>(static_cast<int64_t>(mask)));
    fa_emu::Reduce(record, dst, src, {repeatTime, dstRepStride, srcBlkStride, srcRepStride, ReduceType::SUM, ReduceOrder::ORDER_VALUE_INDEX});
}

template <typename T, bool isSetMask = true>
inline void PairReduceSum(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTime, const uint64_t mask[],
    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_REDUCE_PAIR, "PairReduceSum", emuLoc);
    record.template MaskBits<isSetMask>(mask);
    fa_emu::Reduce(record, dst, src, {repeatTime, dstRepStride, srcBlkStride, srcRepStride, ReduceType::SUM, ReduceOrder::ORDER_VALUE_INDEX});
}

template <typename T, bool isSetMask = true>
inline void RepeatReduceSum(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTime, const int32_t mask,
    const int32_t dstBlkStride, const int32_t srcBlkStride, const int32_t dstRepStride, const int32_t srcRepStride,
    FA_EMU_HERE)
{
    (void)dstBlkStride;
    fa_emu::Record record(FA_OP_REDUCE_REPEAT, "RepeatReduceSum", emuLoc);
    record.template Lanes<isSetMask>(static_cast<uint64_t>(static_cast<int64_t>(mask)));
    fa_emu::Reduce(record, dst, src, {repeatTime, dstRepStride, srcBlkStride, srcRepStride, ReduceType::SUM, ReduceOrder::ORDER_VALUE_INDEX});
}

template <typename T>
inline void ReduceMax(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,
    const int32_t count, bool calIndex = 0, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "ReduceMax takes half and float on this chip");
    fa_emu::Record record(FA_OP_REDUCE_TENSOR, "ReduceMax", emuLoc);
    record.Count(count).Param(7, static_cast<int64_t>(ReduceType::MAX)).Param(8, calIndex);
    fa_emu::Binary(record, dst, src, sharedTmpBuffer);
}

template <typename T>
inline void ReduceMax(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer, const int32_t mask,
    const int32_t repeatTime, const int32_t srcRepStride, bool calIndex = 0, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "ReduceMax takes half and float on this chip");
    fa_emu::Record record(FA_OP_REDUCE_TENSOR, "ReduceMax", emuLoc);
    record.template Lanes<true>(static_cast<uint64_t>(static_cast<int64_t>(mask)));
    record.Repeat(repeatTime, 1, 1, 1, 1, srcRepStride, 0)
        .Param(7, static_cast<int64_t>(ReduceType::MAX)).Param(8, calIndex);
    fa_emu::Binary(record, dst, src, sharedTmpBuffer);
}

template <typename T>
inline void ReduceMax(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer, const uint64_t mask[],
    const int32_t repeatTime, const int32_t srcRepStride, bool calIndex = 0, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "ReduceMax takes half and float on this chip");
    fa_emu::Record record(FA_OP_REDUCE_TENSOR, "ReduceMax", emuLoc);
    record.template MaskBits<true>(mask);
    record.Repeat(repeatTime, 1, 1, 1, 1, srcRepStride, 0)
        .Param(7, static_cast<int64_t>(ReduceType::MAX)).Param(8, calIndex);
    fa_emu::Binary(record, dst, src, sharedTmpBuffer);
}

template <typename T>
inline void ReduceMin(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,
    const int32_t count, bool calIndex = 0, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "ReduceMin takes half and float on this chip");
    fa_emu::Record record(FA_OP_REDUCE_TENSOR, "ReduceMin", emuLoc);
    record.Count(count).Param(7, static_cast<int64_t>(ReduceType::MIN)).Param(8, calIndex);
    fa_emu::Binary(record, dst, src, sharedTmpBuffer);
}

template <typename T>
inline void ReduceMin(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer, const int32_t mask,
    const int32_t repeatTime, const int32_t srcRepStride, bool calIndex = 0, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "ReduceMin takes half and float on this chip");
    fa_emu::Record record(FA_OP_REDUCE_TENSOR, "ReduceMin", emuLoc);
    record.template Lanes<true>(static_cast<uint64_t>(static_cast<int64_t>(mask)));
    record.Repeat(repeatTime, 1, 1, 1, 1, srcRepStride, 0)
        .Param(7, static_cast<int64_t>(ReduceType::MIN)).Param(8, calIndex);
    fa_emu::Binary(record, dst, src, sharedTmpBuffer);
}

template <typename T>
inline void ReduceMin(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer, const uint64_t mask[],
    const int32_t repeatTime, const int32_t srcRepStride, bool calIndex = 0, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "ReduceMin takes half and float on this chip");
    fa_emu::Record record(FA_OP_REDUCE_TENSOR, "ReduceMin", emuLoc);
    record.template MaskBits<true>(mask);
    record.Repeat(repeatTime, 1, 1, 1, 1, srcRepStride, 0)
        .Param(7, static_cast<int64_t>(ReduceType::MIN)).Param(8, calIndex);
    fa_emu::Binary(record, dst, src, sharedTmpBuffer);
}

template <typename T, bool isSetMask = true>
inline void ReduceSum(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,
    const int32_t count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "ReduceSum takes half and float on this chip");
    fa_emu::Record record(FA_OP_REDUCE_TENSOR, "ReduceSum", emuLoc);
    record.Count(count).Param(7, static_cast<int64_t>(ReduceType::SUM)).Param(8, 0);
    fa_emu::Binary(record, dst, src, sharedTmpBuffer);
}

template <typename T>
inline void ReduceSum(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer, const int32_t mask,
    const int32_t repeatTime, const int32_t srcRepStride, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "ReduceSum takes half and float on this chip");
    fa_emu::Record record(FA_OP_REDUCE_TENSOR, "ReduceSum", emuLoc);
    record.template Lanes<true>(static_cast<uint64_t>(static_cast<int64_t>(mask)));
    record.Repeat(repeatTime, 1, 1, 1, 1, srcRepStride, 0)
        .Param(7, static_cast<int64_t>(ReduceType::SUM)).Param(8, 0);
    fa_emu::Binary(record, dst, src, sharedTmpBuffer);
}

template <typename T>
inline void ReduceSum(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer, const uint64_t mask[],
    const int32_t repeatTime, const int32_t srcRepStride, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "ReduceSum takes half and float on this chip");
    fa_emu::Record record(FA_OP_REDUCE_TENSOR, "ReduceSum", emuLoc);
    record.template MaskBits<true>(mask);
    record.Repeat(repeatTime, 1, 1, 1, 1, srcRepStride, 0)
        .Param(7, static_cast<int64_t>(ReduceType::SUM)).Param(8, 0);
    fa_emu::Binary(record, dst, src, sharedTmpBuffer);
}

template <typename T> inline T GetReduceRepeatSumSpr(FA_EMU_HERE)
{
    return fa_emu::FromBits<T>(fa_emu::Record(FA_OP_REDUCE_SPR, "GetReduceRepeatSumSpr", emuLoc).Param(0, 0).Issue());
}

template <typename T> inline T GetAccVal(FA_EMU_HERE) { return GetReduceRepeatSumSpr<T>(emuLoc); }

template <typename T> inline void GetReduceRepeatMaxMinSpr(T& maxMinValue, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_REDUCE_SPR, "GetReduceRepeatMaxMinSpr", emuLoc);
    maxMinValue = fa_emu::FromBits<T>(record.Param(0, 1).Issue());
}

template <typename T> inline void GetReduceRepeatMaxMinSpr(T& maxMinValue, T& maxMinIndex, FA_EMU_HERE)
{
    GetReduceRepeatMaxMinSpr<T>(maxMinValue, emuLoc);
    fa_emu::Record record(FA_OP_REDUCE_SPR, "GetReduceRepeatMaxMinSpr", emuLoc);
    maxMinIndex = fa_emu::FromBits<T>(record.Param(0, 2).Issue());
}
} // namespace AscendC

#endif
