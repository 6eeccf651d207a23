//! The same module for another door: a build script that has written the kernel to a file of its own.

use fa_dsl::check::Define;
use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::variant::Variant;
use proc_macro2::{Span, TokenStream};
use quote::quote;

use crate::front::{self, Origin};
use crate::module::{self, Frame, KernelSource, raw_literal};

/// A variant of a file, and where its CPU kernel has been written.
#[derive(Clone, Debug)]
pub struct FileModule<'a> {
    /// Path of the facade crate.
    pub facade: TokenStream,
    /// The checked variant.
    pub variant: &'a Variant,
    /// The text of the file.
    pub text: &'a str,
    /// Constants that were set from outside.
    pub defines: &'a [Define],
    /// Absolute path of the kernel.
    pub kernel: &'a str,
}

/// The module that launches such a kernel.
///
/// # Errors
/// Whatever the CPU backend cannot do.
pub fn module_around_file(file: &FileModule<'_>) -> Result<TokenStream, Vec<Diagnostic>> {
    let origin = Origin {
        source_name: String::new(),
        text: file.text.to_owned(),
    };
    let built = front::build_for_cpu(file.variant.clone(), &origin)?;
    let text = raw_literal(file.text);
    let name = &file.variant.name.value;
    let frame = Frame {
        facade: file.facade.clone(),
        name: match module::rust_name(name, Span::call_site()) {
            Ok(name) => name,
            Err(error) => return Ok(error.into_compile_error()),
        },
        docs: format!(" Attention `{name}`, written by a build script."),
        source: quote!(#text),
        defines: file.defines.to_vec(),
        fields: false,
        kernel: KernelSource::File(file.kernel),
        input_spans: Vec::new(),
    };
    Ok(module::module(&frame, &built))
}
