/*!
 * \file pair_bias_launch.h
 * \brief Host side of `pair_bias`: workspace, arguments and launch through AscendCL. Written by fa-gen 0.1.0;
 *        edit captured.fa, not this file.
 *
 * Load pair_bias_ascend910_93.cpp's binary with aclrtBinaryLoadFromFile, find `fa_pair_bias_forward` in it with
 * aclrtBinaryGetFunction, fill Pointers and Tiling, and call Launch. Nothing here waits for the stream.
 */

#ifndef FA_PAIR_BIAS_LAUNCH_H
#define FA_PAIR_BIAS_LAUNCH_H

#include <cstdint>

#include "acl/acl.h"

#include "pair_bias_tiling.h"

namespace fa_pair_bias {
constexpr const char* kSymbol = "fa_pair_bias_forward";
constexpr int64_t kLeastTaskRows = 16;                 // query rows of a task, at the least
constexpr uint64_t kWorkspaceBytesPerCore = 1376256; // per cube core
constexpr uint64_t kWorkspaceAlignment = 512;           // bytes

// Device addresses of the tensors.
struct Pointers {
    void* q;
    void* k;
    void* v;
    void* out;
    void* lse; // fp32 [batch, heads, q_len]
    void* capturedBias; // tensor bias, fp16
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
    Append(status, args, pointers.capturedBias);
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
} // namespace fa_pair_bias

#endif // FA_PAIR_BIAS_LAUNCH_H
