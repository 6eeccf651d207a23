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
#include "copy.h"
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
constexpr uint32_t kLanes = 64;      // floats of a repeat
constexpr uint32_t kBlockLanes = 8;  // floats of a block
constexpr uint32_t kGroupColumns = 16; // columns of a group of NZ data

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

/*! Up to eight rows of a matrix in UB, and room to work on them. */
struct RowWork {
    uint32_t first;   // the first of them
    uint32_t rows;
    uint32_t height;  // rows of the matrix: those of a column group of NZ data
    uint32_t pitch;
    uint32_t columns;
    bool nz;
    AscendC::LocalTensor<float> fold;    // one repeat, and a block of statistics
    AscendC::LocalTensor<float> scalars; // one a row
    AscendC::LocalTensor<float> kept;    // likewise
    AscendC::LocalTensor<float> factors; // likewise
    AscendC::LocalTensor<float> blocks;  // one block a row
    AscendC::LocalTensor<float> line;    // one row as float
    AscendC::LocalTensor<float> other;   // another row as float
    AscendC::LocalTensor<float> raw;     // one row as it is stored, columns side by side
    FaEmuLoc loc;

    int32_t Count() const { return static_cast<int32_t>(rows); }
};

/*! What UB the queues and buffers of the kernel have left, for calls without a temporary buffer. */
inline AscendC::LocalTensor<uint8_t> LeftOver(FaEmuLoc loc)
{
    AscendC::TPipe* pipe = CurrentPipe();
    if (pipe == nullptr) {
        PipeError("tpipe-missing", "the call takes its temporary buffer from the TPipe, and there is none",
                  "pass sharedTmpBuffer", loc);
        return {};
    }
    const uint32_t used = static_cast<uint32_t>(pipe->EmuUsed(AscendC::TPosition::VECCALC));
    const uint32_t usable = static_cast<uint32_t>(Ask(kUsableUb));
    return {AscendC::TPosition::VECCALC, used, usable > used ? usable - used : 0};
}

/*! Calls `body` for every eight rows of a call's shape; reports a temporary buffer that is too short. */
template <typename T, bool nz, bool pairs, typename Body>
inline void ForRows(
    const AscendC::LocalTensor<uint8_t>& tmp, const AscendC::SoftMaxTiling& tiling,
    const AscendC::SoftMaxShapeInfo& info, FaEmuLoc loc, const Body& body)
{
    constexpr bool kPlain = std::is_same<T, float>::value && !nz;
    const uint32_t height = info.srcM != 0 ? info.srcM : tiling.srcM;
    const uint32_t pitch = info.srcK != 0 ? info.srcK : tiling.srcK;
    const uint32_t columns = info.oriSrcK != 0 ? info.oriSrcK : pitch;
    RowWork work{0, 0, height, pitch, columns, nz, {}, {}, {}, {}, {}, {}, {}, {}, loc};
    const AscendC::LocalTensor<float> floats = tmp.ReinterpretCast<float>();
    const uint32_t padded = (pitch + kLanes - 1) / kLanes * kLanes;
    uint32_t at = 0;
    const auto take = [&floats, &at](uint32_t count) {
        AscendC::LocalTensor<float> piece = floats[at];
        at += count;
        return piece;
    };
    work.fold = take(kLanes + kBlockLanes);
    work.scalars = take(kBlockLanes);
    work.kept = take(kBlockLanes);
    work.factors = take(kBlockLanes);
    work.blocks = take(kBlockLanes * kBlockLanes);
    work.line = take(kPlain && !pairs ? 0 : padded);
    work.other = take(pairs && !kPlain ? padded : 0);
    work.raw = take(nz && !std::is_same<T, float>::value ? padded : 0);
    if (at > floats.GetSize()) {
        PipeError("buffer-budget", "the temporary buffer is too short for the shape",
                  "give sharedTmpBuffer 4 * (160 + 3 * columns) bytes, columns rounded up to 64", loc);
    }
    const uint32_t rows = info.oriSrcM != 0 ? info.oriSrcM : height;
    for (work.first = 0; work.first < rows; work.first += kBlockLanes) {
        work.rows = rows - work.first < kBlockLanes ? rows - work.first : kBlockLanes;
        body(work);
    }
}

