/*!
 * \file legacy.h
 * \brief Older spellings that shipped kernels use.
 */
#ifndef FA_EMU_LEGACY_H
#define FA_EMU_LEGACY_H

#include "sync.h"

/*! `config` holds the mode in bits 4 and 5 and the flag from bit 8 on. */
inline void ffts_cross_core_sync(pipe_t pipe, uint64_t config, FA_EMU_HERE)
{
    constexpr uint64_t kModeShift = 4;
    constexpr uint64_t kModeMask = 3;
    constexpr uint64_t kFlagShift = 8;
    constexpr uint64_t kFlagMask = 15;
    fa_emu::Record(FA_OP_CROSS_SET, "ffts_cross_core_sync", emuLoc).Param(0, pipe)
        .Param(1, static_cast<int64_t>(config >> kModeShift & kModeMask))
        .Param(2, static_cast<int64_t>(config >> kFlagShift & kFlagMask)).Issue();
}

inline void wait_flag_dev(uint16_t flagId, FA_EMU_HERE) { AscendC::CrossCoreWaitFlag(flagId, emuLoc); }

inline void set_flag(pipe_t source, pipe_t destination, int32_t id, FA_EMU_HERE)
{
    fa_emu::Record(FA_OP_SETFLAG, "set_flag", emuLoc).Param(0, source).Param(1, destination).Param(2, id).Issue();
}

inline void wait_flag(pipe_t source, pipe_t destination, int32_t id, FA_EMU_HERE)
{
    fa_emu::Record(FA_OP_WAITFLAG, "wait_flag", emuLoc).Param(0, source).Param(1, destination).Param(2, id).Issue();
}

inline void pipe_barrier(pipe_t pipe, FA_EMU_HERE)
{
    if (!(pipe == PIPE_V && fa_emu::kIsAic)) {
        fa_emu::Record(FA_OP_BARRIER, "pipe_barrier", emuLoc).Param(0, pipe).Issue();
    }
}

#endif
