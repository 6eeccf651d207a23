//! Variants that are known only at run time: from a `.fa` file to a kernel.

use std::ops::Deref;
use std::path::Path;

use fa_dsl::check::{self, Define};
use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::span::SourceMap;
use fa_dsl::variant::Variant;
use fa_runtime::Runtime;
use fa_targets::Target;

use crate::error::{Error, Result, findings};

/// A variant that was compiled while the program runs. It launches like [`fa_runtime::Kernel`], to which it
/// dereferences.
#[derive(Clone, Debug)]
pub struct Kernel {
    inner: fa_runtime::Kernel,
}

/// What [`Kernel::load`] decides by itself.
#[derive(Clone, Debug, Default)]
pub struct Options {
    target: Option<String>,
    name: Option<String>,
    defines: Vec<Define>,
}

impl Kernel {
    /// Reads a file that holds one variant and compiles it for the first target that it names, or for the CPU.
    /// Compiled kernels are kept in the user's cache.
    ///
    /// # Errors
    /// An unreadable file, errors in it, several variants, no plan or no compiler.
    ///
    /// ```no_run
    /// let kernel = fa::Kernel::load("variants/local.fa")?;
    /// # Ok::<(), fa::Error>(())
    /// ```
    pub fn load(path: impl AsRef<Path>) -> Result<Kernel> {
        Options::new().load(path)
    }

    /// The same for a text; `name` stands for the file in messages.
    ///
    /// # Errors
    /// As [`Kernel::load`].
    pub fn from_source(name: &str, text: &str) -> Result<Kernel> {
        Options::new().compile(name, text)
    }

    /// With choices of one's own.
    pub fn options() -> Options {
        Options::new()
    }
}

impl Deref for Kernel {
    type Target = fa_runtime::Kernel;

    fn deref(&self) -> &fa_runtime::Kernel {
        &self.inner
    }
}

impl Options {
    /// The choices of [`Kernel::load`].
    pub fn new() -> Options {
        Options::default()
    }

    /// The target to compile for.
    #[must_use]
    pub fn target(mut self, name: &str) -> Options {
        self.target = Some(name.to_owned());
        self
    }

    /// The variant to compile, where a file holds several.
    #[must_use]
    pub fn name(mut self, name: &str) -> Options {
        self.name = Some(name.to_owned());
        self
    }

    /// Sets a `const` of the file.
    #[must_use]
    pub fn define(mut self, name: &str, value: impl ToString) -> Options {
        self.defines.push(Define {
            name: name.to_owned(),
            value_text: value.to_string(),
        });
        self
    }

    /// Reads and compiles a file.
    ///
    /// # Errors
    /// As [`Kernel::load`].
    pub fn load(&self, path: impl AsRef<Path>) -> Result<Kernel> {
        let path = path.as_ref();
        let text = fs_err::read_to_string(path)?;
        self.compile(&path.display().to_string(), &text)
    }

    /// Compiles a text; `name` stands for the file in messages.
    ///
    /// # Errors
    /// As [`Kernel::load`].
    pub fn compile(&self, name: &str, text: &str) -> Result<Kernel> {
        let variants = check_text(name, text, &self.defines)?;
        let variant = select(&variants, self.name.as_deref())?;
        let named = variant
            .targets
            .first()
            .map(|named| named.target.value.as_str());
        let target = target(self.target.as_deref().or(named).unwrap_or("cpu"))?;
        let inner = Runtime::from_env()?.compile(variant, &target)?;
        Ok(Kernel { inner })
    }
}

/// The variants of a text.
fn check_text(name: &str, text: &str, defines: &[Define]) -> Result<Vec<Variant>> {
    let mut sources = SourceMap::new();
    let file = sources.add(name, text);
    let checked = check::check(&sources, file, defines);
    if checked.has_errors() {
        let mut errors = checked.diagnostics;
        errors.retain(Diagnostic::is_error);
        return Err(Error::Source(findings(&sources, errors)));
    }
    Ok(checked.variants)
}

fn select<'v>(variants: &'v [Variant], name: Option<&str>) -> Result<&'v Variant> {
    let chosen = match (name, variants) {
        (Some(name), _) => variants.iter().find(|variant| variant.name.value == name),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    chosen.ok_or_else(|| Error::Variant {
        wanted: name.map_or_else(
            || "choose one variant by `Options::name`".to_owned(),
            |name| format!("there is no variant `{name}`"),
        ),
        names: variants
            .iter()
            .map(|variant| variant.name.value.clone())
            .collect(),
    })
}

/// The built-in target of that name.
pub(crate) fn target(name: &str) -> Result<Target> {
    Target::built_in(name).ok_or_else(|| Error::Target {
        name: name.to_owned(),
        known: Target::built_in_names().collect(),
    })
}
