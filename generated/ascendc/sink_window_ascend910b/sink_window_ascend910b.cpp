/*!
 * \file sink_window_ascend910b.cpp
 * \brief Attention variant `sink_window`, forward, bnsd layout.
 *
 * Written by fa-gen 0.1.0; edit sink.fa, not this file.
 *
 * source sink.fa, sha256 c3660a8b0fd4611fc57aa5fb24dbe418f40ffa6b6e185998d2e3384d07def128
 * target ascend910b: one cube core (AIC) and 2 vector cores (AIV) work on a tile
 *
 * score = score / temperature
 * mask  = kv_pos <= q_pos && (q_pos - kv_pos <= 127 && kv_pos - q_pos <= 0)
 * sink  = sinks[h]
 *
 * buffer         memory  copies x rows x cols x bytes        KiB
 * q_tile         L1           1 x  256 x   64 x 2          32.00
 * k_tile         L1           1 x  128 x   64 x 2          16.00
 * v_tile         L1           1 x  128 x   64 x 2          16.00
 * p_tile         L1           2 x  128 x  128 x 2          64.00
 *                L1      total                         128 KiB of 511.75 KiB
 * q_left         L0A          1 x  128 x   64 x 2          16.00
 * p_left         L0A          1 x  128 x  128 x 2          32.00
 *                L0A     total                         48 KiB of 64 KiB
 * k_right        L0B          1 x  128 x   64 x 2          16.00
 * v_right        L0B          1 x  128 x   64 x 2          16.00
 *                L0B     total                         32 KiB of 64 KiB
 * s_sum          L0C          2 x   64 x  128 x 4          64.00
 * o_sum          L0C          1 x  128 x   64 x 4          32.00
 *                L0C     total                         96 KiB of 128 KiB
 * slot           UB           2 x   48 x  128 x 4          48.00
 * temp           UB           3 x   48 x  128 x 4          72.75
 * folded         UB           2 x    1 x  768 x 4           6.50
 * o_acc          UB           1 x  128 x   64 x 4          32.00
 * row_blocks     UB           1 x  256 x    8 x 4           8.00
 * row_max        UB           1 x    1 x  128 x 4           0.50
 * row_sum        UB           1 x    1 x  128 x 4           0.50
 * tile_max       UB           1 x    1 x  128 x 4           0.50
 * tile_sum       UB           1 x    1 x  128 x 4           0.50
 * rescale        UB           3 x    1 x  128 x 4           1.50
 * final_sum      UB           3 x    1 x  128 x 4           1.50
 * lse            UB           1 x    1 x  128 x 4           0.50
 * counter        UB           1 x    1 x  128 x 4           0.50
 * row_counter    UB           1 x  128 x    8 x 4           4.00
 * row_value      UB           1 x  128 x    8 x 4           4.00
 * column_value   UB           1 x    1 x  128 x 4           0.50
 * uniform_value  UB           1 x    1 x   64 x 4           0.25
 *                UB      total                         182.5 KiB of 183.75 KiB
 */

#include "kernel_operator.h"

#include "sink_window_tiling.h"

