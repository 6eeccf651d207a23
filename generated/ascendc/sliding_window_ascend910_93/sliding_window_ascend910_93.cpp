/*!
 * \file sliding_window_ascend910_93.cpp
 * \brief Attention variant `sliding_window`, forward, bnsd layout.
 *
 * Written by fa-gen 0.1.0; edit sliding_window.fa, not this file.
 *
 * source sliding_window.fa, sha256 a19860cb736ed145e01bac1205144bd9247a4c6da6adaa3d8ca1aaf7eb877f49
 * target ascend910_93: one cube core (AIC) and 2 vector cores (AIV) work on a tile
 *
 * score = score
 * mask  = kv_pos <= q_pos && (q_pos - kv_pos <= 1023 && kv_pos - q_pos <= 0)
 *
 * buffer         memory  copies x rows x cols x bytes        KiB
 * q_tile         L1           1 x  128 x  128 x 2          32.00
 * k_tile         L1           2 x  128 x  128 x 2          64.00
 * p_tile         L1           2 x  128 x  128 x 2          64.00
 * v_tile         L1           2 x  128 x  128 x 2          64.00
 *                L1      total                         224 KiB of 511.75 KiB
 * left           L0A          2 x  128 x  128 x 2          64.00
 *                L0A     total                         64 KiB of 64 KiB
 * right          L0B          2 x  128 x  128 x 2          64.00
 *                L0B     total                         64 KiB of 64 KiB
 * sum            L0C          2 x  128 x  128 x 4         128.00
 *                L0C     total                         128 KiB of 128 KiB
 * s_tile         UB           2 x   16 x  512 x 4          64.00
 * temp           UB           3 x   16 x  256 x 4          48.00
 * o_acc          UB           1 x   64 x  128 x 4          32.00
 * o_tile         UB           2 x   24 x  128 x 4          24.00
 * row_max        UB           1 x    1 x   64 x 4           0.25
 * row_sum        UB           1 x    1 x   64 x 4           0.25
 * tile_max       UB           1 x    1 x   16 x 4           0.06
 * tile_sum       UB           1 x    1 x   16 x 4           0.06
 * rescale        UB           2 x    1 x   64 x 4           0.50
 * final_sum      UB           2 x    1 x   64 x 4           0.50
 * lse            UB           1 x    1 x   64 x 4           0.25
 * row_blocks     UB           1 x   24 x    8 x 4           0.75
 * counter        UB           1 x    1 x  512 x 4           2.00
 * row_counter    UB           1 x   64 x    8 x 4           2.00
 * row_value      UB           1 x   64 x    8 x 4           2.00
 * column_value   UB           1 x    1 x  512 x 4           2.00
 *                UB      total                         178.62 KiB of 183.75 KiB
 */

#include "kernel_operator.h"

#include "sliding_window_tiling.h"

