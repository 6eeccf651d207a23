//! Finding the kernels of a preprocessed source, and the kind of cores each runs on.

use std::path::Path;

use crate::container::{Kernel, KernelType};

/// A kernel, and how the wrapper names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundKernel {
    pub(crate) kernel: Kernel,
    pub(crate) qualified: String,
    /// Which of its arguments is the system workspace.
    pub(crate) workspace: Option<usize>,
}

/// Why the kernels of a source cannot be told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScanError {
    /// There is no `__global__` function.
    #[error("emulated bisheng: the source has no `__global__ … void` kernel")]
    None,
    /// A kernel is a template.
    #[error("emulated bisheng: kernel `{kernel}` is a template; instantiate it in a plain kernel")]
    Template {
        /// The kernel's name.
        kernel: String,
    },
    /// A kernel declares a type that split-core chips do not have.
    #[error(
        "emulated bisheng: kernel `{kernel}` declares type `{name}`, which this chip does not have"
    )]
    Type {
        /// The kernel's name.
        kernel: String,
        /// The declared type.
        name: String,
    },
    /// Two kernels share a name.
    #[error("emulated bisheng: kernel `{kernel}` is defined twice; overloads are not supported")]
    Duplicate {
        /// The kernel's name.
        kernel: String,
    },
}

const MARK: &str = "fa_emu_scan_kernel";

/// Lists the kernels in order of definition.
pub(crate) fn kernels(preprocessed: &str, include: &Path) -> Result<Vec<FoundKernel>, ScanError> {
    let user = user_text(preprocessed, include);
    let tokens = tokens(&user);
    let fallback = inferred(&tokens);
    let mut found: Vec<FoundKernel> = Vec::new();
    let mut scopes: Vec<Option<String>> = Vec::new();
    let mut statement = 0;
    for (index, &token) in tokens.iter().enumerate() {
        match token {
            "{" => {
                scopes.push(namespace_of(&tokens[statement..index]));
                statement = index + 1;
            }
            "}" => {
                scopes.pop();
                statement = index + 1;
            }
            ";" => statement = index + 1,
            MARK => {
                if let Some(kernel) = kernel_at(&tokens, statement, index, &scopes, fallback)? {
                    if found
                        .iter()
                        .any(|known| known.kernel.name == kernel.kernel.name)
                    {
                        return Err(ScanError::Duplicate {
                            kernel: kernel.kernel.name,
                        });
                    }
                    found.push(kernel);
                }
            }
            _ => {}
        }
    }
    if found.is_empty() {
        Err(ScanError::None)
    } else {
        Ok(found)
    }
}

