/*!
 * \file system.h
 * \brief System variables, mask registers, control registers, atomics and cache maintenance.
 */
#ifndef FA_EMU_SYSTEM_H
#define FA_EMU_SYSTEM_H

#include "tensor.h"

namespace fa_emu {
enum Query : int64_t { kBlockNum, kBlockIdx, kSubBlockIdx, kSubBlockNum, kRawBlockIdx, kCycle, kUsableUb, kUsableL1, kUsableL0a,
                       kUsableL0b, kUsableL0c, kUsableBt, kVectorCores, kOverlapFractals };

inline int64_t Ask(Query query)
{
    Record record(FA_OP_QUERY, "query", FaEmuLoc{"", 0});
    return static_cast<int64_t>(record.Param(0, query).Issue());
}
} // namespace fa_emu

namespace fa_emu {
inline GM_ADDR& SystemWorkspace()
{
    static thread_local GM_ADDR workspace = nullptr;
    return workspace;
}
} // namespace fa_emu

inline GM_ADDR GetSysWorkSpacePtr() { return fa_emu::SystemWorkspace(); }

#define block_idx (fa_emu::Ask(fa_emu::kRawBlockIdx))
#define block_num (fa_emu::Ask(fa_emu::kBlockNum))

inline int64_t get_block_idx() { return fa_emu::Ask(fa_emu::kRawBlockIdx); }
inline int64_t get_block_num() { return fa_emu::Ask(fa_emu::kBlockNum); }
inline int64_t get_subblockid() { return fa_emu::Ask(fa_emu::kSubBlockIdx); }
inline int64_t get_subblockdim() { return fa_emu::Ask(fa_emu::kSubBlockNum); }

namespace AscendC {
inline int64_t GetBlockNum() { return fa_emu::Ask(fa_emu::kBlockNum); }
inline int64_t GetBlockIdx() { return fa_emu::Ask(fa_emu::kBlockIdx); }
inline int64_t GetSubBlockIdx() { return fa_emu::Ask(fa_emu::kSubBlockIdx); }
inline int64_t GetSubBlockNum() { return fa_emu::Ask(fa_emu::kSubBlockNum); }
inline int64_t GetTaskRatio() { return fa_emu::Ask(fa_emu::kSubBlockNum); }
inline int64_t GetTaskRation() { return fa_emu::Ask(fa_emu::kSubBlockNum); }
inline int64_t GetSystemCycle() { return fa_emu::Ask(fa_emu::kCycle); }
constexpr int16_t GetDataBlockSizeInBytes() { return ONE_BLK_SIZE; }

inline void InitSocState(FA_EMU_HERE) { fa_emu::Record(FA_OP_INIT, "InitSocState", emuLoc).Issue(); }

inline void SetSyncBaseAddr(uint64_t config, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_SYNCBASE, "SetSyncBaseAddr", emuLoc);
    record.Scalar(config).Issue();
}

inline void Trap(FA_EMU_HERE) { fa_emu::Record(FA_OP_TRAP, "Trap", emuLoc).Issue(); }

template <typename T, MaskMode mode = MaskMode::NORMAL>
inline void SetVectorMask(const uint64_t maskHigh, const uint64_t maskLow, FA_EMU_HERE)
{
    if constexpr (fa_emu::kIsAiv) {
        fa_emu::Record record(FA_OP_SETMASK, "SetVectorMask", emuLoc);
        record.raw.mask[0] = maskLow;
        record.raw.mask[1] = maskHigh;
        record.Issue();
    }
}

template <typename T, MaskMode mode = MaskMode::NORMAL> inline void SetVectorMask(int32_t len, FA_EMU_HERE)
{
    if constexpr (fa_emu::kIsAiv) {
        fa_emu::Record record(FA_OP_SETMASK, "SetVectorMask", emuLoc);
        if constexpr (mode == MaskMode::COUNTER) {
            record.raw.mask[0] = static_cast<uint64_t>(len);
        } else {
            constexpr int32_t kHalfRegister = 64;
            const auto bits = [](int32_t n) -> uint64_t { return n >= kHalfRegister ? ~0ull : n <= 0 ? 0 : (1ull << n) - 1; };
            record.raw.mask[0] = bits(len);
            record.raw.mask[1] = bits(len - kHalfRegister);
        }
        record.Issue();
    }
}

