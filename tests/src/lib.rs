//! What the workspace-level tests share: where the repository is, its stock variants, and how they are rendered.

pub mod harness;

use std::path::{Path, PathBuf};

use fa_codegen::{GeneratedFile, Plan, Provenance};
use fa_dsl::check::check;
use fa_dsl::span::SourceMap;
use fa_dsl::variant::Variant;
use fa_targets::Target;
use sha2::{Digest, Sha256};

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("tests/ lies in the root")
}

/// All files with that ending below a folder of the repository, sorted.
pub fn files_below(folder: &str, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![root().join(folder)];
    while let Some(folder) = pending.pop() {
        for entry in fs_err::read_dir(&folder).expect("the folder exists") {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() {
                pending.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The checked variants of a text; panics with the diagnostics where it has errors.
pub fn variants(name: &str, text: &str) -> Vec<Variant> {
    let mut sources = SourceMap::new();
    let file = sources.add(name, text);
    let checked = check(&sources, file, &[]);
    let errors: Vec<_> = checked
        .diagnostics
        .iter()
        .filter(|found| found.is_error())
        .collect();
    assert!(errors.is_empty(), "{name}: {errors:#?}");
    checked.variants
}

/// A built-in target.
pub fn target(name: &str) -> Target {
    Target::built_in(name).expect("a built-in target")
}

/// The same with so many cube cores, where there are any: kernels cut their tasks to the number of cores, and small
/// launches shall reach the tasks of many rows too.
pub fn with_cores(name: &str, cube_cores: u32) -> Target {
    let mut target = target(name);
    if let Some(chip) = &mut target.chip {
        chip.cube_cores = cube_cores;
    }
    target
}

/// Where a text came from, as the heads of emitted files say it.
pub fn provenance(path: &Path, text: &str) -> Provenance {
    Provenance {
        source_name: path
            .file_name()
            .expect("a file")
            .to_string_lossy()
            .into_owned(),
        source_sha256: Sha256::digest(text.as_bytes())
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect(),
    }
}

/// Plans a variant for a target; panics with the diagnostics where there is no plan.
pub fn plan(variant: &Variant, target: &Target) -> Plan {
    let name = &variant.name.value;
    fa_codegen::plan(variant, target)
        .unwrap_or_else(|errors| panic!("{name} for {}: {errors:#?}", target.name))
        .plan
}

/// Every stock variant and corpus variant for every built-in target that has a plan for it, rendered.
pub fn rendered() -> Vec<GeneratedFile> {
    let mut files = Vec::new();
    let sources = [
        files_below("examples", ".fa"),
        files_below("tests/corpus", ".fa"),
    ];
    for path in sources.concat() {
        let text = fs_err::read_to_string(&path).expect("a readable file");
        let provenance = provenance(&path, &text);
        for variant in variants(&path.to_string_lossy(), &text) {
            for name in Target::built_in_names() {
                let target = target(name);
                if let Ok(planned) = fa_codegen::plan(&variant, &target) {
                    files.extend(fa_codegen::render(&planned.plan, &provenance));
                }
            }
        }
    }
    files
}

/// Parses, checks, plans and renders any text for every built-in target. The body of the fuzz target: whatever the
/// text, nothing panics, errors have a help line, and what checks clean also prints and parses again.
pub fn generate_anything(text: &str) {
    let mut sources = SourceMap::new();
    let file = sources.add("fuzz.fa", text);
    let checked = check(&sources, file, &[]);
    for found in &checked.diagnostics {
        assert!(
            !found.help.is_empty(),
            "{} has no help: {}",
            found.code,
            found.message
        );
    }
    if checked.diagnostics.iter().any(|found| found.is_error()) {
        return;
    }
    let provenance = provenance(Path::new("fuzz.fa"), text);
    for variant in &checked.variants {
        for name in Target::built_in_names() {
            match fa_codegen::plan(variant, &target(name)) {
                Ok(planned) => {
                    let files = fa_codegen::render(&planned.plan, &provenance);
                    assert!(
                        files.iter().all(|file| file.text.ends_with('\n')),
                        "a file ends in the middle"
                    );
                }
                Err(errors) => {
                    assert!(
                        errors.iter().all(|error| !error.help.is_empty()),
                        "no help: {errors:?}"
                    );
                }
            }
        }
    }
}
