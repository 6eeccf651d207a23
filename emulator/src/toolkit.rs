//! A folder that looks like an installed toolkit: `include/`, `lib64/libascendcl.so`, `bin/bisheng`.

use std::path::Path;

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
        fs_err::copy(from, folder.join(name))?;
    }
    Ok(())
}
