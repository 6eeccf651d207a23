//! The procedural half of `fa::attention!`. It only hands tokens over: everything is in `fa-expand`, where tests
//! can call it as plain Rust.

use proc_macro::TokenStream;

/// `PATH_OF_FA; INPUT`, as the macro of the facade writes it.
#[proc_macro]
pub fn attention(input: TokenStream) -> TokenStream {
    fa_expand::expand(input.into()).into()
}
