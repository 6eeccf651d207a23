//! The translation unit given to the compiler: the source under its own name, then a table of its kernels.

use std::fmt::Write;
use std::path::Path;

use crate::driver::scan::FoundKernel;

/// The source alone, with a line marker that keeps its name and lines.
pub(crate) fn unit(path: &Path, source: &str) -> String {
    let name = path
        .display()
        .to_string()
        .replace('\\', "\\\\")
        .replace('"', "\\\"");
    format!("# 1 \"{name}\"\n{source}\n")
}

/// Unpacking of the argument block: each argument sits in slots of eight bytes.
const TABLE_HEAD: &str = r#"
#include "kernel_operator.h"
#include <cstring>
#include <dlfcn.h>
#include <utility>
const FaEmuApi* fa_emu_api = nullptr;
namespace fa_emu_table {
struct Entry {
    void (*call)(const unsigned char*);
    uint64_t bytes;
    const char* symbol;
};
constexpr size_t Slot(size_t bytes) { return (bytes + 7) / 8 * 8; }
template <typename T> T Take(const unsigned char* at)
{
    alignas(T) unsigned char copy[sizeof(T)];
    std::memcpy(copy, at, sizeof(T));
    return *reinterpret_cast<T*>(copy);
}
template <auto kernel, int workspace> struct Thunk;
template <typename... A, void (*kernel)(A...), int workspace> struct Thunk<kernel, workspace> {
    static constexpr size_t Offset(size_t index)
    {
        constexpr size_t sizes[] = {Slot(sizeof(A))..., 0};
        size_t offset = 0;
        for (size_t i = 0; i < index; ++i) {
            offset += sizes[i];
        }
        return offset;
    }
    static constexpr uint64_t kBytes = Offset(sizeof...(A));
    template <size_t... I> static void Run(const unsigned char* args, std::index_sequence<I...>)
    {
        (void)args;
        if constexpr (workspace >= 0) {
            AscendC::SetSysWorkspaceForce(Take<GM_ADDR>(args + Offset(workspace)));
        }
        kernel(Take<A>(args + Offset(I))...);
    }
    static void Call(const unsigned char* args) { Run(args, std::index_sequence_for<A...>{}); }
};
inline const char* SymbolOf(void* function)
{
    Dl_info info;
    return dladdr(function, &info) != 0 && info.dli_sname != nullptr ? info.dli_sname : "";
}
} // namespace fa_emu_table
#define FA_EMU_EXPORT extern "C" __attribute__((visibility("default")))
FA_EMU_EXPORT void fa_emu_bind(const FaEmuApi* api) { fa_emu_api = api; }
"#;

/// The source followed by the functions that the loader calls.
pub(crate) fn unit_with_table(path: &Path, source: &str, kernels: &[FoundKernel]) -> String {
    let mut text = unit(path, source);
    // Flag 3: a system header, so that the user's warning options do not judge this part.
    text.push_str("# 1 \"emulated kernel table\" 3\n");
    text.push_str(TABLE_HEAD);
    text.push_str("static fa_emu_table::Entry fa_emu_entries[] = {\n");
    for kernel in kernels {
        let name = &kernel.qualified;
        let workspace = kernel.workspace.map_or(-1, |index| index as i64);
        writeln!(
            text,
            "    {{&fa_emu_table::Thunk<&{name}, {workspace}>::Call, fa_emu_table::Thunk<&{name}, {workspace}>::kBytes, nullptr}},"
        )
        .expect("writing to a string succeeds");
    }
    text.push_str("};\nstatic void* const fa_emu_functions[] = {\n");
    for kernel in kernels {
        writeln!(text, "    reinterpret_cast<void*>(&{}),", kernel.qualified)
            .expect("writing to a string succeeds");
    }
    write!(
        text,
        "}};\nFA_EMU_EXPORT uint64_t fa_emu_kernel_count() {{ return {}; }}\n",
        kernels.len()
    )
    .expect("writing to a string succeeds");
    text.push_str(
        "FA_EMU_EXPORT const fa_emu_table::Entry* fa_emu_kernel_entry(uint64_t index)\n{\n    \
         fa_emu_entries[index].symbol = fa_emu_table::SymbolOf(fa_emu_functions[index]);\n    \
         return &fa_emu_entries[index];\n}\n",
    );
    text
}
