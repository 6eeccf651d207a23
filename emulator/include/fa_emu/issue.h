/*!
 * \file issue.h
 * \brief Builder for the instruction record that every call fills.
 */
#ifndef FA_EMU_ISSUE_H
#define FA_EMU_ISSUE_H

#include "types.h"

/*! Trailing parameter of every public call: the place in the kernel that made it. */
#define FA_EMU_HERE FaEmuLoc emuLoc = FaEmuLoc::Here()

namespace fa_emu {
struct Record {
    FaEmuRecord raw;

    Record(FaEmuOp op, const char* name, FaEmuLoc loc) : raw{}
    {
        raw.op = op;
        raw.name = name;
        raw.file = loc.file;
        raw.line = loc.line;
    }

    template <typename Tensor> Record& Operand(int index, const Tensor& tensor)
    {
        raw.t[index] = tensor.EmuOperand();
        return *this;
    }

    Record& Param(int index, int64_t value)
    {
        raw.p[index] = value;
        return *this;
    }

    Record& Scalar(uint64_t bits)
    {
        raw.scalar = bits;
        return *this;
    }

    Record& Count(int64_t count)
    {
        raw.form = FA_FORM_COUNT;
        raw.mask[0] = static_cast<uint64_t>(count);
        return *this;
    }

    template <bool isSetMask> Record& Lanes(uint64_t lanes)
    {
        raw.form = isSetMask ? FA_FORM_LANES : FA_FORM_KEEP;
        raw.mask[0] = lanes;
        return *this;
    }

    template <bool isSetMask> Record& MaskBits(const uint64_t* mask)
    {
        raw.form = isSetMask ? FA_FORM_BITS : FA_FORM_KEEP;
        if (isSetMask) {
            raw.mask[0] = mask[0];
            raw.mask[1] = mask[1];
        }
        return *this;
    }

    /*! Repeat count, then block and repeat strides of dst, src0, src1. */
    Record& Repeat(int64_t repeat, int64_t dstBlk, int64_t src0Blk, int64_t src1Blk, int64_t dstRep, int64_t src0Rep,
                   int64_t src1Rep)
    {
        const int64_t values[7] = {repeat, dstBlk, src0Blk, src1Blk, dstRep, src0Rep, src1Rep};
        for (int i = 0; i < 7; ++i) {
            raw.p[i] = values[i];
        }
        return *this;
    }

    uint64_t Issue() const { return fa_emu_api->issue(&raw); }
};
} // namespace fa_emu

#endif