inline void ResetMask(FA_EMU_HERE)
{
    if constexpr (fa_emu::kIsAiv) {
        fa_emu::Record record(FA_OP_SETMASK, "ResetMask", emuLoc);
        record.raw.mask[0] = ~0ull;
        record.raw.mask[1] = ~0ull;
        record.Issue();
    }
}

inline void SetMaskCount(FA_EMU_HERE)
{
    if constexpr (fa_emu::kIsAiv) {
        fa_emu::Record(FA_OP_MASKMODE, "SetMaskCount", emuLoc).Param(0, 1).Issue();
    }
}

inline void SetMaskNorm(FA_EMU_HERE)
{
    if constexpr (fa_emu::kIsAiv) {
        fa_emu::Record(FA_OP_MASKMODE, "SetMaskNorm", emuLoc).Param(0, 0).Issue();
    }
}

template <int8_t startBit, int8_t endBit> inline void SetCtrlSpr(int64_t value, FA_EMU_HERE)
{
    static_assert(startBit == endBit && startBit == 48, "only bit 48 of the control register can be set on this chip");
    fa_emu::Record(FA_OP_SETCTRL, "SetCtrlSpr", emuLoc).Param(0, value).Issue();
}

template <int8_t startBit, int8_t endBit> inline int64_t GetCtrlSpr(FA_EMU_HERE)
{
    static_assert(startBit == endBit && startBit == 48, "only bit 48 of the control register can be read on this chip");
    return static_cast<int64_t>(fa_emu::Record(FA_OP_GETCTRL, "GetCtrlSpr", emuLoc).Issue());
}

template <int8_t startBit, int8_t endBit> inline void ResetCtrlSpr(FA_EMU_HERE)
{
    SetCtrlSpr<startBit, endBit>(0, emuLoc);
}

template <typename T> inline void EmuSetAtomic(const char* name, int64_t op, FaEmuLoc loc)
{
    static_assert(fa_emu::kOneOf<T, float, half, int16_t, int32_t, int8_t, bfloat16_t>,
                  "atomic copies exist for float, half, int16_t, int32_t, int8_t and bfloat16_t");
    fa_emu::Record(FA_OP_ATOMIC, name, loc).Param(0, op).Param(1, fa_emu::DtypeOf<T>::value).Issue();
}

template <typename T> inline void SetAtomicAdd(FA_EMU_HERE) { EmuSetAtomic<T>("SetAtomicAdd", 1, emuLoc); }
template <typename T> inline void SetAtomicMax(FA_EMU_HERE) { EmuSetAtomic<T>("SetAtomicMax", 2, emuLoc); }
template <typename T> inline void SetAtomicMin(FA_EMU_HERE) { EmuSetAtomic<T>("SetAtomicMin", 3, emuLoc); }
template <typename T> inline void SetAtomicType(FA_EMU_HERE) { EmuSetAtomic<T>("SetAtomicType", 4, emuLoc); }
inline void SetAtomicNone(FA_EMU_HERE)
{
    fa_emu::Record(FA_OP_ATOMIC, "SetAtomicNone", emuLoc).Param(0, 0).Issue();
}
inline void DisableDmaAtomic(FA_EMU_HERE) { SetAtomicNone(emuLoc); }

