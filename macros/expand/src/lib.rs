//! What `attention!` expands to: tokens to text, text through the one front end and the planner, plans to a module
//! of Rust. It is a library so that tests and the build-script door can call it; it knows nothing of the compiler
//! that will read its tokens, and reads no file but the `.fa` file that a macro names.

mod budget;
mod docs;
mod door;
mod files;
mod front;
mod input;
mod kernel;
mod module;
mod report;
mod text;

use proc_macro2::TokenStream;

pub use door::{FileModule, module_around_file};

/// Expands `PATH; INPUT`, where PATH leads to the facade crate and INPUT is what stands between the brackets of
/// `attention!`. Whatever is wrong with the input becomes compile errors on its own tokens.
pub fn expand(input: TokenStream) -> TokenStream {
    let (facade, body) = input::split_facade(input);
    match input::read(body) {
        Ok(read) => expand_read(&facade, &read),
        Err(error) => error.into_compile_error(),
    }
}

fn expand_read(facade: &TokenStream, read: &input::Read) -> TokenStream {
    match front::build_all(read) {
        Ok(built) => module::modules(facade, read, &built),
        Err(faults) => report::errors(read, &faults),
    }
}