namespace fa_sink_window {
using AscendC::GlobalTensor;
using AscendC::HardEvent;
using AscendC::LocalTensor;
using AscendC::TPosition;

using Element = bfloat16_t;       // of Q, K, V and P
using OutputElement = bfloat16_t;

// ---- Shapes ----
constexpr uint32_t kHeadDim = 64;       // columns of Q and K
constexpr uint32_t kHeadDimPad = 64;    // the same in whole fractals
constexpr uint32_t kValueDim = 64;      // columns of V and O
constexpr uint32_t kValueDimPad = 64;   // the same in whole fractals
constexpr uint32_t kPartialPitch = 128; // from one row of a partial output to the next: full-bandwidth addresses
constexpr uint32_t kBlockQ = 256;        // query rows of a tile, at most
constexpr uint32_t kBlockKv = 128;       // key rows of a tile
constexpr uint32_t kStages = 3;          // tiles in flight: slots of the workspace rings
constexpr uint32_t kLead = kStages - 1;  // tiles whose scores are ready before the first one's output
constexpr uint32_t kScoresAhead = 1; // blocks of scores that are multiplied while the first probabilities are on their way
constexpr uint32_t kSubRows = 128;       // query rows that L0A holds
constexpr uint32_t kScoreRows = 64;      // query rows of one Mmad of Q K^T
constexpr uint32_t kSubKeys = 128;       // key rows of one Mmad
constexpr uint32_t kHalfKeys = 128;      // key rows of the first half of a tile: the next tile's move in when these are read
constexpr uint32_t kSubDepth = 64;      // columns of Q and K that one Mmad sums over
constexpr uint32_t kSubValues = 64;     // value columns of one Mmad
constexpr uint32_t kCoreRows = 128;       // query rows of a vector core
constexpr uint32_t kKeyRows = 16;        // query rows whose exchange takes as long as keys and values of a tile
constexpr uint32_t kRowStep = 48;        // rows that the softmax takes at a time
constexpr uint32_t kOutputStep = 96;     // rows that the output takes at a time
constexpr uint32_t kGroups = 2;          // groups of lanes that vector code covers in one pass
constexpr uint32_t kChunk = 128;         // score columns of a pass
constexpr uint32_t kChunks = 1;          // passes over a full tile
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
constexpr uint32_t kQTileBytes = 256 * 64 * 2; // queries of the task: 256 x 64 bf16
constexpr uint32_t kQTileAt = 0;
constexpr uint32_t kKTileBytes = 128 * 64 * 2; // keys of the tile: 128 x 64 bf16
constexpr uint32_t kKTileAt = kQTileAt + kQTileBytes;
constexpr uint32_t kVTileBytes = 128 * 64 * 2; // values of the tile: 128 x 64 bf16
constexpr uint32_t kVTileAt = kKTileAt + kKTileBytes;
constexpr uint32_t kPTileBytes = 128 * 128 * 2; // a block of the probabilities: 128 x 128 bf16
constexpr uint32_t kPTileAt = kVTileAt + kVTileBytes;
constexpr uint32_t kL1End = kPTileAt + 2 * kPTileBytes;
constexpr uint32_t kL1Capacity = 524032; // 512 KiB less 256 bytes that the toolchain keeps
static_assert(kL1End <= kL1Capacity, "L1 budget exceeded");
static_assert(kL1End == 131072, "L1 is not laid out as planned");

constexpr uint32_t kQLeftBytes = 128 * 64 * 2; // queries of a product: 128 x 64 bf16
constexpr uint32_t kQLeftAt = 0;
constexpr uint32_t kPLeftBytes = 128 * 128 * 2; // probabilities of a product: 128 x 128 bf16
constexpr uint32_t kPLeftAt = kQLeftAt + kQLeftBytes;
constexpr uint32_t kL0aEnd = kPLeftAt + kPLeftBytes;
constexpr uint32_t kL0aCapacity = 65536; // all of it
static_assert(kL0aEnd <= kL0aCapacity, "L0a budget exceeded");
static_assert(kL0aEnd == 49152, "L0a is not laid out as planned");

constexpr uint32_t kKRightBytes = 128 * 64 * 2; // keys of a product: 128 x 64 bf16
constexpr uint32_t kKRightAt = 0;
constexpr uint32_t kVRightBytes = 128 * 64 * 2; // values of a product: 128 x 64 bf16
constexpr uint32_t kVRightAt = kKRightAt + kKRightBytes;
constexpr uint32_t kL0bEnd = kVRightAt + kVRightBytes;
constexpr uint32_t kL0bCapacity = 65536; // all of it
static_assert(kL0bEnd <= kL0bCapacity, "L0b budget exceeded");
static_assert(kL0bEnd == 32768, "L0b is not laid out as planned");

constexpr uint32_t kSSumBytes = 64 * 128 * 4; // accumulators of Q K^T: 64 x 128 fp32
constexpr uint32_t kSSumAt = 0;
constexpr uint32_t kOSumBytes = 128 * 64 * 4; // accumulator of P V: 128 x 64 fp32
constexpr uint32_t kOSumAt = kSSumAt + 2 * kSSumBytes;
constexpr uint32_t kL0cEnd = kOSumAt + kOSumBytes;
constexpr uint32_t kL0cCapacity = 131072; // all of it
static_assert(kL0cEnd <= kL0cCapacity, "L0c budget exceeded");
static_assert(kL0cEnd == 98304, "L0c is not laid out as planned");

constexpr uint32_t kSlotBytes = 48 * 128 * 4; // scores, probabilities in their place, partial outputs: 48 x 128 fp32
constexpr uint32_t kSlotAt = 0;
constexpr uint32_t kTempBytes = 48 * 128 * 4 + 256; // steps of the vector programs: 48 x 128 fp32
constexpr uint32_t kTempAt = kSlotAt + 2 * kSlotBytes + 256; // in other bank groups than what it meets
constexpr uint32_t kFoldedBytes = 1 * 768 * 4 + 256; // scores on the way to one number a row; factors of the output: 1 x 768 fp32
constexpr uint32_t kFoldedAt = kTempAt + 3 * kTempBytes + 256; // in other bank groups than what it meets
constexpr uint32_t kOAccBytes = 128 * 64 * 4; // output of the task, unscaled: 128 x 64 fp32
constexpr uint32_t kOAccAt = kFoldedAt + 2 * kFoldedBytes;
constexpr uint32_t kRowBlocksBytes = 256 * 8 * 4; // a row's reference, one block for every group of lanes: 256 x 8 fp32
constexpr uint32_t kRowBlocksAt = kOAccAt + kOAccBytes;
constexpr uint32_t kRowMaxBytes = 1 * 128 * 4; // reference of a row: a maximum of its scores: 1 x 128 fp32
constexpr uint32_t kRowMaxAt = kRowBlocksAt + kRowBlocksBytes;
constexpr uint32_t kRowSumBytes = 1 * 128 * 4; // running sum of a row: 1 x 128 fp32
constexpr uint32_t kRowSumAt = kRowMaxAt + kRowMaxBytes;
constexpr uint32_t kTileMaxBytes = 1 * 128 * 4; // maximum of the tile: 1 x 128 fp32
constexpr uint32_t kTileMaxAt = kRowSumAt + kRowSumBytes;
constexpr uint32_t kTileSumBytes = 1 * 128 * 4; // sum of the tile: 1 x 128 fp32
constexpr uint32_t kTileSumAt = kTileMaxAt + kTileMaxBytes;
constexpr uint32_t kRescaleBytes = 1 * 128 * 4; // exp(old reference - new reference): 1 x 128 fp32
constexpr uint32_t kRescaleAt = kTileSumAt + kTileSumBytes;
constexpr uint32_t kFinalSumBytes = 1 * 128 * 4; // divisor of finished rows: 1 x 128 fp32
constexpr uint32_t kFinalSumAt = kRescaleAt + 3 * kRescaleBytes;
constexpr uint32_t kLseBytes = 1 * 128 * 4; // log of the sum of exponentials: 1 x 128 fp32
constexpr uint32_t kLseAt = kFinalSumAt + 3 * kFinalSumBytes;
constexpr uint32_t kCounterBytes = 1 * 128 * 4; // 0, 1, 2, ...: 1 x 128 fp32
constexpr uint32_t kCounterAt = kLseAt + kLseBytes;
constexpr uint32_t kRowCounterBytes = 128 * 8 * 4; // 0, 1, 2, ..., one block each: 128 x 8 fp32
constexpr uint32_t kRowCounterAt = kCounterAt + kCounterBytes;
constexpr uint32_t kRowValueBytes = 128 * 8 * 4; // values of a query row, one block each: 128 x 8 fp32
constexpr uint32_t kRowValueAt = kRowCounterAt + kRowCounterBytes;
constexpr uint32_t kColumnValueBytes = 1 * 128 * 4; // values of a key row: 1 x 128 fp32
constexpr uint32_t kColumnValueAt = kRowValueAt + kRowValueBytes;
constexpr uint32_t kUniformValueBytes = 1 * 64 * 4; // values equal everywhere: 1 x 64 fp32
constexpr uint32_t kUniformValueAt = kColumnValueAt + kColumnValueBytes;
constexpr uint32_t kUbEnd = kUniformValueAt + kUniformValueBytes;
constexpr uint32_t kUbCapacity = 188160; // 192 KiB less 256 bytes and the 8 KiB scratch that the toolchain keeps
static_assert(kUbEnd <= kUbCapacity, "Ub budget exceeded");
static_assert(kUbEnd == 186880, "Ub is not laid out as planned");

// ---- Numbers ----
constexpr float kScale = 0.125f;
constexpr float kMasked = -__builtin_inff();     // score of a masked pair: its exponential is exactly 0
constexpr float kLowestMax = -3.402823466e+38f;  // floor of a row's reference: -inf minus it stays -inf
constexpr float kLargestSum = 32768.0f;          // of a tile's row: fp16 holds every probability of such a row

// ---- Flags between the cores, one count per tile ----
constexpr uint16_t kScoresReady = 0;        // cube, Fixpipe -> vector: S is in its slot
constexpr uint16_t kProbabilitiesReady = 1; // vector, MTE3 -> cube: P is in its slot, S has been read
constexpr uint16_t kOutputReady = 2;        // cube, Fixpipe -> vector: P V is in its slot, P has been read

// ---- Events inside the cube core, by the edge that they guard ----
constexpr int32_t kQueryFree = 0;         // M -> MTE2: the queries of a task have met all of its keys
constexpr int32_t kKeysFree = 0;          // MTE1 -> MTE2, one per half: the keys have been read
constexpr int32_t kKeysLoaded = 0;        // MTE2 -> MTE1, one per half: so have the queries, which come before them
constexpr int32_t kValuesFree = 2;        // MTE1 -> MTE2, one per half: the values have been read
constexpr int32_t kProbabilitiesLoaded = 4; // MTE2 -> MTE1, one per slot: so have the values, which come before them
constexpr int32_t kQueryLeftFree = 0;     // M -> MTE1: and the keys with them
constexpr int32_t kOutputOperandsFree = 2; // M -> MTE1
constexpr int32_t kScoreOperandsReady = 0; // MTE1 -> M
constexpr int32_t kOutputOperandsReady = 1; // MTE1 -> M
constexpr int32_t kScoreSumFree = 0;      // FIX -> M, one per slot
constexpr int32_t kScoreSumReady = 0;     // M -> FIX, one per slot
constexpr int32_t kOutputSumFree = 2;     // FIX -> M
constexpr int32_t kOutputSumReady = 2;    // M -> FIX

// ---- Events inside a vector core ----
constexpr int32_t kSlotFree = 0;       // MTE3 -> MTE2, one per slot: what it held has been used
constexpr int32_t kSlotLoaded = 0;     // MTE2 -> V, one per slot
constexpr int32_t kSlotUsed = 0;       // V -> MTE3, one per slot: probabilities may leave, or nothing is left to do
constexpr int32_t kLseMade = 3;        // V -> MTE3
constexpr int32_t kLseStored = 0;      // MTE3 -> V
constexpr int32_t kOutputMade = 4;     // V -> MTE3
constexpr int32_t kOutputStored = 1;   // MTE3 -> V
constexpr int32_t kExtremeFound = 0;   // V -> S
constexpr int32_t kCounterSeeded = 0;    // S -> V

// ---- Workspace of one cube core: rings of kStages slots, each slot on a 512-byte address ----
constexpr uint64_t kWorkspaceAlign = 512;
__aicore__ constexpr uint64_t SlotBytes(uint64_t bytes)
{
    return (bytes + kWorkspaceAlign - 1) / kWorkspaceAlign * kWorkspaceAlign;
}
constexpr uint64_t kScoreSlot = SlotBytes(uint64_t(kBlockQ) * kBlockKv * sizeof(float));
constexpr uint64_t kProbabilitySlot = SlotBytes(uint64_t(kBlockQ) * kBlockKv * sizeof(Element));
constexpr uint64_t kPartialSlot = SlotBytes(uint64_t(kBlockQ) * kPartialPitch * sizeof(float));
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
    uint32_t taskRows;
    int64_t taskCount;
    GlobalTensor<Element> q;
    GlobalTensor<Element> k;
    GlobalTensor<Element> v;
    GlobalTensor<OutputElement> out;
    GlobalTensor<float> lse;
    GlobalTensor<float> capturedSinks;
    GlobalTensor<float> scores;          // ring of [kBlockQ, kBlockKv]
    GlobalTensor<Element> probabilities; // ring of [kBlockQ, kBlockKv]
    GlobalTensor<float> partial;         // ring of [kBlockQ, kPartialPitch]

    // Cuts query rows into tasks. The launch takes as long as the core with the most tasks, and a task as long as
    // its rows and its keys: tasks are smaller than a tile may be where that leaves fewer cores idle in the last round.
    __aicore__ inline void MakeTasks()
    {
        constexpr uint32_t kManyRounds = 16; // a round more or less does not matter then
        const uint32_t qLen = static_cast<uint32_t>(tiling.qLen);
        const int64_t heads = tiling.batch * tiling.heads;
        taskRows = kBlockQ;
        if (heads * CeilDiv(qLen, kBlockQ) < kManyRounds * coreCount) {
            const uint32_t cores = static_cast<uint32_t>(coreCount);
            uint32_t least = ~0u;
            for (uint32_t rows = kBlockQ; rows != 0; rows -= kFractal) {
                const uint32_t tasks = static_cast<uint32_t>(heads) * CeilDiv(qLen, rows);
                const uint32_t time = CeilDiv(tasks, cores) * (rows + kKeyRows);
                taskRows = time < least ? rows : taskRows;
                least = Min(time, least);
            }
        }
        taskCount = heads * CeilDiv(qLen, taskRows);
    }