namespace fa_sliding_window {
using AscendC::GlobalTensor;
using AscendC::HardEvent;
using AscendC::LocalTensor;
using AscendC::TPosition;

using Element = bfloat16_t;       // of Q, K, V and P
using OutputElement = bfloat16_t;

// ---- Shapes ----
constexpr uint32_t kHeadDim = 128;       // columns of Q and K
constexpr uint32_t kHeadDimPad = 128;    // the same in whole fractals
constexpr uint32_t kValueDim = 128;      // columns of V and O
constexpr uint32_t kValueDimPad = 128;   // the same in whole fractals
constexpr uint32_t kBlockQ = 128;        // query rows of a tile
constexpr uint32_t kBlockKv = 512;       // key rows of a tile
constexpr uint32_t kStages = 2;          // tiles in flight: slots of the workspace rings
constexpr uint32_t kSubRows = 128;       // query rows of one Mmad
constexpr uint32_t kSubKeys = 128;       // key rows of one Mmad
constexpr uint32_t kSubDepth = 128;      // columns of Q and K that one Mmad sums over
constexpr uint32_t kSubValues = 128;     // value columns of one Mmad
constexpr uint32_t kCoreRows = 64;       // query rows of a vector core
constexpr uint32_t kRowStep = 16;        // rows that the softmax takes at a time
constexpr uint32_t kOutputStep = 24;     // rows that the output takes at a time
constexpr uint32_t kChunk = 256;         // score columns that vector code covers in one pass
constexpr uint32_t kChunks = 2;          // passes over a full tile
constexpr uint32_t kColumns = kChunks * kChunk;

// ---- The chip ----
constexpr uint32_t kFractal = 16;        // rows of a fractal, and rows and columns of one of sums
constexpr uint32_t kFractalCols = 16;    // columns of a fractal of Elements
constexpr uint32_t kFractalElems = kFractal * kFractalCols;
constexpr uint32_t kLanes = 64;          // fp32 lanes of a vector instruction
constexpr uint32_t kBlockBytes = 32;     // a data block, the unit of most strides
constexpr uint32_t kBlockLanes = 8;      // fp32 numbers of a data block
constexpr uint32_t kLaneBlocks = kLanes / kBlockLanes;
constexpr uint32_t kChunkBlocks = kChunk / kBlockLanes;
constexpr uint32_t kVectorCores = 2;     // of a cube core
constexpr uint32_t kRowLanes = kCoreRows * kBlockLanes; // lanes of a value of a query row

// ---- On-chip memory: bytes of one copy, and where the first copy starts ----
constexpr uint32_t kQTileBytes = 128 * 128 * 2; // queries of the task: 128 x 128 bf16
constexpr uint32_t kQTileAt = 0;
constexpr uint32_t kKTileBytes = 128 * 128 * 2; // a piece of the keys: 128 x 128 bf16
constexpr uint32_t kKTileAt = kQTileAt + kQTileBytes;
constexpr uint32_t kPTileBytes = 128 * 128 * 2; // a piece of the probabilities: 128 x 128 bf16
constexpr uint32_t kPTileAt = kKTileAt + 2 * kKTileBytes;
constexpr uint32_t kVTileBytes = 128 * 128 * 2; // a piece of the values: 128 x 128 bf16
constexpr uint32_t kVTileAt = kPTileAt + 2 * kPTileBytes;
constexpr uint32_t kL1End = kVTileAt + 2 * kVTileBytes;
constexpr uint32_t kL1Capacity = 524032; // 512 KiB less 256 bytes that the toolchain keeps
static_assert(kL1End <= kL1Capacity, "L1 budget exceeded");

constexpr uint32_t kLeftBytes = 128 * 128 * 2; // left operand of one Mmad: 128 x 128 bf16
constexpr uint32_t kLeftAt = 0;
constexpr uint32_t kL0aEnd = kLeftAt + 2 * kLeftBytes;
constexpr uint32_t kL0aCapacity = 65536; // all of it
static_assert(kL0aEnd <= kL0aCapacity, "L0a budget exceeded");

constexpr uint32_t kRightBytes = 128 * 128 * 2; // right operand of one Mmad: 128 x 128 bf16
constexpr uint32_t kRightAt = 0;
constexpr uint32_t kL0bEnd = kRightAt + 2 * kRightBytes;
constexpr uint32_t kL0bCapacity = 65536; // all of it
static_assert(kL0bEnd <= kL0bCapacity, "L0b budget exceeded");

constexpr uint32_t kSumBytes = 128 * 128 * 4; // accumulator: 128 x 128 fp32
constexpr uint32_t kSumAt = 0;
constexpr uint32_t kL0cEnd = kSumAt + 2 * kSumBytes;
constexpr uint32_t kL0cCapacity = 131072; // all of it
static_assert(kL0cEnd <= kL0cCapacity, "L0c budget exceeded");

constexpr uint32_t kSTileBytes = 16 * 512 * 4; // scores, then probabilities in place: 16 x 512 fp32
constexpr uint32_t kSTileAt = 0;
constexpr uint32_t kTempBytes = 16 * 256 * 4; // steps of the vector programs, reductions: 16 x 256 fp32
constexpr uint32_t kTempAt = kSTileAt + 2 * kSTileBytes;
constexpr uint32_t kOAccBytes = 64 * 128 * 4; // output of the task, unscaled: 64 x 128 fp32
constexpr uint32_t kOAccAt = kTempAt + 3 * kTempBytes;
constexpr uint32_t kOTileBytes = 24 * 128 * 4; // output of one tile: 24 x 128 fp32
constexpr uint32_t kOTileAt = kOAccAt + kOAccBytes;
constexpr uint32_t kRowMaxBytes = 1 * 64 * 4; // running maximum of a row: 1 x 64 fp32
constexpr uint32_t kRowMaxAt = kOTileAt + 2 * kOTileBytes;
constexpr uint32_t kRowSumBytes = 1 * 64 * 4; // running sum of a row: 1 x 64 fp32
constexpr uint32_t kRowSumAt = kRowMaxAt + kRowMaxBytes;
constexpr uint32_t kTileMaxBytes = 1 * 16 * 4; // maximum including this tile: 1 x 16 fp32
constexpr uint32_t kTileMaxAt = kRowSumAt + kRowSumBytes;
constexpr uint32_t kTileSumBytes = 1 * 16 * 4; // sum of this tile: 1 x 16 fp32
constexpr uint32_t kTileSumAt = kTileMaxAt + kTileMaxBytes;
constexpr uint32_t kRescaleBytes = 1 * 64 * 4; // exp(old maximum - new maximum): 1 x 64 fp32
constexpr uint32_t kRescaleAt = kTileSumAt + kTileSumBytes;
constexpr uint32_t kFinalSumBytes = 1 * 64 * 4; // divisor of finished rows: 1 x 64 fp32
constexpr uint32_t kFinalSumAt = kRescaleAt + 2 * kRescaleBytes;
constexpr uint32_t kLseBytes = 1 * 64 * 4; // log of the sum of exponentials: 1 x 64 fp32
constexpr uint32_t kLseAt = kFinalSumAt + 2 * kFinalSumBytes;
constexpr uint32_t kRowBlocksBytes = 24 * 8 * 4; // a row's value, one block each: 24 x 8 fp32
constexpr uint32_t kRowBlocksAt = kLseAt + kLseBytes;
constexpr uint32_t kCounterBytes = 1 * 512 * 4; // 0, 1, 2, ...: 1 x 512 fp32
constexpr uint32_t kCounterAt = kRowBlocksAt + kRowBlocksBytes;
constexpr uint32_t kRowCounterBytes = 64 * 8 * 4; // 0, 1, 2, ..., one block each: 64 x 8 fp32
constexpr uint32_t kRowCounterAt = kCounterAt + kCounterBytes;
constexpr uint32_t kRowValueBytes = 64 * 8 * 4; // values of a query row, one block each: 64 x 8 fp32
constexpr uint32_t kRowValueAt = kRowCounterAt + kRowCounterBytes;
constexpr uint32_t kColumnValueBytes = 1 * 512 * 4; // values of a key row: 1 x 512 fp32
constexpr uint32_t kColumnValueAt = kRowValueAt + kRowValueBytes;
constexpr uint32_t kUbEnd = kColumnValueAt + kColumnValueBytes;
constexpr uint32_t kUbCapacity = 188160; // 192 KiB less 256 bytes and the 8 KiB scratch that the toolchain keeps
static_assert(kUbEnd <= kUbCapacity, "Ub budget exceeded");

// ---- Numbers ----
constexpr float kScale = 0.088388346f;
constexpr float kMasked = -__builtin_inff();     // score of a masked pair: its exponential is exactly 0
constexpr float kLowestMax = -3.402823466e+38f;  // floor of the running maximum: -inf minus it stays -inf

// ---- Flags between the cores, one count per tile ----
constexpr uint16_t kScoresReady = 0;        // cube, Fixpipe -> vector: S is in its slot
constexpr uint16_t kProbabilitiesReady = 1; // vector, MTE3 -> cube: P is in its slot, S has been read
constexpr uint16_t kOutputReady = 2;        // cube, Fixpipe -> vector: P V is in its slot, P has been read

// ---- Events inside the cube core, by the edge that they guard ----
constexpr int32_t kKeysFree = 0;      // MTE1 -> MTE2, one per slot: keys have been multiplied
constexpr int32_t kKeysLoaded = 0;    // MTE2 -> MTE1, one per slot
constexpr int32_t kValuesFree = 2;    // MTE1 -> MTE2, one per slot: probabilities and values have been multiplied
constexpr int32_t kValuesLoaded = 2;  // MTE2 -> MTE1, one per slot
constexpr int32_t kQueryFree = 4;     // MTE1 -> MTE2: the last tile of the task has been multiplied
constexpr int32_t kOperandsFree = 0;  // M -> MTE1, one per slot of L0A and L0B
constexpr int32_t kOperandsLoaded = 0; // MTE1 -> M, one per slot
constexpr int32_t kSumFree = 0;       // FIX -> M, one per slot of L0C
constexpr int32_t kSumReady = 0;      // M -> FIX, one per slot

// ---- Events inside a vector core ----
constexpr int32_t kScoresFree = 0;       // MTE3 -> MTE2, one per slot: probabilities have left
constexpr int32_t kScoresLoaded = 0;     // MTE2 -> V, one per slot
constexpr int32_t kProbabilitiesMade = 0; // V -> MTE3, one per slot
constexpr int32_t kPartialFree = 2;      // V -> MTE2, one per slot: the tile's output has been added
constexpr int32_t kPartialLoaded = 2;    // MTE2 -> V, one per slot
constexpr int32_t kLseMade = 2;          // V -> MTE3
constexpr int32_t kLseStored = 2;        // MTE3 -> V
constexpr int32_t kOutputMade = 3;       // V -> MTE3
constexpr int32_t kOutputStored = 3;     // MTE3 -> V
constexpr int32_t kCounterSeeded = 0;    // S -> V

// ---- Workspace of one cube core: rings of kStages slots, each slot on a 512-byte address ----
constexpr uint64_t kWorkspaceAlign = 512;
__aicore__ constexpr uint64_t SlotBytes(uint64_t bytes)
{
    return (bytes + kWorkspaceAlign - 1) / kWorkspaceAlign * kWorkspaceAlign;
}
constexpr uint64_t kScoreSlot = SlotBytes(uint64_t(kBlockQ) * kBlockKv * sizeof(float));
constexpr uint64_t kProbabilitySlot = SlotBytes(uint64_t(kBlockQ) * kBlockKv * sizeof(Element));
constexpr uint64_t kPartialSlot = SlotBytes(uint64_t(kBlockQ) * kValueDimPad * sizeof(float));
constexpr uint64_t kWorkspaceBytes = kStages * (kScoreSlot + kProbabilitySlot + kPartialSlot);

template <typename T>
__aicore__ inline T Min(T a, T b)
{
    return a < b ? a : b;
}

template <typename T>
__aicore__ inline T Max(T a, T b)
{
    return a > b ? a : b;
}

template <typename T>
__aicore__ constexpr T CeilDiv(T a, T b)
{
    return (a + b - 1) / b;
}

__aicore__ constexpr uint32_t RoundUp(uint32_t value, uint32_t unit)
{
    return CeilDiv(value, unit) * unit;
}

// A block of query rows of one head.
struct Task {
    int32_t b;
    int32_t h;
    int32_t kvH;
    int32_t qLen;
    int32_t kvLen;
    int32_t qFirst;
    int32_t qLast; // inclusive

    __aicore__ inline uint32_t Rows() const
    {
        return static_cast<uint32_t>(qLast - qFirst + 1);
    }
};

// Pointers and sizes of a launch, and this core's share of it.
struct Launch {
    Tiling tiling;
    int64_t coreIdx;
    int64_t coreCount;
    int64_t taskCount;
    GlobalTensor<Element> q;
    GlobalTensor<Element> k;
    GlobalTensor<Element> v;
    GlobalTensor<OutputElement> out;
    GlobalTensor<float> lse;
    GlobalTensor<float> scores;          // ring of [kBlockQ, kBlockKv]
    GlobalTensor<Element> probabilities; // ring of [kBlockQ, kBlockKv]
    GlobalTensor<float> partial;         // ring of [kBlockQ, kValueDimPad]

    __aicore__ inline void PlaceWorkspace(GM_ADDR workspace)
    {
        GM_ADDR own = workspace + coreIdx * kWorkspaceBytes;
        scores.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(own));
        own += kStages * kScoreSlot;
        probabilities.SetGlobalBuffer(reinterpret_cast<__gm__ Element*>(own));
        own += kStages * kProbabilitySlot;
        partial.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(own));
    }
};

// Task number `index` of the launch. Late query rows come first: under a causal mask they have the most keys.
__aicore__ inline Task TaskAt(const Tiling& tiling, int64_t index)
{
    const int64_t blocks = CeilDiv<int64_t>(tiling.qLen, kBlockQ);
    const int64_t heads = tiling.batch * tiling.heads;
    const int64_t block = blocks - 1 - index / heads;
    const int64_t head = index % heads;
    Task task;
    task.b = static_cast<int32_t>(head / tiling.heads);
    task.h = static_cast<int32_t>(head % tiling.heads);
    task.kvH = static_cast<int32_t>(task.h / (tiling.heads / tiling.kvHeads));
    task.qLen = static_cast<int32_t>(tiling.qLen);
    task.kvLen = static_cast<int32_t>(tiling.kvLen);
    task.qFirst = static_cast<int32_t>(block * kBlockQ);
    task.qLast = Min(task.qFirst + static_cast<int32_t>(kBlockQ), task.qLen) - 1;
    return task;
}

