//! Files that appear whole or not at all.

use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::error::Result;

/// A temporary file beside the place where it will be published, with the rights of a plain new file.
pub(crate) fn temporary_beside(path: &Path) -> Result<NamedTempFile> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The process's umask still applies.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    // The error names the temporary file, which means nothing to anybody.
    builder.tempfile_in(folder).map_err(|error| {
        let reason = match error.kind() {
            io::ErrorKind::NotFound => format!("there is no folder `{}`", folder.display()),
            kind => io::Error::from(kind).to_string(),
        };
        io::Error::new(error.kind(), reason).into()
    })
}

/// Gives a finished temporary file its name.
pub(crate) fn publish(file: NamedTempFile, path: &Path) -> Result<()> {
    file.persist(path).map_err(|failed| failed.error)?;
    Ok(())
}

/// Writes a file so that readers see the old text or the new one, never a part.
///
/// # Errors
/// The folder does not exist or cannot be written.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = temporary_beside(path)?;
    file.write_all(bytes)?;
    publish(file, path)
}
