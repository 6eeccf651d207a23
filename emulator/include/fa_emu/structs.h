/*!
 * \file structs.h
 * \brief Parameter structures, with the field widths, defaults and constructor orders of the public API.
 */
#ifndef FA_EMU_STRUCTS_H
#define FA_EMU_STRUCTS_H

#include "types.h"

namespace AscendC {
struct UnaryRepeatParams {
    UnaryRepeatParams() {}
    UnaryRepeatParams(uint16_t dstBlk, uint16_t srcBlk, uint8_t dstRep, uint8_t srcRep, bool half = false)
        : dstBlkStride(dstBlk), srcBlkStride(srcBlk), dstRepStride(dstRep), srcRepStride(srcRep), halfBlock(half)
    {}
    uint32_t blockNumber = DEFAULT_BLK_NUM;
    uint16_t dstBlkStride = DEFAULT_BLK_STRIDE;
    uint16_t srcBlkStride = DEFAULT_BLK_STRIDE;
    uint8_t dstRepStride = DEFAULT_REPEAT_STRIDE;
    uint8_t srcRepStride = DEFAULT_REPEAT_STRIDE;
    bool repeatStrideMode = false;
    bool strideSizeMode = false;
    bool halfBlock = false;
};

struct BinaryRepeatParams {
    BinaryRepeatParams() {}
    BinaryRepeatParams(
        uint8_t dstBlk, uint8_t src0Blk, uint8_t src1Blk, uint8_t dstRep, uint8_t src0Rep, uint8_t src1Rep)
        : dstBlkStride(dstBlk), src0BlkStride(src0Blk), src1BlkStride(src1Blk), dstRepStride(dstRep),
          src0RepStride(src0Rep), src1RepStride(src1Rep)
    {}
    uint32_t blockNumber = DEFAULT_BLK_NUM;
    uint8_t dstBlkStride = DEFAULT_BLK_STRIDE;
    uint8_t src0BlkStride = DEFAULT_BLK_STRIDE;
    uint8_t src1BlkStride = DEFAULT_BLK_STRIDE;
    uint8_t dstRepStride = DEFAULT_REPEAT_STRIDE;
    uint8_t src0RepStride = DEFAULT_REPEAT_STRIDE;
    uint8_t src1RepStride = DEFAULT_REPEAT_STRIDE;
    bool repeatStrideMode = false;
    bool strideSizeMode = false;
};

struct BrcbRepeatParams {
    BrcbRepeatParams() {}
    BrcbRepeatParams(uint16_t dstBlk, uint16_t dstRep) : dstBlkStride(dstBlk), dstRepStride(dstRep) {}
    uint32_t blockNumber = DEFAULT_BLK_NUM;
    uint16_t dstRepStride = DEFAULT_REPEAT_STRIDE;
    uint16_t dstBlkStride = DEFAULT_BLK_STRIDE;
};

struct CopyRepeatParams {
    CopyRepeatParams() {}
    CopyRepeatParams(uint16_t dst, uint16_t src, uint16_t dstRepeat, uint16_t srcRepeat)
        : dstStride(dst), srcStride(src), dstRepeatSize(dstRepeat), srcRepeatSize(srcRepeat)
    {}
    uint16_t dstStride = DEFAULT_BLK_STRIDE;
    uint16_t srcStride = DEFAULT_BLK_STRIDE;
    uint16_t dstRepeatSize = DEFAULT_REPEAT_STRIDE;
    uint16_t srcRepeatSize = DEFAULT_REPEAT_STRIDE;
};

struct GatherRepeatParams {
    GatherRepeatParams() {}
    GatherRepeatParams(uint8_t dstBlk, uint8_t dstRep) : dstRepStride(dstRep), dstBlkStride(dstBlk) {}
    uint32_t blockNumber = DEFAULT_BLK_NUM;
    uint16_t dstRepStride = DEFAULT_REPEAT_STRIDE;
    uint8_t dstBlkStride = DEFAULT_BLK_STRIDE;
    uint8_t src0BlkStride = DEFAULT_BLK_STRIDE;
    uint8_t src1BlkStride = DEFAULT_BLK_STRIDE;
    uint8_t src0RepStride = DEFAULT_REPEAT_STRIDE;
    uint8_t src1RepStride = DEFAULT_REPEAT_STRIDE;
    bool repeatStrideMode = false;
    bool strideSizeMode = false;
};

enum class GatherMaskMode : uint8_t { VERSION_V1 = 0, VERSION_V2 = 1 };
constexpr GatherMaskMode defaultGatherMaskMode = GatherMaskMode::VERSION_V2;

struct GatherMaskParams {
    GatherMaskParams() {}
    GatherMaskParams(uint8_t src0Block, uint16_t repeat, uint16_t src0Repeat, uint8_t src1Repeat)
        : src0BlockStride(src0Block), repeatTimes(repeat), src0RepeatStride(src0Repeat), src1RepeatStride(src1Repeat)
    {}
    uint8_t src0BlockStride = DEFAULT_BLK_STRIDE;
    uint16_t repeatTimes = 0;
    uint16_t src0RepeatStride = DEFAULT_REPEAT_STRIDE;
    uint8_t src1RepeatStride = DEFAULT_REPEAT_STRIDE;
};

struct TransDataTo5HDParams {
    constexpr TransDataTo5HDParams() = default;
    constexpr TransDataTo5HDParams(
        bool dstHigh, bool srcHigh, uint8_t repeat, uint16_t dstRep, uint16_t srcRep)
        : dstHighHalf(dstHigh), srcHighHalf(srcHigh), repeatTimes(repeat), dstRepStride(dstRep), srcRepStride(srcRep)
    {}
    bool dstHighHalf = false;
    bool srcHighHalf = false;
    uint8_t repeatTimes = 1;
    uint16_t dstRepStride = 0;
    uint16_t srcRepStride = 0;
};

struct DataCopyParams {
    DataCopyParams() {}
    DataCopyParams(uint16_t count, uint16_t len, uint16_t src, uint16_t dst)
        : blockCount(count), blockLen(len), srcStride(src), dstStride(dst)
    {}
    uint16_t blockCount = 1;
    uint16_t blockLen = 0;
    union {
        uint16_t srcGap = 0;
        uint16_t srcStride;
    };
    union {
        uint16_t dstGap = 0;
        uint16_t dstStride;
    };
};

struct DataCopyPadParams {
    DataCopyPadParams() {}
    DataCopyPadParams(bool pad, uint8_t left, uint8_t right, uint64_t value)
        : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value)
    {}
    bool isPad = false;
    uint8_t leftPadding = 0;
    uint8_t rightPadding = 0;
    uint64_t paddingValue = 0;
};