// First key row that some query row of the task may see.
__aicore__ inline int32_t KvBegin(const Task& task)
{
    return Min(Max(0, task.qFirst + task.kvLen - task.qLen - 1023), task.kvLen);
}

// One past the last such key row.
__aicore__ inline int32_t KvEnd(const Task& task)
{
    return Max(Min(task.kvLen, task.qLast + task.kvLen - task.qLen + 1), 0);
}

// Every pair of the tile is attended: no mask is applied.
__aicore__ inline bool TileIsFull(const Task& task, int32_t kvFirst, int32_t kvLast)
{
    const int32_t part0 = task.kvLen - task.qLen;
    return kvLast < task.qFirst + part0 + 1 && task.qLast + part0 - 1024 < kvFirst;
}

// Walks the visible tiles of this core's tasks. Cube and vector cores walk the same sequence and so agree on
// every flag without a word.
class TileCursor {
public:
    __aicore__ inline explicit TileCursor(const Launch& launch) : launch_(launch), index_(launch.coreIdx)
    {
        FindTask();
    }

    __aicore__ inline bool Done() const
    {
        return index_ >= launch_.taskCount;
    }

    __aicore__ inline const Task& CurrentTask() const
    {
        return task_;
    }

    // The first tile of its task.
    __aicore__ inline bool IsFirst() const
    {
        return tile_ == first_;
    }

    // The last tile of its task.
    __aicore__ inline bool IsLast() const
    {
        return next_ >= end_;
    }

    // Slot of the workspace rings.
    __aicore__ inline uint32_t Slot() const
    {
        return slot_;
    }

    // First key row of the tile.
    __aicore__ inline int32_t FirstKey() const
    {
        return tile_ * static_cast<int32_t>(kBlockKv);
    }

    // Key rows of the tile.
    __aicore__ inline uint32_t Keys() const
    {
        return Min(kBlockKv, static_cast<uint32_t>(task_.kvLen - FirstKey()));
    }

    __aicore__ inline void Advance()
    {
        slot_ = (slot_ + 1) % kStages;
        if (!IsLast()) {
            tile_ = next_;
            next_ = Visible(tile_ + 1);
            return;
        }
        index_ += launch_.coreCount;
        FindTask();
    }

    // Moves to the next task without a visible tile, from `index` on; returns its number.
    __aicore__ inline int64_t FindEmptyTask(int64_t index)
    {
        for (; index < launch_.taskCount; index += launch_.coreCount) {
            EnterTask(index);
            if (tile_ >= end_) {
                break;
            }
        }
        return index;
    }

private:
    __aicore__ inline void EnterTask(int64_t index)
    {
        task_ = TaskAt(launch_.tiling, index);
        end_ = CeilDiv(KvEnd(task_), static_cast<int32_t>(kBlockKv));
        tile_ = Visible(KvBegin(task_) / static_cast<int32_t>(kBlockKv));
    }

    // Enters the next task that has a visible tile.
    __aicore__ inline void FindTask()
    {
        for (; !Done(); index_ += launch_.coreCount) {
            EnterTask(index_);
            if (tile_ < end_) {
                first_ = tile_;
                next_ = Visible(tile_ + 1);
                return;
            }
        }
    }

    // The first tile from `tile` on that may hold an attended pair.
    __aicore__ inline int32_t Visible(int32_t tile) const
    {
        return tile;
    }

    const Launch& launch_;
    Task task_ {};
    int64_t index_;
    int32_t first_ = 0;
    int32_t tile_ = 0;
    int32_t next_ = 0;
    int32_t end_ = 0;
    uint32_t slot_ = 0;
};

// The cube core: S = Q K^T and P V, tile by tile.
class CubeCore {
public:
    __aicore__ inline explicit CubeCore(const Launch& launch) : launch_(launch) {}

    __aicore__ inline void Run()
    {
        FreeBuffers();
        TileCursor scores(launch_);
        TileCursor outputs(launch_);
        // The product for the vector cores' next tiles comes before the one that waits for their last.
        for (uint32_t lead = 0; !outputs.Done();) {
            if (!scores.Done()) {
                ComputeScores(scores);
                scores.Advance();
                ++lead;
            }
            if (lead == kStages || scores.Done()) {
                ComputeOutput(outputs);
                outputs.Advance();
                --lead;
            }
        }
        DrainBuffers();
    }

private:
    // S = Q K^T of one tile, unscaled. Producer of kScoresReady.
    __aicore__ inline void ComputeScores(const TileCursor& at)
    {
        const Task& task = at.CurrentTask();
        const uint32_t rows = task.Rows();
        const uint32_t keys = at.Keys();
        if (at.IsFirst()) {
            LoadQuery(task);
        }
        const GlobalTensor<float> slot = launch_.scores[at.Slot() * (kScoreSlot / sizeof(float))];
        for (uint32_t firstKey = 0; firstKey < keys; firstKey += kSubKeys) {
            const uint32_t columns = Min(kSubKeys, keys - firstKey);
            LoadKeys(task, at.FirstKey() + firstKey, columns);
            for (uint32_t firstRow = 0; firstRow < rows; firstRow += kSubRows) {
                const uint32_t subRows = Min(kSubRows, rows - firstRow);
                MultiplyQueryKeys(firstRow, subRows, columns);
                StoreSum(slot[firstRow * kBlockKv + firstKey], subRows, columns, kBlockKv);
            }
            AscendC::SetFlag<HardEvent::MTE1_MTE2>(kKeysFree + keySlot_);
            keySlot_ = (keySlot_ + 1) % 2;
        }
        if (at.IsLast()) {
            AscendC::SetFlag<HardEvent::MTE1_MTE2>(kQueryFree);
        }
        AscendC::CrossCoreSetFlag<2, PIPE_FIX>(kScoresReady);
    }

    // P V of one tile, summed over its keys. Consumer of kProbabilitiesReady, producer of kOutputReady.
    __aicore__ inline void ComputeOutput(const TileCursor& at)
    {
        const Task& task = at.CurrentTask();
        const uint32_t rows = task.Rows();
        const GlobalTensor<float> slot = launch_.partial[at.Slot() * (kPartialSlot / sizeof(float))];
        AscendC::CrossCoreWaitFlag(kProbabilitiesReady);
        for (uint32_t firstRow = 0; firstRow < rows; firstRow += kSubRows) {
            const uint32_t subRows = Min(kSubRows, rows - firstRow);
            for (uint32_t firstCol = 0; firstCol < kValueDim; firstCol += kSubValues) {
                const uint32_t columns = Min(kSubValues, kValueDim - firstCol);
                MultiplyProbabilitiesValues(at, firstRow, subRows, firstCol, columns);
                StoreSum(slot[firstRow * kValueDimPad + firstCol], subRows, columns, kValueDimPad);
            }
        }
        AscendC::CrossCoreSetFlag<2, PIPE_FIX>(kOutputReady);
    }

    // The queries of a task stay in L1 until its last tile has been multiplied. They are waited for with the first
    // keys, which the same pipe loads behind them.
    __aicore__ inline void LoadQuery(const Task& task)
    {
        const Tiling& tiling = launch_.tiling;
        const int64_t from = task.b * tiling.qStride[0] + task.h * tiling.qStride[1] + task.qFirst * tiling.qStride[2];
        AscendC::WaitFlag<HardEvent::MTE1_MTE2>(kQueryFree);
        LoadMatrix(Query(), kBlockQ, launch_.q[from], task.Rows(), kHeadDim, tiling.qStride[2]);
    }

    __aicore__ inline void LoadKeys(const Task& task, int64_t firstKey, uint32_t rows)
    {
        const Tiling& tiling = launch_.tiling;
        const int64_t from = task.b * tiling.kStride[0] + task.kvH * tiling.kStride[1] + firstKey * tiling.kStride[2];
        AscendC::WaitFlag<HardEvent::MTE1_MTE2>(kKeysFree + keySlot_);
        LoadMatrix(Keys(), kSubKeys, launch_.k[from], rows, kHeadDim, tiling.kStride[2]);
        AscendC::SetFlag<HardEvent::MTE2_MTE1>(kKeysLoaded + keySlot_);
        AscendC::WaitFlag<HardEvent::MTE2_MTE1>(kKeysLoaded + keySlot_);
    }

