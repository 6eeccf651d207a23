/*!
 * \file matmul_operand.h
 * \brief Operands of a Matmul object on the cube core: pieces in L1, and the events and memory that they take.
 *
 * Pieces stay in L1 until their slot is needed; those of later steps are loaded while earlier ones multiply.
 */
#ifndef FA_EMU_MATMUL_OPERAND_H
#define FA_EMU_MATMUL_OPERAND_H

#include "copy.h"
#include "cube.h"
#include "matmul_message.h"
#include "pipe.h"

namespace fa_emu {
/*! An event id of the pipe for as long as a request runs. */
template <AscendC::HardEvent event> class CubeEvent {
public:
    explicit CubeEvent(FaEmuLoc loc) : loc_(loc), id_(CurrentPipe()->template AllocEventID<event>(loc)) {}
    CubeEvent(const CubeEvent&) = delete;
    CubeEvent& operator=(const CubeEvent&) = delete;
    ~CubeEvent()
    {
        if (CurrentPipe() != nullptr) {
            CurrentPipe()->template ReleaseEventID<event>(id_);
        }
    }
    void Set()
    {
        AscendC::SetFlag<event>(id_, loc_);
        up_ = true;
    }
    /*! Waits for the set that nothing has waited for yet, if there is one. */
    void Wait()
    {
        if (up_) {
            AscendC::WaitFlag<event>(id_, loc_);
            up_ = false;
        }
    }
    /*! The second pipe waits for all that the first has been given. */
    void Pass()
    {
        Set();
        Wait();
    }

private:
    FaEmuLoc loc_;
    AscendC::TEventID id_;
    bool up_ = false;
};

/*! What the objects of a core have of a memory, all from the same byte on: one of them works at a time. */
inline uint32_t ReserveCube(AscendC::TPosition position, int64_t bytes, FaEmuLoc loc)
{
    struct Region {
        uint64_t start = 0;
        uint64_t bytes = 0;
    };
    static thread_local Region regions[kMemories];
    AscendC::TPipe& pipe = *CurrentPipe();
    Region& region = regions[MemoryOf(position)];
    const uint64_t need = static_cast<uint64_t>(bytes);
    if (need > region.bytes) {
        const uint64_t used = pipe.EmuUsed(position);
        const bool grows = region.bytes != 0 && used == region.start + region.bytes;
        const uint64_t more = grows ? need - region.bytes : need;
        const uint64_t at = pipe.EmuTake(position, more, loc);
        region = {grows ? region.start : at, need};
    }
    return static_cast<uint32_t>(region.start);
}

/*! One operand: its pieces in L1. `outer` is its side along C, `depth` the side that the product sums over. */
template <typename T, bool nz> class CubeOperand {
public:
    struct Shape {
        MatmulMatrix matrix;
        MatmulCache cache;
        bool depthInRows;
        int32_t outer;
        int32_t depth;
        int32_t baseOuter;
        int32_t baseDepth;
    };
    /*! A base block inside its piece. */
    struct View {
        AscendC::LocalTensor<T> piece;
        int32_t height; // rows of the piece, padding included
        int32_t columns;
        MatmulSpan outer; // from the start of the piece
        MatmulSpan depth;
    };

    CubeOperand(const Shape& shape, bool checksPitch, uint32_t start, FaEmuLoc loc)
        : shape_(shape), checksPitch_(checksPitch), start_(start),
          freed_{FreedEvent(loc), FreedEvent(loc), FreedEvent(loc)},
          ready_{ReadyEvent(loc), ReadyEvent(loc), ReadyEvent(loc)}, loc_(loc)
    {
        widths_.operand = sizeof(T);
        bytes_ = widths_.PieceBytes(int64_t{shape.cache.outer} * shape.baseOuter,
                                    int64_t{shape.cache.depth} * shape.baseDepth, shape.depthInRows);
        slots_ = shape.cache.pieces < kMostSlots ? shape.cache.pieces : kMostSlots;
        gm_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(shape.matrix.address));
    }