struct DataCopyExtParams {
    DataCopyExtParams() {}
    DataCopyExtParams(uint16_t count, uint32_t len, uint32_t src, uint32_t dst, uint32_t reserved)
        : blockCount(count), blockLen(len), srcStride(src), dstStride(dst), rsv(reserved)
    {}
    uint16_t blockCount = 1;
    uint32_t blockLen = 0;
    uint32_t srcStride = 0;
    uint32_t dstStride = 0;
    uint32_t rsv = 0;
};

template <typename T> struct DataCopyPadExtParams {
    DataCopyPadExtParams() {}
    DataCopyPadExtParams(bool pad, uint8_t left, uint8_t right, T value)
        : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value)
    {}
    bool isPad = false;
    uint8_t leftPadding = 0;
    uint8_t rightPadding = 0;
    T paddingValue = 0;
};

struct Nd2NzParams {
    Nd2NzParams() {}
    Nd2NzParams(
        uint16_t num, uint16_t n, uint16_t d, uint16_t srcMatrix, uint16_t srcD, uint16_t dstC0, uint16_t dstN,
        uint16_t dstMatrix)
        : ndNum(num), nValue(n), dValue(d), srcNdMatrixStride(srcMatrix), srcDValue(srcD), dstNzC0Stride(dstC0),
          dstNzNStride(dstN), dstNzMatrixStride(dstMatrix)
    {}
    uint16_t ndNum = 0;
    uint16_t nValue = 0;
    uint16_t dValue = 0;
    uint16_t srcNdMatrixStride = 0;
    uint16_t srcDValue = 0;
    uint16_t dstNzC0Stride = 0;
    uint16_t dstNzNStride = 0;
    uint16_t dstNzMatrixStride = 0;
};

struct Nz2NdParamsFull {
    Nz2NdParamsFull() {}
    Nz2NdParamsFull(
        uint16_t num, uint16_t n, uint16_t d, uint16_t srcMatrix, uint16_t srcN, uint16_t dstD, uint16_t dstMatrix)
        : ndNum(num), nValue(n), dValue(d), srcNdMatrixStride(srcMatrix), srcNStride(srcN), dstDStride(dstD),
          dstNdMatrixStride(dstMatrix)
    {}
    uint16_t ndNum = 1;
    uint16_t nValue = 0;
    uint16_t dValue = 0;
    uint16_t srcNdMatrixStride = 1;
    uint16_t srcNStride = 0;
    uint16_t dstDStride = 0;
    uint16_t dstNdMatrixStride = 1;
};