/*! Column groups of a row of NZ data, side by side in `line`. */
template <typename T>
inline void GatherRow(
    const RowWork& work, const AscendC::LocalTensor<T>& line, const AscendC::LocalTensor<T>& src, uint32_t row)
{
    constexpr uint16_t kGroupBlocks = kGroupColumns * sizeof(T) / AscendC::ONE_BLK_SIZE;
    const uint32_t groups = (work.columns + kGroupColumns - 1) / kGroupColumns;
    const AscendC::DataCopyParams params(
        static_cast<uint16_t>(groups), kGroupBlocks, static_cast<uint16_t>((work.height - 1) * kGroupBlocks), 0);
    AscendC::DataCopy(line, src[row * kGroupColumns], params, work.loc);
    Barrier(work.loc);
}

/*! The reverse; columns beyond the matrix keep what they held. */
template <typename T>
inline void ScatterRow(
    const RowWork& work, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& line, uint32_t row)
{
    for (uint32_t column = 0; column < work.columns; column += kGroupColumns) {
        const uint32_t left = work.columns - column;
        const uint64_t lanes = left < kGroupColumns ? left : kGroupColumns;
        AscendC::Copy(dst[(column / kGroupColumns * work.height + row) * kGroupColumns], line[column], lanes, 1,
                      AscendC::CopyRepeatParams(1, 1, 8, 8), work.loc);
    }
    Barrier(work.loc);
}

/*! A row as float: itself, or a copy in `into`. */
template <typename T>
inline AscendC::LocalTensor<float> ReadRow(
    const RowWork& work, const AscendC::LocalTensor<T>& src, uint32_t index, const AscendC::LocalTensor<float>& into)
{
    const uint32_t row = work.first + index;
    if constexpr (std::is_same<T, float>::value) {
        if (!work.nz) {
            return src[row * work.pitch];
        }
        GatherRow(work, into, src, row);
    } else {
        AscendC::LocalTensor<T> narrow = src[work.nz ? 0 : row * work.pitch];
        if (work.nz) {
            narrow = work.raw.template ReinterpretCast<T>();
            GatherRow(work, narrow, src, row);
        }
        AscendC::Cast(into, narrow, AscendC::RoundMode::CAST_NONE, work.columns, work.loc);
        Barrier(work.loc);
    }
    return into;
}

template <typename T>
inline AscendC::LocalTensor<float> ReadRow(const RowWork& work, const AscendC::LocalTensor<T>& src, uint32_t index)
{
    return ReadRow(work, src, index, work.line);
}

/*! Where a row of results is computed: in its place, or in `line`. */
template <typename T>
inline AscendC::LocalTensor<float> RowTarget(const RowWork& work, const AscendC::LocalTensor<T>& dst, uint32_t index)
{
    if constexpr (std::is_same<T, float>::value) {
        if (!work.nz) {
            return dst[(work.first + index) * work.pitch];
        }
    }
    return work.line;
}

