/*!
 * \file pipe.h
 * \brief TPipe, queues and buffers: memory and events handed out in the order of the public framework.
 */
#ifndef FA_EMU_PIPE_H
#define FA_EMU_PIPE_H

#include "sync.h"

namespace AscendC {
class TPipe;
}

namespace fa_emu {
inline AscendC::TPipe*& CurrentPipe()
{
    static thread_local AscendC::TPipe* pipe = nullptr;
    return pipe;
}

constexpr int kMaxBuffers = 16;
constexpr int kMemories = 8;

/*! The memory behind a position, as an index into the pipe's allocators. */
constexpr int MemoryOf(AscendC::TPosition position)
{
    using P = AscendC::TPosition;
    switch (position) {
        case P::A1:
        case P::B1:
        case P::C1:
        case P::TSCM:
            return 1;
        case P::A2:
            return 2;
        case P::B2:
            return 3;
        case P::CO1:
            return 4;
        case P::C2:
            return 5;
        case P::C2PIPE2GM:
            return 6;
        default:
            return 0;
    }
}

constexpr bool OnCube(AscendC::TPosition position) { return MemoryOf(position) != 0; }

struct QueueEvents {
    AscendC::HardEvent ready;
    AscendC::HardEvent freed;
    bool present;
};

/*! Events of a queue between two positions. */
constexpr QueueEvents EventsOf(AscendC::TPosition src, AscendC::TPosition dst)
{
    using P = AscendC::TPosition;
    using E = AscendC::HardEvent;
    if (src == P::GM && (dst == P::VECIN || dst == P::VECCALC)) {
        return {E::MTE2_V, E::V_MTE2, true};
    }
    if (src == P::VECIN && (dst == P::VECOUT || dst == P::GM)) {
        return {E::MTE2_MTE3, E::MTE3_MTE2, true};
    }
    if ((src == P::VECOUT || src == P::VECCALC) && dst == P::GM) {
        return {E::V_MTE3, E::MTE3_V, true};
    }
    if (src == P::GM && (dst == P::A1 || dst == P::B1 || dst == P::C1)) {
        return {E::MTE2_MTE1, E::MTE1_MTE2, true};
    }
    if ((src == P::A1 && dst == P::A2) || (src == P::B1 && dst == P::B2) || (src == P::C1 && dst == P::C2)) {
        return {E::MTE1_M, E::M_MTE1, true};
    }
    if (src == P::CO1) {
        return {E::M_FIX, E::FIX_M, true};
    }
    return {E::V_V, E::V_V, false};
}

/*! Where a TQue at `position` gets its data from and where it goes. */
constexpr AscendC::TPosition SourceOf(AscendC::TPosition position)
{
    using P = AscendC::TPosition;
    switch (position) {
        case P::VECIN:
        case P::A1:
        case P::B1:
        case P::C1:
            return P::GM;
        case P::A2:
            return P::A1;
        case P::B2:
            return P::B1;
        case P::C2:
            return P::C1;
        default:
            return position;
    }
}

constexpr AscendC::TPosition SinkOf(AscendC::TPosition position)
{
    using P = AscendC::TPosition;
    return position == P::VECOUT || position == P::CO1 ? P::GM : position;
}

inline void PipeError(const char* kind, const char* message, const char* help, FaEmuLoc loc)
{
    fa_emu_api->report(0, kind, message, help, loc.file, loc.line);
}
} // namespace fa_emu

namespace AscendC {
template <TPosition src, TPosition dst, int32_t depth, auto mask = 0> class TQueBind;
template <TPosition pos> class TBuf;
template <TPosition pos, uint32_t bufIDSize> class TBufPool;

class TPipe {
public:
    explicit TPipe(FA_EMU_HERE)
    {
        fa_emu::Record(FA_OP_TPIPE, "TPipe", emuLoc).Param(0, 0).Issue();
        fa_emu::CurrentPipe() = this;
    }
    TPipe(const TPipe&) = delete;
    TPipe& operator=(const TPipe&) = delete;
    ~TPipe() { Destroy(); }

