//! Variants that are known only at run time: from a `.fa` file to a kernel.

use std::ops::Deref;
use std::path::Path;

use fa_dsl::check::{self, Define};
use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::span::SourceMap;
use fa_dsl::variant::Variant;
use fa_runtime::Runtime;
use fa_targets::Target;

use crate::attention::Call;
use crate::error::{Error, Result, findings};
use crate::view::AsView;

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

    /// A launch that can still be changed; captured tensors and parameters are handed over by name.
    ///
    /// ```
    /// use fa::{Dtype, Kernel, Tensor, View};
    ///
    /// let text = "attention alibi {
    ///     head_dim = 16; precision = fp32; tensor slopes: fp32[h]; param heat: float;
    ///     score = score / heat - slopes[h] * float(q_pos - kv_pos);
    /// }";
    /// let kernel = Kernel::from_source("alibi.fa", text)?;
    /// let q = Tensor::zeros(Dtype::Fp32, &[1, 2, 8, 16]);
    /// let slopes = View::new(&[0.5_f32, 0.25], &[2])?;
    /// let results = kernel.call(&q, &q, &q).tensor("slopes", slopes).param("heat", 0.7_f32).run()?;
    /// assert_eq!(results.lse.shape(), [1, 2, 8]);
    /// # Ok::<(), fa::Error>(())
    /// ```
    pub fn call<'a>(
        &'a self,
        q: &'a (impl AsView + ?Sized),
        k: &'a (impl AsView + ?Sized),
        v: &'a (impl AsView + ?Sized),
    ) -> Call<'a> {
        Call::new(&self.inner, [q.as_view(), k.as_view(), v.as_view()])
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
        let variant = select(name, &variants, self.name.as_deref())?;
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
        return Err(Error::Source(findings(&sources, file, errors)));
    }
    Ok(checked.variants)
}

fn select<'v>(file: &str, variants: &'v [Variant], name: Option<&str>) -> Result<&'v Variant> {
    let chosen = match (name, variants) {
        (Some(name), _) => variants.iter().find(|variant| variant.name.value == name),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    chosen.ok_or_else(|| Error::Variant {
        file: file.to_owned(),
        wanted: name.map(ToOwned::to_owned),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(options: &Options, text: &str) -> String {
        let error = options.compile("two.fa", text).map(|_| ());
        error.expect_err("it is refused").to_string()
    }

    #[test]
    fn a_refusal_names_the_file_and_what_to_write() {
        let two = "attention a { head_dim = 16; } attention b : a { mask = causal; }";
        assert_eq!(
            refusal(&Kernel::options(), two),
            "two.fa: the file holds `a`, `b`; choose one, as in `fa::Kernel::options().name(\"a\")`"
        );
        assert_eq!(
            refusal(&Kernel::options().name("c"), two),
            "two.fa: there is no variant `c`; there are `a`, `b`"
        );
        let empty = refusal(&Kernel::options(), "");
        assert!(empty.starts_with("two.fa: FA010: "), "{empty}");
        let unknown = refusal(&Kernel::options().define("radius", 3), two);
        assert!(unknown.starts_with("two.fa: FA024: "), "{unknown}");
        let misspelt = refusal(&Kernel::options(), &two.replace("causal", "causl"));
        assert!(misspelt.starts_with("two.fa:1:57: FA006: "), "{misspelt}");
    }
}
