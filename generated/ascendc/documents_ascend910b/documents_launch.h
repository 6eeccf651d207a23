/*!
 * \file documents_launch.h
 * \brief Host side of `documents`: workspace, arguments and launch through AscendCL. Written by fa-gen 0.1.0;
 *        edit documents.fa, not this file.
 *
 * Load documents_ascend910b.cpp's binary with aclrtBinaryLoadFromFile, find `fa_documents_forward` in it with
 * aclrtBinaryGetFunction, fill Pointers and Tiling, and call Launch. Nothing here waits for the stream.
 */

#ifndef FA_DOCUMENTS_LAUNCH_H
#define FA_DOCUMENTS_LAUNCH_H

#include <cstdint>

#include "acl/acl.h"

#include "documents_tiling.h"

namespace fa_documents {
constexpr const char* kSymbol = "fa_documents_forward";
constexpr int64_t kLeastTaskRows = 16;                 // query rows of a task, at the least
constexpr uint64_t kWorkspaceBytesPerCore = 2752512; // per cube core
constexpr uint64_t kWorkspaceAlignment = 512;           // bytes

// Device addresses of the tensors.
struct Pointers {
    void* q;
    void* k;
    void* v;
    void* out;
    void* lse; // fp32 [batch, heads, q_len]
    void* capturedIds; // tensor ids, int32
    void* workspace; // WorkspaceBytes, aligned to kWorkspaceAlignment
};

// Cube cores to launch on: as many as could get a task, as far as the device has them. The kernel cuts the tasks.
inline uint32_t Blocks(const Tiling& tiling, int64_t cubeCores)
{
    const int64_t tasks = tiling.batch * tiling.heads * ((tiling.qLen + kLeastTaskRows - 1) / kLeastTaskRows);
    const int64_t blocks = tasks < cubeCores ? tasks : cubeCores;
    return static_cast<uint32_t>(blocks > 0 ? blocks : 1);
}

// Least and greatest elements of runs and pieces of so many lines of a tensor, an int32 each.
inline uint64_t EndBytes(int64_t lines, int64_t length, int64_t run, int64_t piece)
{
    const int64_t ends = (length + run - 1) / run + (length + piece - 1) / piece;
    return static_cast<uint64_t>(lines * 2 * ends) * sizeof(int32_t);
}

inline uint64_t WorkspaceBytes(const Tiling& tiling, uint32_t blocks)
{
    uint64_t bytes = blocks * kWorkspaceBytesPerCore;
    bytes += EndBytes(tiling.batch, tiling.kvLen, 256, 8192); // ids[b, ..]
    bytes += EndBytes(tiling.batch, tiling.kvLen, 512, 8192); // ids[b, ..]
    return bytes;
}

// Appends one argument, unless an earlier step has failed.
template <typename T>
inline void Append(aclError& status, aclrtArgsHandle args, T value)
{
    aclrtParamHandle param = nullptr;
    if (status == ACL_SUCCESS) {
        status = aclrtKernelArgsAppend(args, &value, sizeof(value), &param);
    }
}

// Puts the kernel on the stream. Returns ACL_SUCCESS or the error of the first call that failed.
inline aclError Launch(aclrtFuncHandle kernel, uint32_t blocks, aclrtStream stream, const Pointers& pointers,
    const Tiling& tiling)
{
    void* flags = nullptr; // base address of the cross-core flags
    aclrtArgsHandle args = nullptr;
    aclError status = aclrtGetHardwareSyncAddr(&flags);
    if (status == ACL_SUCCESS) {
        status = aclrtKernelArgsInit(kernel, &args);
    }
    Append(status, args, flags);
    Append(status, args, pointers.q);
    Append(status, args, pointers.k);
    Append(status, args, pointers.v);
    Append(status, args, pointers.out);
    Append(status, args, pointers.lse);
    Append(status, args, pointers.capturedIds);
    Append(status, args, pointers.workspace);
    Append(status, args, tiling);
    if (status == ACL_SUCCESS) {
        status = aclrtKernelArgsFinalize(args);
    }
    if (status != ACL_SUCCESS) {
        return status;
    }
    aclrtLaunchKernelAttr batch = {}; // all blocks run at once: they meet before the first tile
    batch.id = ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE;
    batch.value.schemMode = 1;
    aclrtLaunchKernelCfg config = {&batch, 1};
    return aclrtLaunchKernelWithConfig(kernel, blocks, stream, &config, args, nullptr);
}
} // namespace fa_documents

#endif // FA_DOCUMENTS_LAUNCH_H
