//! The build-script door: `.fa` files become files in `OUT_DIR`, in the manner of `cc` and `prost-build`.

use std::env;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use fa_codegen::Provenance;
use fa_dsl::check::{self, Define};
use fa_dsl::diagnostic::{self, Diagnostic, Severity};
use fa_dsl::span::{FileId, SourceMap};
use fa_dsl::variant::Variant;
use fa_targets::{Target, TargetKind};
use quote::quote;

use crate::error::{Error, Result, findings};
use crate::kernel::target;

/// Writes the kernels of `.fa` files from a build script.
///
/// For each variant of each file it writes, per target, the files that `fa-gen` would write, and for the CPU also
/// `<variant>.rs`: the module that [`attention!`](crate::attention) would expand to, to be included by
/// [`include_attention!`](crate::include_attention). The crate that includes it depends on `fa` under that name.
///
/// ```no_run
/// // build.rs
/// fn main() -> Result<(), fa::Error> {
///     fa::Build::new()
///         .file("variants/local.fa")
///         .target("ascend910b")
///         .target("cpu")
///         .compile()?;
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Build {
    files: Vec<PathBuf>,
    targets: Vec<String>,
    out_dir: Option<PathBuf>,
    defines: Vec<Define>,
}

impl Build {
    /// Nothing to build yet.
    pub fn new() -> Build {
        Build::default()
    }

    /// Adds a `.fa` file.
    pub fn file(&mut self, path: impl AsRef<Path>) -> &mut Build {
        self.files.push(path.as_ref().to_owned());
        self
    }

    /// Adds a target; without any it is `cpu`.
    pub fn target(&mut self, name: &str) -> &mut Build {
        self.targets.push(name.to_owned());
        self
    }

    /// The folder to write to; without it, cargo's `OUT_DIR`.
    pub fn out_dir(&mut self, folder: impl AsRef<Path>) -> &mut Build {
        self.out_dir = Some(folder.as_ref().to_owned());
        self
    }

    /// Sets a `const` of the files.
    pub fn define(&mut self, name: &str, value: impl ToString) -> &mut Build {
        self.defines.push(Define {
            name: name.to_owned(),
            value_text: value.to_string(),
        });
        self
    }

    /// Writes everything and tells cargo what it depends on. Returns the files, in the order in which they were
    /// written.
    ///
    /// # Errors
    /// Unreadable files, errors in them, unknown targets, no plan. Nothing is written of a file with errors.
    pub fn compile(&self) -> Result<Vec<PathBuf>> {
        self.compile_to(&mut io::stdout())
    }

    /// The same, with cargo's instructions and warnings going elsewhere.
    ///
    /// # Errors
    /// As [`Build::compile`].
    pub fn compile_to(&self, cargo: &mut dyn Write) -> Result<Vec<PathBuf>> {
        if self.files.is_empty() {
            return Err(Error::Build("no file to build: call `Build::file`"));
        }
        let out_dir = match (&self.out_dir, env::var_os("OUT_DIR")) {
            (Some(folder), _) => folder.clone(),
            (None, Some(folder)) => PathBuf::from(folder),
            (None, None) => {
                return Err(Error::Build("no folder to write to: call `Build::out_dir`"));
            }
        };
        let names = self.targets.iter().map(String::as_str);
        let mut targets: Vec<Target> = names.map(target).collect::<Result<_>>()?;
        if targets.is_empty() {
            targets.push(target("cpu")?);
        }
        fs_err::create_dir_all(&out_dir)?;
        let out_dir = fs_err::canonicalize(&out_dir)?;
        let own = env::var_os("OUT_DIR").is_some_and(|own| Path::new(&own) == out_dir);
        if own {
            earlier::remove(&out_dir)?;
        }
        let mut written = Vec::new();
        for file in &self.files {
            writeln!(cargo, "cargo:rerun-if-changed={}", file.display())?;
            self.compile_file(file, &targets, &out_dir, cargo, &mut written)?;
        }
        if own {
            earlier::keep(&out_dir, &written)?;
        }
        Ok(written)
    }

    fn compile_file(
        &self,
        path: &Path,
        targets: &[Target],
        out_dir: &Path,
        cargo: &mut dyn Write,
        written: &mut Vec<PathBuf>,
    ) -> Result<()> {
        let text = fs_err::read_to_string(path)?;
        let mut sources = SourceMap::new();
        let file = sources.add(path.display().to_string(), text);
        let checked = check::check(&sources, file, &self.defines);
        let (mut errors, warnings): (Vec<_>, Vec<_>) = checked
            .diagnostics
            .into_iter()
            .partition(Diagnostic::is_error);
        // What is sound is planned whatever is wrong elsewhere, so that all faults come at once.
        for (variant, target) in pairs(&checked.variants, targets) {
            errors.extend(fa_codegen::plan(variant, target).err().unwrap_or_default());
        }
        if !errors.is_empty() {
            diagnostic::sort(&mut errors);
            return Err(Error::Source(findings(&sources, file, errors)));
        }
        warn(&sources, file, warnings, cargo)?;
        let source = Source {
            name: path
                .file_name()
                .map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            text: sources.text(file),
            defines: &self.defines,
        };
        for variant in &checked.variants {
            for target in targets {
                let (files, warnings) = source
                    .render(variant, target)
                    .map_err(|found| Error::Source(findings(&sources, file, found)))?;
                warn(&sources, file, warnings, cargo)?;
                written.extend(write_all(out_dir, &files)?);
                if target.kind == TargetKind::Cpu {
                    let kernel = out_dir.join(&files[0].0);
                    let module = source.module(variant, &kernel);
                    let module =
                        module.map_err(|found| Error::Source(findings(&sources, file, found)))?;
                    let name = format!("{}.rs", variant.name.value);
                    written.extend(write_all(out_dir, &[(name, module)])?);
                }
            }
        }
        Ok(())
    }
}