    // A block of P and the values that it weighs.
    __aicore__ inline void LoadProbabilitiesValues(
        const TileCursor& at, uint32_t firstRow, uint32_t rows, uint32_t firstKey, uint32_t keys, uint32_t firstCol,
        uint32_t columns)
    {
        const Tiling& tiling = launch_.tiling;
        const Task& task = at.CurrentTask();
        const int64_t from = task.b * tiling.vStride[0] + task.kvH * tiling.vStride[1] +
            (at.FirstKey() + firstKey) * tiling.vStride[2] + firstCol;
        const uint64_t slot = at.Slot() * (kProbabilitySlot / sizeof(Element));
        AscendC::WaitFlag<HardEvent::MTE1_MTE2>(kValuesFree + valueSlot_);
        LoadMatrix(Probabilities(), kSubRows, launch_.probabilities[slot + firstRow * kBlockKv + firstKey], rows, keys,
            kBlockKv);
        LoadMatrix(Values(), kSubKeys, launch_.v[from], keys, columns, tiling.vStride[2]);
        AscendC::SetFlag<HardEvent::MTE2_MTE1>(kValuesLoaded + valueSlot_);
        AscendC::WaitFlag<HardEvent::MTE2_MTE1>(kValuesLoaded + valueSlot_);
    }

    // Rows of global memory to fractals of L1, columns filled up with zeros to a whole fractal.
    __aicore__ inline void LoadMatrix(const LocalTensor<Element>& dst, uint32_t dstRows,
        const GlobalTensor<Element>& src, uint32_t rows, uint32_t columns, int64_t rowPitch)
    {
        AscendC::Nd2NzParams params;
        params.ndNum = 1;
        params.nValue = rows;
        params.dValue = columns;
        params.srcNdMatrixStride = 0;
        params.srcDValue = rowPitch;
        params.dstNzC0Stride = dstRows;
        params.dstNzNStride = 1;
        params.dstNzMatrixStride = 0;
        AscendC::DataCopy(dst, src, params);
    }

    __aicore__ inline void MultiplyQueryKeys(uint32_t firstRow, uint32_t rows, uint32_t keys)
    {
        AscendC::WaitFlag<HardEvent::FIX_M>(kSumFree + sumSlot_);
        for (uint32_t firstCol = 0; firstCol < kHeadDim; firstCol += kSubDepth) {
            const uint32_t depth = Min(kSubDepth, kHeadDim - firstCol);
            AscendC::WaitFlag<HardEvent::M_MTE1>(kOperandsFree + operandSlot_);
            LoadLeft(Query()[firstCol * kBlockQ + firstRow * kFractalCols], kBlockQ, rows, depth);
            LoadRight(Keys()[firstCol * kSubKeys], kSubKeys, keys, depth);
            Multiply(rows, keys, depth, firstCol == 0);
        }
    }

    __aicore__ inline void MultiplyProbabilitiesValues(
        const TileCursor& at, uint32_t firstRow, uint32_t rows, uint32_t firstCol, uint32_t columns)
    {
        const uint32_t keys = at.Keys();
        AscendC::WaitFlag<HardEvent::FIX_M>(kSumFree + sumSlot_);
        for (uint32_t firstKey = 0; firstKey < keys; firstKey += kSubKeys) {
            const uint32_t depth = Min(kSubKeys, keys - firstKey);
            LoadProbabilitiesValues(at, firstRow, rows, firstKey, depth, firstCol, columns);
            AscendC::WaitFlag<HardEvent::M_MTE1>(kOperandsFree + operandSlot_);
            LoadLeft(Probabilities(), kSubRows, rows, depth);
            LoadRightTransposed(Values(), kSubKeys, columns, depth);
            AscendC::SetFlag<HardEvent::MTE1_MTE2>(kValuesFree + valueSlot_);
            valueSlot_ = (valueSlot_ + 1) % 2;
            Multiply(rows, columns, depth, firstKey == 0);
        }
    }

    // [rows, depth] from L1 to L0A. Rows past the last are whatever L1 holds: they make rows of S that nobody stores.
    __aicore__ inline void LoadLeft(const LocalTensor<Element>& src, uint32_t srcRows, uint32_t rows, uint32_t depth)
    {
        const uint32_t depthFractals = CeilDiv(depth, kFractalCols);
        AscendC::LoadData2DParams params;
        params.repeatTimes = depthFractals;
        params.srcStride = srcRows / kFractal;
        for (uint32_t row = 0; row < CeilDiv(rows, kFractal); ++row) {
            params.startIndex = row;
            AscendC::LoadData(Left()[row * depthFractals * kFractalElems], src, params);
        }
    }

    // [columns, depth] from L1 to L0B, for a product with its transpose.
    __aicore__ inline void LoadRight(
        const LocalTensor<Element>& src, uint32_t srcRows, uint32_t columns, uint32_t depth)
    {
        const uint32_t columnFractals = CeilDiv(columns, kFractal);
        AscendC::LoadData2DParams params;
        params.repeatTimes = columnFractals;
        params.srcStride = 1;
        for (uint32_t step = 0; step < CeilDiv(depth, kFractalCols); ++step) {
            params.startIndex = step * (srcRows / kFractal);
            AscendC::LoadData(Right()[step * columnFractals * kFractalElems], src, params);
        }
    }

    // [depth, columns] from L1 to L0B.
    __aicore__ inline void LoadRightTransposed(
        const LocalTensor<Element>& src, uint32_t srcRows, uint32_t columns, uint32_t depth)
    {
        const uint32_t columnFractals = CeilDiv(columns, kFractal);
        AscendC::LoadData2DParams params;
        params.repeatTimes = columnFractals;
        params.srcStride = srcRows / kFractal;
        params.ifTranspose = true;
        for (uint32_t step = 0; step < CeilDiv(depth, kFractal); ++step) {
            params.startIndex = step;
            AscendC::LoadData(Right()[step * columnFractals * kFractalElems], src, params);
        }
    }

    // Adds one product to the accumulator, or starts it. Rows and columns are whole fractals: with one row the unit
    // would take its left operand for a plain vector.
    __aicore__ inline void Multiply(uint32_t rows, uint32_t columns, uint32_t depth, bool starts)
    {
        AscendC::SetFlag<HardEvent::MTE1_M>(kOperandsLoaded + operandSlot_);
        AscendC::WaitFlag<HardEvent::MTE1_M>(kOperandsLoaded + operandSlot_);
        AscendC::MmadParams params;
        params.m = RoundUp(rows, kFractal);
        params.n = RoundUp(columns, kFractal);
        params.k = depth;
        params.cmatrixInitVal = starts;
        AscendC::Mmad(Sum(), Left(), Right(), params);
        // Small products overlap in the unit; the next one must find this sum.
        if (params.m * params.n < 10 * kFractal * kFractal) {
            AscendC::PipeBarrier<PIPE_M>();
        }
        AscendC::SetFlag<HardEvent::M_MTE1>(kOperandsFree + operandSlot_);
        operandSlot_ ^= 1;
    }

    // The accumulator to global memory, in rows. Columns past the last, to a whole fractal, hold garbage.
    __aicore__ inline void StoreSum(const GlobalTensor<float>& dst, uint32_t rows, uint32_t columns, uint32_t rowPitch)
    {
        AscendC::SetFlag<HardEvent::M_FIX>(kSumReady + sumSlot_);
        AscendC::WaitFlag<HardEvent::M_FIX>(kSumReady + sumSlot_);
        AscendC::FixpipeParamsV220 params;
        params.nSize = RoundUp(columns, kFractal);
        params.mSize = rows;
        params.srcStride = RoundUp(rows, kFractal);
        params.dstStride = rowPitch;
        params.quantPre = QuantMode_t::NoQuant;
        params.deqScalar = 0;
        AscendC::Fixpipe<float, float, AscendC::CFG_ROW_MAJOR>(dst, Sum(), params);
        AscendC::SetFlag<HardEvent::FIX_M>(kSumFree + sumSlot_);
        sumSlot_ ^= 1;
    }

    __aicore__ inline void FreeBuffers()
    {
        for (int32_t slot = 0; slot < 2; ++slot) {
            AscendC::SetFlag<HardEvent::MTE1_MTE2>(kKeysFree + slot);
            AscendC::SetFlag<HardEvent::MTE1_MTE2>(kValuesFree + slot);
        }
        AscendC::SetFlag<HardEvent::MTE1_MTE2>(kQueryFree);
        for (int32_t slot = 0; slot < 2; ++slot) {
            AscendC::SetFlag<HardEvent::M_MTE1>(kOperandsFree + slot);
            AscendC::SetFlag<HardEvent::FIX_M>(kSumFree + slot);
        }
    }

    // Every flag that FreeBuffers or a step has set is waited for: left-overs would break the next kernel.
    __aicore__ inline void DrainBuffers()
    {
        for (int32_t slot = 0; slot < 2; ++slot) {
            AscendC::WaitFlag<HardEvent::MTE1_MTE2>(kKeysFree + slot);
            AscendC::WaitFlag<HardEvent::MTE1_MTE2>(kValuesFree + slot);
        }
        AscendC::WaitFlag<HardEvent::MTE1_MTE2>(kQueryFree);
        for (int32_t slot = 0; slot < 2; ++slot) {
            AscendC::WaitFlag<HardEvent::M_MTE1>(kOperandsFree + slot);
            AscendC::WaitFlag<HardEvent::FIX_M>(kSumFree + slot);
        }
    }

