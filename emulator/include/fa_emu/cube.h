/*!
 * \file cube.h
 * \brief The matrix unit: LoadData, Mmad and Fixpipe.
 */
#ifndef FA_EMU_CUBE_H
#define FA_EMU_CUBE_H

#include "system.h"

namespace fa_emu {
template <typename T, typename U, typename S> constexpr bool MmadTypesExist()
{
    return (std::is_same<T, float>::value && std::is_same<U, S>::value && kOneOf<U, half, bfloat16_t, float>) ||
           (std::is_same<T, int32_t>::value && std::is_same<U, int8_t>::value && std::is_same<S, int8_t>::value);
}

template <typename T, typename U, typename S>
inline Record& MmadRecord(
    Record& record, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<U>& fm,
    const AscendC::LocalTensor<S>& filter, const AscendC::MmadParams& params)
{
    static_assert(MmadTypesExist<T, U, S>(),
                  "Mmad takes half, bfloat16_t or float operands into float, or int8_t operands into int32_t");
    return record.Operand(0, dst).Operand(1, fm).Operand(2, filter).Param(0, params.m).Param(1, params.n)
        .Param(2, params.k).Param(3, params.isBias).Param(4, params.fmOffset).Param(5, params.unitFlag)
        .Param(6, params.kDirectionAlign).Param(7, params.cmatrixSource).Param(8, params.cmatrixInitVal);
}

template <typename D, typename U, typename T>
inline Record& FixpipeRecord(
    Record& record, const D& dst, const AscendC::LocalTensor<U>& src, const AscendC::FixpipeParamsV220& params,
    AscendC::CO2Layout format)
{
    static_assert(kOneOf<U, float, int32_t>, "Fixpipe reads float or int32_t accumulators");
    static_assert(kOneOf<T, float, half, bfloat16_t, int32_t, int8_t, uint8_t>, "Fixpipe cannot write this type");
    return record.Operand(0, dst).Operand(1, src).Param(0, params.nSize).Param(1, params.mSize)
        .Param(2, params.srcStride).Param(3, params.dstStride).Param(4, params.quantPre).Param(5, params.ndNum)
        .Param(6, params.srcNdStride).Param(7, params.dstNdStride).Param(8, params.reluEn)
        .Param(9, params.unitFlag).Param(10, params.isChannelSplit).Param(11, static_cast<int64_t>(format))
        .Scalar(params.deqScalar);
}
/*! Registers that the older way out of L0C reads. */
struct FixpipeState {
    uint16_t ndNum = 1;
    uint16_t srcNdStride = 0;
    uint16_t dstNdStride = 0;
    uint64_t quant = 0xfae0fae0fae0fae0ull;
};

/*! Registers of image-to-column loads, for calls that do not set them. */
struct FmatrixState {
    uint16_t l1H = 0;
    uint16_t l1W = 0;
    uint8_t padList[AscendC::PAD_SIZE] = {};
    uint64_t padValue = 0;
};

inline FmatrixState& CurrentFmatrix(bool right)
{
    static thread_local FmatrixState states[2];
    return states[right ? 1 : 0];
}

inline FixpipeState& CurrentFixpipe()
{
    static thread_local FixpipeState state;
    return state;
}

template <typename D, typename U, typename T>
inline void CopyOut(
    Record& record, const D& dst, const AscendC::LocalTensor<U>& src, const AscendC::DataCopyCO12DstParams& params)
{
    const FixpipeState& state = CurrentFixpipe();
    AscendC::FixpipeParamsV220 fix(params.nSize, params.mSize, params.srcStride, params.dstStride, params.reluPre != 0);
    fix.quantPre = params.quantPre;
    fix.deqScalar = state.quant;
    fix.unitFlag = params.unitFlag;
    fix.isChannelSplit = params.channelSplit;
    fix.ndNum = params.nz2ndEn ? state.ndNum : 1;
    fix.srcNdStride = state.srcNdStride;
    fix.dstNdStride = state.dstNdStride;
    const AscendC::CO2Layout format = params.nz2ndEn ? AscendC::CO2Layout::ROW_MAJOR : AscendC::CO2Layout::NZ;
    FixpipeRecord<D, U, T>(record, dst, src, fix, format).Param(12, 1);
    if constexpr (kIsAic) {
        record.Issue();
    }
}
} // namespace fa_emu

