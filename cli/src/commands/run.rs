//! `fa-gen run`: one launch on `.npy` tensors.

use std::path::{Path, PathBuf};

use anyhow::Context;
use fa_dsl::codes;
use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::philox::Seed;
use fa_dsl::variant::{Dtype, Variant};
use fa_runtime::npy::Narrowed;
use fa_runtime::{
    Arguments, Backend, Effort, Error, Kernel, PackedLengths, Report, Runtime, Tensor, npy,
};
use fa_targets::{Target, TargetKind};
use serde_json::{Value, json};

use crate::args::{BackendArg, RunArgs};
use crate::front::{self, Loaded, unsilenced};
use crate::session::{Outcome, Session, Usage};
use crate::targets;

/// The chip of `--backend ascend` where nothing names one.
const DEFAULT_ASCEND: &str = "ascend910b";

/// Runs a variant.
pub(crate) fn run(args: &RunArgs, session: &mut Session) -> anyhow::Result<Outcome> {
    session.configure(&args.source);
    for path in [Some(&args.output), args.lse.as_ref()]
        .into_iter()
        .flatten()
    {
        has_folder(path)?;
    }
    let loaded = front::load_for_launches(&args.file, &args.source, args.name.as_deref(), session)?;
    if session.failed() {
        return Ok(session.finish(json!({}))?);
    }
    let variant = loaded.select(args.name.as_deref())?;
    let target = match target(args, variant, &loaded, session)? {
        Some(Computer::Target(target)) => Some(*target),
        Some(Computer::Reference) => None,
        None => return Ok(session.finish(json!({}))?),
    };
    let tensors = Tensors::read(args, variant)?;
    tensors.say_narrowed(&loaded, session)?;
    if tensors.q.shape().first().is_some_and(|batch| *batch > 1) {
        loaded.report_of_batches(session)?;
    }
    let Some(arguments) = arguments(args, &loaded, variant, &tensors, session)? else {
        return Ok(session.finish(json!({}))?);
    };
    if target
        .as_ref()
        .is_some_and(|target| target.kind == TargetKind::SplitCore)
        && !arguments.strict
    {
        session.report(&loaded.sources, poison(&tensors.v))?;
    }
    if session.failed() {
        return Ok(session.finish(json!({}))?);
    }
    let compiled = if args.together {
        loaded.variants.iter().collect()
    } else {
        vec![variant]
    };
    let target = target.as_ref();
    let variant = (variant, args.effort.into());
    match launch(variant, target, &compiled, &arguments, &loaded, session) {
        Ok(Some((results, report))) => {
            npy::write(&args.output, &results.0)
                .with_context(|| format!("cannot write {}", args.output.display()))?;
            if let Some(path) = &args.lse {
                npy::write(path, &results.1)
                    .with_context(|| format!("cannot write {}", path.display()))?;
            }
            describe(&report, args, session)?;
            Ok(session.finish(fields(&report, args, &results))?)
        }
        Ok(None) => Ok(session.finish(json!({}))?),
        Err(Error::Launch(faults) | Error::Results(faults) | Error::Plan(faults)) => {
            session.report(&loaded.sources, faults)?;
            Ok(session.finish(json!({}))?)
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether a result can be written there, before anything is computed.
fn has_folder(path: &Path) -> Result<(), Usage> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => Err(Usage(format!(
            "cannot write {}: there is no folder `{}`",
            path.display(),
            folder.display()
        ))),
        _ => Ok(()),
    }
}

/// Who computes.
enum Computer {
    Reference,
    Target(Box<Target>),
}

/// Who computes, or `None` where a name of no target was reported.
fn target(
    args: &RunArgs,
    variant: &Variant,
    loaded: &Loaded,
    session: &mut Session,
) -> anyhow::Result<Option<Computer>> {
    let given = targets::parse_all(&args.target, session)?;
    let (of_file, faults) = targets::of_variant(variant, &given, &loaded.folder);
    session.report(&loaded.sources, faults)?;
    if session.failed() {
        return Ok(None);
    }
    let kind = match args.backend {
        Some(BackendArg::Reference) => return Ok(Some(Computer::Reference)),
        Some(BackendArg::Cpu) => Some(TargetKind::Cpu),
        Some(BackendArg::Ascend) => Some(TargetKind::SplitCore),
        None => None,
    };
    if let (Some(target), Some(kind)) = (given.known.first(), kind)
        && target.kind != kind
    {
        return Err(Usage(format!(
            "target `{}` belongs to backend {}; leave --backend out or name another target",
            target.name,
            Backend::of(target).name()
        ))
        .into());
    }
    let found = targets::first_of(of_file, kind);
    let default = match kind {
        Some(TargetKind::SplitCore) => DEFAULT_ASCEND,
        Some(TargetKind::Cpu) | None => "cpu",
    };
    let target = found.or_else(|| Target::built_in(default));
    Ok(target.map(|target| Computer::Target(Box::new(target))))
}

/// A warning about values that a matrix unit would spread: it multiplies them by the 0 of a masked pair.
fn poison(v: &Tensor) -> Option<Diagnostic> {
    let count = v.to_f64().iter().filter(|value| !value.is_finite()).count();
    (count > 0).then(|| {
        Diagnostic::warning(
            codes::NON_FINITE_VALUE,
            format!("`v` has {count} elements that are NaN or infinite; at a masked pair inside a tile they make the row NaN"),
            "zero the values of masked keys, or run on backend cpu, which leaves them out",
        )
    })
}

/// Tensors of a launch, as read from files.
struct Tensors {
    q: Tensor,
    k: Tensor,
    v: Tensor,
    captured: Vec<(String, Tensor)>,
    packed: Option<PackedLengths>,
    /// Names and files of those that were rounded on reading.
    narrowed: Vec<(String, PathBuf, Narrowed)>,
}

impl Tensors {
    fn read(args: &RunArgs, variant: &Variant) -> anyhow::Result<Tensors> {
        let qkv = Some(variant.precision.qkv);
        let mut captured = Vec::new();
        let mut narrowed = Vec::new();
        let mut read = |name: &str, path: &Path, wanted: Option<Dtype>| {
            let (tensor, found) =
                npy::read_as(path, wanted).map_err(|error| Usage(error.to_string()))?;
            narrowed.extend(found.map(|found| (name.to_owned(), path.to_owned(), found)));
            Ok::<Tensor, Usage>(tensor)
        };
        for (name, path) in &args.inputs {
            let declared = variant.tensors.iter().find(|tensor| tensor.name == *name);
            let tensor = read(name, Path::new(path), declared.map(|tensor| tensor.dtype))?;
            captured.push((name.clone(), tensor));
        }
        let packed = match (&args.cu_q, &args.cu_kv) {
            (Some(cu_q), Some(cu_kv)) => Some(PackedLengths {
                cu_q: lengths(cu_q)?,
                cu_kv: lengths(cu_kv)?,
            }),
            _ => None,
        };
        Ok(Tensors {
            q: read("q", &args.q, qkv)?,
            k: read("k", &args.k, qkv)?,
            v: read("v", &args.v, qkv)?,
            captured,
            packed,
            narrowed,
        })
    }

    /// Says which files were rounded to a narrower type, and warns of what that made infinite.
    fn say_narrowed(&self, loaded: &Loaded, session: &mut Session) -> anyhow::Result<()> {
        for (
            name,
            path,
            Narrowed {
                from,
                to,
                overflowed,
            },
        ) in &self.narrowed
        {
            let (to, path) = (to.name(), path.display());
            if *overflowed == 0 {
                // That fp32 files serve 16-bit variants is how it is meant to be.
                if *from == "fp64" {
                    session.remark(format!("note: `{name}` is {from} in {path}, read as {to}"))?;
                }
                continue;
            }
            let message = format!(
                "`{name}` is {from} in {path}, read as {to}: {overflowed} finite elements become infinite"
            );
            let help = "scale them down, or choose a precision with a wider `qkv`";
            let warning = Diagnostic::warning(codes::NON_FINITE_VALUE, message, help);
            session.report(&loaded.sources, [warning])?;
        }
        Ok(())
    }
}

fn lengths(path: &Path) -> anyhow::Result<Vec<i64>> {
    let tensor = npy::read(path).map_err(|error| Usage(error.to_string()))?;
    if tensor.dtype() != Dtype::Int32 || tensor.shape().len() != 1 {
        return Err(Usage(format!(
            "{} holds {} of shape {:?}; cumulative lengths are int32 or int64 in one dimension",
            path.display(),
            tensor.dtype().name(),
            tensor.shape()
        ))
        .into());
    }
    Ok(tensor.to_f64().into_iter().map(|len| len as i64).collect())
}

/// The launch, or `None` where a parameter was reported as wrong.
fn arguments<'t>(
    args: &RunArgs,
    loaded: &Loaded,
    variant: &Variant,
    tensors: &'t Tensors,
    session: &mut Session,
) -> anyhow::Result<Option<Arguments<'t>>> {
    let mut arguments = Arguments::new(tensors.q.view(), tensors.k.view(), tensors.v.view());
    for (name, tensor) in &tensors.captured {
        arguments = arguments.with(name, tensor.view());
    }
    for (name, text) in &args.param {
        match fa_runtime::parse_param(variant, name, text) {
            Ok(param) => arguments.params.push(param),
            Err(fault) => session.report(&loaded.sources, [*fault])?,
        }
    }
    arguments.packed.clone_from(&tensors.packed);
    arguments.strict = args.source.strict;
    arguments.training = args.seed.map(|seed| Seed {
        seed,
        offset: args.offset,
    });
    if arguments.training.is_some() && variant.dropout.is_none() {
        session.remark("note: a training launch of a variant without dropout changes nothing")?;
    }
    Ok((!session.failed()).then_some(arguments))
}

