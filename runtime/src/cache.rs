//! The compile cache: one folder per key, published whole, verified on every use.
//!
//! A key covers everything that decides the bytes of an artifact, so an entry is never stale; it may only be
//! damaged, which its checksum shows, and then it is built again. One process builds a key while others wait
//! at its lock and look again. A builder that dies leaves nothing under the key's name.

use std::io;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use fa_codegen::GeneratedFile;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::abi::ABI_VERSION;
use crate::error::{Error, Result};
use crate::files;

/// Overrides the folder of the cache.
pub const CACHE_DIR_VARIABLE: &str = "FA_GEN_CACHE_DIR";

const MANIFEST: &str = "manifest.json";

/// Everything that decides the bytes of an artifact.
#[derive(Clone, Copy, Debug)]
pub struct KeyParts<'a> {
    /// Version of the generator.
    pub generator_version: &'a str,
    /// Which compiler, in all the detail it reports.
    pub compiler_version: &'a str,
    /// Its arguments, paths left out.
    pub flags: &'a [String],
    /// What it compiles, the root file first.
    pub sources: &'a [GeneratedFile],
}

/// A content address, lower-case hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key(String);

/// A folder of compiled kernels.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

/// A verified artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// The file.
    pub path: PathBuf,
    /// It was there already.
    pub hit: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    artifact: String,
    sha256: String,
}

impl Key {
    /// The address of these parts.
    pub fn new(parts: &KeyParts<'_>) -> Key {
        let mut hasher = Sha256::new();
        let mut part = |bytes: &[u8]| {
            hasher.update((bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        part(&ABI_VERSION.to_le_bytes());
        part(parts.generator_version.as_bytes());
        part(parts.compiler_version.as_bytes());
        part(&(parts.flags.len() as u64).to_le_bytes());
        for flag in parts.flags {
            part(flag.as_bytes());
        }
        for file in parts.sources {
            part(file.path.as_bytes());
            part(file.text.as_bytes());
        }
        Key(hex(&hasher.finalize()))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// SHA-256 in lower-case hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string does not fail");
        text
    })
}

impl Cache {
    /// The user's cache: `FA_GEN_CACHE_DIR`, else `fa-gen` in the system's cache folder.
    ///
    /// # Errors
    /// The variable is not set and the home folder is not known.
    pub fn from_env() -> Result<Cache> {
        if let Some(folder) = std::env::var_os(CACHE_DIR_VARIABLE) {
            return Ok(Cache::at(folder));
        }
        let base = etcetera::choose_base_strategy().map_err(Error::NoCacheFolder)?;
        Ok(Cache::at(base.cache_dir().join("fa-gen")))
    }

    /// A cache in that folder, which is created when needed.
    pub fn at(root: impl Into<PathBuf>) -> Cache {
        Cache { root: root.into() }
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The artifact of a key. Where it is absent or damaged, `build` makes it: it is given an empty folder to work
    /// in, and returns the path of the artifact inside. At most one process builds a key at a time.
    ///
    /// # Errors
    /// Those of `build`, and file operations.
    pub fn get_or_build(
        &self,
        key: &Key,
        build: impl FnOnce(&Path) -> Result<PathBuf>,
    ) -> Result<Artifact> {
        if let Some(path) = self.look(key)? {
            return Ok(Artifact { path, hit: true });
        }
        fs_err::create_dir_all(&self.root)?;
        let lock_file = fs_err::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.root.join(format!("{}.lock", key.0)))?;
        let mut lock = fd_lock::RwLock::new(lock_file.into_parts().0);
        let _guard = loop {
            match lock.write() {
                Ok(guard) => break guard,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        };
        // Another process may have built it while this one waited.
        if let Some(path) = self.look(key)? {
            return Ok(Artifact { path, hit: true });
        }
        self.sweep(key)?;
        let path = self.publish(key, build)?;
        Ok(Artifact { path, hit: false })
    }

    fn folder(&self, key: &Key) -> PathBuf {
        self.root.join(&key.0)
    }

    /// The artifact, if it is there and whole.
    fn look(&self, key: &Key) -> Result<Option<PathBuf>> {
        let folder = self.folder(key);
        let Some(manifest) = read_if_there(&folder.join(MANIFEST))? else {
            return Ok(None);
        };
        let Some(manifest) = parse_manifest(&manifest) else {
            return Ok(None);
        };
        let path = folder.join(&manifest.artifact);
        let whole =
            read_if_there(&path)?.is_some_and(|bytes| sha256_hex(&bytes) == manifest.sha256);
        if !whole {
            tracing::warn!(path = %path.display(), "damaged cache entry, building again");
        }
        Ok(whole.then_some(path))
    }

    /// Removes what dead builders of this key left; its lock is held, so none is alive.
    fn sweep(&self, key: &Key) -> Result<()> {
        let prefix = work_prefix(key);
        for entry in fs_err::read_dir(&self.root)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                fs_err::remove_dir_all(entry.path())?;
            }
        }
        Ok(())
    }

    fn publish(&self, key: &Key, build: impl FnOnce(&Path) -> Result<PathBuf>) -> Result<PathBuf> {
        let work = tempfile::Builder::new()
            .prefix(&work_prefix(key))
            .tempdir_in(&self.root)?;
        let built = build(work.path())?;
        let name = built
            .file_name()
            .expect("builders return the path of a file")
            .to_owned();
        let fresh = tempfile::Builder::new()
            .prefix(&work_prefix(key))
            .tempdir_in(&self.root)?;
        let bytes = fs_err::read(&built)?;
        let manifest = Manifest {
            artifact: name.to_string_lossy().into_owned(),
            sha256: sha256_hex(&bytes),
        };
        fs_err::rename(&built, fresh.path().join(&name))?;
        let text = serde_json::to_string_pretty(&manifest).map_err(io::Error::from)?;
        files::write_atomically(&fresh.path().join(MANIFEST), text.as_bytes())?;
        let folder = self.folder(key);
        if folder.exists() {
            // Damaged: move it out of the way in one step, for others may be looking.
            fs_err::rename(&folder, work.path().join("damaged"))?;
        }
        fs_err::rename(fresh.keep(), &folder)?;
        Ok(folder.join(name))
    }
}

fn work_prefix(key: &Key) -> String {
    format!("work-{}-", key.0)
}

/// Reads a manifest; `None` for text that is not one, or that names a file elsewhere.
fn parse_manifest(bytes: &[u8]) -> Option<Manifest> {
    let manifest: Manifest = serde_json::from_slice(bytes).ok()?;
    let plain = Path::new(&manifest.artifact).file_name()? == manifest.artifact.as_str();
    plain.then_some(manifest)
}

fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs_err::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}
