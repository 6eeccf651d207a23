/*!
 * \file sort.h
 * \brief Sorting: records of a score and an index, 8 bytes each, in descending order.
 */
#ifndef FA_EMU_SORT_H
#define FA_EMU_SORT_H

#include "select.h"
#include "copy.h"
#include "sync.h"

namespace AscendC {
constexpr int32_t MRG_SORT_ELEMENT_LEN = 4;

struct MrgSort4Info {
    MrgSort4Info() {}
    MrgSort4Info(
        const uint16_t lengths[MRG_SORT_ELEMENT_LEN], const bool suspend, const uint16_t valid, const uint16_t repeats)
        : ifExhaustedSuspension(suspend), validBit(valid), repeatTimes(static_cast<uint8_t>(repeats))
    {
        for (int32_t i = 0; i < MRG_SORT_ELEMENT_LEN; ++i) {
            elementLengths[i] = lengths[i];
        }
    }
    uint16_t elementLengths[MRG_SORT_ELEMENT_LEN] = {0};
    bool ifExhaustedSuspension = false;
    uint16_t validBit = 0;
    uint8_t repeatTimes = 1;
};

template <typename T> struct MrgSortSrcList {
    MrgSortSrcList() {}
    MrgSortSrcList(
        const LocalTensor<T>& first, const LocalTensor<T>& second, const LocalTensor<T>& third,
        const LocalTensor<T>& fourth)
        : src1(first), src2(second), src3(third), src4(fourth)
    {}
    LocalTensor<T> src1;
    LocalTensor<T> src2;
    LocalTensor<T> src3;
    LocalTensor<T> src4;
};

template <typename T> inline uint32_t GetSortOffset(const uint32_t elemOffset)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "sorting takes half and float");
    return elemOffset * (8 / static_cast<uint32_t>(sizeof(T)));
}

template <typename T> inline uint32_t GetSortLen(const uint32_t elemCount) { return GetSortOffset<T>(elemCount); }

template <typename T>
inline void Sort32(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<uint32_t>& src1, const int32_t repeatTime,
    FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "sorting takes half and float");
    fa_emu::Record record(FA_OP_SORT32, "Sort32", emuLoc);
    fa_emu::Binary(record.Param(0, repeatTime), dst, src0, src1);
}

template <typename T>
inline void MrgSort(
    const LocalTensor<T>& dst, const MrgSortSrcList<T>& src, const MrgSort4Info& params, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "sorting takes half and float");
    if constexpr (fa_emu::kIsAiv) {
        fa_emu::Record record(FA_OP_MRGSORT, "MrgSort", emuLoc);
        const FaEmuOperand fourth = src.src4.EmuOperand();
        record.Operand(0, dst).Operand(1, src.src1).Operand(2, src.src2).Operand(3, src.src3);
        for (int32_t i = 0; i < MRG_SORT_ELEMENT_LEN; ++i) {
            record.Param(i, params.elementLengths[i]);
        }
        record.Param(4, params.validBit).Param(5, params.ifExhaustedSuspension).Param(6, params.repeatTimes)
            .Param(7, static_cast<int64_t>(fourth.addr)).Param(8, static_cast<int64_t>(fourth.bytes)).Issue();
    }
}

/*! How many records of each list the last merge took. */
inline void GetMrgSortResult(
    uint16_t& mrgSortList1, uint16_t& mrgSortList2, uint16_t& mrgSortList3, uint16_t& mrgSortList4, FA_EMU_HERE)
{
    if constexpr (fa_emu::kIsAiv) {
        uint16_t* const lists[] = {&mrgSortList1, &mrgSortList2, &mrgSortList3, &mrgSortList4};
        for (int32_t i = 0; i < MRG_SORT_ELEMENT_LEN; ++i) {
            fa_emu::Record record(FA_OP_MRGRESULT, "GetMrgSortResult", emuLoc);
            *lists[i] = static_cast<uint16_t>(record.Param(0, i).Issue());
        }
    }
}

