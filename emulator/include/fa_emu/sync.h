/*!
 * \file sync.h
 * \brief Flags and barriers, inside a core and between cores.
 */
#ifndef FA_EMU_SYNC_H
#define FA_EMU_SYNC_H

#include "system.h"

namespace fa_emu {
struct PipePair {
    pipe_t source;
    pipe_t destination;
};

/*! Source and destination pipe of each event, in the order of HardEvent. */
constexpr PipePair kEventPipes[] = {
    {PIPE_MTE2, PIPE_MTE1}, {PIPE_MTE1, PIPE_MTE2}, {PIPE_MTE1, PIPE_M}, {PIPE_M, PIPE_MTE1}, {PIPE_MTE2, PIPE_V},
    {PIPE_V, PIPE_MTE2}, {PIPE_MTE3, PIPE_V}, {PIPE_V, PIPE_MTE3}, {PIPE_M, PIPE_V}, {PIPE_V, PIPE_M},
    {PIPE_V, PIPE_V}, {PIPE_MTE3, PIPE_MTE1}, {PIPE_MTE1, PIPE_MTE3}, {PIPE_MTE1, PIPE_V}, {PIPE_MTE2, PIPE_M},
    {PIPE_M, PIPE_MTE2}, {PIPE_V, PIPE_MTE1}, {PIPE_M, PIPE_FIX}, {PIPE_FIX, PIPE_M}, {PIPE_MTE3, PIPE_MTE2},
    {PIPE_MTE2, PIPE_MTE3}, {PIPE_S, PIPE_V}, {PIPE_V, PIPE_S}, {PIPE_S, PIPE_MTE2}, {PIPE_MTE2, PIPE_S},
    {PIPE_S, PIPE_MTE3}, {PIPE_MTE3, PIPE_S}, {PIPE_MTE2, PIPE_FIX}, {PIPE_FIX, PIPE_MTE2}, {PIPE_FIX, PIPE_S},
    {PIPE_M, PIPE_S}, {PIPE_FIX, PIPE_MTE3}, {PIPE_MTE1, PIPE_FIX}, {PIPE_FIX, PIPE_MTE1}, {PIPE_FIX, PIPE_FIX},
};

/*! Whether the compiler drops the event on this core. */
constexpr bool EventIsDropped(AscendC::HardEvent event)
{
    using E = AscendC::HardEvent;
    if (kIsAic) {
        return event == E::MTE2_V || event == E::V_MTE2 || event == E::MTE3_V || event == E::V_MTE3 ||
               event == E::V_V || event == E::S_V || event == E::V_S;
    }
    return event == E::MTE2_MTE1 || event == E::MTE1_MTE2 || event == E::MTE1_M || event == E::M_MTE1 ||
           event == E::M_FIX || event == E::FIX_M;
}

inline void Flag(FaEmuOp op, const char* name, AscendC::HardEvent event, int32_t id, FaEmuLoc loc)
{
    const PipePair pipes = kEventPipes[static_cast<int>(event)];
    Record(op, name, loc).Param(0, pipes.source).Param(1, pipes.destination).Param(2, id).Issue();
}

/*! Vector cores waiting for each other through global memory; the cube core drops it. */
inline void Word(
    FaEmuOp op, const char* name, const AscendC::GlobalTensor<int32_t>& gm, const AscendC::LocalTensor<int32_t>& ub,
    int64_t offset, FaEmuLoc loc)
{
    if constexpr (kIsAiv) {
        Record(op, name, loc).Operand(0, gm).Operand(1, ub).Param(0, offset).Issue();
    }
}

/*! Element of the workspace that holds the word of a block and an event. */
template <bool isAIVOnly> inline int64_t WordOf(int32_t blockIdx, int32_t eventID)
{
    constexpr int64_t kWordElements = 8;
    const int64_t cores = Ask(kBlockNum) * (isAIVOnly ? 1 : 2);
    return (cores * eventID + blockIdx) * kWordElements;
}
} // namespace fa_emu

