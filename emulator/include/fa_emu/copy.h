/*!
 * \file copy.h
 * \brief Copies between global memory and the on-chip memories, and inside UB.
 */
#ifndef FA_EMU_COPY_H
#define FA_EMU_COPY_H

#include "system.h"

namespace fa_emu {
constexpr bool IsUb(AscendC::TPosition position)
{
    return position == AscendC::TPosition::VECIN || position == AscendC::TPosition::VECOUT ||
           position == AscendC::TPosition::VECCALC;
}

/*! A copy that touches UB is vector-core code, any other one cube-core code; the other core drops it. */
template <typename T> bool Dropped(const AscendC::LocalTensor<T>& tensor)
{
    return IsUb(static_cast<AscendC::TPosition>(tensor.GetPosition())) == kIsAic;
}

template <typename D, typename S>
inline void CopyBlocks(const char* name, const D& dst, const S& src, const AscendC::DataCopyParams& params, FaEmuLoc loc)
{
    Record(FA_OP_DATACOPY, name, loc)
        .Operand(0, dst).Operand(1, src).Param(0, params.blockCount).Param(1, params.blockLen)
        .Param(2, params.srcStride).Param(3, params.dstStride).Issue();
}

template <typename T, typename D, typename S>
inline void CopyCount(const D& dst, const S& src, uint32_t count, FaEmuLoc loc)
{
    Record(FA_OP_DATACOPY, "DataCopy", loc).Operand(0, dst).Operand(1, src).Param(4, 1).Param(5, count).Issue();
}

template <typename D, typename S>
inline void Nd2Nz(const D& dst, const S& src, const AscendC::Nd2NzParams& params, FaEmuLoc loc)
{
    Record(FA_OP_ND2NZ, "DataCopy", loc)
        .Operand(0, dst).Operand(1, src).Param(0, params.ndNum).Param(1, params.nValue).Param(2, params.dValue)
        .Param(3, params.srcNdMatrixStride).Param(4, params.srcDValue).Param(5, params.dstNzC0Stride)
        .Param(6, params.dstNzNStride).Param(7, params.dstNzMatrixStride).Issue();
}
} // namespace fa_emu

namespace AscendC {
template <typename T>
inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const uint32_t count, FA_EMU_HERE)
{
    if (!fa_emu::Dropped(dst)) {
        fa_emu::CopyCount<T>(dst, src, count, emuLoc);
    }
}

template <typename T>
inline void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count, FA_EMU_HERE)
{
    if (!fa_emu::Dropped(src)) {
        fa_emu::CopyCount<T>(dst, src, count, emuLoc);
    }
}

template <typename T>
inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count, FA_EMU_HERE)
{
    if (!fa_emu::Dropped(src)) {
        fa_emu::CopyCount<T>(dst, src, count, emuLoc);
    }
}

template <typename T>
inline void DataCopy(
    const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& repeatParams, FA_EMU_HERE)
{
    if (!fa_emu::Dropped(dst)) {
        fa_emu::CopyBlocks("DataCopy", dst, src, repeatParams, emuLoc);
    }
}

template <typename T>
inline void DataCopy(
    const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& repeatParams, FA_EMU_HERE)
{
    if (!fa_emu::Dropped(src)) {
        fa_emu::CopyBlocks("DataCopy", dst, src, repeatParams, emuLoc);
    }
}

template <typename T>
inline void DataCopy(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& repeatParams, FA_EMU_HERE)
{
    if (!fa_emu::Dropped(src)) {
        fa_emu::CopyBlocks("DataCopy", dst, src, repeatParams, emuLoc);
    }
}

template <typename T, typename U>
inline void DataCopy(
    const LocalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyParams& repeatParams, FA_EMU_HERE)
{
    if (!fa_emu::Dropped(src)) {
        fa_emu::CopyBlocks("DataCopy", dst, src, repeatParams, emuLoc);
    }
}

template <typename T>
inline void DataCopy(
    const LocalTensor<T>& dst, const GlobalTensor<T>& src, const Nd2NzParams& intriParams, FA_EMU_HERE)
{
    if (!fa_emu::Dropped(dst)) {
        fa_emu::Nd2Nz(dst, src, intriParams, emuLoc);
    }
}

template <typename T>
inline void DataCopyPad(
    const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& params,
    const DataCopyPadParams& pad, FA_EMU_HERE)
{
    if (!fa_emu::Dropped(dst)) {
        fa_emu::Record(FA_OP_PAD_IN, "DataCopyPad", emuLoc)
            .Operand(0, dst).Operand(1, src).Param(0, params.blockCount).Param(1, params.blockLen)
            .Param(2, params.srcStride).Param(3, params.dstStride).Param(4, pad.isPad).Param(5, pad.leftPadding)
            .Param(6, pad.rightPadding).Param(7, 0).Scalar(pad.paddingValue).Issue();
    }
}

