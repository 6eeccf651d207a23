/*!
 * \file dense_or_near_launch.h
 * \brief Host side of `dense_or_near`: workspace, arguments and launch through AscendCL. Written by fa-gen 0.1.0;
 *        edit captured.fa, not this file.
 *
 * Load dense_or_near_ascend910b.cpp's binary with aclrtBinaryLoadFromFile, find `fa_dense_or_near_forward` in it with
 * aclrtBinaryGetFunction, fill Pointers and Tiling, and call Launch. Nothing here waits for the stream.
 */

#ifndef FA_DENSE_OR_NEAR_LAUNCH_H
#define FA_DENSE_OR_NEAR_LAUNCH_H

#include <cstdint>

#include "acl/acl.h"

#include "dense_or_near_tiling.h"

namespace fa_dense_or_near {
constexpr const char* kSymbol = "fa_dense_or_near_forward";
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
    void* capturedM; // tensor m, bool
    void* workspace; // WorkspaceBytes, aligned to kWorkspaceAlignment
};

// Cube cores to launch on: as many as could get a task, as far as the device has them. The kernel cuts the tasks.
inline uint32_t Blocks(const Tiling& tiling, int64_t cubeCores)
{
    const int64_t tasks = tiling.batch * tiling.heads * ((tiling.qLen + kLeastTaskRows - 1) / kLeastTaskRows);
    const int64_t blocks = tasks < cubeCores ? tasks : cubeCores;
    return static_cast<uint32_t>(blocks > 0 ? blocks : 1);
}

inline uint64_t WorkspaceBytes(uint32_t blocks)
{
    return blocks * kWorkspaceBytesPerCore;
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
    Append(status, args, pointers.capturedM);
    Append(status, args, pointers.workspace);
    Append(status, args, tiling);
    if (status == ACL_SUCCESS) {
        status = aclrtKernelArgsFinalize(args);
    }
    if (status != ACL_SUCCESS) {
        return status;
    }
    return aclrtLaunchKernelWithConfig(kernel, blocks, stream, nullptr, args, nullptr);
}
} // namespace fa_dense_or_near

#endif // FA_DENSE_OR_NEAR_LAUNCH_H
