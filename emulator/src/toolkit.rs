//! A folder that looks like an installed toolkit: `include/`, `lib64/libascendcl.so`, `bin/bisheng`, `set_env.sh`.

use std::path::Path;

use crate::files::write_atomically;
use crate::headers;

/// Why a folder could not be laid out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolkitError {
    /// A file could not be read or written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Writes the toolkit below `root`: the headers, the library at `library` and the driver at `driver`.
///
/// # Errors
/// A file cannot be copied or written.
pub fn lay_out(root: &Path, library: &Path, driver: &Path) -> Result<(), ToolkitError> {
    headers::write_to(&root.join("include"))?;
    for (folder, from, name) in [
        ("lib64", library, "libascendcl.so"),
        ("bin", driver, "bisheng"),
    ] {
        let folder = root.join(folder);
        fs_err::create_dir_all(&folder)?;
        let to = folder.join(name);
        // A program may have the old library open: it keeps its file, the new one takes the name.
        let fresh = folder.join(format!(".{name}.{}", std::process::id()));
        fs_err::copy(from, &fresh)?;
        fs_err::rename(&fresh, &to)?;
    }
    write_atomically(&root.join("set_env.sh"), environment(root).as_bytes())?;
    Ok(())
}

/// What a shell sources to find the toolkit below `root`, which is absolute.
pub fn environment(root: &Path) -> String {
    let quoted = format!("'{}'", root.display().to_string().replace('\'', "'\\''"));
    format!(
        "export ASCEND_HOME_PATH={quoted}\n\
         export PATH=\"$ASCEND_HOME_PATH/bin:$PATH\"\n\
         export LD_LIBRARY_PATH=\"$ASCEND_HOME_PATH/lib64${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}\"\n"
    )
}