    __aicore__ inline LocalTensor<Element> Query() const
    {
        return LocalTensor<Element>(TPosition::A1, kQTileAt, kQTileBytes / sizeof(Element));
    }

    __aicore__ inline LocalTensor<Element> Keys() const
    {
        return LocalTensor<Element>(TPosition::B1, kKTileAt + keySlot_ * kKTileBytes, kKTileBytes / sizeof(Element));
    }

    __aicore__ inline LocalTensor<Element> Probabilities() const
    {
        return LocalTensor<Element>(TPosition::A1, kPTileAt + valueSlot_ * kPTileBytes, kPTileBytes / sizeof(Element));
    }

    __aicore__ inline LocalTensor<Element> Values() const
    {
        return LocalTensor<Element>(TPosition::B1, kVTileAt + valueSlot_ * kVTileBytes, kVTileBytes / sizeof(Element));
    }

    __aicore__ inline LocalTensor<Element> Left() const
    {
        return LocalTensor<Element>(TPosition::A2, kLeftAt + operandSlot_ * kLeftBytes, kLeftBytes / sizeof(Element));
    }

    __aicore__ inline LocalTensor<Element> Right() const
    {
        return LocalTensor<Element>(
            TPosition::B2, kRightAt + operandSlot_ * kRightBytes, kRightBytes / sizeof(Element));
    }

    __aicore__ inline LocalTensor<float> Sum() const
    {
        return LocalTensor<float>(TPosition::CO1, kSumAt + sumSlot_ * kSumBytes, kSumBytes / sizeof(float));
    }

    const Launch& launch_;
    uint32_t keySlot_ = 0;
    uint32_t valueSlot_ = 0;
    uint32_t operandSlot_ = 0;
    uint32_t sumSlot_ = 0;
};

// Some rows of a score tile, as many columns as one pass covers.
struct Chunk {
    LocalTensor<float> scores; // [rows, kChunk]
    uint32_t firstRow;         // within the core's rows
    uint32_t firstCol;         // within the tile
    uint32_t rows;
    uint32_t columns; // that are keys
    uint32_t count;   // elements, columns that are no keys included
};

// How an operand repeats over [rows, columns]: from one group of kLanes columns to the next (elements), from block
// to block and from row to row (data blocks).
struct Step {
    uint32_t group;
    uint8_t block;
    uint8_t row;
};
constexpr Step kPerPair {kLanes, 1, kChunkBlocks};
constexpr Step kPerRow {0, 0, 1};
constexpr Step kPerColumn {kLanes, 1, 0};

struct Operand {
    const LocalTensor<float>& data;
    Step step;
};

__aicore__ inline void SubTile(const LocalTensor<float>& dst, const Operand& a, const Operand& b, const Chunk& chunk)
{
    const AscendC::BinaryRepeatParams steps(1, a.step.block, b.step.block, kChunkBlocks, a.step.row, b.step.row);
    for (uint32_t group = 0; group * kLanes < chunk.columns; ++group) {
        AscendC::Sub(dst[group * kLanes], a.data[group * a.step.group], b.data[group * b.step.group], kLanes,
            chunk.rows, steps);
    }
}

// The same bytes as 16-bit words, the type of bitwise instructions.
__aicore__ inline LocalTensor<uint16_t> Bits(const LocalTensor<float>& values)
{
    return values.ReinterpretCast<uint16_t>();
}

// The same bytes as 32-bit words, the type of shifts.
__aicore__ inline LocalTensor<uint32_t> Words(const LocalTensor<float>& values)
{
    return values.ReinterpretCast<uint32_t>();
}
struct Maximum {
    __aicore__ static inline void Fold(const LocalTensor<float>& dst, const LocalTensor<float>& a,
        const LocalTensor<float>& b, uint32_t rows, const AscendC::BinaryRepeatParams& steps)
    {
        AscendC::Max(dst, a, b, kLanes, rows, steps);
    }
    __aicore__ static inline void Reduce(
        const LocalTensor<float>& dst, const LocalTensor<float>& src, uint32_t rows, uint32_t rowBlocks)
    {
        AscendC::WholeReduceMax<float>(dst, src, kLanes, rows, 1, 1, rowBlocks, AscendC::ReduceOrder::ORDER_ONLY_VALUE);
    }
};

struct Total {
    __aicore__ static inline void Fold(const LocalTensor<float>& dst, const LocalTensor<float>& a,
        const LocalTensor<float>& b, uint32_t rows, const AscendC::BinaryRepeatParams& steps)
    {
        AscendC::Add(dst, a, b, kLanes, rows, steps);
    }
    __aicore__ static inline void Reduce(
        const LocalTensor<float>& dst, const LocalTensor<float>& src, uint32_t rows, uint32_t rowBlocks)
    {
        AscendC::WholeReduceSum<float>(dst, src, kLanes, rows, 1, 1, rowBlocks);
    }
};

// A vector core: softmax and output of its half of the rows of every tile.
class VectorCore {
public:
    __aicore__ inline explicit VectorCore(const Launch& launch) : launch_(launch) {}

    __aicore__ inline void Run()
    {
        FreeBuffers();
        MakeCounters();
        StoreEmptyTasks();
        TileCursor probabilities(launch_);
        TileCursor outputs(launch_);
        for (uint32_t lead = 0; !outputs.Done();) {
            if (!probabilities.Done()) {
                ComputeProbabilities(probabilities);
                probabilities.Advance();
                ++lead;
            }
            if (lead == kStages || probabilities.Done()) {
                AccumulateOutput(outputs);
                outputs.Advance();
                --lead;
            }
        }
        DrainBuffers();
    }

private:
    // This core's share of a task's rows: whole groups of rows that one data block of statistics holds.
    struct Share {
        uint32_t first;
        uint32_t rows;
    };

    __aicore__ inline Share ShareOf(const Task& task) const
    {
        const uint32_t rows = task.Rows();
        const uint32_t each = RoundUp(rows, kVectorCores * kBlockLanes) / kVectorCores;
        const uint32_t first = Min(rows, each * static_cast<uint32_t>(AscendC::GetSubBlockIdx()));
        return {first, Min(each, rows - first)};
    }

    // Scores to probabilities, in place, and on to the workspace. Consumer of kScoresReady, producer of
    // kProbabilitiesReady: a core without rows takes part in both.
    __aicore__ inline void ComputeProbabilities(const TileCursor& at)
    {
        const Share share = ShareOf(at.CurrentTask());
        AscendC::CrossCoreWaitFlag(kScoresReady);
        if (at.IsFirst()) {
            BeginTask(at.CurrentTask(), share);
        }
        BeginTile(at);
        for (uint32_t row = 0; row < share.rows; row += kRowStep) {
            const uint32_t rows = Min(kRowStep, share.rows - row);
            LoadScores(at, share.first + row, rows);
            TransformScores(at, row, rows);
            UpdateSoftmax(at, row, rows);
            StoreProbabilities(at, share.first + row, rows);
        }
        if (at.IsLast() && share.rows != 0) {
            FinishRows(at, share);
        }
        AscendC::CrossCoreSetFlag<2, PIPE_MTE3>(kProbabilitiesReady);
    }

    // O = O * exp(old maximum - new maximum) + P V, row by row; divided and stored after the last tile.
    __aicore__ inline void AccumulateOutput(const TileCursor& at)
    {
        const Share share = ShareOf(at.CurrentTask());
        AscendC::CrossCoreWaitFlag(kOutputReady);
        if (at.IsFirst()) {
            AscendC::WaitFlag<HardEvent::MTE3_V>(kOutputStored);
        }
        for (uint32_t row = 0; row < share.rows; row += kOutputStep) {
            const uint32_t rows = Min(kOutputStep, share.rows - row);
            LoadPartial(at, share.first + row, rows);
            AddPartial(at, row, rows);
            if (at.IsLast()) {
                DivideOutput(at, row, rows);
            }
        }
        if (at.IsLast()) {
            StoreOutput(at.CurrentTask(), share);
        }
    }

    __aicore__ inline void BeginTask(const Task& task, const Share& share)
    {
        queryOrigin_ = static_cast<float>(task.qFirst + static_cast<int32_t>(share.first));
        alignShift_ = static_cast<float>(task.kvLen - task.qLen);
        if (share.rows == 0) {
            return;
        }
        AscendC::Duplicate(RowMax(), kLowestMax, kCoreRows);
        AscendC::Duplicate(RowSum(), 0.0f, kCoreRows);
        ComputeRowValues();
    }

    // Values of a query row.
    __aicore__ inline void ComputeRowValues()
    {
        const LocalTensor<float> row0 = RowValue(0);
        // q_pos
        AscendC::Adds(row0, RowCounter(), queryOrigin_ + alignShift_, kRowLanes);
    }