template <typename T, bool isExhaustedSuspension = false>
inline void MrgSort(
    const LocalTensor<T>& dst, const MrgSortSrcList<T>& sortList, const uint16_t elementCountList[4],
    uint32_t sortedNum[4], uint16_t validBit, const int32_t repeatTime, FA_EMU_HERE)
{
    MrgSort(dst, sortList, MrgSort4Info(elementCountList, isExhaustedSuspension, validBit,
                                        static_cast<uint16_t>(repeatTime)), emuLoc);
    uint16_t counts[MRG_SORT_ELEMENT_LEN] = {};
    GetMrgSortResult(counts[0], counts[1], counts[2], counts[3], emuLoc);
    for (int32_t i = 0; i < MRG_SORT_ELEMENT_LEN; ++i) {
        sortedNum[i] = counts[i];
    }
}

/*! On this chip scores are sorted where they are: nothing moves. */
template <typename T>
inline void Concat(LocalTensor<T>& concat, const LocalTensor<T>& src, const LocalTensor<T>& tmp, const int32_t)
{
    static_assert(fa_emu::kOneOf<T, half, float>, "sorting takes half and float");
    (void)tmp;
    concat = src;
}

/*! Takes sorted records apart, 32 a repeat. */
template <typename T>
inline void Extract(
    const LocalTensor<T>& dstValue, const LocalTensor<uint32_t>& dstIndex, const LocalTensor<T>& sorted,
    const int32_t repeatTime, FA_EMU_HERE)
{
    constexpr uint8_t kScores = std::is_same<T, half>::value ? 3 : 1;
    constexpr uint8_t kOdd = 2;
    const uint16_t repeats = static_cast<uint16_t>(repeatTime);
    uint64_t kept = 0;
    GatherMask(dstValue, sorted, kScores, false, 0, {1, repeats, DEFAULT_REPEAT_STRIDE, 0}, kept, emuLoc);
    PipeBarrier<PIPE_V>(emuLoc);
    GatherMask(dstIndex, sorted.template ReinterpretCast<uint32_t>(), kOdd, false, 0,
               {1, repeats, DEFAULT_REPEAT_STRIDE, 0}, kept, emuLoc);
}

/*! Sorts runs of 32; with isFullSort also merges them, four at a time. */
template <typename T, bool isFullSort>
inline void Sort(
    const LocalTensor<T>& dst, const LocalTensor<T>& concat, const LocalTensor<uint32_t>& index, LocalTensor<T>& tmp,
    const int32_t repeatTime, FA_EMU_HERE)
{
    Sort32(dst, concat, index, repeatTime, emuLoc);
    if constexpr (isFullSort) {
        constexpr uint32_t kRun = 32;
        const uint32_t total = static_cast<uint32_t>(repeatTime) * kRun;
        bool inDst = true;
        for (uint32_t run = kRun; run < total; run *= MRG_SORT_ELEMENT_LEN) {
            const LocalTensor<T>& from = inDst ? dst : tmp;
            const LocalTensor<T>& to = inDst ? tmp : dst;
            PipeBarrier<PIPE_V>(emuLoc);
            for (uint32_t at = 0; at < total; at += run * MRG_SORT_ELEMENT_LEN) {
                MrgSort4Info info;
                MrgSortSrcList<T> lists(from[GetSortOffset<T>(at)], from[GetSortOffset<T>(at)],
                                        from[GetSortOffset<T>(at)], from[GetSortOffset<T>(at)]);
                LocalTensor<T>* const slots[] = {&lists.src1, &lists.src2, &lists.src3, &lists.src4};
                uint16_t valid = 0;
                for (uint32_t slot = 0; slot < MRG_SORT_ELEMENT_LEN && at + slot * run < total; ++slot) {
                    const uint32_t start = at + slot * run;
                    *slots[slot] = from[GetSortOffset<T>(start)];
                    info.elementLengths[slot] = static_cast<uint16_t>(total - start < run ? total - start : run);
                    valid = static_cast<uint16_t>(valid << 1 | 1);
                }
                // A list alone is sorted already; the merge takes an empty one beside it.
                info.validBit = valid == 1 ? 3 : valid;
                MrgSort(to[GetSortOffset<T>(at)], lists, info, emuLoc);
            }
            inDst = !inDst;
        }
        if (!inDst) {
            PipeBarrier<PIPE_V>(emuLoc);
            DataCopy(dst, tmp, GetSortLen<T>(total), emuLoc);
        }
    } else {
        (void)tmp;
    }
}
} // namespace AscendC

#endif