namespace AscendC {
template <HardEvent event> inline void SetFlag(int32_t eventID, FA_EMU_HERE)
{
    static_assert(event < HardEvent::MAX, "no such event");
    if constexpr (!fa_emu::EventIsDropped(event)) {
        fa_emu::Flag(FA_OP_SETFLAG, "SetFlag", event, eventID, emuLoc);
    }
}

template <HardEvent event> inline void WaitFlag(int32_t eventID, FA_EMU_HERE)
{
    static_assert(event < HardEvent::MAX, "no such event");
    if constexpr (!fa_emu::EventIsDropped(event)) {
        fa_emu::Flag(FA_OP_WAITFLAG, "WaitFlag", event, eventID, emuLoc);
    }
}

template <pipe_t pipe> inline void PipeBarrier(FA_EMU_HERE)
{
    static_assert(pipe != PIPE_S, "PipeBarrier<PIPE_S> does not exist");
    if constexpr (!(pipe == PIPE_V && fa_emu::kIsAic)) {
        fa_emu::Record(FA_OP_BARRIER, "PipeBarrier", emuLoc).Param(0, pipe).Issue();
    }
}

template <MemDsbT arg0> inline void DataSyncBarrier(FA_EMU_HERE) { (void)emuLoc; }

template <uint8_t modeId, pipe_t pipe> inline void CrossCoreSetFlag(uint16_t flagId, FA_EMU_HERE)
{
    static_assert(modeId <= 2, "modes 0, 1 and 2 exist on this chip");
    static_assert(pipe != PIPE_ALL, "CrossCoreSetFlag names one pipe");
    fa_emu::Record(FA_OP_CROSS_SET, "CrossCoreSetFlag", emuLoc).Param(0, pipe).Param(1, modeId).Param(2, flagId).Issue();
}

template <uint8_t modeId = 0, pipe_t pipe = PIPE_S> inline void CrossCoreWaitFlag(uint16_t flagId, FA_EMU_HERE)
{
    fa_emu::Record(FA_OP_CROSS_WAIT, "CrossCoreWaitFlag", emuLoc).Param(2, flagId).Issue();
}

inline void WaitEvent(uint16_t flagId, FA_EMU_HERE) { CrossCoreWaitFlag(flagId, emuLoc); }

template <bool isAIVOnly = true> inline void SyncAll(FA_EMU_HERE)
{
    if constexpr (!(isAIVOnly && fa_emu::kIsAic)) {
        fa_emu::Record(FA_OP_SYNCALL, "SyncAll", emuLoc).Param(0, isAIVOnly).Issue();
    }
}

template <bool isAIVOnly = true>
inline void SyncAll(
    const GlobalTensor<int32_t>& gmWorkspace, const LocalTensor<int32_t>& ubWorkspace, const int32_t usedCores = 0,
    FA_EMU_HERE)
{
    if constexpr (fa_emu::kIsAiv) {
        fa_emu::Record(FA_OP_SYNCALL, "SyncAll", emuLoc)
            .Operand(0, gmWorkspace).Operand(1, ubWorkspace).Param(0, true).Param(1, 1).Param(2, usedCores).Issue();
    }
}

template <bool isAIVOnly = true>
inline void IBSet(
    const GlobalTensor<int32_t>& gmWorkspace, const LocalTensor<int32_t>& ubWorkspace, int32_t blockIdx,
    int32_t eventID, FA_EMU_HERE)
{
    fa_emu::Word(FA_OP_WORD_SET, "IBSet", gmWorkspace, ubWorkspace, fa_emu::WordOf<isAIVOnly>(blockIdx, eventID), emuLoc);
}

template <bool isAIVOnly = true>
inline void IBWait(
    const GlobalTensor<int32_t>& gmWorkspace, const LocalTensor<int32_t>& ubWorkspace, int32_t blockIdx,
    int32_t eventID, FA_EMU_HERE)
{
    fa_emu::Word(FA_OP_WORD_WAIT, "IBWait", gmWorkspace, ubWorkspace, fa_emu::WordOf<isAIVOnly>(blockIdx, eventID), emuLoc);
}

inline void InitDetermineComputeWorkspace(
    GlobalTensor<int32_t>& gmWorkspace, LocalTensor<int32_t>& ubWorkspace, FA_EMU_HERE)
{
    fa_emu::Word(FA_OP_TURN_INIT, "InitDetermineComputeWorkspace", gmWorkspace, ubWorkspace, 0, emuLoc);
}

inline void WaitPreBlock(GlobalTensor<int32_t>& gmWorkspace, LocalTensor<int32_t>& ubWorkspace, FA_EMU_HERE)
{
    fa_emu::Word(FA_OP_TURN_WAIT, "WaitPreBlock", gmWorkspace, ubWorkspace, 0, emuLoc);
}

inline void NotifyNextBlock(GlobalTensor<int32_t>& gmWorkspace, LocalTensor<int32_t>& ubWorkspace, FA_EMU_HERE)
{
    fa_emu::Word(FA_OP_TURN_NEXT, "NotifyNextBlock", gmWorkspace, ubWorkspace, 0, emuLoc);
}
} // namespace AscendC

#endif
