//! Which targets a command works for.

use fa_codegen::{Plan, Planned};
use fa_dsl::codes;
use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::variant::Variant;
use fa_targets::Target;

use crate::front::{Loaded, unsilenced};
use crate::session::{Session, Usage};

/// The target where neither command line nor file names one.
const DEFAULT: &str = "cpu";

/// Reads one `--target`: a known name, or the path of a target file.
///
/// # Errors
/// Neither, or a file that is not a target: wrong usage, and the message lists the known names.
pub(crate) fn parse(text: &str) -> Result<Target, Usage> {
    if let Some(target) = Target::built_in(text) {
        return Ok(target);
    }
    let is_path = text.ends_with(".toml") || std::path::Path::new(text).is_file();
    if !is_path {
        return Err(Usage(format!(
            "unknown target `{text}`; known are {}, or give the path of a target file",
            known()
        )));
    }
    let toml = fs_err::read_to_string(text).map_err(|error| Usage(error.to_string()))?;
    Target::parse(text, &toml).map_err(|error| Usage(error.to_string()))
}

/// The known names, for messages.
fn known() -> String {
    Target::built_in_names().collect::<Vec<_>>().join(", ")
}

/// Targets given on the command line.
///
/// # Errors
/// One of them is unknown.
pub(crate) fn parse_all(texts: &[String]) -> Result<Vec<Target>, Usage> {
    texts.iter().map(|text| parse(text)).collect()
}

/// The targets of a variant: those given, else those that the file names, else `cpu`.
pub(crate) fn of_variant(
    variant: &Variant,
    given: &[Target],
) -> Result<Vec<Target>, Vec<Diagnostic>> {
    if !given.is_empty() {
        return Ok(given.to_vec());
    }
    let mut faults = Vec::new();
    let mut targets = Vec::new();
    for named in &variant.targets {
        match Target::built_in(&named.target.value) {
            Some(target) => targets.push(target),
            None => faults.push(
                Diagnostic::error(
                    codes::UNKNOWN_TARGET,
                    format!("there is no target `{}`", named.target.value),
                    format!(
                        "name one of {}, or describe the chip in a file and pass it with --target",
                        known()
                    ),
                )
                .at(named.target.span, "no such target"),
            ),
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    if targets.is_empty() {
        targets.extend(Target::built_in(DEFAULT));
    }
    Ok(targets)
}

/// A plan and what it is for.
pub(crate) struct Job<'v> {
    /// The variant.
    pub(crate) variant: &'v Variant,
    /// The target.
    pub(crate) target: Target,
    /// The plan.
    pub(crate) plan: Plan,
}

/// Plans variants for their targets; faults and warnings are reported, and what cannot be planned is left out.
pub(crate) fn plan_all<'v>(
    loaded: &Loaded,
    variants: &[&'v Variant],
    given: &[Target],
    session: &mut Session,
) -> anyhow::Result<Vec<Job<'v>>> {
    let mut jobs = Vec::new();
    for variant in variants {
        let targets = match of_variant(variant, given) {
            Ok(targets) => targets,
            Err(faults) => {
                session.report(&loaded.sources, faults)?;
                continue;
            }
        };
        for target in targets {
            match fa_codegen::plan(variant, &target) {
                Ok(Planned { plan, warnings }) => {
                    let warnings = unsilenced(variant, &target.name, warnings);
                    session.report(&loaded.sources, warnings)?;
                    jobs.push(Job {
                        variant,
                        target,
                        plan,
                    });
                }
                Err(faults) => session.report(&loaded.sources, faults)?,
            }
        }
    }
    Ok(jobs)
}
