//! `fa-gen explain`: plan, budget and mask tiles of a file, or the page of a code.

use std::path::Path;

use fa_codegen::budget::Budget;
use fa_dsl::codes;
use fa_runtime::Error;
use serde_json::{Value, json};

use super::mask::{self, MaskTiles};
use crate::args::ExplainArgs;
use crate::front::{self, Loaded};
use crate::report::{ShapeChoice, Study, timeline_text};
use crate::session::{Outcome, Session, Usage};
use crate::table::{Table, kib};
use crate::targets::{self, Job};

/// Explains a code or a file.
pub(crate) fn run(args: &ExplainArgs, session: &mut Session) -> anyhow::Result<Outcome> {
    session.configure(&args.source);
    let code = args.subject.to_ascii_uppercase();
    if looks_like_code(&code) && !Path::new(&args.subject).exists() {
        return explain_code(&code, session);
    }
    let loaded = front::load(
        Path::new(&args.subject),
        &args.source,
        args.name.as_deref(),
        session,
    )?;
    let given = targets::parse_all(&args.target, session)?;
    // A variant of that name may be there and faulty, which is said.
    let variants = match loaded.filtered(args.name.as_deref()) {
        Err(_) if session.failed() => Vec::new(),
        found => found?,
    };
    let jobs = targets::plan_all(&loaded, &variants, &given, session)?;
    let mut plans = Vec::new();
    for job in &jobs {
        let tiles = args
            .q_len
            .zip(args.kv_len)
            .map(|(q_len, kv_len)| mask::classify(job.variant, job.plan.tile(), q_len, kv_len));
        let mut text = text(job, tiles.as_ref());
        if args.timeline {
            text.push_str(&timeline(job, args, &loaded, session)?);
        }
        session.say(text)?;
        plans.push(object(job, tiles.as_ref())?);
    }
    Ok(session.finish(json!({ "plans": plans }))?)
}

/// What a launch on the emulator says about time; where a launch is refused, that is reported.
fn timeline(
    job: &Job<'_>,
    args: &ExplainArgs,
    loaded: &Loaded,
    session: &mut Session,
) -> anyhow::Result<String> {
    let Some(chip) = &job.target.chip else {
        return Ok("\nno timeline: there is no model of a CPU's pipes\n".to_owned());
    };
    let chosen = ShapeChoice {
        q_len: args.q_len,
        kv_len: args.kv_len,
        ..ShapeChoice::default()
    };
    let progress = session.progress(job.variant.name.value.clone());
    let at = (job.variant, &job.target, &job.plan);
    let traced = Study::trace(at, chosen.shape(job.variant, &job.target), |doing| {
        progress.set_message(doing.to_owned());
    });
    progress.finish_and_clear();
    match traced {
        Ok(Some(times)) => Ok(timeline_text(&job.plan, &times, chip.cube_cores)),
        Ok(None) => Ok(
            "\nno timeline: it comes from the emulator, and a toolkit is installed\n".to_owned(),
        ),
        Err(Error::Launch(faults)) => {
            session.report(&loaded.sources, faults)?;
            Ok(String::new())
        }
        Err(error) => Err(error.into()),
    }
}

fn looks_like_code(subject: &str) -> bool {
    subject
        .strip_prefix("FA")
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

fn explain_code(subject: &str, session: &mut Session) -> anyhow::Result<Outcome> {
    let Some(entry) = codes::parse(subject).and_then(codes::lookup) else {
        let known: Vec<String> = codes::ALL.iter().map(|e| e.code.to_string()).collect();
        return Err(Usage(format!(
            "there is no code `{subject}`; there are {}",
            known.join(", ")
        ))
        .into());
    };
    if !session.is_json() {
        session.print(entry.page)?;
    }
    Ok(session.finish(json!({
        "code": entry.code,
        "slug": entry.slug,
        "severity": entry.severity,
        "title": entry.title,
        "page": entry.page,
    }))?)
}

fn text(job: &Job<'_>, tiles: Option<&MaskTiles>) -> String {
    let tile = job.plan.tile();
    let mut text = format!(
        "{} for {}: block_q {}, block_kv {}, stages {}, lengths up to {}\n\n{}",
        job.variant.name.value,
        job.target.name,
        tile.block_q,
        tile.block_kv,
        tile.stages,
        job.plan.limits().max_len,
        budget_table(job.plan.budget())
    );
    text.push_str("\nschedule\n");
    for (i, step) in job.plan.schedule().iter().enumerate() {
        text.push_str(&format!("  {}. {step}\n", i + 1));
    }
    if let Some(tiles) = tiles {
        text.push_str(&format!(
            "\nmask tiles of {} x {} at q_len {}, kv_len {}: {} full, {} partial, {} empty\n",
            tile.block_q,
            tile.block_kv,
            tiles.q_len,
            tiles.kv_len,
            tiles.full,
            tiles.partial,
            tiles.empty
        ));
        for line in &tiles.picture {
            text.push_str(&format!("  {line}\n"));
        }
        if !tiles.picture.is_empty() {
            text.push_str("  # full, + partial, . empty\n");
        }
        if let Some(remark) = &tiles.remark {
            text.push_str(&format!("  {remark}\n"));
        }
    }
    text
}

fn budget_table(budget: &Budget) -> String {
    let mut table = Table::new(&[
        "memory", "buffer", ">copies", ">rows", ">cols", "type", ">offset", ">KiB", "role",
    ]);
    for memory in &budget.memories {
        for (i, buffer) in memory.buffers.iter().enumerate() {
            let name = if i == 0 { memory.memory.as_str() } else { "" };
            table.row([
                name.to_owned(),
                buffer.name.clone(),
                buffer.copies.to_string(),
                buffer.rows.to_string(),
                buffer.cols.to_string(),
                buffer.dtype.clone(),
                buffer.offset_bytes.to_string(),
                kib(buffer.bytes()),
                buffer.role.clone(),
            ]);
        }
        let (used, capacity) = (memory.used_bytes(), memory.capacity_bytes);
        let share = used as f64 * 100.0 / capacity.max(1) as f64;
        let blank = String::new;
        table.row([
            if memory.buffers.is_empty() {
                memory.memory.clone()
            } else {
                blank()
            },
            "total".to_owned(),
            blank(),
            blank(),
            blank(),
            blank(),
            blank(),
            kib(used),
            format!(
                "of {} ({share:.0} %), {}",
                kib(capacity),
                memory.capacity_note
            ),
        ]);
    }
    table.text()
}

fn object(job: &Job<'_>, tiles: Option<&MaskTiles>) -> anyhow::Result<Value> {
    Ok(json!({
        "variant": job.variant.name.value,
        "target": job.target.name,
        "symbol": job.plan.symbol(),
        "tile": job.plan.tile(),
        "limits": job.plan.limits(),
        "budget": job.plan.budget(),
        "schedule": job.plan.schedule(),
        "mask_tiles": serde_json::to_value(tiles)?,
    }))
}