    uint32_t End() const { return start_ + static_cast<uint32_t>(shape_.cache.pieces * bytes_); }

    /*!
     * Brings the piece of the next step that has none to L1, while step `now` is at work; `blockOf` says which base
     * blocks a step uses. False when that must wait: all steps have theirs, or no slot or event is free.
     */
    template <typename BlockOf> bool Fetch(int32_t now, int32_t steps, const BlockOf& blockOf)
    {
        for (; planned_ < steps; ++planned_) {
            const auto [outerBlock, depthBlock] = blockOf(planned_);
            const int32_t outer = outerBlock / shape_.cache.outer;
            const int32_t depth = depthBlock / shape_.cache.depth;
            int32_t found = Find(outer, depth);
            const bool absent = found < 0;
            if (absent) {
                found = fresh_ < kAhead ? Idle(now) : -1;
                if (found < 0) {
                    return false;
                }
                Load(found, outer, depth);
            }
            slot_[found].needed = planned_;
            if (absent) {
                ++planned_;
                return true;
            }
        }
        return false;
    }
    bool Has(int32_t step) const { return planned_ > step; }

    /*! The block for loads that are issued next, which wait for it. */
    View Use(int32_t outerBlock, int32_t depthBlock)
    {
        const int32_t outer = outerBlock / shape_.cache.outer;
        const int32_t depth = depthBlock / shape_.cache.depth;
        const int32_t index = Find(outer, depth);
        Slot& slot = slot_[index];
        if (slot.fresh) {
            ready_[slot.event].Wait();
            slot.fresh = false;
            --fresh_;
        }
        const MatmulSpan o = MatmulSpan::Of(outer, shape_.cache.outer * shape_.baseOuter, shape_.outer);
        const MatmulSpan d = MatmulSpan::Of(depth, shape_.cache.depth * shape_.baseDepth, shape_.depth);
        return {Piece(index), Rows(shape_.depthInRows ? d.count : o.count),
                UpTo(shape_.depthInRows ? o.count : d.count, kGroup),
                MatmulSpan::Of(outerBlock % shape_.cache.outer, shape_.baseOuter, o.count),
                MatmulSpan::Of(depthBlock % shape_.cache.depth, shape_.baseDepth, d.count)};
    }

private:
    using FreedEvent = CubeEvent<AscendC::HardEvent::MTE1_MTE2>;
    using ReadyEvent = CubeEvent<AscendC::HardEvent::MTE2_MTE1>;
    struct Slot {
        int32_t outer = -1;
        int32_t depth = -1;
        int32_t event = 0;
        bool fresh = false;  // nothing has waited for its load
        int32_t needed = -1; // last step known to use it
    };
    static constexpr int32_t kAhead = 3; // loads that nothing has waited for
    static constexpr int32_t kGroup = AscendC::ONE_BLK_SIZE / sizeof(T);
    static constexpr int32_t kMostSlots = 64;
    static constexpr int32_t kMostPitch = 65535; // of the instruction's field

    int32_t Rows(int32_t count) const
    {
        return UpTo(count, shape_.depthInRows ? widths_.DepthUnit() : MatmulWidths::kRows);
    }
    int32_t Find(int32_t outer, int32_t depth) const
    {
        for (int32_t i = 0; i < slots_; ++i) {
            if (slot_[i].outer == outer && slot_[i].depth == depth) {
                return i;
            }
        }
        return -1;
    }
    AscendC::LocalTensor<T> Piece(int32_t slot) const
    {
        return {AscendC::TPosition::A1, start_ + static_cast<uint32_t>(slot * bytes_),
                static_cast<uint32_t>(bytes_ / sizeof(T))};
    }

