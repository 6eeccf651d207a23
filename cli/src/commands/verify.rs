//! `fa-gen verify`: every backend against the f64 reference.

use fa_dsl::variant::Variant;
use fa_runtime::verify::{self, Row, Shape};
use fa_runtime::{Backend, Error, Kernel, Runtime};
use fa_targets::Target;
use serde_json::json;

use crate::args::VerifyArgs;
use crate::emitted::Emitted;
use crate::front::{self, Loaded};
use crate::session::{Outcome, Session, Usage};
use crate::table::Table;
use crate::targets::{self, Given};

/// Targets that stand for the backends where nothing names any.
const ONE_PER_BACKEND: [&str; 2] = ["cpu", "ascend910b"];

/// Verifies all variants of a file.
pub(crate) fn run(args: &VerifyArgs, session: &mut Session) -> anyhow::Result<Outcome> {
    session.configure(&args.source);
    let loaded = front::load_for_launches(&args.file, &args.source, args.name.as_deref(), session)?;
    let given = targets::parse_all(&args.target, session)?;
    if session.failed() {
        return Ok(session.finish(json!({ "rows": [] }))?);
    }
    let runtime = Runtime::from_env()?.for_effort(args.effort.into());
    let mut rows: Vec<Row> = Vec::new();
    let mut skipped = Vec::new();
    let mut compiled: Vec<(&Variant, Vec<Kernel>)> = Vec::new();
    for variant in loaded.filtered(args.name.as_deref())? {
        let progress = session.progress(format!("compiling {}", variant.name.value));
        let kernels = kernels(&runtime, &loaded, variant, &given, &mut skipped, session)?;
        progress.finish_and_clear();
        compiled.push((variant, kernels));
    }
    let files = match &args.output {
        Some(folder) => emitted(&loaded, &compiled)?.write(folder, session)?,
        None => Vec::new(),
    };
    for (variant, kernels) in &compiled {
        let kernels: Vec<&Kernel> = kernels.iter().collect();
        let progress = session.progress(variant.name.value.clone());
        let verified = verify::verify(variant, &kernels, |row| progress.set_message(doing(row)));
        progress.finish_and_clear();
        match verified {
            Ok(found) => rows.extend(found),
            Err(Error::Launch(faults)) => session.report(&loaded.sources, faults)?,
            Err(error) => return Err(error.into()),
        }
    }
    let failures = rows.iter().filter(|row| !row.pass).count();
    if !session.is_json() {
        session.print(&table(&rows))?;
    }
    for line in &skipped {
        session.remark(format!("note: {line}"))?;
    }
    for row in rows.iter().filter(|row| row.failure.is_some()) {
        let failure = row.failure.as_deref().unwrap_or_default();
        session.remark(format!("{} {}: {failure}", row.variant, row.backend.name()))?;
    }
    session.say(format!("{} launches, {failures} failed", rows.len()))?;
    let outcome = session.finish(json!({
        "rows": rows,
        "skipped": skipped,
        "files": files,
        "failed": failures,
    }))?;
    let nothing = rows.is_empty();
    Ok(if failures > 0 || nothing {
        Outcome::Failed
    } else {
        outcome
    })
}

/// What the line of progress says after a launch.
fn doing(row: &Row) -> String {
    let Shape {
        heads,
        q_len,
        kv_len,
        ..
    } = row.shape;
    format!(
        "{} on {}: {heads} heads, {q_len} x {kv_len}",
        row.variant,
        row.backend.name()
    )
}

/// The emitted files of all kernels.
fn emitted(loaded: &Loaded, compiled: &[(&Variant, Vec<Kernel>)]) -> Result<Emitted, Usage> {
    let mut files = Emitted::default();
    let plans = compiled
        .iter()
        .flat_map(|(_, kernels)| kernels.iter().filter_map(Kernel::plan));
    for file in plans.flat_map(|plan| fa_codegen::render(plan, &loaded.provenance)) {
        files.add(file)?;
    }
    Ok(files)
}

/// Kernels of a variant. A target that was asked for must work; one that stands for its backend may be skipped.
fn kernels(
    runtime: &Runtime,
    loaded: &Loaded,
    variant: &Variant,
    given: &Given,
    skipped: &mut Vec<String>,
    session: &mut Session,
) -> anyhow::Result<Vec<Kernel>> {
    let (mut asked, faults) = targets::of_variant(variant, given, &loaded.folder);
    session.report(&loaded.sources, faults)?;
    if given.is_empty() && variant.targets.is_empty() {
        asked.clear();
    }
    let implied: Vec<Target> = if given.is_empty() {
        ONE_PER_BACKEND
            .into_iter()
            .filter_map(Target::built_in)
            .filter(|target| asked.iter().all(|a| Backend::of(a) != Backend::of(target)))
            .collect()
    } else {
        Vec::new()
    };
    let mut kernels = Vec::new();
    for (target, must) in asked
        .iter()
        .map(|target| (target, true))
        .chain(implied.iter().map(|target| (target, false)))
    {
        match runtime.compile(variant, target) {
            Ok(kernel) => kernels.push(kernel),
            Err(Error::Plan(faults)) if must => session.report(&loaded.sources, faults)?,
            Err(Error::Plan(faults)) => {
                let why = faults.first().map_or("", |fault| fault.message.as_str());
                skipped.push(format!(
                    "{} skips {}: {why}",
                    variant.name.value, target.name
                ));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(kernels)
}

fn table(rows: &[Row]) -> String {
    let mut table = Table::new(&[
        "variant",
        "backend",
        ">b",
        ">h",
        ">kv_h",
        ">q_len",
        ">kv_len",
        "mode",
        ">max|err| O",
        ">allowed",
        ">max|err| LSE",
        ">allowed",
        "",
    ]);
    for row in rows {
        let backend = if row.emulated {
            format!("{} (emulated)", row.backend.name())
        } else {
            row.backend.name().to_owned()
        };
        let shape = row.shape;
        table.row([
            row.variant.clone(),
            backend,
            shape.batch.to_string(),
            shape.heads.to_string(),
            shape.kv_heads.to_string(),
            shape.q_len.to_string(),
            shape.kv_len.to_string(),
            if row.training {
                "training"
            } else {
                "inference"
            }
            .to_owned(),
            format!("{:.2e}", row.out_error),
            format!("{:.2e}", row.out_allowed),
            format!("{:.2e}", row.lse_error),
            format!("{:.2e}", row.lse_allowed),
            if row.pass { "ok" } else { "FAILED" }.to_owned(),
        ]);
    }
    table.text()
}
