/*!
 * \file softmax.h
 * \brief Softmax calls of the high-level library, composed from vector instructions.
 *
 * Statistics hold one block a row, filled with the row's value. Times are those of this composition, not of the
 * vendor's, which works on several rows at once.
 */
#ifndef FA_EMU_SOFTMAX_H
#define FA_EMU_SOFTMAX_H

#include "convert.h"
#include "fill.h"
#include "pipe.h"
#include "reduce.h"
#include "unary.h"
#include "../kernel_tiling/kernel_tiling.h"

namespace AscendC {
enum class SoftmaxMode { SOFTMAX_NORMAL = 0, SOFTMAX_OUTPUT_WITHOUT_BRC = 1 };

struct SoftmaxConfig {
    constexpr SoftmaxConfig(const bool check) : isCheckTiling(check) {}
    constexpr SoftmaxConfig(const bool check, const uint32_t rows, const uint32_t columns)
        : isCheckTiling(check), oriSrcM(rows), oriSrcK(columns)
    {}
    constexpr SoftmaxConfig(const bool check, const uint32_t rows, const uint32_t columns, const SoftmaxMode how)
        : isCheckTiling(check), oriSrcM(rows), oriSrcK(columns), mode(how)
    {}
    bool isCheckTiling = true;
    uint32_t oriSrcM = 0;
    uint32_t oriSrcK = 0;
    SoftmaxMode mode = SoftmaxMode::SOFTMAX_NORMAL;
};
constexpr SoftmaxConfig SOFTMAX_DEFAULT_CFG = {true, 0, 0, SoftmaxMode::SOFTMAX_NORMAL};

struct SoftMaxShapeInfo {
    uint32_t srcM{0};
    uint32_t srcK{0};
    uint32_t oriSrcM{0};
    uint32_t oriSrcK{0};
};
} // namespace AscendC

namespace fa_emu {
constexpr uint32_t kLanes = 64;     // floats of a repeat
constexpr uint32_t kBlockLanes = 8; // floats of a block

inline void Barrier(FaEmuLoc loc) { AscendC::PipeBarrier<PIPE_V>(loc); }

/*! One pipe waits for another, with an event id that no queue holds. */
template <AscendC::HardEvent event> inline void Handshake(FaEmuLoc loc)
{
    AscendC::TPipe* pipe = CurrentPipe();
    const int32_t free = pipe == nullptr ? 0 : pipe->FetchEventID(event);
    const int32_t id = free < 0 ? 0 : free;
    AscendC::SetFlag<event>(id, loc);
    AscendC::WaitFlag<event>(id, loc);
}

/*! Rows of a matrix in UB, how long they are, and room to work in. */
struct RowWork {
    uint32_t rows;
    uint32_t pitch;
    uint32_t columns;
    AscendC::LocalTensor<float> fold;   // one repeat, and a block for the result
    AscendC::LocalTensor<float> scalars; // one a row, rows rounded up to a block
    AscendC::LocalTensor<float> blocks;  // one block a row, likewise
    AscendC::LocalTensor<float> line;    // one row as float
    FaEmuLoc loc;