    /*! A slot that no step from `now` on needs; -1 if there is none. */
    int32_t Idle(int32_t now)
    {
        for (int32_t i = 0; i < slots_; ++i) {
            const int32_t slot = (next_ + i) % slots_;
            if (slot_[slot].needed < now) {
                next_ = (slot + 1) % slots_;
                return slot;
            }
        }
        return -1;
    }

    void Load(int32_t index, int32_t outer, int32_t depth)
    {
        Slot& slot = slot_[index];
        slot = {outer, depth, loads_ % kAhead, true, -1};
        ++loads_;
        ++fresh_;
        freed_[slot.event].Pass();
        Copy(index, MatmulSpan::Of(outer, shape_.cache.outer * shape_.baseOuter, shape_.outer),
             MatmulSpan::Of(depth, shape_.cache.depth * shape_.baseDepth, shape_.depth));
        ready_[slot.event].Set();
    }

    void Copy(int32_t slot, MatmulSpan outer, MatmulSpan depth)
    {
        const MatmulSpan rows = shape_.depthInRows ? depth : outer;
        const MatmulSpan columns = shape_.depthInRows ? outer : depth;
        if constexpr (nz) {
            LoadGroups(Piece(slot), rows, columns);
        } else {
            LoadRows(Piece(slot), rows, columns);
        }
    }

    /*! Column groups of a matrix that has them already. */
    void LoadGroups(const AscendC::LocalTensor<T>& piece, MatmulSpan rows, MatmulSpan columns)
    {
        const int32_t height = Rows(rows.count);
        for (int32_t column = 0; column < columns.count; column += kGroup) {
            const int64_t from = (int64_t{columns.start + column} / kGroup * shape_.matrix.pitch + rows.start) * kGroup;
            AscendC::DataCopy(piece[static_cast<uint32_t>(column * height)], gm_[static_cast<uint64_t>(from)],
                              AscendC::DataCopyParams(1, static_cast<uint16_t>(rows.count), 0, 0), loc_);
        }
    }

    void LoadRows(const AscendC::LocalTensor<T>& piece, MatmulSpan rows, MatmulSpan columns)
    {
        const int32_t pitch = shape_.matrix.pitch;
        const uint16_t width = static_cast<uint16_t>(columns.count);
        const uint16_t height = static_cast<uint16_t>(Rows(rows.count));
        const uint64_t from = static_cast<uint64_t>(int64_t{rows.start} * pitch + columns.start);
        if (pitch <= kMostPitch) {
            AscendC::DataCopy(piece, gm_[from],
                              AscendC::Nd2NzParams(1, static_cast<uint16_t>(rows.count), width, 0,
                                                   static_cast<uint16_t>(pitch), height, 1, 0), loc_);
            return;
        }
        if (!checksPitch_) {
            MatmulError("matmul-shape", loc_,
                        "set intrinsicsCheck in the MatmulConfig: rows are then copied one by one",
                        "rows of an operand are %d elements apart, a copy can step over %d", pitch, kMostPitch);
            return;
        }
        for (int32_t row = 0; row < rows.count; ++row) {
            const uint64_t at = from + static_cast<uint64_t>(row) * static_cast<uint64_t>(pitch);
            AscendC::DataCopy(piece[static_cast<uint32_t>(row * kGroup)], gm_[at],
                              AscendC::Nd2NzParams(1, 1, width, 0, width, height, 1, 0), loc_);
        }
    }

    Shape shape_;
    bool checksPitch_;
    uint32_t start_;
    FreedEvent freed_[kAhead];
    ReadyEvent ready_[kAhead];
    FaEmuLoc loc_;
    MatmulWidths widths_;
    int64_t bytes_ = 0;
    AscendC::GlobalTensor<T> gm_;
    Slot slot_[kMostSlots];
    int32_t slots_ = 1;
    int32_t next_ = 0;    // slot, in turn
    int32_t loads_ = 0;
    int32_t fresh_ = 0;   // of them, those that nothing has waited for
    int32_t planned_ = 0; // steps whose pieces are on their way
};
} // namespace fa_emu

#endif
