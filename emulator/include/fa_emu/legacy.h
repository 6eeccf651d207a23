/*!
 * \file legacy.h
 * \brief Older spellings that shipped kernels use, and what belongs to parts of the toolkit that are not emulated.
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

#define FA_EMU_NO_TILING(name) \
    static_assert(false, name " belongs to custom-operator projects, which the emulated toolkit does not build: pass the structure by value")
#define REGISTER_TILING_DEFAULT(type) FA_EMU_NO_TILING("REGISTER_TILING_DEFAULT")
#define GET_TILING_DATA(name, address) FA_EMU_NO_TILING("GET_TILING_DATA")
#define GET_TILING_DATA_WITH_STRUCT(type, name, address) FA_EMU_NO_TILING("GET_TILING_DATA_WITH_STRUCT")
#define REGIST_MATMUL_OBJ(...) \
    static_assert(false, "the Matmul object is not emulated: use LoadData, Mmad and Fixpipe")

namespace AscendC {
/*! Random bits exist on other chips; here the vendor's body is empty, and the destination stays as it was. */
struct PhiloxRandomParams {
    uint32_t stride = 0;
    uint32_t row = 0;
    uint32_t column = 0;
};

template <uint16_t Rounds = 7, typename T, typename... Rest>
inline void PhiloxRandom(const LocalTensor<T>&, Rest&&...)
{
    static_assert(sizeof(T) == 0, "PhiloxRandom does nothing on this chip: pass a mask that the host made");
}
} // namespace AscendC

#endif
