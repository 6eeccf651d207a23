//! From a path to checked variants.

use std::path::{Path, PathBuf};

use fa_codegen::Provenance;
use fa_dsl::check::{self, Define, nearest};
use fa_dsl::codes;
use fa_dsl::diagnostic::{Diagnostic, Severity};
use fa_dsl::span::{FileId, SourceMap};
use fa_dsl::variant::Variant;

use crate::args::SourceArgs;
use crate::session::{Session, Usage};

/// A file that was read and checked.
pub(crate) struct Loaded {
    /// The folder that it lies in.
    pub(crate) folder: PathBuf,
    /// Its text.
    pub(crate) sources: SourceMap,
    /// The file in `sources`.
    pub(crate) file: FileId,
    /// The variants that are free of errors.
    pub(crate) variants: Vec<Variant>,
    /// The head of emitted files.
    pub(crate) provenance: Provenance,
    /// Notes that matter to launches of a batch and are not printed yet.
    of_batches: Vec<Diagnostic>,
}

/// As [`load`], for commands that launch or look at one kernel: what is worth noting of batches waits until there is one.
///
/// # Errors
/// As [`load`].
pub(crate) fn load_for_launches(
    path: &Path,
    args: &SourceArgs,
    name: Option<&str>,
    session: &mut Session,
) -> anyhow::Result<Loaded> {
    read(path, args, name, true, session)
}

/// Reads and checks a file; findings are reported at once. Where one variant is meant, notes about the others are
/// left out.
///
/// # Errors
/// The file cannot be read, which is wrong usage.
pub(crate) fn load(
    path: &Path,
    args: &SourceArgs,
    name: Option<&str>,
    session: &mut Session,
) -> anyhow::Result<Loaded> {
    read(path, args, name, false, session)
}

fn read(
    path: &Path,
    args: &SourceArgs,
    name: Option<&str>,
    batches_wait: bool,
    session: &mut Session,
) -> anyhow::Result<Loaded> {
    let text = fs_err::read_to_string(path).map_err(|error| Usage(error.to_string()))?;
    let source_name = path.file_name().map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    );
    let provenance = Provenance {
        source_name,
        source_sha256: fa_runtime::cache::sha256_hex(text.as_bytes()),
    };
    let mut sources = SourceMap::new();
    let file = sources.add(path.display().to_string(), text);
    let defines: Vec<Define> = args
        .define
        .iter()
        .map(|(name, value_text)| Define {
            name: name.clone(),
            value_text: value_text.clone(),
        })
        .collect();
    let checked = check::check(&sources, file, &defines);
    session.next_file();
    let of_others = |found: &Diagnostic| {
        name.is_some_and(|name| is_note_of_other(found, &checked.variants, name))
    };
    let (of_batches, found): (Vec<_>, Vec<_>) = checked
        .diagnostics
        .into_iter()
        .filter(|found| !of_others(found))
        .partition(|found| batches_wait && found.code == codes::BATCH_WITHOUT_LENGTHS);
    session.report(&sources, found)?;
    Ok(Loaded {
        folder: path.parent().unwrap_or(Path::new("")).to_owned(),
        sources,
        file,
        variants: checked.variants,
        provenance,
        of_batches,
    })
}

/// Whether this is a note that marks the name of another variant.
fn is_note_of_other(found: &Diagnostic, variants: &[Variant], name: &str) -> bool {
    let marked = variants
        .iter()
        .find(|variant| found.span() == Some(variant.name.span));
    found.severity == Severity::Note && marked.is_some_and(|variant| variant.name.value != name)
}

impl Loaded {
    /// Prints what is worth noting of launches of a batch.
    pub(crate) fn report_of_batches(&self, session: &mut Session) -> anyhow::Result<()> {
        Ok(session.report(&self.sources, self.of_batches.iter().cloned())?)
    }

    /// The variant of that name, or the only one.
    ///
    /// # Errors
    /// No such variant, or several and no name: wrong usage, and the message lists them.
    pub(crate) fn select(&self, name: Option<&str>) -> Result<&Variant, Usage> {
        let names: Vec<&str> = self
            .variants
            .iter()
            .map(|v| v.name.value.as_str())
            .collect();
        match (name, self.variants.as_slice()) {
            (Some(name), variants) => variants
                .iter()
                .find(|variant| variant.name.value == name)
                .ok_or_else(|| match nearest(name, names.iter().copied()) {
                    Some(near) => Usage(format!(
                        "there is no variant `{name}`; did you mean `{near}`?"
                    )),
                    None => Usage(format!(
                        "there is no variant `{name}`; there are {}",
                        names.join(", ")
                    )),
                }),
            (None, [only]) => Ok(only),
            (None, []) => Err(Usage("the file holds no variant".to_owned())),
            (None, _) => Err(Usage(format!(
                "the file holds several variants, choose one with --name: {}",
                names.join(", ")
            ))),
        }
    }

    /// The variants of that name, or all.
    ///
    /// # Errors
    /// No such variant.
    pub(crate) fn filtered(&self, name: Option<&str>) -> Result<Vec<&Variant>, Usage> {
        match name {
            Some(_) => Ok(vec![self.select(name)?]),
            None => Ok(self.variants.iter().collect()),
        }
    }
}

/// Planning warnings that the variant does not silence for this target.
pub(crate) fn unsilenced(
    variant: &Variant,
    target: &str,
    found: Vec<Diagnostic>,
) -> Vec<Diagnostic> {
    let allowed = &variant.schedule_for(target).allow;
    found
        .into_iter()
        .filter(|diagnostic| {
            diagnostic.severity == Severity::Error || !allowed.contains(&diagnostic.code.0)
        })
        .collect()
}
