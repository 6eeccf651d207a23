//! `fa-gen FILE… -o DIR`: emitted files, all of them or none.

use fa_codegen::GeneratedFile;
use fa_dsl::parse;
use fa_runtime::{Error, LaunchSizes, Runtime};
use fa_targets::{Target, TargetKind};
use serde_json::json;

use crate::args::{Emit, GenerateArgs};
use crate::bench::shape::BenchShape;
use crate::emitted::Emitted;
use crate::front::{self, Loaded};
use crate::session::{Outcome, Session, Usage};
use crate::targets::{self, Job};

/// Generates for all files; writes only when everything is free of errors.
pub(crate) fn run(args: &GenerateArgs, session: &mut Session) -> anyhow::Result<Outcome> {
    session.configure(&args.source);
    let Some(output) = &args.output else {
        return Err(Usage("no output folder given; add -o DIR".to_owned()).into());
    };
    let given = targets::parse_all(&args.target, session)?;
    let mut files = Emitted::default();
    let mut kinds_used: Vec<TargetKind> = Vec::new();
    for path in &args.files {
        let loaded = front::load(path, &args.source, None, session)?;
        let variants: Vec<_> = loaded.variants.iter().collect();
        let mut jobs = targets::plan_all(&loaded, &variants, &given, session)?;
        if session.failed() {
            continue;
        }
        if let Some(shape) = args.shape {
            jobs.iter_mut().try_for_each(|job| tune(job, shape))?;
        }
        kinds_used.extend(jobs.iter().map(|job| job.target.kind));
        for file in render(&loaded, &jobs, &args.emit)? {
            files.add(file)?;
        }
    }
    if session.failed() {
        return Ok(session.finish(json!({ "files": [] }))?);
    }
    check_emit(&args.emit, &kinds_used)?;
    let written = files.write(output, session)?;
    Ok(session.finish(json!({ "files": written }))?)
}

/// Plans a job again with the tile that is remembered for launches of about that shape, if any is.
fn tune(job: &mut Job<'_>, shape: BenchShape) -> anyhow::Result<()> {
    let variant = job.variant;
    let kv_heads = variant.kv_heads.map(|kv_heads| kv_heads as usize);
    let sizes = LaunchSizes {
        batch: shape.batch,
        heads: shape.heads,
        kv_heads: shape.kv_heads.or(kv_heads).unwrap_or(shape.heads),
        q_len: shape.q_len,
        kv_len: shape.kv_len,
    };
    if let Some(tuned) = Runtime::from_env()?.tuned(variant, &job.target, sizes)? {
        let tiled = variant.with_tile(&job.target.name, tuned.tile.sizes());
        job.plan = fa_codegen::plan(&tiled, &job.target)
            .map_err(Error::Plan)?
            .plan;
    }
    Ok(())
}

fn render(loaded: &Loaded, jobs: &[Job<'_>], emit: &[Emit]) -> anyhow::Result<Vec<GeneratedFile>> {
    let mut files = Vec::new();
    if emit.contains(&Emit::Ast) {
        let (tree, _) = parse::parse(&loaded.sources, loaded.file);
        files.push(GeneratedFile {
            path: format!("{}.ast.txt", loaded.provenance.source_name),
            text: format!("{tree:#?}\n"),
        });
    }
    if emit.contains(&Emit::Variant) {
        for variant in &loaded.variants {
            files.push(GeneratedFile {
                path: format!("{}.variant.json", variant.name.value),
                text: serde_json::to_string_pretty(variant)? + "\n",
            });
        }
    }
    for job in jobs {
        if emit.contains(&Emit::Plan) {
            files.push(GeneratedFile {
                path: format!("{}_{}.plan.txt", job.variant.name.value, job.target.name),
                text: format!("{:#?}\n", job.plan),
            });
        }
        if emits_kernels(emit, &job.target) {
            files.extend(fa_codegen::render(&job.plan, &loaded.provenance));
        }
    }
    Ok(files)
}

/// Whether a target's kernels are asked for: nothing said, or its language.
fn emits_kernels(emit: &[Emit], target: &Target) -> bool {
    let language = match target.kind {
        TargetKind::Cpu => Emit::Rust,
        TargetKind::SplitCore => Emit::Ascendc,
    };
    emit.is_empty() || emit.contains(&language)
}

/// Refuses to emit a language that none of the targets has, rather than write nothing.
fn check_emit(emit: &[Emit], kinds: &[TargetKind]) -> Result<(), Usage> {
    for (language, kind, name, example) in [
        (
            Emit::Ascendc,
            TargetKind::SplitCore,
            "ascendc",
            "ascend910b",
        ),
        (Emit::Rust, TargetKind::Cpu, "rust", "cpu"),
    ] {
        if emit.contains(&language) && !kinds.contains(&kind) {
            return Err(Usage(format!(
                "--emit {name} has no target to emit for; add --target {example}"
            )));
        }
    }
    Ok(())
}