/// Compiles these variants and launches one of them; `None` where a warning of planning is fatal.
fn launch(
    (variant, effort): (&Variant, Effort),
    target: Option<&Target>,
    compiled: &[&Variant],
    arguments: &Arguments<'_>,
    loaded: &Loaded,
    session: &mut Session,
) -> fa_runtime::Result<Option<((Tensor, Tensor), Report)>> {
    // What is wrong with the arguments is said before a compiler runs.
    let checked = arguments.check(variant)?;
    session.report(&loaded.sources, checked.notes(variant))?;
    let kernel = match target {
        None => Kernel::reference(variant),
        Some(target) => {
            let planned = fa_codegen::plan(variant, target).map_err(Error::Plan)?;
            let warnings = unsilenced(variant, &target.name, planned.warnings);
            session.report(&loaded.sources, warnings)?;
            if session.failed() {
                return Ok(None);
            }
            let mut compiled = compiled.to_vec();
            compiled.retain(|one| fa_codegen::plan(one, target).is_ok());
            let runtime = Runtime::from_env()?.for_effort(effort);
            let tuned = runtime.with_tuned_tile(variant, target, checked.sizes)?;
            for one in &mut compiled {
                if one.name.value == variant.name.value {
                    *one = &tuned;
                }
            }
            let kernels = runtime.compile_many(&compiled, target)?;
            let mut kernels = compiled.into_iter().zip(kernels);
            let found = kernels.find(|(one, _)| one.name.value == variant.name.value);
            found.expect("it was planned just now").1
        }
    };
    let results = kernel.run(arguments)?;
    Ok(Some(((results.out, results.lse), results.report)))
}

fn describe(report: &Report, args: &RunArgs, session: &mut Session) -> anyhow::Result<()> {
    let label = if report.emulated { " (emulated)" } else { "" };
    session.say(format!(
        "{}: {}{label}, {:.1} ms on the host",
        args.output.display(),
        report.backend.name(),
        report.host_time.as_secs_f64() * 1e3
    ))?;
    for note in &report.notes {
        session.remark(format!("note: {note}"))?;
    }
    Ok(())
}

fn fields(report: &Report, args: &RunArgs, results: &(Tensor, Tensor)) -> Value {
    json!({
        "report": report,
        "out": { "path": args.output.display().to_string(), "shape": results.0.shape() },
        "lse": args.lse.as_ref().map(|path| {
            json!({ "path": path.display().to_string(), "shape": results.1.shape() })
        }),
    })
}