    uint32_t Rounded() const { return (rows + kBlockLanes - 1) / kBlockLanes * kBlockLanes; }
    uint32_t Padded() const { return (pitch + kLanes - 1) / kLanes * kLanes; }
};

/*! What UB the queues and buffers of the kernel have left, for calls without a temporary buffer. */
inline AscendC::LocalTensor<uint8_t> LeftOver(FaEmuLoc loc)
{
    AscendC::TPipe* pipe = CurrentPipe();
    if (pipe == nullptr) {
        PipeError("header", "the call takes its temporary buffer from the TPipe, and there is none",
                  "pass sharedTmpBuffer", loc);
        return {};
    }
    const uint32_t used = static_cast<uint32_t>(pipe->EmuUsed(AscendC::TPosition::VECCALC));
    const uint32_t usable = static_cast<uint32_t>(Ask(kUsableUb));
    return {AscendC::TPosition::VECCALC, used, usable > used ? usable - used : 0};
}

/*! Shapes and scratch of a call; reports a temporary buffer that is too short. */
inline RowWork Rows(
    const AscendC::LocalTensor<uint8_t>& tmp, const AscendC::SoftMaxTiling& tiling,
    const AscendC::SoftMaxShapeInfo& info, FaEmuLoc loc)
{
    RowWork work{info.srcM != 0 ? info.srcM : tiling.srcM, info.srcK != 0 ? info.srcK : tiling.srcK, 0, {}, {}, {}, {}, loc};
    work.columns = info.oriSrcK != 0 ? info.oriSrcK : work.pitch;
    if (info.oriSrcM != 0) {
        work.rows = info.oriSrcM;
    }
    const AscendC::LocalTensor<float> floats = tmp.ReinterpretCast<float>();
    uint32_t at = 0;
    const auto take = [&floats, &at](uint32_t count) {
        AscendC::LocalTensor<float> piece = floats[at];
        at += count;
        return piece;
    };
    work.fold = take(kLanes + kLanes);
    work.scalars = take(work.Rounded());
    work.blocks = take(work.Rounded() * kBlockLanes);
    work.line = take(work.Padded());
    if (at > floats.GetSize()) {
        PipeError("buffer-budget", "the temporary buffer is too short for the shape",
                  "give sharedTmpBuffer 4 * (128 + 9 * rows + columns) bytes or more", loc);
    }
    return work;
}

/*! The row as float: itself, or a copy that has been converted. */
template <typename T>
inline AscendC::LocalTensor<float> Line(const RowWork& work, const AscendC::LocalTensor<T>& src, uint32_t row)
{
    if constexpr (std::is_same<T, float>::value) {
        return src[row * work.pitch];
    } else {
        AscendC::Cast(work.line, src[row * work.pitch], AscendC::RoundMode::CAST_NONE, work.columns, work.loc);
        Barrier(work.loc);
        return work.line;
    }
}

/*! Folds a row into one value, `scalars[row]`. */
template <bool isMax>
inline void FoldRow(const RowWork& work, const AscendC::LocalTensor<float>& line, uint32_t row)
{
    constexpr float kLowest = -3.40282347e38f;
    const FaEmuLoc loc = work.loc;
    const uint64_t whole = kLanes;
    AscendC::Duplicate(work.fold, isMax ? kLowest : 0.0f, static_cast<int32_t>(kLanes), loc);
    Barrier(loc);
    for (uint32_t at = 0; at < work.columns; at += kLanes) {
        const uint32_t left = work.columns - at;
        const uint64_t lanes = left < kLanes ? left : whole;
        if constexpr (isMax) {
            AscendC::Max(work.fold, line[at], work.fold, lanes, 1, AscendC::BinaryRepeatParams(), loc);
        } else {
            AscendC::Add(work.fold, line[at], work.fold, lanes, 1, AscendC::BinaryRepeatParams(), loc);
        }
        Barrier(loc);
    }
    const int32_t all = kLanes;
    if constexpr (isMax) {
        AscendC::WholeReduceMax(work.scalars[row], work.fold, all, 1, 1, 1, 8,
                                AscendC::ReduceOrder::ORDER_ONLY_VALUE, loc);
    } else {
        AscendC::WholeReduceSum(work.scalars[row], work.fold, all, 1, 1, 1, 8, loc);
    }
    Barrier(loc);
}

/*! `scalars` as one block a row. */
inline void Spread(const RowWork& work)
{
    AscendC::Brcb(work.blocks, work.scalars, static_cast<uint8_t>(work.Rounded() / kBlockLanes),
                  AscendC::BrcbRepeatParams(1, 8), work.loc);
    Barrier(work.loc);
}

/*! Writes `scalars` as the statistics of a result: one block of T a row. */
template <typename T> inline void StoreStatistics(const RowWork& work, const AscendC::LocalTensor<T>& dst)
{
    constexpr uint32_t kBlockElements = 32 / sizeof(T);
    if constexpr (std::is_same<T, float>::value) {
        Spread(work);
        AscendC::Max(dst, work.blocks, work.blocks, static_cast<int32_t>(work.rows * kBlockLanes), work.loc);
    } else {
        const AscendC::LocalTensor<T> narrow = work.blocks.ReinterpretCast<T>();
        const AscendC::LocalTensor<T> wide = work.line.ReinterpretCast<T>();
        AscendC::Cast(wide, work.scalars, AscendC::RoundMode::CAST_RINT, work.rows, work.loc);
        Barrier(work.loc);
        AscendC::Brcb(narrow, wide, static_cast<uint8_t>(work.Rounded() / kBlockLanes),
                      AscendC::BrcbRepeatParams(1, 8), work.loc);
        Barrier(work.loc);
        const AscendC::LocalTensor<uint16_t> bits = narrow.template ReinterpretCast<uint16_t>();
        AscendC::Or(dst.template ReinterpretCast<uint16_t>(), bits, bits,
                    static_cast<int32_t>(work.rows * kBlockElements), work.loc);
    }
    Barrier(work.loc);
}

/*! One block of float statistics for every lane of a row. */
inline AscendC::BinaryRepeatParams ByBlock() { return {1, 1, 0, 8, 8, 0}; }

enum class RowStep { kSub, kDiv };

/*! Subtracts from a row, or divides it by, the block of its statistics. */
template <RowStep step>
inline void ApplyBlock(
    const RowWork& work, const AscendC::LocalTensor<float>& dst, const AscendC::LocalTensor<float>& line,
    const AscendC::LocalTensor<float>& block)
{
    for (uint32_t at = 0; at < work.columns; at += kLanes) {
        const uint32_t left = work.columns - at;
        const uint64_t lanes = left < kLanes ? left : kLanes;
        if constexpr (step == RowStep::kSub) {
            AscendC::Sub(dst[at], line[at], block, lanes, 1, ByBlock(), work.loc);
        } else {
            AscendC::Div(dst[at], line[at], block, lanes, 1, ByBlock(), work.loc);
        }
    }
    Barrier(work.loc);
}

/*! Stores a row that was worked on as float. */
template <typename T>
inline void StoreLine(
    const RowWork& work, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<float>& line, uint32_t row)
{
    if constexpr (!std::is_same<T, float>::value) {
        AscendC::Cast(dst[row * work.pitch], line, AscendC::RoundMode::CAST_RINT, work.columns, work.loc);
        Barrier(work.loc);
    } else {
        (void)dst;
        (void)line;
        (void)row;
    }
}

/*! exp(row - its maximum) of every row into `dst`; the sums of the rows into `scalars`. */
template <typename T>
inline void ExpRows(
    const RowWork& work, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const AscendC::LocalTensor<float>& maxima)
{
    for (uint32_t row = 0; row < work.rows; ++row) {
        const AscendC::LocalTensor<float> line = Line(work, src, row);
        AscendC::LocalTensor<float> out = work.line;
        if constexpr (std::is_same<T, float>::value) {
            out = dst[row * work.pitch];
        }
        ApplyBlock<RowStep::kSub>(work, out, line, maxima[row * kBlockLanes]);
        AscendC::Exp(out, out, static_cast<int32_t>(work.columns), work.loc);
        Barrier(work.loc);
        FoldRow<false>(work, out, row);
        StoreLine(work, dst, out, row);
    }
}

/*! Row maxima into `scalars`. */
template <typename T> inline void MaxRows(const RowWork& work, const AscendC::LocalTensor<T>& src)
{
    for (uint32_t row = 0; row < work.rows; ++row) {
        FoldRow<true>(work, Line(work, src, row), row);
    }
}

/*! Divides every row by its block of sums. */
template <typename T>
inline void DivideRows(
    const RowWork& work, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<float>& sums)
{
    for (uint32_t row = 0; row < work.rows; ++row) {
        const AscendC::LocalTensor<float> line = Line(work, dst, row);
        ApplyBlock<RowStep::kDiv>(work, line, line, sums[row * kBlockLanes]);
        StoreLine(work, dst, line, row);
    }
}

template <typename T, typename S>
inline void SoftMaxRows(
    const RowWork& work, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<S>* sum,
    const AscendC::LocalTensor<S>* max, const AscendC::LocalTensor<T>& src)
{
    MaxRows(work, src);
    if (max != nullptr) {
        StoreStatistics(work, *max);
    }
    Spread(work);
    ExpRows(work, dst, src, work.blocks);
    if (sum != nullptr) {
        StoreStatistics(work, *sum);
    }
    Spread(work);
    DivideRows(work, dst, work.blocks);
}
} // namespace fa_emu