    // Values of a key row.
    __aicore__ inline void BeginTile(const TileCursor& at)
    {
        keyOrigin_ = static_cast<float>(at.FirstKey());
        const LocalTensor<float> column0 = ColumnValue(0);
        // kv_pos
        AscendC::Adds(column0, Counter(), keyOrigin_, kColumns);
        AscendC::PipeBarrier<PIPE_V>();
    }

    __aicore__ inline void LoadScores(const TileCursor& at, uint32_t firstRow, uint32_t rows)
    {
        const uint64_t slot = at.Slot() * (kScoreSlot / sizeof(float));
        AscendC::WaitFlag<HardEvent::MTE3_MTE2>(kScoresFree + scoreSlot_);
        for (uint32_t firstCol = 0; firstCol < at.Keys(); firstCol += kChunk) {
            const uint32_t columns = RoundUp(Min(kChunk, at.Keys() - firstCol), kFractal);
            AscendC::DataCopyParams params;
            params.blockCount = rows;
            params.blockLen = columns / kBlockLanes;
            params.srcStride = (kBlockKv - columns) / kBlockLanes;
            params.dstStride = (kChunk - columns) / kBlockLanes;
            AscendC::DataCopy(Scores(firstCol), launch_.scores[slot + firstRow * kBlockKv + firstCol], params);
        }
        AscendC::SetFlag<HardEvent::MTE2_V>(kScoresLoaded + scoreSlot_);
        AscendC::WaitFlag<HardEvent::MTE2_V>(kScoresLoaded + scoreSlot_);
    }

    // From products to scores; -inf at masked pairs and in the columns that fill up a group of lanes.
    __aicore__ inline void TransformScores(const TileCursor& at, uint32_t row, uint32_t rows)
    {
        const Task& task = at.CurrentTask();
        const int32_t kvFirst = at.FirstKey();
        const int32_t kvLast = kvFirst + static_cast<int32_t>(at.Keys()) - 1;
        const bool needsMask = !TileIsFull(task, kvFirst, kvLast);
        for (uint32_t firstCol = 0; firstCol < at.Keys(); firstCol += kChunk) {
            const uint32_t columns = Min(kChunk, at.Keys() - firstCol);
            const Chunk chunk {Scores(firstCol), row, firstCol, rows, columns, rows * kChunk};
            ApplyScore(chunk);
            if (needsMask) {
                ApplyMask(chunk);
            }
            FillTail(chunk, kMasked);
        }
    }

    // score = score
    __aicore__ inline void ApplyScore(const Chunk& chunk)
    {
        // score
        AscendC::Muls(chunk.scores, chunk.scores, kScale, chunk.count);
        AscendC::PipeBarrier<PIPE_V>();
    }

    // mask  = kv_pos <= q_pos && (q_pos - kv_pos <= 1023 && kv_pos - q_pos <= 0)
    __aicore__ inline void ApplyMask(const Chunk& chunk)
    {
        const LocalTensor<float> column0 = ColumnValue(0)[chunk.firstCol];
        const LocalTensor<float> row0 = RowValue(0)[chunk.firstRow * kBlockLanes];
        const LocalTensor<float> temp0 = Temp(0);
        const LocalTensor<float> temp1 = Temp(1);
        const LocalTensor<float> temp2 = Temp(2);
        // q_pos - kv_pos
        SubTile(temp0, {row0, kPerRow}, {column0, kPerColumn}, chunk);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Adds(temp1, temp0, 1.0f, chunk.count);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Maxs(temp1, temp1, 0.0f, chunk.count);
        AscendC::PipeBarrier<PIPE_V>();
        // kv_pos <= q_pos
        AscendC::Mins(temp1, temp1, 1.0f, chunk.count);
        AscendC::Muls(temp0, temp0, -1.0f, chunk.count);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Adds(temp0, temp0, 1023.0f, chunk.count);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Adds(temp0, temp0, 1.0f, chunk.count);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Maxs(temp0, temp0, 0.0f, chunk.count);
        AscendC::PipeBarrier<PIPE_V>();
        // q_pos - kv_pos <= 1023
        AscendC::Mins(temp0, temp0, 1.0f, chunk.count);
        // kv_pos - q_pos
        SubTile(temp2, {column0, kPerColumn}, {row0, kPerRow}, chunk);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Muls(temp2, temp2, -1.0f, chunk.count);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Adds(temp2, temp2, 0.0f, chunk.count);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Adds(temp2, temp2, 1.0f, chunk.count);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Maxs(temp2, temp2, 0.0f, chunk.count);
        AscendC::PipeBarrier<PIPE_V>();
        // kv_pos - q_pos <= 0
        AscendC::Mins(temp2, temp2, 1.0f, chunk.count);
        AscendC::PipeBarrier<PIPE_V>();
        // q_pos - kv_pos <= 1023 && kv_pos - q_pos <= 0
        AscendC::Mul(temp0, temp0, temp2, chunk.count);
        AscendC::PipeBarrier<PIPE_V>();
        // kv_pos <= q_pos && (q_pos - kv_pos <= 1023 && kv_pos - q_pos <= 0)
        AscendC::Mul(temp0, temp1, temp0, chunk.count);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Muls(temp0, temp0, -1.0f, chunk.count);
        AscendC::PipeBarrier<PIPE_V>();
        // all bits set where attended
        AscendC::Cast(temp0.ReinterpretCast<int32_t>(), temp0, AscendC::RoundMode::CAST_RINT, chunk.count);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::And(Bits(chunk.scores), Bits(chunk.scores), Bits(temp0), 2 * chunk.count);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Not(Bits(temp0), Bits(temp0), 2 * chunk.count);
        AscendC::PipeBarrier<PIPE_V>();
        // the bits of -inf where masked
        AscendC::ShiftLeft(Words(temp0), Words(temp0), static_cast<uint32_t>(23), chunk.count);
        AscendC::PipeBarrier<PIPE_V>();
        // score, or -inf where masked
        AscendC::Or(Bits(chunk.scores), Bits(chunk.scores), Bits(temp0), 2 * chunk.count);
        AscendC::PipeBarrier<PIPE_V>();
    }

    // Overwrites the columns that fill up the last group of lanes; they hold garbage or what garbage became.
    __aicore__ inline void FillTail(const Chunk& chunk, float value)
    {
        const uint32_t used = chunk.columns % kLanes;
        if (used == 0) {
            return;
        }
        uint64_t lanes[2] = {~uint64_t(0) << used, 0};
        AscendC::Duplicate(chunk.scores[chunk.columns - used], value, lanes, chunk.rows, 1, kChunkBlocks);
        AscendC::PipeBarrier<PIPE_V>();
    }

    // P = exp(S - m) with the new row maximum m; the row sum follows, and the factor for the output is kept.
    __aicore__ inline void UpdateSoftmax(const TileCursor& at, uint32_t row, uint32_t rows)
    {
        const LocalTensor<float> rowMax = RowMax()[row];
        const LocalTensor<float> rowSum = RowSum()[row];
        const LocalTensor<float> rescale = Rescale(at.Slot())[row];
        ReduceRows<Maximum>(TileMax(), at.Keys(), rows);
        AscendC::Max(TileMax(), TileMax(), rowMax, rows);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Sub(rescale, rowMax, TileMax(), rows);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Exp(rescale, rescale, rows);
        AscendC::Adds(rowMax, TileMax(), 0.0f, rows);
        AscendC::Brcb(RowBlocks(), TileMax(), CeilDiv(rows, kBlockLanes), {1, kLaneBlocks});
        AscendC::PipeBarrier<PIPE_V>();
        for (uint32_t firstCol = 0; firstCol < at.Keys(); firstCol += kChunk) {
            const uint32_t columns = Min(kChunk, at.Keys() - firstCol);
            const Chunk chunk {Scores(firstCol), row, firstCol, rows, columns, rows * kChunk};
            SubTile(chunk.scores, {chunk.scores, kPerPair}, {RowBlocks(), kPerRow}, chunk);
            AscendC::PipeBarrier<PIPE_V>();
            AscendC::Exp(chunk.scores, chunk.scores, chunk.count);
            AscendC::PipeBarrier<PIPE_V>();
        }
        ReduceRows<Total>(TileSum(), at.Keys(), rows);
        AscendC::Mul(rowSum, rowSum, rescale, rows);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Add(rowSum, rowSum, TileSum(), rows);
    }