    // The task of this core in a round. Cores are served to and fro, so that long tasks meet short ones.
    __aicore__ inline int64_t TaskOf(int64_t round) const
    {
        return round * coreCount + (round % 2 == 0 ? coreIdx : coreCount - 1 - coreIdx);
    }

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
__aicore__ inline Task TaskAt(const Launch& launch, int64_t index)
{
    const Tiling& tiling = launch.tiling;
    const int64_t heads = tiling.batch * tiling.heads;
    const int32_t rows = static_cast<int32_t>(launch.taskRows);
    const int32_t block = static_cast<int32_t>((launch.taskCount - 1 - index) / heads);
    const int64_t head = index % heads;
    Task task;
    task.b = static_cast<int32_t>(head / tiling.heads);
    task.h = static_cast<int32_t>(head % tiling.heads);
    task.kvH = static_cast<int32_t>(task.h / (tiling.heads / tiling.kvHeads));
    task.qLen = static_cast<int32_t>(tiling.qLen);
    task.kvLen = static_cast<int32_t>(tiling.kvLen);
    task.qFirst = block * rows;
    task.qLast = Min(task.qFirst + rows, task.qLen) - 1;
    return task;
}

// First key row that some query row of the task may see.
__aicore__ inline int32_t KvBegin(const Task& task)
{
    return Min(Max(0, task.qFirst + task.kvLen - task.qLen - 127), task.kvLen);
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
    return kvLast < task.qFirst + part0 + 1 && task.qLast + part0 - 128 < kvFirst;
}

// sinks[h]
__aicore__ inline float Sink(const Launch& launch, const Task& task)
{
    return launch.capturedSinks.GetValue(task.h * launch.tiling.capturedSinksStride[0]);
}

// temperature
__aicore__ inline float TaskScalar0(const Launch& launch)
{
    return launch.tiling.paramTemperature;
}

// Walks the visible tiles of this core's tasks. Cube and vector cores walk the same sequence and so agree on
// every flag without a word.
class TileCursor {
public:
    __aicore__ inline explicit TileCursor(const Launch& launch) : launch_(launch)
    {
        FindTask();
    }

