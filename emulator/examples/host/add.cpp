/*!
 * \file add.cpp
 * \brief Host program: loads a vector-add kernel, runs it, and checks the sums.
 *
 * Builds unchanged against a real toolkit: c++ add.cpp -I<toolkit>/include -L<toolkit>/lib64 -lascendcl
 */
#include <cstdio>
#include <vector>

#include "acl/acl.h"

namespace {
constexpr size_t kCount = 1024;
constexpr uint32_t kBlocks = 4;

bool Check(aclError code, const char* what)
{
    if (code != ACL_SUCCESS) {
        const char* text = aclGetRecentErrMsg();
        std::fprintf(stderr, "%s: %d %s\n", what, code, text != nullptr ? text : "");
        return false;
    }
    return true;
}

void* ToDevice(const std::vector<float>& data)
{
    const size_t bytes = data.size() * sizeof(float);
    void* device = nullptr;
    if (!Check(aclrtMalloc(&device, bytes, ACL_MEM_MALLOC_HUGE_FIRST), "malloc") ||
        !Check(aclrtMemcpy(device, bytes, data.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE), "copy")) {
        return nullptr;
    }
    return device;
}

bool Launch(const char* path, void* x, void* y, void* z)
{
    aclrtStream stream = nullptr;
    aclrtBinHandle binary = nullptr;
    aclrtFuncHandle kernel = nullptr;
    aclrtArgsHandle args = nullptr;
    aclrtParamHandle param = nullptr;
    bool fine = Check(aclrtCreateStream(&stream), "stream") &&
                Check(aclrtBinaryLoadFromFile(path, nullptr, &binary), "load") &&
                Check(aclrtBinaryGetFunction(binary, "add", &kernel), "function") &&
                Check(aclrtKernelArgsInit(kernel, &args), "args");
    int32_t perBlock = static_cast<int32_t>(kCount / kBlocks);
    for (void** pointer : {&x, &y, &z}) {
        fine = fine && Check(aclrtKernelArgsAppend(args, pointer, sizeof(void*), &param), "append");
    }
    fine = fine && Check(aclrtKernelArgsAppend(args, &perBlock, sizeof(perBlock), &param), "append") &&
           Check(aclrtKernelArgsFinalize(args), "finalize") &&
           Check(aclrtLaunchKernelWithConfig(kernel, kBlocks, stream, nullptr, args, nullptr), "launch") &&
           Check(aclrtSynchronizeStream(stream), "synchronize");
    aclrtBinaryUnLoad(binary);
    aclrtDestroyStream(stream);
    return fine;
}
} // namespace

int main(int argc, char** argv)
{
    if (argc != 2 || !Check(aclInit(nullptr), "init") || !Check(aclrtSetDevice(0), "device")) {
        return 2;
    }
    std::vector<float> x(kCount);
    std::vector<float> y(kCount);
    std::vector<float> z(kCount, -1.0f);
    for (size_t i = 0; i < kCount; ++i) {
        x[i] = static_cast<float>(i);
        y[i] = 0.5f;
    }
    void* xDevice = ToDevice(x);
    void* yDevice = ToDevice(y);
    void* zDevice = ToDevice(z);
    const size_t bytes = kCount * sizeof(float);
    if (zDevice == nullptr || !Launch(argv[1], xDevice, yDevice, zDevice) ||
        !Check(aclrtMemcpy(z.data(), bytes, zDevice, bytes, ACL_MEMCPY_DEVICE_TO_HOST), "copy")) {
        return 1;
    }
    for (size_t i = 0; i < kCount; ++i) {
        if (z[i] != x[i] + y[i]) {
            std::fprintf(stderr, "wrong sum at %zu: %f\n", i, static_cast<double>(z[i]));
            return 1;
        }
    }
    std::printf("%zu sums are right\n", kCount);
    aclrtFree(xDevice);
    aclrtFree(yDevice);
    aclrtFree(zDevice);
    aclrtResetDevice(0);
    return aclFinalize();
}