template <typename T>
inline void DataCopyPad(
    const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyExtParams& params,
    const DataCopyPadExtParams<T>& pad, FA_EMU_HERE)
{
    if (!fa_emu::Dropped(dst)) {
        fa_emu::Record(FA_OP_PAD_IN, "DataCopyPad", emuLoc)
            .Operand(0, dst).Operand(1, src).Param(0, params.blockCount).Param(1, params.blockLen)
            .Param(2, params.srcStride).Param(3, params.dstStride).Param(4, pad.isPad).Param(5, pad.leftPadding)
            .Param(6, pad.rightPadding).Param(7, 1).Scalar(fa_emu::ScalarBits(pad.paddingValue)).Issue();
    }
}

template <typename T>
inline void DataCopyPad(
    const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params, FA_EMU_HERE)
{
    if (!fa_emu::Dropped(src)) {
        fa_emu::Record(FA_OP_PAD_OUT, "DataCopyPad", emuLoc)
            .Operand(0, dst).Operand(1, src).Param(0, params.blockCount).Param(1, params.blockLen)
            .Param(2, params.srcStride).Param(3, params.dstStride).Param(7, 0).Issue();
    }
}

template <typename T>
inline void DataCopyPad(
    const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyExtParams& params, FA_EMU_HERE)
{
    if (!fa_emu::Dropped(src)) {
        fa_emu::Record(FA_OP_PAD_OUT, "DataCopyPad", emuLoc)
            .Operand(0, dst).Operand(1, src).Param(0, params.blockCount).Param(1, params.blockLen)
            .Param(2, params.srcStride).Param(3, params.dstStride).Param(7, 1).Issue();
    }
}

/*! Column groups of 16 in UB become rows in global memory: one padded copy a group and matrix. */
template <typename T>
inline void DataCopy(
    const GlobalTensor<T>& dst, const LocalTensor<T>& src, const Nz2NdParamsFull& params, FA_EMU_HERE)
{
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "NZ to ND copies move 16-bit and 32-bit elements");
    constexpr uint32_t kGroup = 16;
    if (fa_emu::Dropped(src)) {
        return;
    }
    if (params.dValue % kGroup != 0 || params.dstDStride < params.dValue) {
        fa_emu_api->report(0, "parameter-range",
                           "DataCopy: dValue is a multiple of 16, and dstDStride is no shorter than a row",
                           "round dValue up in UB, or copy the last columns with DataCopyPad", emuLoc.file, emuLoc.line);
        return;
    }
    for (uint32_t matrix = 0; matrix < params.ndNum; ++matrix) {
        for (uint32_t group = 0; group < params.dValue / kGroup; ++group) {
            const uint32_t bytes = kGroup * sizeof(T);
            const uint32_t gap = (params.dstDStride - kGroup) * static_cast<uint32_t>(sizeof(T));
            DataCopyPad(dst[static_cast<uint64_t>(matrix) * params.dstNdMatrixStride + group * kGroup],
                        src[matrix * params.srcNdMatrixStride * kGroup * kGroup + group * params.srcNStride * kGroup],
                        DataCopyExtParams(params.nValue, bytes, 0, gap, 0), emuLoc);
        }
    }
}

template <typename T, TPosition pos = TPosition::MAX> inline void SetPadValue(T paddingValue, FA_EMU_HERE)
{
    if constexpr (fa_emu::kIsAiv) {
        fa_emu::Record(FA_OP_SETPADVALUE, "SetPadValue", emuLoc).Scalar(fa_emu::ScalarBits(paddingValue)).Issue();
    }
}

template <typename T> inline void EmuCopy(
    fa_emu::Record& record, const LocalTensor<T>& dst, const LocalTensor<T>& src, uint8_t repeatTime,
    const CopyRepeatParams& params)
{
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Copy moves 16-bit and 32-bit elements");
    record.Operand(0, dst).Operand(1, src)
        .Repeat(repeatTime, params.dstStride, params.srcStride, 1, params.dstRepeatSize, params.srcRepeatSize, 0)
        .Issue();
}

template <typename T, bool isSetMask = true>
inline void Copy(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[], const uint8_t repeatTime,
    const CopyRepeatParams& repeatParams, FA_EMU_HERE)
{
    if constexpr (fa_emu::kIsAiv) {
        fa_emu::Record record(FA_OP_COPY, "Copy", emuLoc);
        EmuCopy(record.template MaskBits<isSetMask>(mask), dst, src, repeatTime, repeatParams);
    }
}

template <typename T, bool isSetMask = true>
inline void Copy(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask, const uint8_t repeatTime,
    const CopyRepeatParams& repeatParams, FA_EMU_HERE)
{
    if constexpr (fa_emu::kIsAiv) {
        fa_emu::Record record(FA_OP_COPY, "Copy", emuLoc);
        EmuCopy(record.template Lanes<isSetMask>(mask), dst, src, repeatTime, repeatParams);
    }
}
} // namespace AscendC

#endif