namespace AscendC {
template <typename T>
inline void LoadData(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData2DParams& params, FA_EMU_HERE)
{
    if constexpr (fa_emu::kIsAic) {
        fa_emu::Record(FA_OP_LOAD2D, "LoadData", emuLoc)
            .Operand(0, dst).Operand(1, src).Param(0, params.startIndex).Param(1, params.repeatTimes)
            .Param(2, params.srcStride).Param(3, params.dstGap).Param(4, params.ifTranspose).Param(5, params.sid)
            .Param(6, params.addrMode).Issue();
    }
}

template <typename T>
inline void LoadData(
    const LocalTensor<T>& dst, const GlobalTensor<T>& src, const LoadData2DParams& params, FA_EMU_HERE)
{
    if constexpr (fa_emu::kIsAic) {
        fa_emu::Record(FA_OP_LOAD2D, "LoadData", emuLoc)
            .Operand(0, dst).Operand(1, src).Param(0, params.startIndex).Param(1, params.repeatTimes)
            .Param(2, params.srcStride).Param(3, params.dstGap).Param(4, params.ifTranspose).Param(5, params.sid)
            .Param(6, params.addrMode).Issue();
    }
}

template <typename T, const IsResetLoad3dConfig& defaultConfig = IS_RESER_LOAD3D_DEFAULT_CONFIG>
inline void LoadData(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData3DParamsV2<T>& params, FA_EMU_HERE)
{
    if constexpr (fa_emu::kIsAic) {
        fa_emu::FmatrixState& state = fa_emu::CurrentFmatrix(params.fMatrixCtrl);
        if (defaultConfig.isSetFMatrix) {
            state.l1H = params.l1H;
            state.l1W = params.l1W;
            for (int32_t i = 0; i < PAD_SIZE; ++i) {
                state.padList[i] = params.padList[i];
            }
        }
        if (defaultConfig.isSetPadding) {
            fa_emu::CurrentFmatrix(false).padValue = fa_emu::ScalarBits(params.padValue);
        }
        fa_emu::Record record(FA_OP_LOAD3D, "LoadData", emuLoc);
        record.Operand(0, dst).Operand(1, src).Param(0, state.l1H).Param(1, state.l1W).Param(2, params.channelSize)
            .Param(3, params.kExtension).Param(4, params.mExtension).Param(5, params.kStartPt)
            .Param(6, params.mStartPt).Param(7, params.strideW).Param(8, params.strideH).Param(9, params.filterW)
            .Param(10, params.filterH).Param(11, params.dilationFilterW).Param(12, params.dilationFilterH)
            .Param(13, params.enTranspose).Param(14, params.enSmallK).Param(15, state.padList[0])
            .Param(16, state.padList[1]).Param(17, state.padList[2]).Param(18, state.padList[3])
            .Scalar(fa_emu::CurrentFmatrix(false).padValue).Issue();
    }
}

inline void SetFmatrix(uint16_t l1H, uint16_t l1W, const uint8_t padList[4], const FmatrixMode& fmatrixMode)
{
    fa_emu::FmatrixState& state = fa_emu::CurrentFmatrix(fmatrixMode == FmatrixMode::FMATRIX_RIGHT);
    state.l1H = l1H;
    state.l1W = l1W;
    for (int32_t i = 0; i < PAD_SIZE; ++i) {
        state.padList[i] = padList[i];
    }
}

template <typename T> inline void SetLoadDataPaddingValue(const T padValue)
{
    fa_emu::CurrentFmatrix(false).padValue = fa_emu::ScalarBits(padValue);
}

template <typename T>
inline void LoadDataWithTranspose(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData2dTransposeParams& params, FA_EMU_HERE)
{
    if constexpr (fa_emu::kIsAic) {
        fa_emu::Record(FA_OP_LOAD2D_TRANSPOSE, "LoadDataWithTranspose", emuLoc)
            .Operand(0, dst).Operand(1, src).Param(0, params.startIndex).Param(1, params.repeatTimes)
            .Param(2, params.srcStride).Param(3, params.dstGap).Param(4, params.dstFracGap).Param(5, params.addrMode)
            .Issue();
    }
}

template <typename T>
inline void InitConstValue(const LocalTensor<T>& dst, const InitConstValueParams<T>& params, FA_EMU_HERE)
{
    if constexpr (fa_emu::kIsAic) {
        fa_emu::Record(FA_OP_FILL, "InitConstValue", emuLoc)
            .Operand(0, dst).Param(0, params.repeatTimes).Param(1, params.blockNum).Param(2, params.dstGap)
            .Scalar(fa_emu::ScalarBits(params.initValue)).Issue();
    }
}

template <typename T>
inline void Fill(const LocalTensor<T>& dst, const InitConstValueParams<T>& params, FA_EMU_HERE)
{
    InitConstValue(dst, params, emuLoc);
}

template <typename T, typename U, typename S>
inline void Mmad(
    const LocalTensor<T>& dst, const LocalTensor<U>& fm, const LocalTensor<S>& filter, const MmadParams& mmadParams,
    FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_MMAD, "Mmad", emuLoc);
    fa_emu::MmadRecord(record, dst, fm, filter, mmadParams);
    if constexpr (fa_emu::kIsAic) {
        record.Issue();
    }
}

