/*!
 * \file debug.h
 * \brief printf and assertions of kernels.
 */
#ifndef FA_EMU_DEBUG_H
#define FA_EMU_DEBUG_H

#include <cstdio>

#include "tensor.h"

namespace AscendC {
template <typename... Args> inline void printf(const char* format, Args... args)
{
    char text[1024];
    int length = 0;
    if constexpr (sizeof...(Args) == 0) {
        length = ::snprintf(text, sizeof(text), "%s", format);
    } else {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
        length = ::snprintf(text, sizeof(text), format, args...);
#pragma GCC diagnostic pop
    }
    if (length > 0) {
        const uint64_t size = static_cast<uint64_t>(length);
        fa_emu_api->print(text, size < sizeof(text) ? size : sizeof(text) - 1);
    }
}

template <typename... Args> inline void PRINTF(const char* format, Args... args) { AscendC::printf(format, args...); }

inline void EmuAssertFailed(const char* condition, const char* file, int line)
{
    fa_emu_api->report(0, "kernel-assert", condition, "the kernel's own assertion does not hold", file, line);
}
} // namespace AscendC

#define ascendc_assert(condition, ...)                                        \
    do {                                                                      \
        if (!(condition)) {                                                   \
            AscendC::EmuAssertFailed(#condition, __builtin_FILE(), __builtin_LINE()); \
        }                                                                     \
    } while (0)
#define ASCENDC_ASSERT(condition, ...) ascendc_assert(condition)
#ifdef assert
#undef assert
#endif
#define assert(condition, ...) ascendc_assert(condition)

#endif
