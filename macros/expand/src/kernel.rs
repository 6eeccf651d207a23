//! The rendered CPU kernel as the tokens of a module: nothing is exported under a fixed name, and every path of
//! the standard library starts at its root, so that the module stands anywhere.

use proc_macro2::{Delimiter, Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};
use quote::quote;

/// The tokens of a rendered file, ready to stand in `mod kernel { … }`.
pub(crate) fn tokens(text: &str) -> TokenStream {
    let tokens: TokenStream = text.parse().expect("emitted Rust consists of Rust tokens");
    let (head, body) = split_head(tokens);
    let body = rooted(private(body));
    quote! {
        #head
        // With this the kernel does not depend on the preludes of the crate around it. No `allow`: it could be
        // forbidden there.
        use ::std::prelude::rust_2024::*;
        #body
    }
}

/// Inner attributes, which come first, and the rest.
fn split_head(tokens: TokenStream) -> (TokenStream, TokenStream) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let inner = |window: &[TokenTree]| {
        matches!(window, [TokenTree::Punct(hash), TokenTree::Punct(bang), TokenTree::Group(_)]
            if hash.as_char() == '#' && bang.as_char() == '!')
    };
    let count = tokens.chunks(3).take_while(|window| inner(window)).count() * 3;
    let (head, body) = tokens.split_at(count);
    (
        head.iter().cloned().collect(),
        body.iter().cloned().collect(),
    )
}

/// Without `#[unsafe(no_mangle)]`: two kernels of one name may be linked into one program.
fn private(tokens: TokenStream) -> TokenStream {
    let mut kept: Vec<TokenTree> = Vec::new();
    for token in tokens {
        let exports = matches!(&token, TokenTree::Group(group)
            if group.delimiter() == Delimiter::Bracket && group.stream().to_string().contains("no_mangle"));
        if exports {
            // The `#` before it.
            kept.pop();
        } else {
            kept.push(token);
        }
    }
    kept.into_iter().collect()
}

/// `std::…` as `::std::…`, and macros of the standard library by their full paths, at any depth.
fn rooted(tokens: TokenStream) -> TokenStream {
    let mut written: Vec<TokenTree> = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), rooted(group.stream()));
                inner.set_span(group.span());
                written.push(inner.into());
            }
            TokenTree::Ident(ident) => {
                let follows = |mark: char, next: Option<&TokenTree>| matches!(next, Some(TokenTree::Punct(punct)) if punct.as_char() == mark);
                let within_path = follows(':', written.last());
                if ident == "std" && follows(':', tokens.peek()) && !within_path {
                    written.extend(path_root());
                } else if is_std_macro(&ident) && follows('!', tokens.peek()) && !within_path {
                    written.extend(path_root());
                    written.push(Ident::new("std", Span::call_site()).into());
                    written.extend(path_root());
                }
                written.push(ident.into());
            }
            other => written.push(other),
        }
    }
    written.into_iter().collect()
}

fn is_std_macro(ident: &Ident) -> bool {
    let macros = [
        "assert",
        "debug_assert",
        "is_x86_feature_detected",
        "unreachable",
    ];
    macros.iter().any(|name| ident == name)
}

fn path_root() -> [TokenTree; 2] {
    let mark = |spacing| TokenTree::from(Punct::new(':', spacing));
    [mark(Spacing::Joint), mark(Spacing::Alone)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_exports_nothing_and_starts_at_the_root() {
        let text = "//! Head.\nuse std::ffi::c_void;\n#[unsafe(no_mangle)]\npub fn f() { std::mem::drop(assert!(a::std::b)); }";
        let expected = quote! {
            #![doc = " Head."]
            use ::std::prelude::rust_2024::*;
            use ::std::ffi::c_void;
            pub fn f() { ::std::mem::drop(::std::assert!(a::std::b)); }
        };
        assert_eq!(tokens(text).to_string(), expected.to_string());
    }
}