    // One number per row: groups of lanes folded into one, then the lanes into a number.
    template <class Reduction>
    __aicore__ inline void ReduceRows(const LocalTensor<float>& dst, uint32_t columns, uint32_t rows)
    {
        const uint32_t groups = CeilDiv(columns, kLanes);
        if (groups == 1) {
            Reduction::Reduce(dst, Scores(0), rows, kChunkBlocks);
        } else {
            const LocalTensor<float> folded = Temp(0);
            Reduction::Fold(folded, Group(0), Group(1), rows, {1, 1, 1, kLaneBlocks, kChunkBlocks, kChunkBlocks});
            AscendC::PipeBarrier<PIPE_V>();
            for (uint32_t group = 2; group < groups; ++group) {
                Reduction::Fold(folded, folded, Group(group), rows, {1, 1, 1, kLaneBlocks, kLaneBlocks, kChunkBlocks});
                AscendC::PipeBarrier<PIPE_V>();
            }
            Reduction::Reduce(dst, folded, rows, kLaneBlocks);
        }
        AscendC::PipeBarrier<PIPE_V>();
    }

    // Rounds P to bf16 in place (writes trail reads) and stores it for the cube core.
    __aicore__ inline void StoreProbabilities(const TileCursor& at, uint32_t firstRow, uint32_t rows)
    {
        const uint64_t slot = at.Slot() * (kProbabilitySlot / sizeof(Element));
        for (uint32_t firstCol = 0; firstCol < at.Keys(); firstCol += kChunk) {
            AscendC::Cast(Rounded(firstCol), Scores(firstCol), AscendC::RoundMode::CAST_RINT, rows * kChunk);
            AscendC::PipeBarrier<PIPE_V>();
        }
        AscendC::SetFlag<HardEvent::V_MTE3>(kProbabilitiesMade + scoreSlot_);
        AscendC::WaitFlag<HardEvent::V_MTE3>(kProbabilitiesMade + scoreSlot_);
        for (uint32_t firstCol = 0; firstCol < at.Keys(); firstCol += kChunk) {
            const uint32_t columns = RoundUp(Min(kChunk, at.Keys() - firstCol), kFractal);
            AscendC::DataCopyParams params;
            params.blockCount = rows;
            params.blockLen = columns * sizeof(Element) / kBlockBytes;
            params.srcStride = (kChunk - columns) * sizeof(Element) / kBlockBytes;
            params.dstStride = (kBlockKv - columns) * sizeof(Element) / kBlockBytes;
            AscendC::DataCopy(launch_.probabilities[slot + firstRow * kBlockKv + firstCol], Rounded(firstCol), params);
        }
        AscendC::SetFlag<HardEvent::MTE3_MTE2>(kScoresFree + scoreSlot_);
        scoreSlot_ ^= 1;
    }

    // The divisor and the LSE of the task's rows. A row's sum is at least 1 once it has seen a key, else 0: then the
    // divisor is 1, which leaves O = 0, and the LSE is -inf.
    __aicore__ inline void FinishRows(const TileCursor& at, const Share& share)
    {
        const LocalTensor<float> divisor = FinalSum(at.Slot());
        const LocalTensor<float> empty = Temp(0);
        const LocalTensor<int32_t> holes = empty.ReinterpretCast<int32_t>();
        AscendC::Muls(empty, RowSum(), -1.0f, kCoreRows);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Adds(empty, empty, 1.0f, kCoreRows);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Maxs(empty, empty, 0.0f, kCoreRows); // 1 for an empty row, else 0
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Add(divisor, RowSum(), empty, kCoreRows);
        AscendC::WaitFlag<HardEvent::MTE3_V>(kLseStored);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Ln(Lse(), divisor, kCoreRows);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Add(Lse(), Lse(), RowMax(), kCoreRows);
        AscendC::Muls(empty, empty, -1.0f, kCoreRows);
        AscendC::PipeBarrier<PIPE_V>();
        // The bits of -inf go in by hand: saturating arithmetic would not make them.
        AscendC::Cast(holes, empty, AscendC::RoundMode::CAST_RINT, kCoreRows); // all bits set for an empty row
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Not(Bits(empty), Bits(empty), 2 * kCoreRows);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::And(Bits(Lse()), Bits(Lse()), Bits(empty), 2 * kCoreRows);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Not(Bits(empty), Bits(empty), 2 * kCoreRows);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::ShiftLeft(Words(empty), Words(empty), static_cast<uint32_t>(23), kCoreRows);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Or(Bits(Lse()), Bits(Lse()), Bits(empty), 2 * kCoreRows);
        StoreLse(at.CurrentTask(), share);
    }

    __aicore__ inline void StoreLse(const Task& task, const Share& share)
    {
        const Tiling& tiling = launch_.tiling;
        const int64_t to = task.b * tiling.lseStride[0] + task.h * tiling.lseStride[1] + task.qFirst + share.first;
        AscendC::SetFlag<HardEvent::V_MTE3>(kLseMade);
        AscendC::WaitFlag<HardEvent::V_MTE3>(kLseMade);
        const AscendC::DataCopyExtParams params(1, share.rows * sizeof(float), 0, 0, 0);
        AscendC::DataCopyPad(launch_.lse[to], Lse(), params);
        AscendC::SetFlag<HardEvent::MTE3_V>(kLseStored);
    }

    __aicore__ inline void LoadPartial(const TileCursor& at, uint32_t firstRow, uint32_t rows)
    {
        const uint64_t slot = at.Slot() * (kPartialSlot / sizeof(float));
        AscendC::WaitFlag<HardEvent::V_MTE2>(kPartialFree + partialSlot_);
        AscendC::DataCopy(Partial(), launch_.partial[slot + firstRow * kValueDimPad], rows * kValueDimPad);
        AscendC::SetFlag<HardEvent::MTE2_V>(kPartialLoaded + partialSlot_);
        AscendC::WaitFlag<HardEvent::MTE2_V>(kPartialLoaded + partialSlot_);
    }

    __aicore__ inline void AddPartial(const TileCursor& at, uint32_t row, uint32_t rows)
    {
        const LocalTensor<float> output = Output()[row * kValueDimPad];
        if (at.IsFirst()) {
            AscendC::Adds(output, Partial(), 0.0f, rows * kValueDimPad);
        } else {
            AscendC::Brcb(RowBlocks(), Rescale(at.Slot())[row], CeilDiv(rows, kBlockLanes), {1, kLaneBlocks});
            AscendC::PipeBarrier<PIPE_V>();
            for (uint32_t col = 0; col < kValueDimPad; col += kLanes) {
                const uint32_t lanes = Min(kLanes, kValueDimPad - col);
                AscendC::Mul(output[col], output[col], RowBlocks(), lanes, rows, kOutputByRow);
            }
            AscendC::PipeBarrier<PIPE_V>();
            AscendC::Add(output, output, Partial(), rows * kValueDimPad);
        }
        AscendC::SetFlag<HardEvent::V_MTE2>(kPartialFree + partialSlot_);
        partialSlot_ ^= 1;
    }

    // Divides by the row sum and rounds to bf16 in place (writes trail reads).
    __aicore__ inline void DivideOutput(const TileCursor& at, uint32_t row, uint32_t rows)
    {
        const LocalTensor<float> output = Output()[row * kValueDimPad];
        AscendC::Brcb(RowBlocks(), FinalSum(at.Slot())[row], CeilDiv(rows, kBlockLanes), {1, kLaneBlocks});
        AscendC::PipeBarrier<PIPE_V>();
        for (uint32_t col = 0; col < kValueDimPad; col += kLanes) {
            const uint32_t lanes = Min(kLanes, kValueDimPad - col);
            AscendC::Div(output[col], output[col], RowBlocks(), lanes, rows, kOutputByRow);
        }
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Cast(RoundedOutput()[row * kValueDimPad], output, AscendC::RoundMode::CAST_RINT,
            rows * kValueDimPad);
    }

    __aicore__ inline void StoreOutput(const Task& task, const Share& share)
    {
        const Tiling& tiling = launch_.tiling;
        const int64_t to = task.b * tiling.outStride[0] + task.h * tiling.outStride[1] +
            (task.qFirst + static_cast<int32_t>(share.first)) * tiling.outStride[2];
        AscendC::SetFlag<HardEvent::V_MTE3>(kOutputMade);
        AscendC::WaitFlag<HardEvent::V_MTE3>(kOutputMade);
        if (share.rows != 0) {
            constexpr uint32_t kRowBytes = kValueDim * sizeof(OutputElement);
            constexpr uint32_t kPadBytes = kValueDimPad * sizeof(OutputElement) - RoundUp(kRowBytes, kBlockBytes);
            const uint32_t gap = static_cast<uint32_t>(tiling.outStride[2] * sizeof(OutputElement)) - kRowBytes;
            const AscendC::DataCopyExtParams params(share.rows, kRowBytes, kPadBytes / kBlockBytes, gap, 0);
            AscendC::DataCopyPad(launch_.out[to], RoundedOutput(), params);
        }
        AscendC::SetFlag<HardEvent::MTE3_V>(kOutputStored);
    }