    __aicore__ inline bool Done() const
    {
        return launch_.TaskOf(round_) >= launch_.taskCount;
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

    // Key rows of the tile that some query row of the task may see.
    __aicore__ inline uint32_t Keys() const
    {
        return Min(kBlockKv, static_cast<uint32_t>(keyEnd_ - FirstKey()));
    }

    __aicore__ inline void Advance()
    {
        slot_ = (slot_ + 1) % kStages;
        if (!IsLast()) {
            tile_ = next_;
            next_ = Visible(tile_ + 1);
            return;
        }
        ++round_;
        FindTask();
    }

    // Moves to this core's next task without a visible tile, from a round on; false where there is none.
    __aicore__ inline bool FindEmptyTask(int64_t round)
    {
        for (round_ = round; !Done(); ++round_) {
            EnterTask();
            if (tile_ >= end_) {
                return true;
            }
        }
        return false;
    }

    // The round of the task.
    __aicore__ inline int64_t Round() const
    {
        return round_;
    }

private:
    __aicore__ inline void EnterTask()
    {
        task_ = TaskAt(launch_, launch_.TaskOf(round_));
        // Without pairs nothing of captured tensors is read either: they may be empty.
        if (task_.kvLen == 0) {
            tile_ = 0;
            end_ = 0;
            return;
        }
        keyEnd_ = KvEnd(task_);
        end_ = CeilDiv(keyEnd_, static_cast<int32_t>(kBlockKv));
        tile_ = Visible(KvBegin(task_) / static_cast<int32_t>(kBlockKv));
    }

    // Enters the next task that has a visible tile.
    __aicore__ inline void FindTask()
    {
        for (; !Done(); ++round_) {
            EnterTask();
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
    int64_t round_ = 0;
    int32_t first_ = 0;
    int32_t tile_ = 0;
    int32_t next_ = 0;
    int32_t end_ = 0;
    int32_t keyEnd_ = 0;
    uint32_t slot_ = 0;
};

// The cube core: S = Q K^T of a tile and, in turn, P V of the tile kLead before it, so that the products of one run
// while the sums of the other leave.
class CubeCore {
public:
    __aicore__ inline explicit CubeCore(const Launch& launch) : launch_(launch) {}

    __aicore__ inline void Run()
    {
        FreeBuffers();
        TileCursor scores(launch_);
        TileCursor outputs(launch_);
        for (uint32_t lead = 0; !outputs.Done();) {
            const bool hasScores = !scores.Done();
            const bool hasOutput = !hasScores || lead == kLead;
            if (hasScores) {
                BeginScores(scores);
            }
            for (uint32_t step = 0; hasScores && step < kScoresAhead && StepScores(scores); ++step) {
            }
            if (hasOutput) {
                BeginOutput(outputs);
            }
            for (bool more = true; more;) {
                more = hasScores && StepScores(scores);
                more |= hasOutput && StepOutput(outputs);
            }
            if (hasScores) {
                scores.Advance();
                ++lead;
            }
            if (hasOutput) {
                outputs.Advance();
                --lead;
            }
        }
        DrainBuffers();
    }

private:
    // A block of a product: up to kSubRows query rows by kSubKeys keys, for P V also by kSubValues value columns.
    struct Block {
        uint32_t row;
        uint32_t col;
        uint32_t key;
    };

    // Asks for the keys of a tile, half by half, and before them for the queries of its task if it is the first.
    __aicore__ inline void BeginScores(const TileCursor& at)
    {
        if (at.IsFirst()) {
            AscendC::WaitFlag<HardEvent::M_MTE2>(kQueryFree);
            LoadQuery(at.CurrentTask());
        }
        for (uint32_t key = 0; key < at.Keys(); key += kHalfKeys) {
            AscendC::WaitFlag<HardEvent::MTE1_MTE2>(kKeysFree + HalfOf(key));
            LoadKeys(at, key, Min(at.Keys(), key + kHalfKeys));
            AscendC::SetFlag<HardEvent::MTE2_MTE1>(kKeysLoaded + HalfOf(key));
        }
        scoreAt_ = {0, 0, 0};
    }

    __aicore__ inline void LoadKeys(const TileCursor& at, uint32_t firstKey, uint32_t endKey)
    {
        const Task& task = at.CurrentTask();
        const Tiling& tiling = launch_.tiling;
        for (uint32_t key = firstKey; key < endKey; key += kSubKeys) {
            const uint32_t keys = Min(kSubKeys, endKey - key);
            const int64_t row = at.FirstKey() + static_cast<int64_t>(key);
            const int64_t from = task.b * tiling.kStride[0] + task.kvH * tiling.kStride[1] + row * tiling.kStride[2];
            LoadMatrix(
                Keys()[key * kHeadDimPad], RoundUp(keys, kFractal), launch_.k[from], keys, kHeadDim, tiling.kStride[2]);
        }
    }

    // The half of the tile to which a key belongs, and whether a block of keys starts it or ends it.
    __aicore__ static inline uint32_t HalfOf(uint32_t key)
    {
        return key / kHalfKeys;
    }

    __aicore__ static inline bool StartsHalf(uint32_t key)
    {
        return key % kHalfKeys == 0;
    }

    __aicore__ static inline bool EndsHalf(uint32_t key, const TileCursor& at)
    {
        return key + kSubKeys >= at.Keys() || StartsHalf(key + kSubKeys);
    }

    // The next block of S = Q K^T, unscaled; false when the tile is complete. Producer of kScoresReady.
    __aicore__ inline bool StepScores(const TileCursor& at)
    {
        const uint32_t taskRows = at.CurrentTask().Rows();
        if (scoreAt_.row >= taskRows) {
            return false;
        }
        const uint32_t rows = Min(kSubRows, taskRows - scoreAt_.row);
        const uint32_t keys = Min(kSubKeys, at.Keys() - scoreAt_.key);
        const GlobalTensor<float> slot = launch_.scores[at.Slot() * (kScoreSlot / sizeof(float))];
        if (scoreAt_.row == 0 && StartsHalf(scoreAt_.key)) {
            AscendC::WaitFlag<HardEvent::MTE2_MTE1>(kKeysLoaded + HalfOf(scoreAt_.key));
        }
        if (scoreAt_.key == 0) {
            AscendC::WaitFlag<HardEvent::M_MTE1>(kQueryLeftFree);
            LoadLeft(QueryLeft(), Query()[scoreAt_.row * kDepthPad], rows, kHeadDim);
        }
        LoadRight(KeyRight(), Keys()[scoreAt_.key * kHeadDimPad], keys, kHeadDim);
        AscendC::SetFlag<HardEvent::MTE1_M>(kScoreOperandsReady);
        AscendC::WaitFlag<HardEvent::MTE1_M>(kScoreOperandsReady);
        for (uint32_t row = 0; row < rows; row += kScoreRows) {
            const uint32_t sum = (scoreSum_ + row / kScoreRows) % 2;
            const uint32_t sumRows = Min(kScoreRows, rows - row);
            AscendC::WaitFlag<HardEvent::FIX_M>(kScoreSumFree + sum);
            Multiply(ScoreSum(sum), QueryLeft()[row * kDepthPad], KeyRight(), sumRows, keys, kHeadDim, true);
            StoreScores(slot[(scoreAt_.row + row) * kBlockKv + scoreAt_.key], sum, sumRows, keys);
        }
        scoreSum_ = (scoreSum_ + CeilDiv(rows, kScoreRows)) % 2;
        if (scoreAt_.row + rows >= taskRows && EndsHalf(scoreAt_.key, at)) {
            AscendC::SetFlag<HardEvent::MTE1_MTE2>(kKeysFree + HalfOf(scoreAt_.key));
        }
        scoreAt_.key += kSubKeys;
        if (scoreAt_.key >= at.Keys()) {
            EndScoreRows(at);
        }
        return true;
    }

    // Some rows of S have met all keys of the tile.
    __aicore__ inline void EndScoreRows(const TileCursor& at)
    {
        AscendC::SetFlag<HardEvent::M_MTE1>(kQueryLeftFree);
        scoreAt_.key = 0;
        scoreAt_.row += kSubRows;
        if (scoreAt_.row < at.CurrentTask().Rows()) {
            return;
        }
        if (at.IsLast()) {
            AscendC::SetFlag<HardEvent::M_MTE2>(kQueryFree);
        }
        AscendC::CrossCoreSetFlag<2, PIPE_FIX>(kScoresReady);
    }

    // Asks for the values of a tile, half by half, and for its first probabilities. Consumer of kProbabilitiesReady.
    __aicore__ inline void BeginOutput(const TileCursor& at)
    {
        for (uint32_t key = 0; key < at.Keys(); key += kHalfKeys) {
            AscendC::WaitFlag<HardEvent::MTE1_MTE2>(kValuesFree + HalfOf(key));
            LoadValues(at, key, Min(at.Keys(), key + kHalfKeys));
        }
        AscendC::CrossCoreWaitFlag(kProbabilitiesReady);
        outputAt_ = {0, 0, 0};
        probabilitiesAt_ = {0, 0, 0};
        for (uint32_t slot = 1; slot < kProbabilitySlots; ++slot) {
            LoadProbabilities(at);
        }
    }

    __aicore__ inline void LoadValues(const TileCursor& at, uint32_t firstKey, uint32_t endKey)
    {
        const Task& task = at.CurrentTask();
        const Tiling& tiling = launch_.tiling;
        for (uint32_t key = firstKey; key < endKey; key += kSubKeys) {
            const uint32_t keys = Min(kSubKeys, endKey - key);
            const int64_t row = at.FirstKey() + static_cast<int64_t>(key);
            const int64_t from = task.b * tiling.vStride[0] + task.kvH * tiling.vStride[1] + row * tiling.vStride[2];
            for (uint32_t col = 0; col < kValueDim; col += kSubValues) {
                const uint32_t columns = Min(kSubValues, kValueDim - col);
                LoadFractalRows(ValueBlock(key, col), launch_.v[from + col], keys, columns,
                    tiling.vStride[2], RoundUp(columns, kFractal));
            }
        }
    }

    // A block of the values: parts of columns one behind the other, each as long as the keys of the block in a full tile.
    __aicore__ inline LocalTensor<Element> ValueBlock(uint32_t key, uint32_t col) const
    {
        return Values()[key * kValueDimPad + col * Min(kSubKeys, kBlockKv - key)];
    }

    // The next block of P V, summed over the keys of the tile; false when it is complete. Producer of kOutputReady.
    __aicore__ inline bool StepOutput(const TileCursor& at)
    {
        const uint32_t taskRows = at.CurrentTask().Rows();
        if (outputAt_.row >= taskRows) {
            return false;
        }
        LoadProbabilities(at);
        const uint32_t rows = Min(kSubRows, taskRows - outputAt_.row);
        const uint32_t columns = Min(kSubValues, kValueDim - outputAt_.col);
        const uint32_t keys = Min(kSubKeys, at.Keys() - outputAt_.key);
        AscendC::WaitFlag<HardEvent::MTE2_MTE1>(kProbabilitiesLoaded + multipliedSlot_);
        AscendC::WaitFlag<HardEvent::M_MTE1>(kOutputOperandsFree);
        LoadLeft(ProbabilityLeft(), Probabilities(multipliedSlot_), rows, keys);
        multipliedSlot_ = (multipliedSlot_ + 1) % kProbabilitySlots;
        LoadRightTransposed(ValueRight(), ValueBlock(outputAt_.key, outputAt_.col), columns, keys);
        AscendC::SetFlag<HardEvent::MTE1_M>(kOutputOperandsReady);
        AscendC::WaitFlag<HardEvent::MTE1_M>(kOutputOperandsReady);
        if (outputAt_.key == 0) {
            AscendC::WaitFlag<HardEvent::FIX_M>(kOutputSumFree);
        }
        Multiply(OutputSum(), ProbabilityLeft(), ValueRight(), rows, columns, keys, outputAt_.key == 0);
        AscendC::SetFlag<HardEvent::M_MTE1>(kOutputOperandsFree);
        const bool isLastPart = outputAt_.row + rows >= taskRows && outputAt_.col + kSubValues >= kValueDim;
        if (isLastPart && EndsHalf(outputAt_.key, at)) {
            AscendC::SetFlag<HardEvent::MTE1_MTE2>(kValuesFree + HalfOf(outputAt_.key));
        }
        const Block done = outputAt_;
        Advance(outputAt_, at);
        if (outputAt_.key == 0) {
            StorePartial(at, done, rows, columns);
        }
        if (outputAt_.row >= taskRows) {
            AscendC::CrossCoreSetFlag<2, PIPE_FIX>(kOutputReady);
        }
        return true;
    }

    // Asks for the next block of P, in the order of the products. A tile fits the slots, and starts when the values
    // of the one before it have been read: P, which is read before them, too.
    __aicore__ inline void LoadProbabilities(const TileCursor& at)
    {
        const uint32_t taskRows = at.CurrentTask().Rows();
        if (probabilitiesAt_.row >= taskRows) {
            return;
        }
        const uint32_t rows = Min(kSubRows, taskRows - probabilitiesAt_.row);
        const uint32_t keys = Min(kSubKeys, at.Keys() - probabilitiesAt_.key);
        const uint64_t from = at.Slot() * (kProbabilitySlot / sizeof(Element)) + probabilitiesAt_.row * kBlockKv +
            probabilitiesAt_.key;
        LoadFractalRows(Probabilities(loadedSlot_), launch_.probabilities[from], rows, keys, kBlockKv,
            RoundUp(keys, kFractalCols));
        AscendC::SetFlag<HardEvent::MTE2_MTE1>(kProbabilitiesLoaded + loadedSlot_);
        loadedSlot_ = (loadedSlot_ + 1) % kProbabilitySlots;
        Advance(probabilitiesAt_, at);
    }

    // Keys first, so that a sum stays in L0C until it is complete.
    __aicore__ inline void Advance(Block& block, const TileCursor& at) const
    {
        block.key += kSubKeys;
        if (block.key < at.Keys()) {
            return;
        }
        block.key = 0;
        block.col += kSubValues;
        if (block.col < kValueDim) {
            return;
        }
        block.col = 0;
        block.row += kSubRows;
    }

    // The queries of a task stay in L1 until its last tile has been multiplied. They are waited for with the first
    // keys, which the same pipe loads behind them.
    __aicore__ inline void LoadQuery(const Task& task)
    {
        const Tiling& tiling = launch_.tiling;
        const int64_t from = task.b * tiling.qStride[0] + task.h * tiling.qStride[1] + task.qFirst * tiling.qStride[2];
        LoadFractalRows(Query(), launch_.q[from], task.Rows(), kHeadDim, tiling.qStride[2], kDepthPad);
    }

    // Rows of global memory to L1, a row of fractals after the other: what the left operand, and the right one of
    // P V, look like in L0. Columns are filled up with zeros to a whole fractal.
    __aicore__ inline void LoadFractalRows(const LocalTensor<Element>& dst, const GlobalTensor<Element>& src,
        uint32_t rows, uint32_t columns, int64_t rowPitch, uint32_t columnsPad)
    {
        constexpr int64_t kMaxMatrixStride = 65535; // what a copy can express
        const uint32_t whole = rows / kFractal;
        AscendC::Nd2NzParams params;
        params.nValue = kFractal;
        params.dValue = columns;
        params.srcDValue = rowPitch;
        params.dstNzC0Stride = kFractal;
        params.dstNzNStride = 1;
        params.dstNzMatrixStride = columnsPad * kFractal;
        if (kFractal * rowPitch <= kMaxMatrixStride && whole != 0) {
            params.ndNum = whole;
            params.srcNdMatrixStride = kFractal * rowPitch;
            AscendC::DataCopy(dst, src, params);
        }
        params.ndNum = 1;
        params.srcNdMatrixStride = 0;
        if (kFractal * rowPitch > kMaxMatrixStride) {
            for (uint32_t row = 0; row < whole * kFractal; row += kFractal) {
                AscendC::DataCopy(dst[row * columnsPad], src[row * rowPitch], params);
            }
        }
        if (rows % kFractal != 0) {
            const uint32_t row = whole * kFractal;
            params.nValue = rows % kFractal;
            AscendC::DataCopy(dst[row * columnsPad], src[row * rowPitch], params);
        }
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

    // [rows, depth] from L1 to L0A. Rows past the last are whatever L1 holds: they make rows of S that nobody stores.
    __aicore__ inline void LoadLeft(
        const LocalTensor<Element>& dst, const LocalTensor<Element>& src, uint32_t rows, uint32_t depth)
    {
        LoadFractals(dst, src, CeilDiv(rows, kFractal) * CeilDiv(depth, kFractalCols), false);
    }

    // [columns, depth] from L1 to L0B, for a product with its transpose.
    __aicore__ inline void LoadRight(
        const LocalTensor<Element>& dst, const LocalTensor<Element>& src, uint32_t columns, uint32_t depth)
    {
        LoadFractals(dst, src, CeilDiv(columns, kFractal) * CeilDiv(depth, kFractalCols), false);
    }

    // [depth, columns] from L1 to L0B.
    __aicore__ inline void LoadRightTransposed(
        const LocalTensor<Element>& dst, const LocalTensor<Element>& src, uint32_t columns, uint32_t depth)
    {
        LoadFractals(dst, src, CeilDiv(columns, kFractal) * CeilDiv(depth, kFractal), true);
    }

    // Fractals that lie in L1 in the order in which L0 wants them.
    __aicore__ inline void LoadFractals(
        const LocalTensor<Element>& dst, const LocalTensor<Element>& src, uint32_t count, bool transposes)
    {
        AscendC::LoadData2DParams params;
        params.startIndex = 0;
        params.repeatTimes = count;
        params.srcStride = 1;
        params.ifTranspose = transposes;
        AscendC::LoadData(dst, src, params);
    }

    // Adds one product to the accumulator, or starts it. Small products overlap in the unit, but not with the next of
    // their sum: its operands are loaded when the unit has done with these. Rows and columns are whole fractals: with
    // one row the unit would take its left operand for a plain vector.
    __aicore__ inline void Multiply(const LocalTensor<float>& sum, const LocalTensor<Element>& left,
        const LocalTensor<Element>& right, uint32_t rows, uint32_t columns, uint32_t depth, bool starts)
    {
        AscendC::MmadParams params;
        params.m = RoundUp(rows, kFractal);
        params.n = RoundUp(columns, kFractal);
        params.k = depth;
        params.cmatrixInitVal = starts;
        AscendC::Mmad(sum, left, right, params);
    }

    __aicore__ inline void StoreScores(const GlobalTensor<float>& dst, uint32_t sum, uint32_t rows, uint32_t keys)
    {
        AscendC::SetFlag<HardEvent::M_FIX>(kScoreSumReady + sum);
        AscendC::WaitFlag<HardEvent::M_FIX>(kScoreSumReady + sum);
        StoreSum(dst, ScoreSum(sum), rows, keys, kBlockKv);
        AscendC::SetFlag<HardEvent::FIX_M>(kScoreSumFree + sum);
    }

    __aicore__ inline void StorePartial(const TileCursor& at, const Block& block, uint32_t rows, uint32_t columns)
    {
        const uint64_t to = at.Slot() * (kPartialSlot / sizeof(float)) + block.row * kPartialPitch + block.col;
        AscendC::SetFlag<HardEvent::M_FIX>(kOutputSumReady);
        AscendC::WaitFlag<HardEvent::M_FIX>(kOutputSumReady);
        StoreSum(launch_.partial[to], OutputSum(), rows, columns, kPartialPitch);
        AscendC::SetFlag<HardEvent::FIX_M>(kOutputSumFree);
    }

    // An accumulator to global memory, in rows. Columns past the last, to a whole fractal, hold garbage.
    __aicore__ inline void StoreSum(const GlobalTensor<float>& dst, const LocalTensor<float>& sum, uint32_t rows,
        uint32_t columns, uint32_t rowPitch)
    {
        AscendC::FixpipeParamsV220 params;
        params.nSize = RoundUp(columns, kFractal);
        params.mSize = rows;
        params.srcStride = RoundUp(rows, kFractal);
        params.dstStride = rowPitch;
        params.quantPre = QuantMode_t::NoQuant;
        params.deqScalar = 0;
        AscendC::Fixpipe<float, float, AscendC::CFG_ROW_MAJOR>(dst, sum, params);
    }

    __aicore__ inline void FreeBuffers()
    {
        for (uint32_t half = 0; half < 2; ++half) {
            AscendC::SetFlag<HardEvent::MTE1_MTE2>(kKeysFree + half);
            AscendC::SetFlag<HardEvent::MTE1_MTE2>(kValuesFree + half);
        }
        AscendC::SetFlag<HardEvent::M_MTE2>(kQueryFree);
        AscendC::SetFlag<HardEvent::M_MTE1>(kQueryLeftFree);
        AscendC::SetFlag<HardEvent::M_MTE1>(kOutputOperandsFree);
        AscendC::SetFlag<HardEvent::FIX_M>(kScoreSumFree);
        AscendC::SetFlag<HardEvent::FIX_M>(kScoreSumFree + 1);
        AscendC::SetFlag<HardEvent::FIX_M>(kOutputSumFree);
    }

    // Every flag that FreeBuffers or a step has set is waited for: left-overs would break the next kernel.
    __aicore__ inline void DrainBuffers()
    {
        for (uint32_t half = 0; half < 2; ++half) {
            AscendC::WaitFlag<HardEvent::MTE1_MTE2>(kKeysFree + half);
            AscendC::WaitFlag<HardEvent::MTE1_MTE2>(kValuesFree + half);
        }
        AscendC::WaitFlag<HardEvent::M_MTE2>(kQueryFree);
        AscendC::WaitFlag<HardEvent::M_MTE1>(kQueryLeftFree);
        AscendC::WaitFlag<HardEvent::M_MTE1>(kOutputOperandsFree);
        AscendC::WaitFlag<HardEvent::FIX_M>(kScoreSumFree);
        AscendC::WaitFlag<HardEvent::FIX_M>(kScoreSumFree + 1);
        AscendC::WaitFlag<HardEvent::FIX_M>(kOutputSumFree);
    }

    __aicore__ inline LocalTensor<Element> Query() const
    {
        return LocalTensor<Element>(TPosition::A1, kQTileAt, kQTileBytes / sizeof(Element));
    }

    __aicore__ inline LocalTensor<Element> Keys() const
    {
        return LocalTensor<Element>(TPosition::B1, kKTileAt, kKTileBytes / sizeof(Element));
    }

    __aicore__ inline LocalTensor<Element> Values() const
    {
        return LocalTensor<Element>(TPosition::B1, kVTileAt, kVTileBytes / sizeof(Element));
    }

    __aicore__ inline LocalTensor<Element> Probabilities(uint32_t slot) const
    {
        return LocalTensor<Element>(TPosition::A1, kPTileAt + slot * kPTileBytes, kPTileBytes / sizeof(Element));
    }

    __aicore__ inline LocalTensor<Element> QueryLeft() const
    {
        return LocalTensor<Element>(TPosition::A2, kQLeftAt, kQLeftBytes / sizeof(Element));
    }

    __aicore__ inline LocalTensor<Element> ProbabilityLeft() const
    {
        return LocalTensor<Element>(TPosition::A2, kPLeftAt, kPLeftBytes / sizeof(Element));
    }

    __aicore__ inline LocalTensor<Element> KeyRight() const
    {
        return LocalTensor<Element>(TPosition::B2, kKRightAt, kKRightBytes / sizeof(Element));
    }

    __aicore__ inline LocalTensor<Element> ValueRight() const
    {
        return LocalTensor<Element>(TPosition::B2, kVRightAt, kVRightBytes / sizeof(Element));
    }

    __aicore__ inline LocalTensor<float> ScoreSum(uint32_t slot) const
    {
        return LocalTensor<float>(TPosition::CO1, kSSumAt + slot * kSSumBytes, kSSumBytes / sizeof(float));
    }

    __aicore__ inline LocalTensor<float> OutputSum() const
    {
        return LocalTensor<float>(TPosition::CO1, kOSumAt, kOSumBytes / sizeof(float));
    }

    static constexpr uint32_t kProbabilitySlots = 2;
    static constexpr uint32_t kDepthPad = RoundUp(kHeadDim, kFractalCols);

    const Launch& launch_;
    Block scoreAt_ {};
    Block outputAt_ {};
    Block probabilitiesAt_ {}; // the next block of P to load
    uint32_t scoreSum_ = 0;
    uint32_t loadedSlot_ = 0;
    uint32_t multipliedSlot_ = 0;
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
constexpr Step kEverywhere {0, 1, 0};

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

__aicore__ inline void DivTile(const LocalTensor<float>& dst, const Operand& a, const Operand& b, const Chunk& chunk)
{
    const AscendC::BinaryRepeatParams steps(1, a.step.block, b.step.block, kChunkBlocks, a.step.row, b.step.row);
    for (uint32_t group = 0; group * kLanes < chunk.columns; ++group) {
        AscendC::Div(dst[group * kLanes], a.data[group * a.step.group], b.data[group * b.step.group], kLanes,
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
    __aicore__ static inline void Fold(
        const LocalTensor<float>& dst, const LocalTensor<float>& a, const LocalTensor<float>& b, uint32_t count)
    {
        AscendC::Max(dst, a, b, count);
    }
    __aicore__ static inline void FoldBlocks(const LocalTensor<float>& dst, const LocalTensor<float>& a,
        const LocalTensor<float>& b, uint32_t repeats, const AscendC::BinaryRepeatParams& steps)
    {
        AscendC::Max(dst, a, b, kLanes, repeats, steps);
    }
    __aicore__ static inline void ReduceBlocks(
        const LocalTensor<float>& dst, const LocalTensor<float>& src, uint32_t repeats)
    {
        AscendC::BlockReduceMax<float>(dst, src, repeats, kLanes, 1, 1, kLaneBlocks);
    }
    __aicore__ static inline void Reduce(const LocalTensor<float>& dst, const LocalTensor<float>& src, uint32_t lanes)
    {
        AscendC::WholeReduceMax<float>(dst, src, lanes, 1, 1, 1, kLaneBlocks, AscendC::ReduceOrder::ORDER_ONLY_VALUE);
    }
    __aicore__ static inline float Of(float a, float b)
    {
        return a >= b ? a : b;
    }
};

struct Minimum {
    __aicore__ static inline void Reduce(const LocalTensor<float>& dst, const LocalTensor<float>& src, uint32_t lanes)
    {
        AscendC::WholeReduceMin<float>(dst, src, lanes, 1, 1, 1, kLaneBlocks, AscendC::ReduceOrder::ORDER_ONLY_VALUE);
    }
    __aicore__ static inline float Of(float a, float b)
    {
        return a <= b ? a : b;
    }
};

struct Total {
    __aicore__ static inline void Fold(
        const LocalTensor<float>& dst, const LocalTensor<float>& a, const LocalTensor<float>& b, uint32_t count)
    {
        AscendC::Add(dst, a, b, count);
    }
    __aicore__ static inline void FoldBlocks(const LocalTensor<float>& dst, const LocalTensor<float>& a,
        const LocalTensor<float>& b, uint32_t repeats, const AscendC::BinaryRepeatParams& steps)
    {
        AscendC::Add(dst, a, b, kLanes, repeats, steps);
    }
    __aicore__ static inline void ReduceBlocks(
        const LocalTensor<float>& dst, const LocalTensor<float>& src, uint32_t repeats)
    {
        AscendC::BlockReduceSum<float>(dst, src, repeats, kLanes, 1, 1, kLaneBlocks);
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
            if (lead > kLead || probabilities.Done()) {
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

    // Rows of a step where as few steps as `most` allows are about equal, in whole data blocks of statistics.
    __aicore__ static inline uint32_t EqualSteps(uint32_t rows, uint32_t most)
    {
        const uint32_t steps = Max<uint32_t>(CeilDiv(rows, most), 1);
        return RoundUp(CeilDiv(rows, steps), kBlockLanes);
    }

    // Scores to probabilities, in place, and on to the workspace. Consumer of kScoresReady, producer of
    // kProbabilitiesReady: a core without rows takes part in both.
    //
    // P = exp(S - reference), where the reference of a row is a maximum of its scores so far. It need not be the
    // latest: P, the row sum and O scale together. A tile that LargestExcess objects to is done again.
    __aicore__ inline void ComputeProbabilities(const TileCursor& at)
    {
        const Share share = ShareOf(at.CurrentTask());
        AscendC::CrossCoreWaitFlag(kScoresReady);
        if (at.IsFirst()) {
            BeginTask(at.CurrentTask(), share);
        }
        if (share.rows != 0) {
            BeginTile(at);
            bool raises = !hasReferences_;
            if (raises) {
                RaiseReferences(at, share);
                // The second tile of a task passes the sum of the first too often to be tried with an old reference.
                hasReferences_ = !at.IsFirst() && Extreme<Minimum>(RowMax(), share.rows) > kLowestMax;
            }
            Exponentiate(at, share);
            if (!raises && !(LargestExcess(share) <= 0.0f)) {
                raises = true;
                RaiseReferences(at, share);
                AscendC::PipeBarrier<PIPE_MTE3>(); // P of the first attempt has to be there before it is overwritten
                Exponentiate(at, share);
            }
            raised_[at.Slot()] = raises;
            AddSums(at, raises);
            if (at.IsLast()) {
                FinishRows(at, share);
            }
        }
        AscendC::CrossCoreSetFlag<2, PIPE_MTE3>(kProbabilitiesReady);
    }

    // O = O * exp(old reference - new reference) + P V, row by row; divided and stored after the last tile.
    __aicore__ inline void AccumulateOutput(const TileCursor& at)
    {
        const Share share = ShareOf(at.CurrentTask());
        AscendC::CrossCoreWaitFlag(kOutputReady);
        if (at.IsFirst()) {
            AscendC::WaitFlag<HardEvent::MTE3_V>(kOutputStored);
        }
        const uint32_t step = EqualSteps(share.rows, kOutputStep);
        for (uint32_t row = 0; row < share.rows; row += step) {
            const uint32_t rows = Min(step, share.rows - row);
            LoadPartial(at, share.first + row, rows);
            AddPartial(at, row, rows);
            ReleaseSlot();
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
        scalar0_ = TaskScalar0(launch_);
        queryOrigin_ = static_cast<float>(task.qFirst + static_cast<int32_t>(share.first));
        alignShift_ = static_cast<float>(task.kvLen - task.qLen);
        hasReferences_ = false;
        if (share.rows == 0) {
            return;
        }
        // The sink is a logit without a value: it is in the maximum and in the sum from the start.
        const float sink = Sink(launch_, task);
        AscendC::Duplicate(RowMax(), Max(sink, kLowestMax), kCoreRows);
        AscendC::Duplicate(RowSum(), sink < kLowestMax ? 0.0f : 1.0f, kCoreRows);
        ComputeUniformValues();
        ComputeRowValues();
    }

    // Values that are the same for every pair of the task.
    __aicore__ inline void ComputeUniformValues()
    {
        const LocalTensor<float> uniform0 = UniformValue(0);
        AscendC::Duplicate(uniform0, scalar0_, kLanes);
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
    }

    // Raises the references of all rows to the maximum of their scores, those of the tile included, and keeps the
    // factor for what was summed under the old ones.
    __aicore__ inline void RaiseReferences(const TileCursor& at, const Share& share)
    {
        const uint32_t step = EqualSteps(share.rows, kRowStep);
        for (uint32_t row = 0; row < share.rows; row += step) {
            const uint32_t rows = Min(step, share.rows - row);
            for (uint32_t firstCol = 0; firstCol < at.Keys(); firstCol += kChunk) {
                const Chunk chunk = LoadScores(at, share, row, rows, firstCol);
                TransformScores(at, share, chunk);
                FoldChunk<Maximum>(chunk);
                ReleaseSlot();
            }
            ReduceRows<Maximum>(TileMax()[row], rows);
        }
        const LocalTensor<float> rescale = Rescale(at.Slot());
        AscendC::Max(TileMax(), TileMax(), RowMax(), kCoreRows);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Sub(rescale, RowMax(), TileMax(), kCoreRows);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Exp(rescale, rescale, kCoreRows);
        AscendC::Adds(RowMax(), TileMax(), 0.0f, kCoreRows);
        for (uint32_t group = 0; group < kGroups; ++group) {
            AscendC::Brcb(RowBlocks()[group * kBlockLanes], TileMax(), kCoreRows / kBlockLanes,
                {kGroups, kGroups * kLaneBlocks});
        }
        AscendC::PipeBarrier<PIPE_V>();
    }

    // P = exp(S - reference), rounded and stored; the sums of the tile's rows are of what was not rounded.
    __aicore__ inline void Exponentiate(const TileCursor& at, const Share& share)
    {
        const uint32_t step = EqualSteps(share.rows, kRowStep);
        for (uint32_t row = 0; row < share.rows; row += step) {
            const uint32_t rows = Min(step, share.rows - row);
            for (uint32_t firstCol = 0; firstCol < at.Keys(); firstCol += kChunk) {
                const Chunk chunk = LoadScores(at, share, row, rows, firstCol);
                TransformScores(at, share, chunk);
                const LocalTensor<float> reference = RowBlocks()[row * kGroups * kBlockLanes];
                AscendC::Sub(chunk.scores, chunk.scores, reference, kLanes, rows * kGroups, kByReference);
                AscendC::PipeBarrier<PIPE_V>();
                AscendC::Exp(chunk.scores, chunk.scores, chunk.count);
                AscendC::PipeBarrier<PIPE_V>();
                FoldChunk<Total>(chunk);
                StoreProbabilities(at, share, chunk);
            }
            ReduceRows<Total>(TileSum()[row], rows);
        }
    }

    __aicore__ inline void AddSums(const TileCursor& at, bool raised)
    {
        if (raised) {
            AscendC::Mul(RowSum(), RowSum(), Rescale(at.Slot()), kCoreRows);
            AscendC::PipeBarrier<PIPE_V>();
        }
        AscendC::Add(RowSum(), RowSum(), TileSum(), kCoreRows);
        AscendC::PipeBarrier<PIPE_V>();
    }

    // How far the sum of some row of the tile passes what an old reference is good for: the sum of the row before, or a
    // probability that P cannot hold. A probability that makes up most of a row would show how it was rounded; under
    // its own maximum it is exactly 1.
    __aicore__ inline float LargestExcess(const Share& share)
    {
        const LocalTensor<float> excess = TileMax();
        const LocalTensor<float> overflow = Folded(1);
        AscendC::Sub(excess, TileSum(), RowSum(), kCoreRows);
        AscendC::Adds(overflow, TileSum(), -kLargestSum, kCoreRows);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Max(excess, excess, overflow, kCoreRows);
        AscendC::PipeBarrier<PIPE_V>();
        return Extreme<Maximum>(excess, share.rows);
    }

    // The extreme of the first `count` numbers, where scalar code can read it.
    template <class Reduction>
    __aicore__ inline float Extreme(const LocalTensor<float>& values, uint32_t count)
    {
        const LocalTensor<float> found = Folded(0);
        for (uint32_t first = 0; first < count; first += kLanes) {
            Reduction::Reduce(found[first / kLanes * kBlockLanes], values[first], Min(kLanes, count - first));
        }
        AscendC::SetFlag<HardEvent::V_S>(kExtremeFound);
        AscendC::WaitFlag<HardEvent::V_S>(kExtremeFound);
        float extreme = found.GetValue(0);
        for (uint32_t first = kLanes; first < count; first += kLanes) {
            extreme = Reduction::Of(extreme, found.GetValue(first / kLanes * kBlockLanes));
        }
        return extreme;
    }

    __aicore__ inline Chunk LoadScores(
        const TileCursor& at, const Share& share, uint32_t row, uint32_t rows, uint32_t firstCol)
    {
        const Chunk chunk {Slot(), row, firstCol, rows, Min(kChunk, at.Keys() - firstCol), rows * kChunk};
        const uint32_t columns = RoundUp(chunk.columns, kFractal);
        AscendC::DataCopyParams params;
        params.blockCount = rows;
        params.blockLen = columns / kBlockLanes;
        params.srcStride = (kBlockKv - columns) / kBlockLanes;
        params.dstStride = (kChunk - columns) / kBlockLanes;
        const uint64_t from =
            at.Slot() * (kScoreSlot / sizeof(float)) + (share.first + row) * kBlockKv + firstCol;
        AscendC::WaitFlag<HardEvent::MTE3_MTE2>(kSlotFree + slot_);
        AscendC::DataCopy(chunk.scores, launch_.scores[from], params);
        AscendC::SetFlag<HardEvent::MTE2_V>(kSlotLoaded + slot_);
        AscendC::WaitFlag<HardEvent::MTE2_V>(kSlotLoaded + slot_);
        return chunk;
    }

    // From products to scores; -inf at masked pairs and in the columns that fill up the chunk.
    __aicore__ inline void TransformScores(const TileCursor& at, const Share& share, const Chunk& chunk)
    {
        ApplyScore(chunk);
        if (!ChunkIsFull(at, share, chunk)) {
            ApplyMask(chunk);
        }
        FillTail(chunk, kMasked);
    }

    __aicore__ inline bool ChunkIsFull([[maybe_unused]] const TileCursor& at, [[maybe_unused]] const Share& share,
        [[maybe_unused]] const Chunk& chunk) const
    {
        Task task = at.CurrentTask(); // the part of it that the chunk covers
        task.qFirst += static_cast<int32_t>(share.first + chunk.firstRow);
        task.qLast = task.qFirst + static_cast<int32_t>(chunk.rows) - 1;
        const int32_t kvFirst = at.FirstKey() + static_cast<int32_t>(chunk.firstCol);
        const int32_t kvLast = kvFirst + static_cast<int32_t>(chunk.columns) - 1;
        return TileIsFull(task, kvFirst, kvLast);
    }

    // score = score / temperature
    __aicore__ inline void ApplyScore(const Chunk& chunk)
    {
        const LocalTensor<float> uniform0 = UniformValue(0);
        // score
        AscendC::Muls(chunk.scores, chunk.scores, kScale, chunk.count);
        AscendC::PipeBarrier<PIPE_V>();
        // score = score / temperature
        DivTile(chunk.scores, {chunk.scores, kPerPair}, {uniform0, kEverywhere}, chunk);
        AscendC::PipeBarrier<PIPE_V>();
    }

    // mask  = kv_pos <= q_pos && (q_pos - kv_pos <= 127 && kv_pos - q_pos <= 0)
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
        AscendC::Adds(temp0, temp0, 127.0f, chunk.count);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Adds(temp0, temp0, 1.0f, chunk.count);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Maxs(temp0, temp0, 0.0f, chunk.count);
        AscendC::PipeBarrier<PIPE_V>();
        // q_pos - kv_pos <= 127
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
        // q_pos - kv_pos <= 127 && kv_pos - q_pos <= 0
        AscendC::Mul(temp0, temp0, temp2, chunk.count);
        AscendC::PipeBarrier<PIPE_V>();
        // kv_pos <= q_pos && (q_pos - kv_pos <= 127 && kv_pos - q_pos <= 0)
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

    // Overwrites the columns that fill up the chunk; they hold garbage or what garbage became.
    __aicore__ inline void FillTail(const Chunk& chunk, float value)
    {
        for (uint32_t first = chunk.columns; first < kChunk; first = RoundUp(first + 1, kLanes)) {
            const uint32_t used = first % kLanes;
            uint64_t lanes[2] = {~uint64_t(0) << used, 0};
            AscendC::Duplicate(chunk.scores[first - used], value, lanes, chunk.rows, 1, kChunkBlocks);
            AscendC::PipeBarrier<PIPE_V>();
        }
    }
    // A block of lanes of every row into a number.
    template <class Reduction>
    __aicore__ inline void FoldChunk(const Chunk& chunk)
    {
        Reduction::ReduceBlocks(Folded(0), chunk.scores, chunk.rows * kGroups);
        AscendC::PipeBarrier<PIPE_V>();
    }

    // What FoldChunk left of a row into one number. Rows come in whole blocks: those past the last hold garbage.
    template <class Reduction>
    __aicore__ inline void ReduceRows(const LocalTensor<float>& dst, uint32_t rows)
    {
        const uint32_t repeats = CeilDiv(rows, kBlockLanes);
        constexpr uint8_t kStep = kGroups * kLaneBlocks;
        const AscendC::BinaryRepeatParams steps(1, kGroups, kGroups, kLaneBlocks, kStep, kStep);
        Reduction::FoldBlocks(Folded(1), Folded(0), Folded(0)[kBlockLanes], repeats, steps);
        AscendC::PipeBarrier<PIPE_V>();
        Reduction::ReduceBlocks(dst, Folded(1), repeats);
        AscendC::PipeBarrier<PIPE_V>();
    }

    // Rounds P to bf16 in place (writes trail reads) and stores it for the cube core.
    __aicore__ inline void StoreProbabilities(const TileCursor& at, const Share& share, const Chunk& chunk)
    {
        const LocalTensor<Element> probabilities = chunk.scores.ReinterpretCast<Element>();
        AscendC::Cast(probabilities, chunk.scores, AscendC::RoundMode::CAST_RINT, chunk.count);
        const uint32_t columns = RoundUp(chunk.columns, kFractal);
        AscendC::DataCopyParams params;
        params.blockCount = chunk.rows;
        params.blockLen = columns * sizeof(Element) / kBlockBytes;
        params.srcStride = (kChunk - columns) * sizeof(Element) / kBlockBytes;
        params.dstStride = (kBlockKv - columns) * sizeof(Element) / kBlockBytes;
        const uint64_t to = at.Slot() * (kProbabilitySlot / sizeof(Element)) +
            (share.first + chunk.firstRow) * kBlockKv + chunk.firstCol;
        AscendC::SetFlag<HardEvent::V_MTE3>(kSlotUsed + slot_);
        AscendC::WaitFlag<HardEvent::V_MTE3>(kSlotUsed + slot_);
        AscendC::DataCopy(launch_.probabilities[to], probabilities, params);
        NextSlot();
    }

    // The slot may be filled again as soon as the vector unit has done with it.
    __aicore__ inline void ReleaseSlot()
    {
        AscendC::SetFlag<HardEvent::V_MTE3>(kSlotUsed + slot_);
        AscendC::WaitFlag<HardEvent::V_MTE3>(kSlotUsed + slot_);
        NextSlot();
    }

    __aicore__ inline void NextSlot()
    {
        AscendC::SetFlag<HardEvent::MTE3_MTE2>(kSlotFree + slot_);
        slot_ = (slot_ + 1) % kVectorSlots;
    }

    // The divisor and the LSE of the task's rows. A row's sum is at least 1 once it has seen a key, else 0: then the
    // divisor is 1, which leaves O = 0, and the LSE is -inf.
    __aicore__ inline void FinishRows(const TileCursor& at, const Share& share)
    {
        const LocalTensor<float> divisor = FinalSum(at.Slot());
        const LocalTensor<float> empty = Folded(0);
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
        const uint64_t from = at.Slot() * (kPartialSlot / sizeof(float)) + firstRow * kPartialPitch;
        const AscendC::DataCopyParams params(
            rows, kValueDimPad / kBlockLanes, (kPartialPitch - kValueDimPad) / kBlockLanes, 0);
        AscendC::WaitFlag<HardEvent::MTE3_MTE2>(kSlotFree + slot_);
        AscendC::DataCopy(Slot(), launch_.partial[from], params);
        AscendC::SetFlag<HardEvent::MTE2_V>(kSlotLoaded + slot_);
        AscendC::WaitFlag<HardEvent::MTE2_V>(kSlotLoaded + slot_);
    }

    __aicore__ inline void AddPartial(const TileCursor& at, uint32_t row, uint32_t rows)
    {
        const LocalTensor<float> output = Output()[row * kValueDimPad];
        if (at.IsFirst()) {
            AscendC::Adds(output, Slot(), 0.0f, rows * kValueDimPad);
        } else {
            if (raised_[at.Slot()]) {
                RescaleOutput(at, row, rows);
            } else {
                AscendC::PipeBarrier<PIPE_V>();
            }
            AscendC::Add(output, output, Slot(), rows * kValueDimPad);
        }
    }

    __aicore__ inline void RescaleOutput(const TileCursor& at, uint32_t row, uint32_t rows)
    {
        const LocalTensor<float> output = Output()[row * kValueDimPad];
        AscendC::Brcb(Factors(), Rescale(at.Slot())[row], CeilDiv(rows, kBlockLanes), {1, kLaneBlocks});
        AscendC::PipeBarrier<PIPE_V>();
        for (uint32_t col = 0; col < kValueDimPad; col += kLanes) {
            const uint32_t lanes = Min(kLanes, kValueDimPad - col);
            AscendC::Mul(output[col], output[col], Factors(), lanes, rows, kOutputByRow);
        }
        AscendC::PipeBarrier<PIPE_V>();
    }

    // Divides by the row sum and rounds to bf16 in place (writes trail reads).
    __aicore__ inline void DivideOutput(const TileCursor& at, uint32_t row, uint32_t rows)
    {
        const LocalTensor<float> output = Output()[row * kValueDimPad];
        AscendC::Brcb(Factors(), FinalSum(at.Slot())[row], CeilDiv(rows, kBlockLanes), {1, kLaneBlocks});
        AscendC::PipeBarrier<PIPE_V>();
        for (uint32_t col = 0; col < kValueDimPad; col += kLanes) {
            const uint32_t lanes = Min(kLanes, kValueDimPad - col);
            AscendC::Div(output[col], output[col], Factors(), lanes, rows, kOutputByRow);
        }
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Cast(RoundedOutput()[row * kValueDimPad], output, AscendC::RoundMode::CAST_RINT,
            rows * kValueDimPad);
    }

    __aicore__ inline void StoreOutput(const Task& task, const Share& share)
    {
        AscendC::SetFlag<HardEvent::V_MTE3>(kOutputMade);
        AscendC::WaitFlag<HardEvent::V_MTE3>(kOutputMade);
        if (share.rows != 0) {
            CopyOutput(task, share);
        }
        AscendC::SetFlag<HardEvent::MTE3_V>(kOutputStored);
    }

    __aicore__ inline void CopyOutput(const Task& task, const Share& share)
    {
        const Tiling& tiling = launch_.tiling;
        const int64_t to = task.b * tiling.outStride[0] + task.h * tiling.outStride[1] +
            (task.qFirst + static_cast<int32_t>(share.first)) * tiling.outStride[2];
        constexpr uint32_t kRowBytes = kValueDim * sizeof(OutputElement);
        constexpr uint32_t kPadBytes = kValueDimPad * sizeof(OutputElement) - RoundUp(kRowBytes, kBlockBytes);
        const uint32_t gap = static_cast<uint32_t>(tiling.outStride[2] * sizeof(OutputElement)) - kRowBytes;
        const AscendC::DataCopyExtParams params(share.rows, kRowBytes, kPadBytes / kBlockBytes, gap, 0);
        AscendC::DataCopyPad(launch_.out[to], RoundedOutput(), params);
    }

    // Tasks whose rows see no key at all: O = 0, the same for all of them, and the LSE of an empty row. Comes first, when
    // nothing else has been stored. O is not written again before the store of the last of these LSEs, or of a block of
    // P, has been waited for, which is behind these on the same pipe.
    __aicore__ inline void StoreEmptyTasks()
    {
        TileCursor at(launch_);
        bool found = at.FindEmptyTask(0);
        if (!found) {
            return;
        }
        AscendC::Duplicate(Output(), 0.0f, kCoreRows * kValueDimPad);
        AscendC::SetFlag<HardEvent::V_MTE3>(kOutputMade);
        AscendC::WaitFlag<HardEvent::V_MTE3>(kOutputMade);
        for (; found; found = at.FindEmptyTask(at.Round() + 1)) {
            const Task& task = at.CurrentTask();
            const Share share = ShareOf(task);
            if (share.rows == 0) {
                continue;
            }
            CopyOutput(task, share);
            AscendC::WaitFlag<HardEvent::MTE3_V>(kLseStored);
            AscendC::Duplicate(Lse(), Sink(launch_, task), kCoreRows);
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
        for (uint32_t slot = 0; slot < kVectorSlots; ++slot) {
            AscendC::SetFlag<HardEvent::MTE3_MTE2>(kSlotFree + slot);
        }
        AscendC::SetFlag<HardEvent::MTE3_V>(kLseStored);
        AscendC::SetFlag<HardEvent::MTE3_V>(kOutputStored);
    }

    // Every flag that FreeBuffers or a step has set is waited for: left-overs would break the next kernel.
    __aicore__ inline void DrainBuffers()
    {
        for (uint32_t slot = 0; slot < kVectorSlots; ++slot) {
            AscendC::WaitFlag<HardEvent::MTE3_MTE2>(kSlotFree + slot);
        }
        AscendC::WaitFlag<HardEvent::MTE3_V>(kLseStored);
        AscendC::WaitFlag<HardEvent::MTE3_V>(kOutputStored);
    }

    template <typename T>
    __aicore__ inline LocalTensor<T> Buffer(uint32_t at, uint32_t bytes) const
    {
        return LocalTensor<T>(TPosition::VECCALC, at, bytes / sizeof(T));
    }

    // Scores [kRowStep, kChunk], or partial outputs [kOutputStep, kValueDimPad].
    __aicore__ inline LocalTensor<float> Slot() const
    {
        return Buffer<float>(kSlotAt + slot_ * kSlotBytes, kSlotBytes);
    }

    __aicore__ inline LocalTensor<float> Folded(uint32_t index) const
    {
        return Buffer<float>(kFoldedAt + index * kFoldedBytes, kFoldedBytes);
    }

    // What output rows are multiplied with or divided by, a block each.
    __aicore__ inline LocalTensor<float> Factors() const
    {
        return Folded(1);
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

    __aicore__ inline LocalTensor<float> UniformValue(uint32_t index) const
    {
        return Buffer<float>(kUniformValueAt + index * kUniformValueBytes, kUniformValueBytes);
    }

    static constexpr uint32_t kVectorSlots = 2;
    const AscendC::BinaryRepeatParams kByReference {1, 1, 0, kLaneBlocks, kLaneBlocks, 1};
    const AscendC::BinaryRepeatParams kOutputByRow {
        1, 1, 0, kValueDimPad / kBlockLanes, kValueDimPad / kBlockLanes, 1};
    static constexpr uint32_t kCounterLanes = kCounterBytes / sizeof(float);

    const Launch& launch_;
    uint32_t slot_ = 0;
    bool hasReferences_ = false;   // every row of the task has met keys before
    bool raised_[kStages] = {};    // whether references were raised for the tile of a workspace slot
    float scalar0_ = 0.0f; // temperature
    float queryOrigin_ = 0.0f; // first query row of this core's share
    float alignShift_ = 0.0f; // q_pos - q_idx
    float keyOrigin_ = 0.0f; // first key row of the tile
};
} // namespace fa_sink_window

extern "C" __global__ __aicore__ void fa_sink_window_forward(
    uint64_t fftsAddr, GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR out, GM_ADDR lse,
    GM_ADDR capturedSinks, GM_ADDR workspace, fa_sink_window::Tiling tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    AscendC::SetSyncBaseAddr(fftsAddr);
    AscendC::InitSocState();
    using fa_sink_window::Element;
    fa_sink_window::Launch launch;
    launch.tiling = tiling;
    launch.coreIdx = AscendC::GetBlockIdx() / AscendC::GetSubBlockNum();
    launch.coreCount = AscendC::GetBlockNum();
    launch.MakeTasks();
    launch.q.SetGlobalBuffer(reinterpret_cast<__gm__ Element*>(q));
    launch.k.SetGlobalBuffer(reinterpret_cast<__gm__ Element*>(k));
    launch.v.SetGlobalBuffer(reinterpret_cast<__gm__ Element*>(v));
    launch.out.SetGlobalBuffer(reinterpret_cast<__gm__ fa_sink_window::OutputElement*>(out));
    launch.lse.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(lse));
    launch.capturedSinks.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(capturedSinks));
    launch.PlaceWorkspace(workspace);
    if ASCEND_IS_AIC {
        fa_sink_window::CubeCore(launch).Run();
    }
    if ASCEND_IS_AIV {
        fa_sink_window::VectorCore(launch).Run();
    }
    AscendC::PipeBarrier<PIPE_ALL>();
}
