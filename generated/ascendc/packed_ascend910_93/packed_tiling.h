/*!
 * \file packed_tiling.h
 * \brief Sizes, strides and scalars of a launch of `packed`.
 *
 * Written by fa-gen 0.1.0; edit packed.fa, not this file.
 * Passed by value as the last argument of the kernel; host and device read the same bytes.
 */

#ifndef FA_PACKED_TILING_H
#define FA_PACKED_TILING_H

#include <cstdint>

namespace fa_packed {
struct Tiling {
    int64_t batch; // sequences
    int64_t heads;
    int64_t kvHeads;
    int64_t qLen;  // of the longest sequence
    int64_t kvLen; // of the longest sequence
    int64_t qStride[4];   // elements from one batch, head, row, column to the next; the last is 1
    int64_t kStride[4];
    int64_t vStride[4];
    int64_t outStride[4];
    int64_t lseStride[3]; // batch, head, row; the last is 1
    uint64_t seed;        // of a training launch
    uint32_t offset;
    uint32_t training;
    int64_t capturedGainStride[4]; // tensor gain, fp16: elements by dimension, 0 where it broadcasts
};
static_assert(sizeof(int64_t[26]) <= sizeof(Tiling), "the fixed part of the launch block is 26 words");
} // namespace fa_packed

#endif // FA_PACKED_TILING_H
