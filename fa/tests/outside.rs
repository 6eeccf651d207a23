//! Crates outside, compiled by `rustc` as cargo would: in every edition, under the strictest lints, and again when a
//! `.fa` file has been edited, which the compiler must report as a dependency for cargo to know.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// `libfa-*.rlib` beside this test, the newest first.
fn facades() -> Vec<PathBuf> {
    let here = std::env::current_exe().expect("this program");
    let folder = here.parent().expect("a folder");
    let files = std::fs::read_dir(folder).expect("a folder");
    let mut found: Vec<PathBuf> = files
        .map(|file| file.expect("a file").path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("libfa-") && name.ends_with(".rlib")
        })
        .collect();
    found.sort_by_key(|path| {
        std::fs::metadata(path)
            .and_then(|file| file.modified())
            .ok()
    });
    found.reverse();
    found
}

fn compile(folder: &Path, facade: &Path, edition: &str) -> Output {
    let dependencies = facade.parent().expect("a folder");
    Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .current_dir(folder)
        .args(["--edition", edition, "--crate-type", "lib"])
        .args(["--emit", "dep-info,metadata"])
        .arg(format!("-Ldependency={}", dependencies.display()))
        .arg(format!("--extern=fa={}", facade.display()))
        .arg("outside.rs")
        .output()
        .expect("the compiler runs")
}

/// Compiles `outside.rs` with a facade that is whole: builds with other features, or half ones, may lie beside it.
fn first_compile(folder: &Path, edition: &str) -> PathBuf {
    let mut errors = String::new();
    for facade in facades() {
        let output = compile(folder, &facade, edition);
        if output.status.success() {
            return facade;
        }
        errors = String::from_utf8_lossy(&output.stderr).into_owned();
    }
    panic!("in edition {edition}: {errors}");
}

#[test]
fn an_edited_file_is_compiled_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("a file");
    std::fs::create_dir(folder.join("variants")).expect("a folder");
    // What the compiler reads must be the file as it is now.
    let outside = |text: &str| {
        let length = text.len();
        format!(
            "fa::attention!(\"variants/local.fa\");\nconst _: () = assert!(local::SOURCE.len() == {length});\n"
        )
    };
    let variant = "attention local { head_dim = 16; target = cpu; mask = causal; }";
    write("variants/local.fa", variant);
    write("outside.rs", &outside(variant));
    let facade = first_compile(folder, "2024");
    let rules = || std::fs::read_to_string(folder.join("outside.d")).expect("dependencies");
    let depends = |rules: String| {
        let mut rules = rules.lines();
        rules
            .any(|rule| rule.starts_with("liboutside.rmeta:") && rule.contains("variants/local.fa"))
    };
    assert!(depends(rules()), "{}", rules());

    let wider = variant.replace("causal", "causal && window(4, 0)");
    write("variants/local.fa", &wider);
    write("outside.rs", &outside(&wider));
    let again = compile(folder, &facade, "2024");
    let errors = String::from_utf8_lossy(&again.stderr);
    assert!(again.status.success(), "{errors}");

    write("variants/local.fa", &variant.replace("causal", "causl"));
    let errors = compile(folder, &facade, "2024").stderr;
    let errors = String::from_utf8_lossy(&errors);
    assert!(errors.contains("did you mean `causal`"), "{errors}");
    assert!(errors.contains("local.fa:1:"), "{errors}");
}

#[test]
fn every_edition_and_every_lint() {
    let folder = tempfile::tempdir().expect("a folder");
    let lints = "//! A crate.\n\
        #![forbid(unsafe_code, unused_imports)]\n\
        #![deny(warnings, missing_docs, unused, nonstandard_style, future_incompatible, keyword_idents)]\n\
        #![deny(rust_2018_idioms, rust_2021_compatibility, rust_2024_compatibility)]\n\
        #![deny(unreachable_pub, unnameable_types, missing_debug_implementations)]\n\
        #![deny(unused_qualifications, unused_results, trivial_casts, trivial_numeric_casts)]\n\
        #![deny(single_use_lifetimes, elided_lifetimes_in_paths, redundant_imports)]\n";
    let variants = "::fa::attention! {\n\
        attention local { head_dim = 16; mask = causal; param heat: float = 1.0; score = score * heat; }\n\
        attention alibi { head_dim = 16; tensor slopes: fp32[h]; score = score - slopes[h]; }\n\
        }\n";
    std::fs::write(
        folder.path().join("outside.rs"),
        format!("{lints}{variants}"),
    )
    .expect("a file");
    for edition in ["2018", "2021", "2024"] {
        first_compile(folder.path(), edition);
    }
}