struct LoadData2DParams {
    LoadData2DParams() {}
    LoadData2DParams(
        uint16_t start, uint8_t repeat, uint16_t src, uint8_t sidIn, uint16_t gap, bool transpose, uint8_t mode)
        : startIndex(start), dstGap(gap), srcStride(src), ifTranspose(transpose), repeatTimes(repeat), sid(sidIn),
          addrMode(mode)
    {}
    uint16_t startIndex = 0;
    uint16_t dstGap = 0;
    uint16_t srcStride = 0;
    bool ifTranspose = 0;
    uint8_t repeatTimes = 0;
    uint8_t sid = 0;
    uint8_t addrMode = 0;
};
using LoadData2dParams = LoadData2DParams;

struct LoadData2dTransposeParams {
    LoadData2dTransposeParams() {}
    LoadData2dTransposeParams(
        uint16_t start, uint8_t repeat, uint16_t src, uint16_t gap, uint16_t fracGap, uint8_t mode = 0)
        : startIndex(start), repeatTimes(repeat), srcStride(src), dstGap(gap), dstFracGap(fracGap), addrMode(mode)
    {}
    uint16_t startIndex = 0;
    uint8_t repeatTimes = 0;
    uint16_t srcStride = 0;
    uint16_t dstGap = 0;
    uint16_t dstFracGap = 0;
    uint8_t addrMode = 0;
};

template <typename T> struct LoadData3DParamsV2 {
    LoadData3DParamsV2() {}
    LoadData3DParamsV2(
        const uint8_t pad[PAD_SIZE], uint16_t h, uint16_t w, uint16_t channels, uint16_t kExt, uint16_t mExt,
        uint16_t kStart, uint16_t mStart, uint8_t sw, uint8_t sh, uint8_t fw, uint8_t fh, uint8_t dw, uint8_t dh,
        bool transpose, bool smallK, T value)
        : l1H(h), l1W(w), channelSize(channels), kExtension(kExt), mExtension(mExt), kStartPt(kStart),
          mStartPt(mStart), strideW(sw), strideH(sh), filterW(fw), filterH(fh), dilationFilterW(dw),
          dilationFilterH(dh), enTranspose(transpose), enSmallK(smallK), padValue(value)
    {
        for (int32_t i = 0; i < PAD_SIZE; ++i) {
            padList[i] = pad[i];
        }
    }
    LoadData3DParamsV2(
        const uint8_t pad[PAD_SIZE], uint16_t h, uint16_t w, uint16_t channels, uint16_t kExt, uint16_t mExt,
        uint16_t kStart, uint16_t mStart, uint8_t sw, uint8_t sh, uint8_t fw, uint8_t fh, uint8_t dw, uint8_t dh,
        bool transpose, bool smallK, T value, bool sizeW, bool sizeH, bool matrixCtrl)
        : LoadData3DParamsV2(
              pad, h, w, channels, kExt, mExt, kStart, mStart, sw, sh, fw, fh, dw, dh, transpose, smallK, value)
    {
        filterSizeW = sizeW;
        filterSizeH = sizeH;
        fMatrixCtrl = matrixCtrl;
    }
    uint8_t padList[PAD_SIZE] = {0};
    uint16_t l1H = 0;
    uint16_t l1W = 0;
    uint16_t channelSize = 0;
    uint16_t kExtension = 0;
    uint16_t mExtension = 0;
    uint16_t kStartPt = 0;
    uint16_t mStartPt = 0;
    uint8_t strideW = 1;
    uint8_t strideH = 1;
    uint8_t filterW = 1;
    uint8_t filterH = 1;
    uint8_t dilationFilterW = 1;
    uint8_t dilationFilterH = 1;
    bool enTranspose = false;
    bool enSmallK = false;
    T padValue = 0;
    bool filterSizeW = false;
    bool filterSizeH = false;
    bool fMatrixCtrl = false;
};

enum class FmatrixMode : uint8_t { FMATRIX_LEFT = 0, FMATRIX_RIGHT = 1 };

struct IsResetLoad3dConfig {
    constexpr IsResetLoad3dConfig(bool matrix, bool padding) : isSetFMatrix(matrix), isSetPadding(padding) {}
    bool isSetFMatrix = true;
    bool isSetPadding = true;
};
constexpr IsResetLoad3dConfig IS_RESER_LOAD3D_DEFAULT_CONFIG = {true, true};