template <typename T, typename U, typename S, typename V>
inline void Mmad(
    const LocalTensor<T>& dst, const LocalTensor<U>& fm, const LocalTensor<S>& filter, const LocalTensor<V>& bias,
    const MmadParams& mmadParams, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_MMAD, "Mmad", emuLoc);
    fa_emu::MmadRecord(record, dst, fm, filter, mmadParams).Operand(3, bias);
    if constexpr (fa_emu::kIsAic) {
        record.Issue();
    }
}

template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR>
inline void Fixpipe(
    const GlobalTensor<T>& dst, const LocalTensor<U>& src, const FixpipeParamsV220& intriParams, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_FIXPIPE, "Fixpipe", emuLoc);
    fa_emu::FixpipeRecord<GlobalTensor<T>, U, T>(record, dst, src, intriParams, config.format);
    if constexpr (fa_emu::kIsAic) {
        record.Issue();
    }
}

template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR>
inline void Fixpipe(
    const LocalTensor<T>& dst, const LocalTensor<U>& src, const FixpipeParamsV220& intriParams, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_FIXPIPE, "Fixpipe", emuLoc);
    fa_emu::FixpipeRecord<LocalTensor<T>, U, T>(record, dst, src, intriParams, config.format);
    if constexpr (fa_emu::kIsAic) {
        record.Issue();
    }
}

template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR>
inline void Fixpipe(
    const GlobalTensor<T>& dst, const LocalTensor<U>& src, const LocalTensor<uint64_t>& cbufWorkspace,
    const FixpipeParamsV220& intriParams, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_FIXPIPE, "Fixpipe", emuLoc);
    fa_emu::FixpipeRecord<GlobalTensor<T>, U, T>(record, dst, src, intriParams, config.format).Operand(2, cbufWorkspace);
    if constexpr (fa_emu::kIsAic) {
        record.Issue();
    }
}

template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR>
inline void Fixpipe(
    const LocalTensor<T>& dst, const LocalTensor<U>& src, const LocalTensor<uint64_t>& cbufWorkspace,
    const FixpipeParamsV220& intriParams, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_FIXPIPE, "Fixpipe", emuLoc);
    fa_emu::FixpipeRecord<LocalTensor<T>, U, T>(record, dst, src, intriParams, config.format).Operand(2, cbufWorkspace);
    if constexpr (fa_emu::kIsAic) {
        record.Issue();
    }
}
inline void SetFixpipeNz2ndFlag(uint16_t ndNum, uint16_t srcNdStride, uint16_t dstNdStride)
{
    fa_emu::FixpipeState& state = fa_emu::CurrentFixpipe();
    state.ndNum = ndNum;
    state.srcNdStride = srcNdStride;
    state.dstNdStride = dstNdStride;
}

inline void SetFixpipePreQuantFlag(uint64_t config) { fa_emu::CurrentFixpipe().quant = config; }

template <typename T, typename U>
inline void DataCopy(
    const GlobalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyCO12DstParams& params, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_FIXPIPE, "DataCopy", emuLoc);
    fa_emu::CopyOut<GlobalTensor<T>, U, T>(record, dst, src, params);
}

template <typename T, typename U>
inline void DataCopy(
    const LocalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyCO12DstParams& params, FA_EMU_HERE)
{
    fa_emu::Record record(FA_OP_FIXPIPE, "DataCopy", emuLoc);
    fa_emu::CopyOut<LocalTensor<T>, U, T>(record, dst, src, params);
}
} // namespace AscendC

#endif
