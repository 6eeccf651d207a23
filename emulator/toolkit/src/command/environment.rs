//! The toolkit folder of `fa-emulator env`.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use fa_emulator::toolkit;

/// Lays the toolkit out and returns the lines that a shell sources.
pub(crate) fn lay_out(root: Option<&Path>) -> anyhow::Result<String> {
    let root = match root {
        Some(root) => root.to_owned(),
        None => std::env::temp_dir().join(format!("fa-emulator-{}", env!("CARGO_PKG_VERSION"))),
    };
    fs_err::create_dir_all(&root)?;
    let root = fs_err::canonicalize(root)?;
    let here = std::env::current_exe().context("where this command is")?;
    let library = beside(&here, &library_name())?;
    let driver = beside(&here, &format!("bisheng{}", std::env::consts::EXE_SUFFIX))?;
    toolkit::lay_out(&root, &library, &driver)?;
    Ok(toolkit::environment(&root))
}

fn library_name() -> String {
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    format!("{prefix}ascendcl{suffix}")
}

/// A file beside this command, or where Cargo keeps what a package's tests need.
fn beside(command: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let folder = command.parent().unwrap_or(Path::new("."));
    let places = [folder.join(name), folder.join("deps").join(name)];
    match places.iter().find(|path| path.is_file()) {
        Some(path) => Ok(path.clone()),
        None => bail!(
            "`{name}` is not in {}: build the whole package with `cargo build -p fa-emulator-toolkit`",
            folder.display()
        ),
    }
}

/// Writes a file that appears whole or not at all.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let file = tempfile::NamedTempFile::new_in(folder)
        .with_context(|| format!("cannot write in {}", folder.display()))?;
    fs_err::write(file.path(), bytes)?;
    file.persist(path)
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(())
}