template <AtomicDtype type, AtomicOp op> inline void SetStoreAtomicConfig(FA_EMU_HERE)
{
    static_assert(op == AtomicOp::ATOMIC_SUM, "stores add; there is no other operation");
    constexpr fa_emu::Dtype kTypes[] = {fa_emu::kNone, fa_emu::kF32, fa_emu::kF16, fa_emu::kI16,
                                        fa_emu::kI32, fa_emu::kI8, fa_emu::kBf16};
    constexpr fa_emu::Dtype dtype = kTypes[static_cast<int>(type)];
    fa_emu::Record(FA_OP_ATOMIC, "SetStoreAtomicConfig", emuLoc).Param(0, dtype == fa_emu::kNone ? 0 : 1)
        .Param(1, dtype).Issue();
}

/*! Gives one line of the scalar unit's data cache back, or all of them; lines of UB are always coherent here. */
template <typename T, CacheLine entireType, DcciDst dcciDst>
inline void DataCacheCleanAndInvalid(const GlobalTensor<T>& dst, FA_EMU_HERE)
{
    constexpr bool ofGlobal = dcciDst == DcciDst::CACHELINE_ALL || dcciDst == DcciDst::CACHELINE_OUT;
    fa_emu::Record(FA_OP_DCCI, "DataCacheCleanAndInvalid", emuLoc).Operand(0, dst)
        .Param(0, entireType == CacheLine::ENTIRE_DATA_CACHE).Param(1, ofGlobal).Issue();
}
template <typename T, CacheLine entireType>
inline void DataCacheCleanAndInvalid(const GlobalTensor<T>& dst, FA_EMU_HERE)
{
    DataCacheCleanAndInvalid<T, entireType, DcciDst::CACHELINE_ALL>(dst, emuLoc);
}
template <typename T, CacheLine entireType, DcciDst dcciDst>
inline void DataCacheCleanAndInvalid(const LocalTensor<T>&)
{}
template <typename T> inline void DataCachePreload(const GlobalTensor<uint64_t>&, const T) {}
inline void ICachePreLoad(const int64_t) {}

/*! Bytes at the start of the system workspace that the toolkit keeps for itself. */
constexpr uint32_t RESERVED_WORKSPACE = 16 * 1024 * 1024;

inline void SetSysWorkspaceForce(GM_ADDR workspace) { fa_emu::SystemWorkspace() = workspace; }
inline void SetSysWorkspace(GM_ADDR workspace)
{
    if (fa_emu::SystemWorkspace() == nullptr) {
        fa_emu::SystemWorkspace() = workspace;
    }
}

/*! Behind the reserved part of the system workspace; the argument plays no part on a device. */
inline GM_ADDR GetUserWorkspace(GM_ADDR workspace, FA_EMU_HERE)
{
    (void)workspace;
    if (fa_emu::SystemWorkspace() == nullptr) {
        fa_emu_api->report(0, "workspace-unset", "GetUserWorkspace: nothing has set the system workspace of this launch",
                           "use the pointer that the kernel was given, or call SetSysWorkspaceForce first", emuLoc.file,
                           emuLoc.line);
        return nullptr;
    }
    return fa_emu::SystemWorkspace() + RESERVED_WORKSPACE;
}

inline void SetHF32Mode(bool mode, FA_EMU_HERE)
{
    fa_emu::Record(FA_OP_SETMODE, "SetHF32Mode", emuLoc).Param(0, 0).Param(1, mode).Issue();
}
inline void SetHF32Mode(HF32Mode mode, FA_EMU_HERE) { SetHF32Mode(mode == HF32Mode::ENABLE, emuLoc); }
inline void SetHF32TransMode(bool mode, FA_EMU_HERE)
{
    fa_emu::Record(FA_OP_SETMODE, "SetHF32TransMode", emuLoc).Param(0, 1).Param(1, mode).Issue();
}
inline void SetHF32TransMode(HF32TransMode mode, FA_EMU_HERE)
{
    SetHF32TransMode(mode == HF32TransMode::NEAREST_ZERO, emuLoc);
}
// Which way the unit walks over its result shows in no number.
inline void SetMMRowMajor() {}
inline void SetMMColumnMajor() {}
} // namespace AscendC

#endif
