/*!
 * \file documents_tiling.h
 * \brief Sizes, strides and scalars of a launch of `documents`.
 *
 * Written by fa-gen 0.1.0; edit documents.fa, not this file.
 * Passed by value as the last argument of the kernel; host and device read the same bytes.
 */

#ifndef FA_DOCUMENTS_TILING_H
#define FA_DOCUMENTS_TILING_H

#include <cstdint>

namespace fa_documents {
struct Tiling {
    int64_t batch;
    int64_t heads;
    int64_t kvHeads;
    int64_t qLen;
    int64_t kvLen;
    int64_t qStride[4];   // elements from one batch, head, row, column to the next; the last is 1
    int64_t kStride[4];
    int64_t vStride[4];
    int64_t outStride[4];
    int64_t lseStride[3]; // batch, head, row; the last is 1
    uint64_t seed;        // of a training launch
    uint32_t offset;
    uint32_t training;
    int64_t capturedIdsStride[4]; // tensor ids, int32: elements by dimension, 0 where it broadcasts
};
static_assert(sizeof(int64_t[26]) <= sizeof(Tiling), "the fixed part of the launch block is 26 words");
} // namespace fa_documents

#endif // FA_DOCUMENTS_TILING_H