/*! Stores a row that was computed in `line`. */
template <typename T>
inline void WriteRow(
    const RowWork& work, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<float>& line, uint32_t index)
{
    const uint32_t row = work.first + index;
    if constexpr (std::is_same<T, float>::value) {
        if (work.nz) {
            ScatterRow(work, dst, line, row);
        }
    } else if (work.nz) {
        const AscendC::LocalTensor<T> narrow = work.raw.template ReinterpretCast<T>();
        AscendC::Cast(narrow, line, AscendC::RoundMode::CAST_RINT, work.columns, work.loc);
        Barrier(work.loc);
        ScatterRow(work, dst, narrow, row);
    } else {
        AscendC::Cast(dst[row * work.pitch], line, AscendC::RoundMode::CAST_RINT, work.columns, work.loc);
        Barrier(work.loc);
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

/*! One value a row as one block a row, in `blocks`. */
inline void Spread(const RowWork& work, const AscendC::LocalTensor<float>& values)
{
    AscendC::Brcb(work.blocks, values, 1, AscendC::BrcbRepeatParams(1, 8), work.loc);
    Barrier(work.loc);
}

/*! Writes one value a row as statistics: one block of S a row. */
template <typename S>
inline void StoreStatistics(
    const RowWork& work, const AscendC::LocalTensor<S>& dst, const AscendC::LocalTensor<float>& values)
{
    constexpr uint32_t kBlockElements = AscendC::ONE_BLK_SIZE / sizeof(S);
    const uint32_t to = work.first * kBlockElements;
    if constexpr (std::is_same<S, float>::value) {
        Spread(work, values);
        AscendC::Max(dst[to], work.blocks, work.blocks, static_cast<int32_t>(work.rows * kBlockLanes), work.loc);
    } else {
        const AscendC::LocalTensor<S> narrow = work.blocks.template ReinterpretCast<S>();
        const AscendC::LocalTensor<S> rounded = work.fold.template ReinterpretCast<S>();
        AscendC::Cast(rounded, values, AscendC::RoundMode::CAST_RINT, work.rows, work.loc);
        Barrier(work.loc);
        AscendC::Brcb(narrow, rounded, 1, AscendC::BrcbRepeatParams(1, 8), work.loc);
        Barrier(work.loc);
        const AscendC::LocalTensor<uint16_t> bits = narrow.template ReinterpretCast<uint16_t>();
        AscendC::Or(dst[to].template ReinterpretCast<uint16_t>(), bits, bits,
                    static_cast<int32_t>(work.rows * kBlockElements), work.loc);
    }
    Barrier(work.loc);
}

/*! The block of statistics of a row, as float. */
template <typename S>
inline AscendC::LocalTensor<float> StatisticsBlock(
    const RowWork& work, const AscendC::LocalTensor<S>& statistics, uint32_t index)
{
    constexpr uint32_t kBlockElements = AscendC::ONE_BLK_SIZE / sizeof(S);
    const uint32_t at = (work.first + index) * kBlockElements;
    if constexpr (std::is_same<S, float>::value) {
        return statistics[at];
    } else {
        const AscendC::LocalTensor<float> block = work.fold[kLanes];
        AscendC::Cast(block, statistics[at], AscendC::RoundMode::CAST_NONE, kBlockLanes, work.loc);
        Barrier(work.loc);
        return block;
    }
}

/*! Statistics as one value a row. */
template <typename S>
inline void ReadStatistics(
    const RowWork& work, const AscendC::LocalTensor<float>& values, const AscendC::LocalTensor<S>& statistics)
{
    constexpr int32_t kFirstLane = 1;
    for (uint32_t row = 0; row < work.rows; ++row) {
        AscendC::WholeReduceMax(values[row], StatisticsBlock(work, statistics, row), kFirstLane, 1, 1, 1, 8,
                                AscendC::ReduceOrder::ORDER_ONLY_VALUE, work.loc);
        Barrier(work.loc);
    }
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

/*! exp(row - its block of `blocks(row)`) of every row into `dst`; the sums of the rows into `scalars`. */
template <typename T, typename Blocks>
inline void ExpRows(
    const RowWork& work, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, const Blocks& blocks)
{
    for (uint32_t row = 0; row < work.rows; ++row) {
        const AscendC::LocalTensor<float> line = ReadRow(work, src, row);
        const AscendC::LocalTensor<float> out = RowTarget(work, dst, row);
        ApplyBlock<RowStep::kSub>(work, out, line, blocks(row));
        AscendC::Exp(out, out, static_cast<int32_t>(work.columns), work.loc);
        Barrier(work.loc);
        FoldRow<false>(work, out, row);
        WriteRow(work, dst, out, row);
    }
}

/*! Row maxima into `scalars`. */
template <typename T> inline void MaxRows(const RowWork& work, const AscendC::LocalTensor<T>& src)
{
    for (uint32_t row = 0; row < work.rows; ++row) {
        FoldRow<true>(work, ReadRow(work, src, row), row);
    }
}

/*! Divides every row by its block of sums. */
template <typename T, typename Blocks>
inline void DivideRows(const RowWork& work, const AscendC::LocalTensor<T>& dst, const Blocks& blocks)
{
    for (uint32_t row = 0; row < work.rows; ++row) {
        const AscendC::LocalTensor<float> line = ReadRow(work, dst, row);
        ApplyBlock<RowStep::kDiv>(work, line, line, blocks(row));
        WriteRow(work, dst, line, row);
    }
}

/*! The blocks that `Spread` has made. */
inline auto SpreadBlocks(const RowWork& work)
{
    return [&work](uint32_t row) { return work.blocks[row * kBlockLanes]; };
}

/*! The blocks of a tensor of statistics. */
template <typename S> inline auto GivenBlocks(const RowWork& work, const AscendC::LocalTensor<S>& statistics)
{
    return [&work, &statistics](uint32_t row) { return StatisticsBlock(work, statistics, row); };
}

template <typename T, typename S>
inline void SoftMaxRows(
    const RowWork& work, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<S>* sum,
    const AscendC::LocalTensor<S>* max, const AscendC::LocalTensor<T>& src)
{
    MaxRows(work, src);
    if (max != nullptr) {
        StoreStatistics(work, *max, work.scalars);
    }
    Spread(work, work.scalars);
    ExpRows(work, dst, src, SpreadBlocks(work));
    if (sum != nullptr) {
        StoreStatistics(work, *sum, work.scalars);
    }
    Spread(work, work.scalars);
    DivideRows(work, dst, SpreadBlocks(work));
}

/*! One step of the running softmax; results may lie over the statistics that go in. */
template <bool isUpdate, typename T, typename S>
inline void FlashRows(
    const RowWork& work, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<S>& sum,
    const AscendC::LocalTensor<S>& max, const AscendC::LocalTensor<T>& src, const AscendC::LocalTensor<T>& factor,
    const AscendC::LocalTensor<S>& inSum, const AscendC::LocalTensor<S>& inMax)
{
    const int32_t count = work.Count();
    MaxRows(work, src);
    if constexpr (isUpdate) {
        ReadStatistics(work, work.kept, inMax);
        AscendC::Max(work.scalars, work.scalars, work.kept, count, work.loc);
        Barrier(work.loc);
        AscendC::Sub(work.factors, work.kept, work.scalars, count, work.loc);
        Barrier(work.loc);
        AscendC::Exp(work.factors, work.factors, count, work.loc);
        Barrier(work.loc);
        ReadStatistics(work, work.kept, inSum);
        AscendC::Mul(work.kept, work.kept, work.factors, count, work.loc);
        Barrier(work.loc);
        StoreStatistics(work, factor, work.factors);
    }
    StoreStatistics(work, max, work.scalars);
    Spread(work, work.scalars);
    ExpRows(work, dst, src, SpreadBlocks(work));
    if constexpr (isUpdate) {
        AscendC::Add(work.scalars, work.scalars, work.kept, count, work.loc);
        Barrier(work.loc);
    }
    StoreStatistics(work, sum, work.scalars);
}
} // namespace fa_emu

#define FA_EMU_SOFTMAX_PLAIN(name) \
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
        const auto rows = [&](const fa_emu::RowWork& work) {
            fa_emu::SoftMaxRows(work, dstTensor, &sumTensor, &maxTensor, srcTensor);
        };
        fa_emu::ForRows<T, isDataFormatNZ, false>(sharedTmpBuffer, tiling, softmaxShapeInfo, emuLoc, rows);
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
    FA_EMU_SOFTMAX_PLAIN("SoftMax");
    if constexpr (fa_emu::kIsAiv) {
        const LocalTensor<float>* const none = nullptr;
        const auto rows = [&](const fa_emu::RowWork& work) {
            fa_emu::SoftMaxRows(work, dstTensor, none, none, srcTensor);
        };
        fa_emu::ForRows<T, false, false>(sharedTmpBuffer, tiling, softmaxShapeInfo, emuLoc, rows);
    }
}

template <
    typename T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false,
    const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, typename S>
inline void SimpleSoftMax(
    const LocalTensor<T>& dstTensor, const LocalTensor<S>& inSumTensor, const LocalTensor<S>& inMaxTensor,
    const LocalTensor<T>& srcTensor, const LocalTensor<uint8_t>& sharedTmpBuffer, const SoftMaxTiling& tiling,
    const SoftMaxShapeInfo& softmaxShapeInfo = {}, FA_EMU_HERE)
{
    FA_EMU_SOFTMAX_PLAIN("SimpleSoftMax");
    if constexpr (fa_emu::kIsAiv) {
        const auto rows = [&](const fa_emu::RowWork& work) {
            fa_emu::ExpRows(work, dstTensor, srcTensor, fa_emu::GivenBlocks(work, inMaxTensor));
            fa_emu::DivideRows(work, dstTensor, fa_emu::GivenBlocks(work, inSumTensor));
        };
        fa_emu::ForRows<T, isDataFormatNZ, false>(sharedTmpBuffer, tiling, softmaxShapeInfo, emuLoc, rows);
    }
}

template <
    typename T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false,
    const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, typename S>
inline void SimpleSoftMax(
    const LocalTensor<T>& dstTensor, const LocalTensor<S>& inSumTensor, const LocalTensor<S>& inMaxTensor,
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
    bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, typename S>
inline void SoftmaxFlashV2(
    const LocalTensor<T>& dstTensor, const LocalTensor<S>& expSumTensor, const LocalTensor<S>& maxTensor,
    const LocalTensor<T>& srcTensor, const LocalTensor<T>& expMaxTensor, const LocalTensor<S>& inExpSumTensor,
    const LocalTensor<S>& inMaxTensor, const LocalTensor<uint8_t>& sharedTmpBuffer, const SoftMaxTiling& tiling,
    const SoftMaxShapeInfo& softmaxShapeInfo = {}, FA_EMU_HERE)
{
    FA_EMU_SOFTMAX_PLAIN("SoftmaxFlashV2");
    if constexpr (fa_emu::kIsAiv) {
        const auto rows = [&](const fa_emu::RowWork& work) {
            if (isBasicBlock && (work.rows % fa_emu::kBlockLanes != 0 || work.pitch % fa_emu::kLanes != 0)) {
                fa_emu::PipeError("parameter-range",
                                  "SoftmaxFlashV2: isBasicBlock needs rows in eights and columns in 64s",
                                  "pass isBasicBlock = false", emuLoc);
            }
            fa_emu::FlashRows<isUpdate>(
                work, dstTensor, expSumTensor, maxTensor, srcTensor, expMaxTensor, inExpSumTensor, inMaxTensor);
        };
        fa_emu::ForRows<T, isDataFormatNZ, false>(sharedTmpBuffer, tiling, softmaxShapeInfo, emuLoc, rows);
    }
}

template <
    typename T, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false,
    bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, typename S>
inline void SoftmaxFlashV2(
    const LocalTensor<T>& dstTensor, const LocalTensor<S>& expSumTensor, const LocalTensor<S>& maxTensor,
    const LocalTensor<T>& srcTensor, const LocalTensor<T>& expMaxTensor, const LocalTensor<S>& inExpSumTensor,
    const LocalTensor<S>& inMaxTensor, const SoftMaxTiling& tiling, const SoftMaxShapeInfo& softmaxShapeInfo = {},
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
    static_assert(fa_emu::kOneOf<T, half, float>, "SoftmaxGradFront takes half and float");
    if constexpr (fa_emu::kIsAiv) {
        const auto rows = [&](const fa_emu::RowWork& work) {
            for (uint32_t row = 0; row < work.rows; ++row) {
                const LocalTensor<float> grad = fa_emu::ReadRow(work, gradTensor, row, work.other);
                const LocalTensor<float> src = fa_emu::ReadRow(work, srcTensor, row);
                Mul(work.line, grad, src, static_cast<int32_t>(work.columns), emuLoc);
                fa_emu::Barrier(emuLoc);
                fa_emu::FoldRow<false>(work, work.line, row);
            }
            fa_emu::StoreStatistics(work, dstTensor, work.scalars);
        };
        fa_emu::ForRows<T, isDataFormatNZ, true>(sharedTmpBuffer, tiling, softmaxShapeInfo, emuLoc, rows);
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
    static_assert(stepSizeMode <= 1, "stepSizeMode is 0, a block of maxima a row, or 1, one maximum a row");
    bool found = false;
    if constexpr (fa_emu::kIsAiv) {
        constexpr uint32_t kStep = stepSizeMode == 0 ? ONE_BLK_SIZE / sizeof(T2) : 1;
        const uint32_t rows = softmaxShapeInfo.srcM;
        const uint32_t columns = softmaxShapeInfo.srcK;
        fa_emu::Handshake<HardEvent::V_S>(emuLoc);
        for (uint32_t row = 0; row < rows; ++row) {
            if (fa_emu::ScalarBits(maxTensor.GetValue(row * kStep, emuLoc)) != from) {
                continue;
            }
            found = true;
            if constexpr (isDataFormatNZ) {
                for (uint32_t column = 0; column < columns; column += fa_emu::kGroupColumns) {
                    Duplicate(softMaxRes[column * rows + row * fa_emu::kGroupColumns], to,
                              static_cast<int32_t>(fa_emu::kGroupColumns), emuLoc);
                }
            } else {
                Duplicate(softMaxRes[row * columns], to, static_cast<int32_t>(columns), emuLoc);
            }
        }
    }
    return found;
}
} // namespace AscendC

#endif