    // Tasks whose rows see no key at all: O = 0 and the LSE of an empty row.
    __aicore__ inline void StoreEmptyTasks()
    {
        TileCursor at(launch_);
        int64_t index = at.FindEmptyTask(launch_.coreIdx);
        for (; index < launch_.taskCount; index = at.FindEmptyTask(index + launch_.coreCount)) {
            const Task& task = at.CurrentTask();
            const Share share = ShareOf(task);
            if (share.rows == 0) {
                continue;
            }
            AscendC::WaitFlag<HardEvent::MTE3_V>(kOutputStored);
            AscendC::WaitFlag<HardEvent::MTE3_V>(kLseStored);
            AscendC::Duplicate(Output(), 0.0f, kCoreRows * kValueDimPad);
            AscendC::Duplicate(Lse(), kMasked, kCoreRows);
            StoreOutput(task, share);
            StoreLse(task, share);
        }
    }

    // 0, 1, 2, ...: the first block by hand, the rest by doubling.
    __aicore__ inline void MakeCounters()
    {
        const LocalTensor<float> counter = Counter();
        for (uint32_t lane = 0; lane < kBlockLanes; ++lane) {
            counter.SetValue(lane, static_cast<float>(lane));
        }
        AscendC::SetFlag<HardEvent::S_V>(kCounterSeeded);
        AscendC::WaitFlag<HardEvent::S_V>(kCounterSeeded);
        for (uint32_t have = kBlockLanes; have < kCounterLanes; have *= 2) {
            AscendC::Adds(counter[have], counter, static_cast<float>(have), Min(have, kCounterLanes - have));
            AscendC::PipeBarrier<PIPE_V>();
        }
        AscendC::Brcb(RowCounter(), counter, kCoreRows / kBlockLanes, {1, kLaneBlocks});
        AscendC::PipeBarrier<PIPE_V>();
    }

    __aicore__ inline void FreeBuffers()
    {
        for (int32_t slot = 0; slot < 2; ++slot) {
            AscendC::SetFlag<HardEvent::MTE3_MTE2>(kScoresFree + slot);
        }
        for (int32_t slot = 0; slot < 2; ++slot) {
            AscendC::SetFlag<HardEvent::V_MTE2>(kPartialFree + slot);
        }
        AscendC::SetFlag<HardEvent::MTE3_V>(kLseStored);
        AscendC::SetFlag<HardEvent::MTE3_V>(kOutputStored);
    }

    // Every flag that FreeBuffers or a step has set is waited for: left-overs would break the next kernel.
    __aicore__ inline void DrainBuffers()
    {
        for (int32_t slot = 0; slot < 2; ++slot) {
            AscendC::WaitFlag<HardEvent::MTE3_MTE2>(kScoresFree + slot);
        }
        for (int32_t slot = 0; slot < 2; ++slot) {
            AscendC::WaitFlag<HardEvent::V_MTE2>(kPartialFree + slot);
        }
        AscendC::WaitFlag<HardEvent::MTE3_V>(kLseStored);
        AscendC::WaitFlag<HardEvent::MTE3_V>(kOutputStored);
    }

    template <typename T>
    __aicore__ inline LocalTensor<T> Buffer(uint32_t at, uint32_t bytes) const
    {
        return LocalTensor<T>(TPosition::VECCALC, at, bytes / sizeof(T));
    }

    // The score slot from a column of the tile on; columns are a multiple of kChunk.
    __aicore__ inline LocalTensor<float> Scores(uint32_t firstCol) const
    {
        return Buffer<float>(kSTileAt + scoreSlot_ * kSTileBytes, kSTileBytes)[firstCol * kRowStep];
    }

    // The probabilities of those columns, rounded.
    __aicore__ inline LocalTensor<Element> Rounded(uint32_t firstCol) const
    {
        return Buffer<Element>(kSTileAt + scoreSlot_ * kSTileBytes, kSTileBytes)[firstCol * kRowStep];
    }

    // A group of kLanes columns of the score slot.
    __aicore__ inline LocalTensor<float> Group(uint32_t group) const
    {
        const uint32_t column = group * kLanes;
        return Scores(column / kChunk * kChunk)[column % kChunk];
    }

    __aicore__ inline LocalTensor<float> Temp(uint32_t index) const
    {
        return Buffer<float>(kTempAt + index * kTempBytes, kTempBytes);
    }

    __aicore__ inline LocalTensor<float> Output() const
    {
        return Buffer<float>(kOAccAt, kOAccBytes);
    }

    __aicore__ inline LocalTensor<OutputElement> RoundedOutput() const
    {
        return Buffer<OutputElement>(kOAccAt, kOAccBytes);
    }

    __aicore__ inline LocalTensor<float> Partial() const
    {
        return Buffer<float>(kOTileAt + partialSlot_ * kOTileBytes, kOTileBytes);
    }

    __aicore__ inline LocalTensor<float> RowMax() const
    {
        return Buffer<float>(kRowMaxAt, kRowMaxBytes);
    }

    __aicore__ inline LocalTensor<float> RowSum() const
    {
        return Buffer<float>(kRowSumAt, kRowSumBytes);
    }

    __aicore__ inline LocalTensor<float> TileMax() const
    {
        return Buffer<float>(kTileMaxAt, kTileMaxBytes);
    }

    __aicore__ inline LocalTensor<float> TileSum() const
    {
        return Buffer<float>(kTileSumAt, kTileSumBytes);
    }

    __aicore__ inline LocalTensor<float> Rescale(uint32_t slot) const
    {
        return Buffer<float>(kRescaleAt + slot * kRescaleBytes, kRescaleBytes);
    }

    __aicore__ inline LocalTensor<float> FinalSum(uint32_t slot) const
    {
        return Buffer<float>(kFinalSumAt + slot * kFinalSumBytes, kFinalSumBytes);
    }

    __aicore__ inline LocalTensor<float> Lse() const
    {
        return Buffer<float>(kLseAt, kLseBytes);
    }

    __aicore__ inline LocalTensor<float> RowBlocks() const
    {
        return Buffer<float>(kRowBlocksAt, kRowBlocksBytes);
    }

    __aicore__ inline LocalTensor<float> Counter() const
    {
        return Buffer<float>(kCounterAt, kCounterBytes);
    }

    __aicore__ inline LocalTensor<float> RowCounter() const
    {
        return Buffer<float>(kRowCounterAt, kRowCounterBytes);
    }

    __aicore__ inline LocalTensor<float> RowValue(uint32_t index) const
    {
        return Buffer<float>(kRowValueAt + index * kRowValueBytes, kRowValueBytes);
    }

    __aicore__ inline LocalTensor<float> ColumnValue(uint32_t index) const
    {
        return Buffer<float>(kColumnValueAt + index * kColumnValueBytes, kColumnValueBytes);
    }

    const AscendC::BinaryRepeatParams kOutputByRow {
        1, 1, 0, kValueDimPad / kBlockLanes, kValueDimPad / kBlockLanes, 1};
    static constexpr uint32_t kCounterLanes = kCounterBytes / sizeof(float);

    const Launch& launch_;
    uint32_t scoreSlot_ = 0;
    uint32_t partialSlot_ = 0;
    float queryOrigin_ = 0.0f; // first query row of this core's share
    float alignShift_ = 0.0f; // q_pos - q_idx
    float keyOrigin_ = 0.0f; // first key row of the tile
};
} // namespace fa_sliding_window

extern "C" __global__ __aicore__ void fa_sliding_window_forward(
    uint64_t fftsAddr, GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR out, GM_ADDR lse,
    GM_ADDR workspace, fa_sliding_window::Tiling tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    AscendC::SetSyncBaseAddr(fftsAddr);
    AscendC::InitSocState();
    using fa_sliding_window::Element;
    fa_sliding_window::Launch launch;
    launch.tiling = tiling;
    launch.coreIdx = AscendC::GetBlockIdx() / AscendC::GetSubBlockNum();
    launch.coreCount = AscendC::GetBlockNum();
    launch.taskCount =
        tiling.batch * tiling.heads * fa_sliding_window::CeilDiv<int64_t>(tiling.qLen, fa_sliding_window::kBlockQ);
    launch.q.SetGlobalBuffer(reinterpret_cast<__gm__ Element*>(q));
    launch.k.SetGlobalBuffer(reinterpret_cast<__gm__ Element*>(k));
    launch.v.SetGlobalBuffer(reinterpret_cast<__gm__ Element*>(v));
    launch.out.SetGlobalBuffer(reinterpret_cast<__gm__ fa_sliding_window::OutputElement*>(out));
    launch.lse.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(lse));
    launch.PlaceWorkspace(workspace);
    if ASCEND_IS_AIC {
        fa_sliding_window::CubeCore(launch).Run();
    }
    if ASCEND_IS_AIV {
        fa_sliding_window::VectorCore(launch).Run();
    }
    AscendC::PipeBarrier<PIPE_ALL>();
}
