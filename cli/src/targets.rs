//! Which targets a command works for.

use std::path::{Path, PathBuf};

use fa_codegen::{Plan, Planned, unknown_target};
use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::span::{SourceMap, Spanned};
use fa_dsl::variant::Variant;
use fa_targets::{Target, TargetKind};

use crate::front::{Loaded, unsilenced};
use crate::session::{Session, Usage};

/// The target where neither command line nor file names one.
const DEFAULT: &str = "cpu";

/// Targets of the command line.
pub(crate) struct Given {
    /// Whether there were any, the unknown ones included.
    any: bool,
    /// Those that exist, in order.
    pub(crate) known: Vec<Target>,
}

impl Given {
    /// Whether the command line leaves the choice to the file.
    pub(crate) fn is_empty(&self) -> bool {
        !self.any
    }
}

/// Reads the `--target`s: known names, or paths of target files. Unknown names are reported.
///
/// # Errors
/// A file that cannot be read or is no target: wrong usage.
pub(crate) fn parse_all<'t>(
    texts: impl IntoIterator<Item = &'t String>,
    session: &mut Session,
) -> anyhow::Result<Given> {
    let mut given = Given {
        any: false,
        known: Vec::new(),
    };
    for text in texts {
        given.any = true;
        let is_path = text.ends_with(".toml") || Path::new(text).is_file();
        match Target::built_in(text) {
            Some(target) => given.known.push(target),
            None if is_path => given.known.push(read(Path::new(text))?),
            None => session.report(&SourceMap::new(), [unknown_target(text, None)])?,
        }
    }
    Ok(given)
}

fn read(path: &Path) -> Result<Target, Usage> {
    let toml = fs_err::read_to_string(path).map_err(|error| Usage(error.to_string()))?;
    let name = path.display().to_string();
    Target::parse(&name, &toml).map_err(|error| Usage(error.to_string()))
}

/// A target that a file names: one that is built in, or described by `NAME.toml` beside the file.
fn named(name: &Spanned<String>, folder: &Path) -> Result<Target, Box<Diagnostic>> {
    if let Some(target) = Target::built_in(&name.value) {
        return Ok(target);
    }
    let beside: PathBuf = folder.join(format!("{}.toml", name.value));
    let unknown = || Box::new(unknown_target(&name.value, Some(name.span)));
    if !beside.is_file() {
        return Err(unknown());
    }
    read(&beside).map_err(|error| Box::new(unknown().with_note(error.0)))
}

/// The targets of a variant: those given, else those that the file names, else `cpu`; and what is wrong with the
/// names. Every name in the file must be that of a target, whatever is given: nothing that a file says about a
/// target goes unnoticed.
pub(crate) fn of_variant(
    variant: &Variant,
    given: &Given,
    folder: &Path,
) -> (Vec<Target>, Vec<Diagnostic>) {
    let (mut faults, mut targets) = (Vec::new(), Vec::new());
    for schedule in &variant.targets {
        let name = &schedule.target;
        if given.known.iter().any(|target| target.name == name.value) {
            continue;
        }
        match named(name, folder) {
            Ok(target) => targets.push(target),
            Err(fault) => faults.push(*fault),
        }
    }
    if !given.is_empty() {
        return (given.known.clone(), faults);
    }
    if variant.targets.is_empty() {
        targets.extend(Target::built_in(DEFAULT));
    }
    (targets, faults)
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
    given: &Given,
    session: &mut Session,
) -> anyhow::Result<Vec<Job<'v>>> {
    let mut jobs = Vec::new();
    for variant in variants {
        let (targets, faults) = of_variant(variant, given, &loaded.folder);
        session.report(&loaded.sources, faults)?;
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

/// The first of these targets that is of a kind.
pub(crate) fn first_of(targets: Vec<Target>, kind: Option<TargetKind>) -> Option<Target> {
    targets
        .into_iter()
        .find(|target| kind.is_none_or(|kind| target.kind == kind))
}