/// Every variant with every target.
fn pairs<'p>(
    variants: &'p [Variant],
    targets: &'p [Target],
) -> impl Iterator<Item = (&'p Variant, &'p Target)> {
    variants
        .iter()
        .flat_map(move |variant| targets.iter().map(move |target| (variant, target)))
}

/// A text that has been checked.
struct Source<'s> {
    name: String,
    text: &'s str,
    defines: &'s [Define],
}

/// Names and texts of files.
type Files = Vec<(String, String)>;

impl Source<'_> {
    fn render(
        &self,
        variant: &Variant,
        target: &Target,
    ) -> std::result::Result<(Files, Vec<Diagnostic>), Vec<Diagnostic>> {
        let planned = fa_codegen::plan(variant, target)?;
        let provenance = Provenance {
            source_name: self.name.clone(),
            source_sha256: fa_runtime::cache::sha256_hex(self.text.as_bytes()),
        };
        let files = fa_codegen::render(&planned.plan, &provenance);
        let files = files
            .into_iter()
            .map(|file| (file.path, file.text))
            .collect();
        let allowed = &variant.schedule_for(&target.name).allow;
        let mut warnings = planned.warnings;
        warnings.retain(|found| !allowed.contains(&found.code.0));
        Ok((files, warnings))
    }

    /// The module of a variant, around the kernel in a file.
    fn module(
        &self,
        variant: &Variant,
        kernel: &Path,
    ) -> std::result::Result<String, Vec<Diagnostic>> {
        let kernel = kernel.display().to_string();
        let tokens = fa_expand::module_around_file(&fa_expand::FileModule {
            facade: quote!(::fa),
            variant,
            text: self.text,
            defines: self.defines,
            kernel: &kernel,
        })?;
        let file = syn::parse2(tokens).expect("a module is Rust");
        Ok(prettyplease::unparse(&file))
    }
}

/// Passes warnings on to cargo, which shows those of packages at hand.
fn warn(
    sources: &SourceMap,
    file: FileId,
    found: Vec<Diagnostic>,
    cargo: &mut dyn Write,
) -> io::Result<()> {
    let warnings = found
        .into_iter()
        .filter(|found| found.severity == Severity::Warning);
    for warning in findings(sources, file, warnings.collect()) {
        writeln!(cargo, "cargo:warning={warning}")?;
    }
    Ok(())
}

/// Writes files; one that already has its text is left alone, so that nothing is rebuilt for it.
fn write_all(folder: &Path, files: &[(String, String)]) -> Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    for (name, text) in files {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            fs_err::create_dir_all(parent)?;
        }
        let same = fs_err::read_to_string(&path).is_ok_and(|old| old == *text);
        if !same {
            fa_runtime::write_atomically(&path, text.as_bytes())?;
        }
        written.push(path);
    }
    Ok(written)
}

/// What an earlier run of a build script left in its `OUT_DIR`, where cargo deletes nothing: a kernel of a variant or a
/// target that is gone must not be included any more.
mod earlier {
    use std::collections::BTreeMap;
    use std::io;
    use std::path::{Path, PathBuf};
    use std::sync::{Mutex, PoisonError};

    use crate::error::Result;

    /// The list of files, in the folder.
    const LIST: &str = "fa-build.txt";

    /// Files by folder that this process has written.
    static WRITTEN: Mutex<BTreeMap<PathBuf, Vec<PathBuf>>> = Mutex::new(BTreeMap::new());

    /// Removes them, once in a process.
    pub(super) fn remove(folder: &Path) -> Result<()> {
        let mut all = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
        if all.contains_key(folder) {
            return Ok(());
        }
        let list = match fs_err::read_to_string(folder.join(LIST)) {
            Ok(list) => list,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error.into()),
        };
        for name in list.lines() {
            match fs_err::remove_file(folder.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        all.insert(folder.to_owned(), Vec::new());
        Ok(())
    }

    /// Lists what this process has written.
    pub(super) fn keep(folder: &Path, written: &[PathBuf]) -> Result<()> {
        let mut all = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
        let files = all.entry(folder.to_owned()).or_default();
        files.extend_from_slice(written);
        let names = files
            .iter()
            .filter_map(|path| path.strip_prefix(folder).ok());
        let list: String = names.map(|name| format!("{}\n", name.display())).collect();
        fa_runtime::write_atomically(&folder.join(LIST), list.as_bytes())?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::earlier;

    #[test]
    fn what_an_earlier_process_wrote_is_removed_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        for name in ["old.rs", "mine.txt"] {
            fs_err::write(path(name), "").expect("a file");
        }
        fs_err::write(path("fa-build.txt"), "old.rs\ngone.rs\n").expect("a list");
        earlier::remove(folder.path()).expect("removed");
        assert!(!path("old.rs").exists() && path("mine.txt").exists());
        fs_err::write(path("new.rs"), "").expect("a file");
        earlier::keep(folder.path(), &[path("new.rs")]).expect("listed");
        // A second build of the same script leaves the first one's files.
        earlier::remove(folder.path()).expect("nothing to do");
        assert!(path("new.rs").exists());
        let list = fs_err::read_to_string(path("fa-build.txt")).expect("a list");
        assert_eq!(list, "new.rs\n");
    }
}