/// The lines that do not come from our headers or the system's.
fn user_text(preprocessed: &str, include: &Path) -> String {
    let include = include.display().to_string();
    let mut keep = true;
    let mut text = String::new();
    for line in preprocessed.lines() {
        if let Some(marker) = line.strip_prefix("# ") {
            let file = marker.split('"').nth(1).unwrap_or("");
            // Flag 3 alone marks tokens from macros of system headers, which sit in user code.
            keep = !file.starts_with(&include) && !file.starts_with("/usr/");
        } else if keep {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

fn tokens(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let byte = bytes[at];
        at += 1;
        match byte {
            b if b.is_ascii_whitespace() => continue,
            b if b.is_ascii_alphanumeric() || b == b'_' => {
                while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_') {
                    at += 1;
                }
            }
            quote @ (b'"' | b'\'') => {
                while at < bytes.len() && bytes[at] != quote {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at = (at + 1).min(bytes.len());
            }
            _ => {}
        }
        if text.is_char_boundary(start) && text.is_char_boundary(at) {
            tokens.push(&text[start..at]);
        }
    }
    tokens
}

fn namespace_of(statement: &[&str]) -> Option<String> {
    let at = statement.iter().position(|&token| token == "namespace")?;
    let name: String = statement[at + 1..].concat();
    (!name.is_empty()).then_some(name)
}

fn kernel_at(
    tokens: &[&str],
    statement: usize,
    mark: usize,
    scopes: &[Option<String>],
    fallback: KernelType,
) -> Result<Option<FoundKernel>, ScanError> {
    let Some(open) =
        (mark..tokens.len()).find(|&index| tokens[index] == "(" && is_signature(tokens, index))
    else {
        return Ok(None);
    };
    let name = tokens[open - 1].to_owned();
    let Some(close) = matching(tokens, open, "(", ")") else {
        return Ok(None);
    };
    let Some(body) = (close..tokens.len()).find(|&index| matches!(tokens[index], "{" | ";")) else {
        return Ok(None);
    };
    if tokens[body] == ";" {
        return Ok(None);
    }
    let head = &tokens[statement..open];
    if head.contains(&"template") {
        return Err(ScanError::Template { kernel: name });
    }
    let end = matching(tokens, body, "{", "}").unwrap_or(tokens.len());
    let kernel_type = declared(&name, head, &tokens[body..end])?.unwrap_or(fallback);
    let mut qualified: Vec<&str> = scopes.iter().flatten().map(String::as_str).collect();
    qualified.push(&name);
    let qualified = qualified.join("::");
    Ok(Some(FoundKernel {
        kernel: Kernel { name, kernel_type },
        qualified,
        workspace: workspace_among(&tokens[open + 1..close]),
    }))
}

/// The argument that is marked as the system workspace.
fn workspace_among(arguments: &[&str]) -> Option<usize> {
    let at = arguments
        .iter()
        .position(|&token| token == "fa_emu_scan_workspace")?;
    let commas = arguments[..at].iter().filter(|&&token| token == ",");
    Some(commas.count())
}

/// Whether `void NAME (` ends at this parenthesis.
fn is_signature(tokens: &[&str], open: usize) -> bool {
    open >= 2 && tokens[open - 2] == "void"
}

fn matching(tokens: &[&str], open: usize, opener: &str, closer: &str) -> Option<usize> {
    let mut depth = 0;
    for (index, &token) in tokens.iter().enumerate().skip(open) {
        if token == opener {
            depth += 1;
        } else if token == closer {
            depth -= 1;
            if depth == 0 {
                return Some(index);
            }
        }
    }
    None
}

fn declared(name: &str, head: &[&str], body: &[&str]) -> Result<Option<KernelType>, ScanError> {
    let refuse = |declared: String| ScanError::Type {
        kernel: name.to_owned(),
        name: declared,
    };
    if let Some(at) = body.iter().position(|&token| token == "fa_emu_scan_type") {
        let close = matching(body, at + 1, "(", ")").unwrap_or(at + 2);
        let declared = body[at + 2..close].concat();
        return KernelType::from_name(&declared)
            .map(Some)
            .ok_or_else(|| refuse(declared));
    }
    if let Some(at) = head.iter().position(|&token| token == "fa_emu_scan_mix") {
        let part = |offset: usize| head.get(at + offset).copied().unwrap_or("");
        return KernelType::from_ratio(part(2), part(4))
            .map(Some)
            .ok_or_else(|| refuse(format!("__mix__({}, {})", part(2), part(4))));
    }
    if head.contains(&"fa_emu_scan_cube") {
        return Ok(Some(KernelType::AicOnly));
    }
    Ok(head
        .contains(&"fa_emu_scan_vector")
        .then_some(KernelType::AivOnly))
}

/// The type of kernels that declare none, from what the source as a whole uses.
fn inferred(tokens: &[&str]) -> KernelType {
    let uses = |names: &[&str]| tokens.iter().any(|token| names.contains(token));
    if uses(&["fa_emu_scan_objects"]) {
        return KernelType::MixAic12;
    }
    let cube = uses(&["Mmad", "Fixpipe", "LoadData", "fa_emu_scan_cube_objects"]);
    let vector = uses(&["VECIN", "VECOUT", "VECCALC"]);
    match (cube, vector) {
        (true, true) => KernelType::MixAic12,
        (true, false) => KernelType::AicOnly,
        (false, _) => KernelType::AivOnly,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(text: &str) -> Vec<(String, KernelType)> {
        let found = kernels(text, Path::new("/nowhere")).expect("kernels");
        found
            .into_iter()
            .map(|kernel| (kernel.qualified, kernel.kernel.kernel_type))
            .collect()
    }

    #[test]
    fn finds_kernels_with_their_types() {
        let text = r#"
            extern "C" fa_emu_scan_kernel void first(int* x) { fa_emu_scan_type( KERNEL_TYPE_MIX_AIC_1_2 ); }
            namespace deep { fa_emu_scan_kernel fa_emu_scan_mix(1, 1) void second(int x) { if (x) { return; } } }
            fa_emu_scan_kernel void third(int x);
            fa_emu_scan_vector fa_emu_scan_kernel void third(int x) { }
        "#;
        let expected = vec![
            ("first".to_owned(), KernelType::MixAic12),
            ("deep::second".to_owned(), KernelType::MixAic11),
            ("third".to_owned(), KernelType::AivOnly),
        ];
        assert_eq!(scan(text), expected);
    }

    #[test]
    fn the_system_workspace_is_an_argument() {
        let text = "fa_emu_scan_kernel void k(int x, fa_emu_scan_workspace int* w) { fa_emu_scan_objects; }
            fa_emu_scan_kernel void l(int* w) { }";
        let found = kernels(text, Path::new("/nowhere")).expect("kernels");
        let places: Vec<_> = found.iter().map(|kernel| kernel.workspace).collect();
        assert_eq!(places, [Some(1), None]);
        assert_eq!(found[1].kernel.kernel_type, KernelType::MixAic12);
    }

    #[test]
    fn templates_and_unknown_types_are_refused() {
        let template = "template <typename T> fa_emu_scan_kernel void k(T x) { }";
        assert!(matches!(
            kernels(template, Path::new("/nowhere")),
            Err(ScanError::Template { .. })
        ));
        let old = "fa_emu_scan_kernel void k() { fa_emu_scan_type(KERNEL_TYPE_AICORE); }";
        assert!(matches!(
            kernels(old, Path::new("/nowhere")),
            Err(ScanError::Type { .. })
        ));
    }
}
