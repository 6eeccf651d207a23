//! The C++ headers, embedded in the crate and written to a cache folder when somebody compiles.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::files::write_atomically;

macro_rules! headers {
    ($($name:literal),* $(,)?) => {
        /// Path below the include folder, and contents.
        pub(crate) const HEADERS: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../include/", $name)))),*];
    };
}

headers! {
    "kernel_operator.h",
    "acl/acl.h",
    "acl/acl_rt.h",
    "fa_emu/abi.h",
    "fa_emu/absent.h",
    "fa_emu/arith.h",
    "fa_emu/convert.h",
    "fa_emu/copy.h",
    "fa_emu/cube.h",
    "fa_emu/debug.h",
    "fa_emu/fill.h",
    "fa_emu/filter.h",
    "fa_emu/fused.h",
    "fa_emu/issue.h",
    "fa_emu/legacy.h",
    "fa_emu/matmul.h",
    "fa_emu/matmul_cube.h",
    "fa_emu/matmul_message.h",
    "fa_emu/matmul_operand.h",
    "fa_emu/matmul_state.h",
    "fa_emu/matmul_types.h",
    "fa_emu/pipe.h",
    "fa_emu/reduce.h",
    "fa_emu/select.h",
    "fa_emu/softmax.h",
    "fa_emu/sort.h",
    "fa_emu/structs.h",
    "fa_emu/sync.h",
    "fa_emu/system.h",
    "fa_emu/tensor.h",
    "fa_emu/types.h",
    "fa_emu/unary.h",
    "kernel_tiling/kernel_tiling.h",
    "lib/matmul/matmul_intf.h",
    "lib/matmul_intf.h",
}

/// Bytes of the hash that name the folder.
const NAME_BYTES: usize = 8;

/// Makes sure the headers are on disk and returns their folder, which is named by their contents.
pub(crate) fn materialise() -> std::io::Result<PathBuf> {
    let mut hash = Sha256::new();
    for (name, text) in HEADERS {
        hash.update(name.as_bytes());
        hash.update(text.as_bytes());
    }
    let digest = hash.finalize();
    let name: String = digest
        .iter()
        .take(NAME_BYTES)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let folder = cache_folder().join(format!("include-{name}"));
    write_to(&folder)?;
    Ok(folder)
}

/// Writes every header below `folder`, leaving equal files alone.
pub(crate) fn write_to(folder: &Path) -> std::io::Result<()> {
    for (name, text) in HEADERS {
        let path = folder.join(name);
        if std::fs::read(&path).is_ok_and(|present| present == text.as_bytes()) {
            continue;
        }
        let parent = path.parent().expect("headers lie below a folder");
        fs_err::create_dir_all(parent)?;
        // Atomically, so that a compiler running meanwhile sees whole files only.
        write_atomically(&path, text.as_bytes())?;
    }
    Ok(())
}

fn cache_folder() -> PathBuf {
    let home = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let base = home("XDG_CACHE_HOME").or_else(|| home("HOME").map(|home| home.join(".cache")));
    let folder = base.unwrap_or_else(std::env::temp_dir).join("fa-emulator");
    if fs_err::create_dir_all(&folder).is_ok() {
        folder
    } else {
        std::env::temp_dir().join("fa-emulator")
    }
}