    template <class Queue> bool InitBuffer(Queue& queue, uint8_t num, uint32_t len, FA_EMU_HERE)
    {
        queue.EmuInit(*this, num, len, emuLoc);
        return true;
    }
    template <TPosition pos> bool InitBuffer(TBuf<pos>& buffer, uint32_t len, FA_EMU_HERE)
    {
        buffer.EmuInit(*this, len, emuLoc);
        return true;
    }
    template <class Pool> bool InitBufPool(Pool& pool, uint32_t len, FA_EMU_HERE)
    {
        pool.EmuInit(*this, EmuTake(Pool::poolPos, len, emuLoc), len);
        return true;
    }
    template <class Pool, class Shared> bool InitBufPool(Pool& pool, uint32_t len, Shared& shared, FA_EMU_HERE)
    {
        static_assert(fa_emu::MemoryOf(Pool::poolPos) == fa_emu::MemoryOf(Shared::poolPos),
                      "pools that share memory have positions of one memory");
        if (len > shared.EmuLength()) {
            fa_emu::PipeError("buffer-budget", "the pool is longer than the one whose memory it shares",
                              "make the first of the sharing pools the longest", emuLoc);
        }
        pool.EmuInit(*this, shared.EmuStart(), len);
        return true;
    }
    /*! Ids go round: one that has just been released may not have been waited for, however far its pipe is behind. */
    template <HardEvent event> TEventID AllocEventID(FA_EMU_HERE)
    {
        uint8_t& taken = taken_[static_cast<int>(event)];
        TEventID& next = next_[static_cast<int>(event)];
        for (int i = 0; i < QUE_MAX_EVENT; ++i) {
            const TEventID id = static_cast<TEventID>((next + i) % QUE_MAX_EVENT);
            if ((taken & (1u << id)) == 0) {
                taken |= static_cast<uint8_t>(1u << id);
                next = static_cast<TEventID>((id + 1) % QUE_MAX_EVENT);
                return id;
            }
        }
        fa_emu::PipeError("event-id", "all 8 event ids of this pair of pipes are taken",
                          "release an id with ReleaseEventID, or use fewer queues", emuLoc);
        return 0;
    }
    template <HardEvent event> void ReleaseEventID(TEventID id)
    {
        taken_[static_cast<int>(event)] &= static_cast<uint8_t>(~(1u << id));
    }
    TEventID FetchEventID(HardEvent event)
    {
        const uint8_t taken = taken_[static_cast<int>(event)];
        for (TEventID id = 0; id < QUE_MAX_EVENT; ++id) {
            if ((taken & (1u << id)) == 0) {
                return id;
            }
        }
        return -1;
    }
    template <HardEvent event> TEventID FetchEventID() { return FetchEventID(event); }
    template <TPosition pos> LocalTensor<uint8_t> GetAbsAddr(int32_t offset, int32_t size)
    {
        return LocalTensor<uint8_t>(pos, static_cast<uint32_t>(offset), static_cast<uint32_t>(size));
    }
    template <TPosition pos, typename T> LocalTensor<T> GetAbsAddr(int32_t offset, int32_t size)
    {
        return LocalTensor<T>(pos, static_cast<uint32_t>(offset), static_cast<uint32_t>(size));
    }
    void Init() {}
    void Reset(FA_EMU_HERE)
    {
        EmuDrain(emuLoc);
        for (uint64_t& used : used_) {
            used = 0;
        }
    }
    void Destroy(FA_EMU_HERE)
    {
        if (fa_emu::CurrentPipe() == this) {
            EmuDrain(emuLoc);
            fa_emu::CurrentPipe() = nullptr;
        }
    }

    /*! Takes `bytes` of the memory behind `position`; reports an overrun. */
    uint64_t EmuTake(TPosition position, uint64_t bytes, FaEmuLoc loc)
    {
        const uint64_t rounded = (bytes + ONE_BLK_SIZE - 1) / ONE_BLK_SIZE * ONE_BLK_SIZE;
        fa_emu::Record record(FA_OP_TPIPE, "InitBuffer", loc);
        const int memory = fa_emu::MemoryOf(position);
        const uint64_t start = used_[memory];
        used_[memory] = start + rounded;
        record.Param(0, 1).Param(1, static_cast<int64_t>(position)).Param(2, static_cast<int64_t>(used_[memory])).Issue();
        return start;
    }

    TPipe& EmuPipe() { return *this; }
    uint64_t EmuUsed(TPosition position) const { return used_[fa_emu::MemoryOf(position)]; }