template <typename T> struct InitConstValueParams {
    InitConstValueParams() {}
    InitConstValueParams(uint16_t repeat, uint16_t block, uint16_t gap, T value)
        : repeatTimes(repeat), blockNum(block), dstGap(gap), initValue(value)
    {}
    InitConstValueParams(uint16_t repeat, T value) : repeatTimes(repeat), initValue(value) {}
    uint16_t repeatTimes = 0;
    uint16_t blockNum = 0;
    uint16_t dstGap = 0;
    T initValue = 0;
};

struct MmadParams {
    MmadParams() {}
    MmadParams(
        uint16_t mIn, uint16_t nIn, uint16_t kIn, bool bias, int32_t offset, bool sparse, bool winogradA, bool winogradB)
        : m(mIn), n(nIn), k(kIn), isBias(bias), fmOffset(offset), enSsparse(sparse), enWinogradA(winogradA),
          enWinogradB(winogradB)
    {}
    MmadParams(uint16_t mIn, uint16_t nIn, uint16_t kIn, uint8_t flag, bool source, bool initVal)
        : m(mIn), n(nIn), k(kIn), unitFlag(flag), cmatrixSource(source), cmatrixInitVal(initVal)
    {}
    uint16_t m = 0;
    uint16_t n = 0;
    uint16_t k = 0;
    bool isBias = false;
    int32_t fmOffset = 0;
    bool enSsparse = false;
    bool enWinogradA = false;
    bool enWinogradB = false;
    uint8_t unitFlag = 0;
    bool kDirectionAlign = false;
    bool cmatrixSource = false;
    bool cmatrixInitVal = true;
};

struct DataCopyCO12DstParams {
    DataCopyCO12DstParams() {}
    DataCopyCO12DstParams(
        uint16_t n, uint16_t m, uint32_t dst, uint16_t src, QuantMode_t quant, uint8_t relu, bool split, bool nd)
        : nSize(n), mSize(m), dstStride(dst), srcStride(src), quantPre(quant), reluPre(relu), channelSplit(split),
          nz2ndEn(nd)
    {}
    uint8_t sid = 0;
    uint16_t nSize = 0;
    uint16_t mSize = 0;
    uint32_t dstStride = DEFAULT_BLK_STRIDE;
    uint16_t srcStride = DEFAULT_BLK_STRIDE;
    uint8_t unitFlag = 0;
    uint8_t clipReluPre = 0;
    uint8_t eltWiseOp = 0;
    QuantMode_t quantPre = QuantMode_t::NoQuant;
    uint8_t reluPre = 0;
    bool channelSplit = false;
    bool nz2ndEn = false;
};

enum class CO2Layout : uint8_t { NZ = 0, ROW_MAJOR, COLUMN_MAJOR };

struct FixpipeConfig {
    CO2Layout format;
    constexpr FixpipeConfig(CO2Layout layout) : format(layout) {}
    constexpr FixpipeConfig(CO2Layout layout, bool) : format(layout) {}
};
constexpr FixpipeConfig CFG_NZ = {CO2Layout::NZ};
constexpr FixpipeConfig CFG_ROW_MAJOR = {CO2Layout::ROW_MAJOR};
constexpr FixpipeConfig CFG_COLUMN_MAJOR = {CO2Layout::COLUMN_MAJOR};

struct FixpipeParamsV220 {
    FixpipeParamsV220() {}
    FixpipeParamsV220(uint16_t n, uint16_t m, uint16_t src, uint32_t dst, bool relu)
        : nSize(n), mSize(m), srcStride(src), dstStride(dst), reluEn(relu)
    {}
    FixpipeParamsV220(
        uint16_t n, uint16_t m, uint16_t src, uint32_t dst, bool relu, QuantMode_t quant, int64_t scalar, uint16_t num,
        uint16_t srcNd, uint16_t dstNd, uint8_t flag, bool split = false)
        : nSize(n), mSize(m), srcStride(src), dstStride(dst), quantPre(quant),
          deqScalar(static_cast<uint64_t>(scalar)), ndNum(num), srcNdStride(srcNd), dstNdStride(dstNd), reluEn(relu),
          unitFlag(flag), isChannelSplit(split)
    {}
    uint16_t nSize = 0;
    uint16_t mSize = 0;
    uint16_t srcStride = 0;
    uint32_t dstStride = 0;
    QuantMode_t quantPre = QuantMode_t::NoQuant;
    // The public structure leaves this field unset; here it starts as a pattern that a quantising call notices.
    uint64_t deqScalar = 0xfae0fae0fae0fae0ull;
    uint16_t ndNum = 1;
    uint16_t srcNdStride = 0;
    uint16_t dstNdStride = 0;
    bool reluEn = false;
    uint8_t unitFlag = 0;
    bool isChannelSplit = false;
};
} // namespace AscendC

#endif
