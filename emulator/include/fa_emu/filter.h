/*!
 * \file filter.h
 * \brief Selection by masks of bytes, dropout by masks of bytes or bits, arithmetic progressions: composed calls.
 */
#ifndef FA_EMU_FILTER_H
#define FA_EMU_FILTER_H

#include "softmax.h"
#include "select.h"

namespace AscendC {
struct SelectWithBytesMaskShapeInfo {
    uint32_t firstAxis = 0;
    uint32_t srcLastAxis = 0;
    uint32_t maskLastAxis = 0;
};

struct DropOutShapeInfo {
    uint32_t firstAxis = 0;
    uint32_t srcLastAxis = 0;
    uint32_t maskLastAxis = 0;
};
} // namespace AscendC

namespace fa_emu {
/*! Elements of the piece of a row that is worked on at once: whole repeats of 16-bit and 32-bit elements. */
constexpr uint32_t kPiece = 128;

/*! Bits of one piece: 1 where the mask's element is 0. Works in `tmp`, kPiece bits at `tmp`. */
template <typename U>
inline void ZeroBits(
    const AscendC::LocalTensor<uint8_t>& tmp, const AscendC::LocalTensor<U>& mask, uint32_t count, FaEmuLoc loc)
{
    constexpr uint32_t kBitsRoom = 32;
    const AscendC::LocalTensor<half> numbers = tmp[kBitsRoom].template ReinterpretCast<half>();
    const AscendC::LocalTensor<float> wide = tmp[kBitsRoom].template ReinterpretCast<float>();
    if constexpr (sizeof(U) == 4) {
        AscendC::Duplicate(wide, 0.0f, static_cast<int32_t>(kPiece), loc);
        Barrier(loc);
        AscendC::Cast(wide, mask.template ReinterpretCast<int32_t>(), AscendC::RoundMode::CAST_NONE, count, loc);
        Barrier(loc);
        AscendC::Compares(tmp, wide, 0.0f, AscendC::CMPMODE::EQ, kPiece, loc);
    } else {
        AscendC::Duplicate(numbers, half(0), static_cast<int32_t>(kPiece), loc);
        Barrier(loc);
        if constexpr (sizeof(U) == 1) {
            AscendC::Cast(numbers, mask.template ReinterpretCast<uint8_t>(), AscendC::RoundMode::CAST_NONE, count, loc);
        } else {
            AscendC::Cast(numbers, mask.template ReinterpretCast<int16_t>(), AscendC::RoundMode::CAST_NONE, count, loc);
        }
        Barrier(loc);
        AscendC::Compares(tmp, numbers, half(0), AscendC::CMPMODE::EQ, kPiece, loc);
    }
    Barrier(loc);
}

template <typename T, typename U>
inline void SelectByBytes(
    const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, T scalar, bool zeroTakesTensor,
    const AscendC::LocalTensor<U>& mask, const AscendC::LocalTensor<uint8_t>& tmp,
    const AscendC::SelectWithBytesMaskShapeInfo& info, FaEmuLoc loc)
{
    static_assert(kOneOf<T, half, float>, "Select by bytes takes half and float");
    static_assert(kOneOf<U, bool, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t>, "the mask is of integers");
    constexpr uint32_t kUnit = 16;
    if (info.maskLastAxis % kUnit != 0 || info.maskLastAxis * sizeof(U) % 32 != 0 || info.maskLastAxis < info.srcLastAxis) {
        PipeError("parameter-range", "Select: maskLastAxis is a multiple of 16 elements and 32 bytes, at least srcLastAxis",
                  "pad the rows of the mask", loc);
        return;
    }
    for (uint32_t row = 0; row < info.firstAxis; ++row) {
        for (uint32_t at = 0; at < info.srcLastAxis; at += kPiece) {
            const uint32_t left = info.srcLastAxis - at;
            const uint32_t count = left < kPiece ? left : kPiece;
            ZeroBits(tmp, mask[row * info.maskLastAxis + at], count, loc);
            if (!zeroTakesTensor) {
                const AscendC::LocalTensor<uint16_t> bits = tmp.ReinterpretCast<uint16_t>();
                AscendC::Not(bits, bits, static_cast<int32_t>(kPiece / 16), loc);
                Barrier(loc);
            }
            const uint32_t from = row * info.srcLastAxis + at;
            AscendC::Select(dst[from], tmp, src[from], scalar, AscendC::SELMODE::VSEL_TENSOR_SCALAR_MODE, count, loc);
            Barrier(loc);
        }
    }
}
} // namespace fa_emu