    /*! A queue registers how to wait for the tokens its freed buffers still hold. */
    void EmuRegister(void* queue, void (*drain)(void*, FaEmuLoc))
    {
        if (drains_ < kMaxQueues) {
            queues_[drains_] = queue;
            drain_[drains_] = drain;
            ++drains_;
        }
    }

private:
    void EmuDrain(FaEmuLoc loc)
    {
        for (int i = 0; i < drains_; ++i) {
            drain_[i](queues_[i], loc);
        }
        drains_ = 0;
    }

    static constexpr int kMaxQueues = 64;
    uint8_t taken_[static_cast<int>(HardEvent::MAX)] = {};
    TEventID next_[static_cast<int>(HardEvent::MAX)] = {};
    uint64_t used_[fa_emu::kMemories] = {};
    void* queues_[kMaxQueues] = {};
    void (*drain_[kMaxQueues])(void*, FaEmuLoc) = {};
    int drains_ = 0;
};

} // namespace AscendC

inline AscendC::TPipe* GetTPipePtr() { return fa_emu::CurrentPipe(); }

namespace AscendC {
template <TPosition src, TPosition dst, int32_t depth, auto mask> class TQueBind {
public:
    static constexpr fa_emu::QueueEvents kEvents = fa_emu::EventsOf(src, dst);
    static constexpr TPosition kPosition = src == TPosition::GM || fa_emu::OnCube(dst) ? dst : src;
    static constexpr bool kHere = fa_emu::OnCube(kPosition) == fa_emu::kIsAic;
    static_assert(mask == 0, "queues that change the layout of their data are not emulated");

    template <typename T> LocalTensor<T> AllocTensor(FA_EMU_HERE)
    {
        LocalTensor<T> tensor;
        const int index = FindIdle(emuLoc);
        Buffer& buffer = buffers_[index];
        if constexpr (kEvents.present && kHere) {
            if (buffer.freedId >= 0) {
                fa_emu::Flag(FA_OP_WAITFLAG, "AllocTensor", kEvents.freed, buffer.freedId, emuLoc);
                pipe_->template ReleaseEventID<kEvents.freed>(buffer.freedId);
                buffer.freedId = -1;
            }
        }
        buffer.state = kAllocated;
        tensor.EmuAssign(kPosition, buffer.addr, length_, index);
        return tensor;
    }

    template <typename T> bool EnQue(const LocalTensor<T>& tensor, FA_EMU_HERE)
    {
        const int index = Owner(tensor.EmuQueueBuffer(), kAllocated, "EnQue", emuLoc);
        Buffer& buffer = buffers_[index];
        buffer.state = kQueued;
        order_[(head_ + queued_) % fa_emu::kMaxBuffers] = index;
        ++queued_;
        if constexpr (kEvents.present && kHere) {
            buffer.readyId = pipe_->template AllocEventID<kEvents.ready>(emuLoc);
            fa_emu::Flag(FA_OP_SETFLAG, "EnQue", kEvents.ready, buffer.readyId, emuLoc);
        }
        return true;
    }

    template <typename T> LocalTensor<T> DeQue(FA_EMU_HERE)
    {
        LocalTensor<T> tensor;
        if (queued_ == 0) {
            fa_emu::PipeError("queue-empty", "DeQue finds no tensor in the queue", "EnQue before DeQue", emuLoc);
            return tensor;
        }
        const int index = order_[head_];
        head_ = (head_ + 1) % fa_emu::kMaxBuffers;
        --queued_;
        Buffer& buffer = buffers_[index];
        if constexpr (kEvents.present && kHere) {
            fa_emu::Flag(FA_OP_WAITFLAG, "DeQue", kEvents.ready, buffer.readyId, emuLoc);
            pipe_->template ReleaseEventID<kEvents.ready>(buffer.readyId);
        }
        buffer.state = kAllocated;
        tensor.EmuAssign(kPosition, buffer.addr, length_, index);
        return tensor;
    }

    template <typename T> void FreeTensor(LocalTensor<T>& tensor, FA_EMU_HERE)
    {
        const int index = Owner(tensor.EmuQueueBuffer(), kAllocated, "FreeTensor", emuLoc);
        Buffer& buffer = buffers_[index];
        buffer.state = kIdle;
        if constexpr (kEvents.present && kHere) {
            buffer.freedId = pipe_->template AllocEventID<kEvents.freed>(emuLoc);
            fa_emu::Flag(FA_OP_SETFLAG, "FreeTensor", kEvents.freed, buffer.freedId, emuLoc);
        }
    }

    bool HasTensorInQue() const { return queued_ > 0; }
    bool VacantInQue() const { return queued_ < depth || depth == 0; }
    bool HasIdleBuffer() const
    {
        for (int i = 0; i < count_; ++i) {
            if (buffers_[i].state == kIdle) {
                return true;
            }
        }
        return false;
    }
    int32_t GetTensorCountInQue() const { return queued_; }

    template <class Source> void EmuInit(Source& source, uint8_t num, uint32_t len, FaEmuLoc loc)
    {
        if (num == 0 || num > fa_emu::kMaxBuffers) {
            fa_emu::PipeError("buffer-count", "InitBuffer takes 1 to 16 buffers", "lower the number of buffers", loc);
            return;
        }
        pipe_ = &source.EmuPipe();
        count_ = num;
        next_ = 0;
        head_ = 0;
        queued_ = 0;
        length_ = (static_cast<uint64_t>(len) + ONE_BLK_SIZE - 1) / ONE_BLK_SIZE * ONE_BLK_SIZE;
        if constexpr (kHere) {
            for (int i = 0; i < count_; ++i) {
                buffers_[i] = Buffer();
                buffers_[i].addr = source.EmuTake(kPosition, length_, loc);
            }
            source.EmuRegister(this, &TQueBind::Drain);
        }
    }

private:
    enum State : uint8_t { kIdle, kAllocated, kQueued };
    struct Buffer {
        uint64_t addr = 0;
        State state = kIdle;
        TEventID readyId = -1;
        TEventID freedId = -1;
    };

    int FindIdle(FaEmuLoc loc)
    {
        for (int i = 0; i < count_; ++i) {
            const int index = (next_ + i) % count_;
            if (buffers_[index].state == kIdle) {
                next_ = (index + 1) % count_;
                return index;
            }
        }
        fa_emu::PipeError("queue-full", "AllocTensor finds no idle buffer in the queue",
                          "free a tensor first, or give the queue more buffers", loc);
        return 0;
    }

    int Owner(int32_t index, State expected, const char* call, FaEmuLoc loc)
    {
        if (index < 0 || index >= count_ || buffers_[index].state != expected) {
            fa_emu::PipeError("queue-misuse", call, "pass the tensor that AllocTensor or DeQue of this queue returned", loc);
            return 0;
        }
        return index;
    }

    static void Drain(void* self, FaEmuLoc loc)
    {
        TQueBind& queue = *static_cast<TQueBind*>(self);
        if constexpr (kEvents.present && kHere) {
            for (int i = 0; i < queue.count_; ++i) {
                if (queue.buffers_[i].freedId >= 0) {
                    fa_emu::Flag(FA_OP_WAITFLAG, "Destroy", kEvents.freed, queue.buffers_[i].freedId, loc);
                    queue.pipe_->template ReleaseEventID<kEvents.freed>(queue.buffers_[i].freedId);
                    queue.buffers_[i].freedId = -1;
                }
            }
        }
    }

    TPipe* pipe_ = nullptr;
    Buffer buffers_[fa_emu::kMaxBuffers];
    uint64_t length_ = 0;
    int order_[fa_emu::kMaxBuffers] = {};
    int count_ = 0;
    int next_ = 0;
    int head_ = 0;
    int queued_ = 0;
};

template <TPosition pos, int32_t depth, auto mask = 0>
class TQue : public TQueBind<fa_emu::SourceOf(pos), fa_emu::SinkOf(pos), depth, mask> {};

template <TPosition pos = TPosition::LCM> class TBuf {
public:
    template <typename T> LocalTensor<T> Get()
    {
        LocalTensor<T> tensor;
        tensor.EmuAssign(pos, addr_, length_, -1);
        return tensor;
    }
    template <typename T> LocalTensor<T> Get(uint32_t len)
    {
        LocalTensor<T> tensor = Get<T>();
        tensor.SetSize(len);
        return tensor;
    }
    template <typename T> LocalTensor<T> GetWithOffset(uint32_t size, uint32_t bufOffset)
    {
        LocalTensor<T> tensor;
        tensor.EmuAssign(pos, addr_ + bufOffset, static_cast<uint64_t>(size) * sizeof(T), -1);
        return tensor;
    }
    template <class Source> void EmuInit(Source& source, uint32_t len, FaEmuLoc loc)
    {
        length_ = (static_cast<uint64_t>(len) + ONE_BLK_SIZE - 1) / ONE_BLK_SIZE * ONE_BLK_SIZE;
        if constexpr (fa_emu::OnCube(pos) == fa_emu::kIsAic) {
            addr_ = source.EmuTake(pos, length_, loc);
        }
    }

private:
    uint64_t addr_ = 0;
    uint64_t length_ = 0;
};

/*! A piece of a memory that phases of a kernel carve up one after the other. */
template <TPosition pos, uint32_t bufIDSize = 4> class TBufPool {
public:
    static constexpr TPosition poolPos = pos;

    template <class Queue> bool InitBuffer(Queue& queue, uint8_t num, uint32_t len, FA_EMU_HERE)
    {
        static_assert(fa_emu::MemoryOf(Queue::kPosition) == fa_emu::MemoryOf(pos),
                      "the queue's position is in another memory than the pool");
        queue.EmuInit(*this, num, len, emuLoc);
        return true;
    }
    template <TPosition bufPos> bool InitBuffer(TBuf<bufPos>& buffer, uint32_t len, FA_EMU_HERE)
    {
        static_assert(fa_emu::MemoryOf(bufPos) == fa_emu::MemoryOf(pos),
                      "the buffer's position is in another memory than the pool");
        buffer.EmuInit(*this, len, emuLoc);
        return true;
    }
    template <class Pool> bool InitBufPool(Pool& pool, uint32_t len, FA_EMU_HERE)
    {
        pool.EmuInit(*pipe_, EmuTake(Pool::poolPos, len, emuLoc), len);
        return true;
    }
    template <class Pool, class Shared> bool InitBufPool(Pool& pool, uint32_t len, Shared& shared, FA_EMU_HERE)
    {
        return pipe_->InitBufPool(pool, len, shared, emuLoc);
    }
    /*! Ends a phase: waits for what its queues still hold, and gives their memory back. */
    void Reset(FA_EMU_HERE)
    {
        for (int i = 0; i < queues_; ++i) {
            drain_[i](queue_[i], emuLoc);
        }
        queues_ = 0;
        buffers_ = 0;
        used_ = 0;
    }

    void EmuInit(TPipe& pipe, uint64_t start, uint32_t len)
    {
        if (pipe_ == nullptr) {
            pipe.EmuRegister(this, &TBufPool::Drain);
        }
        pipe_ = &pipe;
        start_ = start;
        length_ = (static_cast<uint64_t>(len) + ONE_BLK_SIZE - 1) / ONE_BLK_SIZE * ONE_BLK_SIZE;
        used_ = 0;
    }
    uint64_t EmuStart() const { return start_; }
    uint64_t EmuLength() const { return length_; }
    TPipe& EmuPipe() { return *pipe_; }
    uint64_t EmuTake(TPosition position, uint64_t bytes, FaEmuLoc loc)
    {
        const uint64_t rounded = (bytes + ONE_BLK_SIZE - 1) / ONE_BLK_SIZE * ONE_BLK_SIZE;
        const uint64_t at = start_ + used_;
        used_ += rounded;
        ++buffers_;
        (void)position;
        if (used_ > length_) {
            fa_emu::PipeError("buffer-budget", "the buffers of the pool take more bytes than InitBufPool gave it",
                              "give the pool more bytes, or call Reset between phases", loc);
        }
        if (buffers_ > bufIDSize) {
            fa_emu::PipeError("buffer-count", "the pool has more buffers than its template parameter bufIDSize",
                              "raise bufIDSize, at most to 16", loc);
        }
        return at;
    }
    void EmuRegister(void* queue, void (*drain)(void*, FaEmuLoc))
    {
        if (queues_ < kMaxQueues) {
            queue_[queues_] = queue;
            drain_[queues_] = drain;
            ++queues_;
        }
    }

private:
    static void Drain(void* self, FaEmuLoc loc) { static_cast<TBufPool*>(self)->Reset(loc); }

    static_assert(bufIDSize <= fa_emu::kMaxBuffers, "a pool has at most 16 buffers");
    static constexpr int kMaxQueues = 16;
    TPipe* pipe_ = nullptr;
    uint64_t start_ = 0;
    uint64_t length_ = 0;
    uint64_t used_ = 0;
    uint32_t buffers_ = 0;
    void* queue_[kMaxQueues] = {};
    void (*drain_[kMaxQueues])(void*, FaEmuLoc) = {};
    int queues_ = 0;
};
} // namespace AscendC

#endif
