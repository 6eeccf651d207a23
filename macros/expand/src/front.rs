//! The way from text to plans: one parser, one check, one planner, the same as for files.

use fa_codegen::{GeneratedFile, Plan, Provenance};
use fa_dsl::check::{self, Checked};
use fa_dsl::diagnostic::{self, Diagnostic, Severity};
use fa_dsl::variant::Variant;
use fa_targets::{Target, TargetKind};
use sha2::{Digest, Sha256};

use crate::input::{Form, INLINE_NAME, Read};

/// The target of the Ascend C where a variant names none.
const DEFAULT_ASCEND: &str = "ascend910b";

/// The target of the kernel that is compiled into the program.
const CPU: &str = "cpu";

/// Where a text comes from.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// What heads of emitted files call it.
    pub(crate) source_name: String,
    /// Its text.
    pub(crate) text: String,
}

impl Origin {
    fn provenance(&self) -> Provenance {
        Provenance {
            source_name: self.source_name.clone(),
            source_sha256: sha256_hex(&self.text),
        }
    }
}

/// One kernel: its plan and its files, the kernel first.
#[derive(Clone, Debug)]
pub(crate) struct Emitted {
    /// The plan.
    pub(crate) plan: Plan,
    /// The files.
    pub(crate) files: Vec<GeneratedFile>,
}

/// A variant with its kernels.
#[derive(Clone, Debug)]
pub(crate) struct Built {
    /// The variant.
    pub(crate) variant: Variant,
    /// The kernel that is compiled into the program.
    pub(crate) cpu: Emitted,
    /// The Ascend C kernel; absent where the variant names other targets only.
    pub(crate) ascend: Option<Emitted>,
    /// Warnings and notes of check and planning.
    pub(crate) warnings: Vec<Diagnostic>,
}

/// Checks and plans everything that was read.
pub(crate) fn build_all(read: &Read) -> Result<Vec<Built>, Vec<Diagnostic>> {
    let checked = check(read);
    let origin = Origin {
        source_name: read.source_name(),
        text: read.text().to_owned(),
    };
    // What is sound is planned whatever is wrong elsewhere, so that all faults come at once.
    let (mut built, mut faults) = (Vec::new(), errors(&checked.diagnostics));
    for variant in checked.variants {
        match build(variant, &checked.diagnostics, &origin) {
            Ok(one) => built.push(one),
            Err(found) => faults.extend(found),
        }
    }
    if faults.is_empty() {
        return Ok(built);
    }
    diagnostic::sort(&mut faults);
    faults.dedup();
    Err(faults)
}

fn check(read: &Read) -> Checked {
    match read.form {
        Form::Items => check::check(&read.sources, read.file, &read.defines),
        Form::Fields => check::check_inline(&read.sources, read.file, INLINE_NAME),
    }
}

fn errors(found: &[Diagnostic]) -> Vec<Diagnostic> {
    found
        .iter()
        .filter(|found| found.is_error())
        .cloned()
        .collect()
}

/// Plans a checked variant for the CPU alone.
///
/// # Errors
/// Whatever the CPU backend cannot do.
pub(crate) fn build_for_cpu(variant: Variant, origin: &Origin) -> Result<Built, Vec<Diagnostic>> {
    let target = Target::built_in(CPU).expect("the CPU is built in");
    let planned = fa_codegen::plan(&variant, &target)?;
    let provenance = origin.provenance();
    let cpu = Emitted {
        files: fa_codegen::render(&planned.plan, &provenance),
        plan: planned.plan,
    };
    Ok(finished(variant, cpu, None, planned.warnings))
}

/// Plans a checked variant for the CPU and for the first Ascend chip that it names, or for `ascend910b` where it
/// names no target at all. `found` are the findings of the check; those about this variant are kept.
///
/// # Errors
/// Whatever a backend cannot do, `FA101` included.
pub(crate) fn build(
    variant: Variant,
    found: &[Diagnostic],
    origin: &Origin,
) -> Result<Built, Vec<Diagnostic>> {
    let provenance = origin.provenance();
    let mut faults = Vec::new();
    let about = found.iter().filter(|found| concerns(found, &variant));
    let mut warnings: Vec<Diagnostic> = about.cloned().collect();
    let targets = targets(&variant, &mut faults);
    let mut emit = |target: &Target| {
        let planned = fa_codegen::plan(&variant, target).map_err(|found| faults.extend(found));
        let planned = planned.ok()?;
        let allowed = &variant.schedule_for(&target.name).allow;
        let kept = |found: &Diagnostic| !allowed.contains(&found.code.0);
        warnings.extend(planned.warnings.into_iter().filter(kept));
        let files = fa_codegen::render(&planned.plan, &provenance);
        Some(Emitted {
            plan: planned.plan,
            files,
        })
    };
    let cpu = emit(&Target::built_in(CPU).expect("the CPU is built in"));
    let ascend = targets.map(|target| emit(&target));
    match (cpu, ascend, faults.is_empty()) {
        (Some(cpu), None, true) => Ok(finished(variant, cpu, None, warnings)),
        (Some(cpu), Some(Some(ascend)), true) => Ok(finished(variant, cpu, Some(ascend), warnings)),
        _ => Err(faults),
    }
}

fn finished(
    variant: Variant,
    cpu: Emitted,
    ascend: Option<Emitted>,
    mut warnings: Vec<Diagnostic>,
) -> Built {
    diagnostic::sort(&mut warnings);
    warnings.dedup();
    Built {
        variant,
        cpu,
        ascend,
        warnings,
    }
}

/// The Ascend chip to write Ascend C for.
fn targets(variant: &Variant, faults: &mut Vec<Diagnostic>) -> Option<Target> {
    if variant.targets.is_empty() {
        return Target::built_in(DEFAULT_ASCEND);
    }
    let known = variant.targets.iter().filter_map(|named| {
        let target = Target::built_in(&named.target.value);
        if target.is_none() {
            let name = &named.target;
            faults.push(fa_codegen::unknown_target(&name.value, Some(name.span)));
        }
        target
    });
    let known: Vec<Target> = known.collect();
    known
        .into_iter()
        .find(|target| target.kind == TargetKind::SplitCore)
}

fn sha256_hex(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a finding belongs to the documentation of one variant: warnings do, and its own notes.
fn concerns(found: &Diagnostic, variant: &Variant) -> bool {
    match found.severity {
        Severity::Error => false,
        Severity::Warning => true,
        Severity::Note => found.span() == Some(variant.name.span),
    }
}