namespace AscendC {
/*! A mask element of 0 takes src0, any other src1. */
template <typename T, typename U, bool isReuseMask = true>
inline void Select(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, T src1, const LocalTensor<U>& mask,
    const LocalTensor<uint8_t>& sharedTmpBuffer, const SelectWithBytesMaskShapeInfo& info, FA_EMU_HERE)
{
    FA_EMU_NEEDS_RESERVED_UB(T, "SelectWithBytesMask");
    if constexpr (fa_emu::kIsAiv) {
        fa_emu::SelectByBytes(dst, src0, src1, true, mask, sharedTmpBuffer, info, emuLoc);
    }
}

template <typename T, typename U, bool isReuseMask = true>
inline void Select(
    const LocalTensor<T>& dst, T src0, const LocalTensor<T>& src1, const LocalTensor<U>& mask,
    const LocalTensor<uint8_t>& sharedTmpBuffer, const SelectWithBytesMaskShapeInfo& info, FA_EMU_HERE)
{
    FA_EMU_NEEDS_RESERVED_UB(T, "SelectWithBytesMask");
    if constexpr (fa_emu::kIsAiv) {
        fa_emu::SelectByBytes(dst, src1, src0, false, mask, sharedTmpBuffer, info, emuLoc);
    }
}

/*! src / keepProb where the mask is 1, 0 elsewhere. Modes: 1 bytes with padding, 2 bytes, 3 bits, 4 bits with padding. */
template <typename T, bool isInitBitMode = false, uint32_t dropOutMode = 0>
inline void DropOut(
    const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, const LocalTensor<uint8_t>& maskLocal,
    const LocalTensor<uint8_t>& sharedTmpBuffer, const float keepProb, const DropOutShapeInfo& info, FA_EMU_HERE)
{
    FA_EMU_NEEDS_RESERVED_UB(T, "DropOut");
    static_assert(dropOutMode <= 4, "dropOutMode is 0 to 4");
    if constexpr (fa_emu::kIsAiv) {
        constexpr uint32_t kByteBits = 8;
        uint32_t mode = dropOutMode;
        if (mode == 0) {
            mode = info.srcLastAxis < info.maskLastAxis ? 1 : info.srcLastAxis == info.maskLastAxis ? 2
                 : info.srcLastAxis == info.maskLastAxis * kByteBits ? 3 : 4;
        }
        if (!(keepProb > 0.0f && keepProb < 1.0f)) {
            fa_emu::PipeError("parameter-range", "DropOut: keepProb lies between 0 and 1", "correct the probability", emuLoc);
            return;
        }
        const bool bits = mode >= 3;
        if (bits) {
            // The scalar unit reads the mask: it waits for what the vector unit has waited for.
            fa_emu::Handshake<HardEvent::V_S>(emuLoc);
        }
        const bool dense = mode == 2 || mode == 3;
        const uint32_t rows = dense ? 1 : info.firstAxis;
        const uint32_t columns = dense ? info.firstAxis * info.srcLastAxis : info.srcLastAxis;
        for (uint32_t row = 0; row < rows; ++row) {
            for (uint32_t at = 0; at < columns; at += fa_emu::kPiece) {
                const uint32_t left = columns - at;
                const uint32_t count = left < fa_emu::kPiece ? left : fa_emu::kPiece;
                const uint32_t from = row * columns + at;
                const LocalTensor<uint8_t> piece = maskLocal[row * info.maskLastAxis + (bits ? at / kByteBits : at)];
                // Bits start anywhere in a block, and Select wants them at its start.
                if (bits) {
                    for (uint32_t byte = 0; byte < fa_emu::kPiece / kByteBits; ++byte) {
                        sharedTmpBuffer.SetValue(byte, byte * kByteBits < count ? piece.GetValue(byte, emuLoc) : 0, emuLoc);
                    }
                    fa_emu::Handshake<HardEvent::S_V>(emuLoc);
                } else {
                    fa_emu::ZeroBits(sharedTmpBuffer, piece, count, emuLoc);
                    const LocalTensor<uint16_t> words = sharedTmpBuffer.ReinterpretCast<uint16_t>();
                    Not(words, words, static_cast<int32_t>(fa_emu::kPiece / 16), emuLoc);
                    fa_emu::Barrier(emuLoc);
                }
                Select(dstLocal[from], sharedTmpBuffer, srcLocal[from], T(0.0f), SELMODE::VSEL_TENSOR_SCALAR_MODE, count,
                       emuLoc);
                fa_emu::Barrier(emuLoc);
                if (bits) {
                    fa_emu::Handshake<HardEvent::V_S>(emuLoc);
                }
            }
        }
        Muls(dstLocal, dstLocal, T(1.0f / keepProb), static_cast<int32_t>(info.firstAxis * info.srcLastAxis), emuLoc);
        fa_emu::Barrier(emuLoc);
    }
}

template <typename T, bool isInitBitMode = false, uint32_t dropOutMode = 0>
inline void DropOut(
    const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, const LocalTensor<uint8_t>& maskLocal,
    const float keepProb, const DropOutShapeInfo& info, FA_EMU_HERE)
{
    if constexpr (fa_emu::kIsAiv) {
        DropOut<T, isInitBitMode, dropOutMode>(
            dstLocal, srcLocal, maskLocal, fa_emu::LeftOver(emuLoc), keepProb, info, emuLoc);
    }
}

/*! first, first + diff, ... */
template <typename T>
inline void ArithProgression(
    const LocalTensor<T>& dstLocal, const T firstValue, const T diffValue, const int32_t count, FA_EMU_HERE)
{
    static_assert(fa_emu::kOneOf<T, int16_t, int32_t, half, float>, "ArithProgression takes int16_t, int32_t, half and float");
    if constexpr (fa_emu::kIsAiv) {
        CreateVecIndex(LocalTensor<T>(dstLocal), T(0), static_cast<uint32_t>(count), emuLoc);
        fa_emu::Barrier(emuLoc);
        Muls(dstLocal, dstLocal, diffValue, count, emuLoc);
        fa_emu::Barrier(emuLoc);
        Adds(dstLocal, dstLocal, firstValue, count, emuLoc);
        fa_emu::Barrier(emuLoc);
    }
}

template <typename T>
inline void Arange(
    const LocalTensor<T>& dst, const T firstValue, const T diffValue, const int32_t count, FA_EMU_HERE)
{
    ArithProgression(dst, firstValue, diffValue, count, emuLoc);
}
} // namespace AscendC

#endif