#define FA_EMU_SOFTMAX_PLAIN(name)                                                                        \
    static_assert(!isDataFormatNZ, name " of NZ data is not emulated");                                   \
    static_assert(config.mode == SoftmaxMode::SOFTMAX_NORMAL, name " without broadcast is not emulated")

namespace AscendC {
template <
    typename T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false,
    const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, typename S>
inline void SoftMax(
    const LocalTensor<T>& dstTensor, const LocalTensor<S>& sumTensor, const LocalTensor<S>& maxTensor,
    const LocalTensor<T>& srcTensor, const LocalTensor<uint8_t>& sharedTmpBuffer, const SoftMaxTiling& tiling,
    const SoftMaxShapeInfo& softmaxShapeInfo = {}, FA_EMU_HERE)
{
    FA_EMU_SOFTMAX_PLAIN("SoftMax");
    if constexpr (fa_emu::kIsAiv) {
        const fa_emu::RowWork work = fa_emu::Rows(sharedTmpBuffer, tiling, softmaxShapeInfo, emuLoc);
        fa_emu::SoftMaxRows(work, dstTensor, &sumTensor, &maxTensor, srcTensor);
    }
}

template <
    typename T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false,
    const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, typename S>
inline void SoftMax(
    const LocalTensor<T>& dstTensor, const LocalTensor<S>& sumTensor, const LocalTensor<S>& maxTensor,
    const LocalTensor<T>& srcTensor, const SoftMaxTiling& tiling, const SoftMaxShapeInfo& softmaxShapeInfo = {},
    FA_EMU_HERE)
{
    if constexpr (fa_emu::kIsAiv) {
        SoftMax<T, isReuseSource, isBasicBlock, isDataFormatNZ, config>(
            dstTensor, sumTensor, maxTensor, srcTensor, fa_emu::LeftOver(emuLoc), tiling, softmaxShapeInfo, emuLoc);
    }
}

template <
    typename T, bool isReuseSource = false, bool isBasicBlock = false,
    const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>
inline void SoftMax(
    const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const LocalTensor<uint8_t>& sharedTmpBuffer,
    const SoftMaxTiling& tiling, const SoftMaxShapeInfo& softmaxShapeInfo = {}, FA_EMU_HERE)
{
    if constexpr (fa_emu::kIsAiv) {
        const fa_emu::RowWork work = fa_emu::Rows(sharedTmpBuffer, tiling, softmaxShapeInfo, emuLoc);
        const LocalTensor<float>* const none = nullptr;
        fa_emu::SoftMaxRows(work, dstTensor, none, none, srcTensor);
    }
}

template <
    typename T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false,
    const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>
inline void SimpleSoftMax(
    const LocalTensor<T>& dstTensor, const LocalTensor<float>& inSumTensor, const LocalTensor<float>& inMaxTensor,
    const LocalTensor<T>& srcTensor, const LocalTensor<uint8_t>& sharedTmpBuffer, const SoftMaxTiling& tiling,
    const SoftMaxShapeInfo& softmaxShapeInfo = {}, FA_EMU_HERE)
{
    FA_EMU_SOFTMAX_PLAIN("SimpleSoftMax");
    if constexpr (fa_emu::kIsAiv) {
        const fa_emu::RowWork work = fa_emu::Rows(sharedTmpBuffer, tiling, softmaxShapeInfo, emuLoc);
        fa_emu::ExpRows(work, dstTensor, srcTensor, inMaxTensor);
        fa_emu::DivideRows(work, dstTensor, inSumTensor);
    }
}

template <
    typename T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false,
    const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>
inline void SimpleSoftMax(
    const LocalTensor<T>& dstTensor, const LocalTensor<float>& inSumTensor, const LocalTensor<float>& inMaxTensor,
    const LocalTensor<T>& srcTensor, const SoftMaxTiling& tiling, const SoftMaxShapeInfo& softmaxShapeInfo = {},
    FA_EMU_HERE)
{
    if constexpr (fa_emu::kIsAiv) {
        SimpleSoftMax<T, isReuseSource, isBasicBlock, isDataFormatNZ, config>(
            dstTensor, inSumTensor, inMaxTensor, srcTensor, fa_emu::LeftOver(emuLoc), tiling, softmaxShapeInfo, emuLoc);
    }
}

/*! max' = max(inMax, row maximum), expMax = exp(inMax - max'), dst = exp(src - max'), sum' = expMax * inSum + row sum. */
template <
    typename T, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false,
    bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>
inline void SoftmaxFlashV2(
    const LocalTensor<T>& dstTensor, const LocalTensor<float>& expSumTensor, const LocalTensor<float>& maxTensor,
    const LocalTensor<T>& srcTensor, const LocalTensor<T>& expMaxTensor, const LocalTensor<float>& inExpSumTensor,
    const LocalTensor<float>& inMaxTensor, const LocalTensor<uint8_t>& sharedTmpBuffer, const SoftMaxTiling& tiling,
    const SoftMaxShapeInfo& softmaxShapeInfo = {}, FA_EMU_HERE)
{
    FA_EMU_SOFTMAX_PLAIN("SoftmaxFlashV2");
    if constexpr (fa_emu::kIsAiv) {
        const fa_emu::RowWork work = fa_emu::Rows(sharedTmpBuffer, tiling, softmaxShapeInfo, emuLoc);
        const int32_t count = static_cast<int32_t>(work.rows * fa_emu::kBlockLanes);
        constexpr uint32_t kTakeFirst = 1;
        if (isBasicBlock && (work.rows % fa_emu::kBlockLanes != 0 || work.pitch % fa_emu::kLanes != 0)) {
            fa_emu::PipeError("parameter-range", "SoftmaxFlashV2: isBasicBlock needs rows in eights and columns in 64s",
                              "pass isBasicBlock = false", emuLoc);
        }
        fa_emu::MaxRows(work, srcTensor);
        fa_emu::Spread(work);
        if constexpr (isUpdate) {
            Max(work.blocks, work.blocks, inMaxTensor, count, emuLoc);
            fa_emu::Barrier(emuLoc);
            // One exponential a row is enough: a block holds its value eight times.
            const LocalTensor<float> kept = work.line;
            for (uint32_t row = 0; row < work.rows; ++row) {
                const uint32_t at = row * fa_emu::kBlockLanes;
                Sub(kept, inMaxTensor[at], work.blocks[at], static_cast<int32_t>(fa_emu::kBlockLanes), emuLoc);
                fa_emu::Barrier(emuLoc);
                Exp(kept, kept, static_cast<int32_t>(fa_emu::kBlockLanes), emuLoc);
                fa_emu::Barrier(emuLoc);
                WholeReduceMax(work.scalars[row], kept, static_cast<int32_t>(kTakeFirst), 1, 1, 1, 8,
                               ReduceOrder::ORDER_ONLY_VALUE, emuLoc);
                fa_emu::Barrier(emuLoc);
            }
        }
        Max(maxTensor, work.blocks, work.blocks, count, emuLoc);
        fa_emu::Barrier(emuLoc);
        if constexpr (isUpdate) {
            fa_emu::Spread(work);
            Mul(expSumTensor, inExpSumTensor, work.blocks, count, emuLoc);
            fa_emu::Barrier(emuLoc);
            fa_emu::StoreStatistics(work, expMaxTensor);
        }
        fa_emu::ExpRows(work, dstTensor, srcTensor, maxTensor);
        fa_emu::Spread(work);
        if constexpr (isUpdate) {
            Add(expSumTensor, expSumTensor, work.blocks, count, emuLoc);
        } else {
            Max(expSumTensor, work.blocks, work.blocks, count, emuLoc);
        }
        fa_emu::Barrier(emuLoc);
    }
}

template <
    typename T, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false,
    bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>
inline void SoftmaxFlashV2(
    const LocalTensor<T>& dstTensor, const LocalTensor<float>& expSumTensor, const LocalTensor<float>& maxTensor,
    const LocalTensor<T>& srcTensor, const LocalTensor<T>& expMaxTensor, const LocalTensor<float>& inExpSumTensor,
    const LocalTensor<float>& inMaxTensor, const SoftMaxTiling& tiling, const SoftMaxShapeInfo& softmaxShapeInfo = {},
    FA_EMU_HERE)
{
    if constexpr (fa_emu::kIsAiv) {
        SoftmaxFlashV2<T, isUpdate, isReuseSource, isBasicBlock, isDataFormatNZ, config>(
            dstTensor, expSumTensor, maxTensor, srcTensor, expMaxTensor, inExpSumTensor, inMaxTensor,
            fa_emu::LeftOver(emuLoc), tiling, softmaxShapeInfo, emuLoc);
    }
}

/*! Row sums of grad * src, one block a row. */
template <typename T, bool isBasicBlock = false, bool isDataFormatNZ = false>
inline void SoftmaxGradFront(
    const LocalTensor<T>& dstTensor, const LocalTensor<T>& gradTensor, const LocalTensor<T>& srcTensor,
    const LocalTensor<uint8_t>& sharedTmpBuffer, const SoftMaxTiling& tiling,
    const SoftMaxShapeInfo& softmaxShapeInfo = {}, FA_EMU_HERE)
{
    static_assert(!isDataFormatNZ, "SoftmaxGradFront of NZ data is not emulated");
    static_assert(std::is_same<T, float>::value, "SoftmaxGradFront is emulated for float");
    if constexpr (fa_emu::kIsAiv) {
        const fa_emu::RowWork work = fa_emu::Rows(sharedTmpBuffer, tiling, softmaxShapeInfo, emuLoc);
        for (uint32_t row = 0; row < work.rows; ++row) {
            const uint32_t at = row * work.pitch;
            Mul(work.line, gradTensor[at], srcTensor[at], static_cast<int32_t>(work.columns), emuLoc);
            fa_emu::Barrier(emuLoc);
            fa_emu::FoldRow<false>(work, work.line, row);
        }
        fa_emu::StoreStatistics(work, dstTensor);
    }
}

template <typename T, bool isBasicBlock = false, bool isDataFormatNZ = false>
inline void SoftmaxGradFront(
    const LocalTensor<T>& dstTensor, const LocalTensor<T>& gradTensor, const LocalTensor<T>& srcTensor,
    const SoftMaxTiling& tiling, const SoftMaxShapeInfo& softmaxShapeInfo = {}, FA_EMU_HERE)
{
    if constexpr (fa_emu::kIsAiv) {
        SoftmaxGradFront<T, isBasicBlock, isDataFormatNZ>(
            dstTensor, gradTensor, srcTensor, fa_emu::LeftOver(emuLoc), tiling, softmaxShapeInfo, emuLoc);
    }
}

/*! Rows whose maximum has the bits `from` become `to`; whether there was one. */
template <typename T1, typename T2, bool isDataFormatNZ = false, uint8_t stepSizeMode = 0>
inline bool AdjustSoftMaxRes(
    const LocalTensor<T1>& softMaxRes, const LocalTensor<T2>& maxTensor, const uint32_t from, const T1 to,
    const SoftMaxShapeInfo& softmaxShapeInfo, FA_EMU_HERE)
{
    static_assert(!isDataFormatNZ && stepSizeMode == 0, "AdjustSoftMaxRes is emulated for rows with one block of maxima");
    bool found = false;
    if constexpr (fa_emu::kIsAiv) {
        constexpr uint32_t kBlockElements = 32 / sizeof(T2);
        fa_emu::Handshake<HardEvent::V_S>(emuLoc);
        for (uint32_t row = 0; row < softmaxShapeInfo.srcM; ++row) {
            if (fa_emu::ScalarBits(maxTensor.GetValue(row * kBlockElements, emuLoc)) == from) {
                found = true;
                Duplicate(softMaxRes[row * softmaxShapeInfo.srcK], to, static_cast<int32_t>(softmaxShapeInfo.srcK),
                          emuLoc);
            }
        }
    }
    return found;
}
} // namespace AscendC

#endif
