//! `fa-gen bench`: fused kernels beside unfused ones of the same variant.

mod ascend;
mod common;
mod cpu;
mod pairs;
mod row;
pub(crate) mod shape;
pub(crate) mod tune;
mod variant;
mod watch;

use std::time::Duration;

use fa_codegen::{ascend as ascend_kernels, cpu as cpu_kernels};
use fa_dsl::variant::Variant;
use fa_runtime::{Backend, Effort};
use fa_targets::{Target, TargetKind};
use serde_json::json;

use crate::args::{BackendArg, BenchArgs};
use crate::emitted::Emitted;
use crate::front::{self, Loaded};
use crate::session::{Outcome, Session, Usage};
use crate::targets;
use row::Row;
use shape::BenchShape;

/// The chip of `--backend ascend` where nothing names one.
const DEFAULT_ASCEND: &str = "ascend910b";

/// How kernels are timed.
#[derive(Clone, Copy, Debug)]
struct Settings {
    /// Undisturbed samples wanted of each kernel.
    rounds: usize,
    /// A sample repeats its call for that long.
    sample: Duration,
    /// Whether unfused kernels are timed too.
    unfused: bool,
    /// Threads of the pool.
    threads: usize,
    /// What kernels are compiled for.
    effort: Effort,
}

/// Times a variant.
pub(crate) fn run(args: &BenchArgs, session: &mut Session) -> anyhow::Result<Outcome> {
    session.configure(&args.source);
    let loaded = front::load_for_launches(&args.file, &args.source, args.name.as_deref(), session)?;
    if session.failed() {
        return Ok(session.finish(json!({ "rows": [] }))?);
    }
    let variant = loaded.select(args.name.as_deref())?;
    let targets = targets((&args.target, args.backend), variant, &loaded, session)?;
    if session.failed() {
        return Ok(session.finish(json!({ "rows": [] }))?);
    }
    let settings = settings(args)?;
    let shapes = match args.shape.as_slice() {
        [] => shape::mission(),
        given => given.to_vec(),
    };
    let mut bench = cpu::CpuBench::new(settings)?;
    let mut rows: Vec<Row> = Vec::new();
    let mut emitted = Emitted::default();
    for target in &targets {
        for shape in &shapes {
            let head_dim = shape.head_dim.unwrap_or(variant.head_dim);
            let define = &args.source.define;
            let Some(variant) = variant::of_width(&loaded, define, variant, head_dim, session)?
            else {
                continue;
            };
            let shape = BenchShape {
                kv_heads: shape
                    .kv_heads
                    .or(variant.kv_heads.map(|kv_heads| kv_heads as usize))
                    .or(Some(shape.heads)),
                head_dim: Some(head_dim),
                ..*shape
            };
            if args.output.is_some() {
                add_files(&variant, target, &loaded, settings, &mut emitted)?;
            }
            let found = match target.kind {
                TargetKind::Cpu => bench.shape(&variant, target, shape, session)?,
                TargetKind::SplitCore => {
                    ascend::shape(bench.runtime(), &settings, &variant, target, shape, session)?
                }
            };
            for row in &found {
                session.say(row.line())?;
            }
            rows.extend(found);
        }
    }
    if let Some(folder) = &args.output {
        emitted.write(folder, session)?;
    }
    if rows.iter().all(|row| !row.is_timed()) {
        session.fail();
    }
    if !session.is_json() && !rows.is_empty() {
        session.print(&row::table(&rows))?;
        session.say(bench.remark())?;
    }
    Ok(session.finish(json!({ "meta": bench.meta(&targets), "rows": rows }))?)
}

/// Adds the files of kernels that can be had; why others cannot is in their rows.
fn add_files(
    variant: &Variant,
    target: &Target,
    loaded: &Loaded,
    settings: Settings,
    emitted: &mut Emitted,
) -> Result<(), Usage> {
    let provenance = &loaded.provenance;
    let mut files = Vec::new();
    if let Ok(planned) = fa_codegen::plan(variant, target) {
        files.extend(fa_codegen::render(&planned.plan, provenance));
    }
    match target.kind {
        _ if !settings.unfused => {}
        TargetKind::Cpu => {
            let plan = cpu_kernels::plan_unfused(variant, target);
            files.extend(plan.map(|plan| plan.render(provenance)));
        }
        TargetKind::SplitCore => {
            let plan = ascend_kernels::plan_unfused(variant, target);
            files.extend(
                plan.map(|plan| plan.render(provenance))
                    .into_iter()
                    .flatten(),
            );
        }
    }
    files.into_iter().try_for_each(|file| emitted.add(file))
}

fn settings(args: &BenchArgs) -> Result<Settings, Usage> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(Settings {
        effort: args.effort.into(),
        rounds: args.rounds as usize,
        sample: Duration::from_millis(args.sample_ms),
        unfused: !args.no_unfused,
        threads: args.threads.map_or(processors, |threads| threads as usize),
    })
}

/// The targets of the command line, else those of the file, else the CPU; of one backend where one is asked for.
fn targets(
    (named, backend): (&[String], Option<BackendArg>),
    variant: &Variant,
    loaded: &Loaded,
    session: &mut Session,
) -> anyhow::Result<Vec<Target>> {
    let given = targets::parse_all(named, session)?;
    let (mut targets, faults) = targets::of_variant(variant, &given, &loaded.folder);
    session.report(&loaded.sources, faults)?;
    let kind = match backend {
        None => return Ok(targets),
        Some(BackendArg::Cpu) => TargetKind::Cpu,
        Some(BackendArg::Ascend) => TargetKind::SplitCore,
        Some(BackendArg::Reference) => {
            return Err(Usage(
                "the reference is not timed; name --backend cpu or ascend".to_owned(),
            )
            .into());
        }
    };
    if let Some(target) = given.known.iter().find(|target| target.kind != kind) {
        return Err(Usage(format!(
            "target `{}` belongs to backend {}; leave --backend out or name another target",
            target.name,
            Backend::of(target).name()
        ))
        .into());
    }
    targets.retain(|target| target.kind == kind);
    if targets.is_empty() {
        let default = match kind {
            TargetKind::SplitCore => DEFAULT_ASCEND,
            TargetKind::Cpu => "cpu",
        };
        targets.extend(Target::built_in(default));
    }
    Ok(targets)
}
