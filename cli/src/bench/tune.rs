//! `fa-gen tune`: tries tiles of a variant that leaves its tile open, and remembers the best for launches of about a size.

use std::fmt::Write;
use std::time::Instant;

use anyhow::Context;
use fa_codegen::{Tile, Work};
use fa_dsl::variant::{Dtype, Variant};
use fa_runtime::verify::Case;
use fa_runtime::{
    Arguments, Kernel, LaunchSizes, Outputs, Runtime, Tensor, Tuned, lse_shape, modelled_with,
    output_shape, write_atomically,
};
use fa_targets::{Target, TargetKind};
use indicatif::ProgressBar;
use serde::Serialize;
use serde_json::json;

use super::common::{missing_memory, sizes_of, text};
use super::shape::BenchShape;
use super::{targets, variant};
use crate::args::TuneArgs;
use crate::front::{self, Loaded};
use crate::session::{Outcome, Session, Usage};
use crate::table::Table;

/// Rounds of the tiles of a CPU kernel, one launch of each in turn; the median counts.
const ROUNDS: usize = 7;

/// A tile and what it came to.
#[derive(Clone, Debug, Serialize)]
struct Tried {
    tile: Tile,
    /// Microseconds of a launch.
    micros: Option<f64>,
    /// Why there is no time.
    error: Option<String>,
}

/// The tiles of one shape.
#[derive(Clone, Debug, Serialize)]
struct Search {
    variant: String,
    target: String,
    shape: String,
    /// Whether times are the emulator's.
    modelled: bool,
    /// The planner's own choice first.
    tried: Vec<Tried>,
    best: Option<Tile>,
    /// Where the best is remembered.
    remembered: Option<String>,
}

/// Tries tiles for every target and shape.
pub(crate) fn run(args: &TuneArgs, session: &mut Session) -> anyhow::Result<Outcome> {
    session.configure(&args.source);
    let loaded = front::load_for_launches(&args.file, &args.source, args.name.as_deref(), session)?;
    if session.failed() {
        return Ok(session.finish(json!({ "searches": [] }))?);
    }
    let named = loaded.select(args.name.as_deref())?;
    let targets = targets((&args.target, args.backend), named, &loaded, session)?;
    if session.failed() {
        return Ok(session.finish(json!({ "searches": [] }))?);
    }
    if let Some(target) = targets
        .iter()
        .find(|target| !named.leaves_tile_open(&target.name))
    {
        return Err(Usage(format!(
            "`{}` writes its tile for {}, so there is nothing to tune; write `tile = auto;`",
            named.name.value, target.name
        ))
        .into());
    }
    let runtime = Runtime::from_env()?.for_effort(args.effort.into());
    let mut searches = Vec::new();
    for target in &targets {
        for shape in &args.shape {
            let width = shape.head_dim.unwrap_or(named.head_dim);
            let define = &args.source.define;
            let Some(variant) = variant::of_width(&loaded, define, named, width, session)? else {
                continue;
            };
            let kv_heads = variant.kv_heads.map(|kv_heads| kv_heads as usize);
            let shape = BenchShape {
                kv_heads: shape.kv_heads.or(kv_heads).or(Some(shape.heads)),
                head_dim: Some(width),
                ..*shape
            };
            let search = search(&runtime, &variant, target, shape, args.keep, session)?;
            if !session.is_json() {
                session.print(&table(&search))?;
            }
            searches.push(search);
        }
    }
    if searches.iter().all(|search| search.best.is_none()) {
        session.fail();
    }
    if let Some(path) = &args.offline {
        write_atomically(path, offline(&loaded, &searches).as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))?;
        session.say(path.display())?;
    }
    Ok(session.finish(json!({ "searches": searches }))?)
}

/// Tries the tiles of one shape and remembers the best.
fn search(
    runtime: &Runtime,
    variant: &Variant,
    target: &Target,
    shape: BenchShape,
    keep: usize,
    session: &mut Session,
) -> anyhow::Result<Search> {
    let mut search = Search {
        variant: variant.name.value.clone(),
        target: target.name.clone(),
        shape: shape.to_string(),
        modelled: false,
        tried: Vec::new(),
        best: None,
        remembered: None,
    };
    if let Some(missing) = missing_memory(variant, shape) {
        session.say(format!("{shape}: {missing}"))?;
        return Ok(search);
    }
    let work = Work {
        heads: (shape.batch * shape.heads) as u64,
        q_len: shape.q_len as u64,
        kv_len: shape.kv_len as u64,
    };
    let tiles = match fa_codegen::candidates(variant, target, work, keep) {
        Ok(tiles) => tiles,
        Err(faults) => {
            session.say(format!(
                "{shape}: {}",
                text(&fa_runtime::Error::Plan(faults))
            ))?;
            return Ok(search);
        }
    };
    let progress = session.progress(format!("{shape}: making tensors"));
    let case = Case::random(variant, sizes_of(shape), 1, false);
    let arguments = case.arguments();
    let sizes = arguments.check(variant)?.sizes;
    let job = Trial {
        runtime,
        variant,
        target,
        shape,
        arguments: &arguments,
        sizes,
    };
    job.try_tiles(&tiles, &mut search, &progress);
    if let Some((_, best)) = fastest(&search) {
        let more = fa_codegen::other_stages(variant, target, best);
        job.try_tiles(&more, &mut search, &progress);
    }
    progress.finish_and_clear();
    remember(runtime, variant, target, sizes, &mut search)?;
    Ok(search)
}

/// What tiles are tried with.
struct Trial<'a> {
    runtime: &'a Runtime,
    variant: &'a Variant,
    target: &'a Target,
    shape: BenchShape,
    arguments: &'a Arguments<'a>,
    sizes: LaunchSizes,
}

impl Trial<'_> {
    /// Compiles and times tiles; those of a CPU in turn, several times.
    fn try_tiles(&self, tiles: &[Tile], search: &mut Search, progress: &ProgressBar) {
        let shape = self.shape;
        let mut kernels = Vec::new();
        for tile in tiles {
            progress.set_message(format!("{shape}: compiling {}", written(*tile)));
            let tiled = self.variant.with_tile(&self.target.name, tile.sizes());
            kernels.push(self.runtime.compile(&tiled, self.target));
        }
        let mut samples: Vec<Vec<f64>> = vec![Vec::new(); tiles.len()];
        let mut errors: Vec<Option<String>> = kernels
            .iter()
            .map(|kernel| kernel.as_ref().err().map(text))
            .collect();
        let rounds = if self.target.kind == TargetKind::Cpu {
            ROUNDS
        } else {
            1
        };
        for round in 1..=rounds {
            for (at, tile) in tiles.iter().enumerate() {
                let Ok(kernel) = &kernels[at] else { continue };
                let what = written(*tile);
                progress.set_message(format!("{shape}: timing {what}, round {round} of {rounds}"));
                match launch(kernel, self.variant, self.arguments, self.sizes) {
                    Ok((micros, modelled)) => {
                        samples[at].push(micros);
                        search.modelled |= modelled;
                    }
                    Err(error) => errors[at] = Some(text(&error)),
                }
            }
        }
        for ((tile, mut samples), error) in tiles.iter().zip(samples).zip(errors) {
            samples.sort_by(f64::total_cmp);
            let median = samples.get(samples.len() / 2).copied();
            search.tried.push(Tried {
                tile: *tile,
                micros: median.filter(|_| error.is_none()),
                error,
            });
        }
    }
}

/// The least time and its tile.
fn fastest(search: &Search) -> Option<(f64, Tile)> {
    let timed = search
        .tried
        .iter()
        .filter_map(|tried| Some((tried.micros?, tried.tile)));
    timed.min_by(|one, other| one.0.total_cmp(&other.0))
}

/// Microseconds of one launch, and whether the emulator says so.
fn launch(
    kernel: &Kernel,
    variant: &Variant,
    arguments: &Arguments<'_>,
    sizes: LaunchSizes,
) -> fa_runtime::Result<(f64, bool)> {
    let shape = output_shape(variant, arguments.q.shape());
    let mut out = Tensor::zeros(variant.precision.output, &shape);
    let mut lse = Tensor::zeros(Dtype::Fp32, &lse_shape(variant, sizes));
    let mut outputs = Outputs {
        out: out.view_mut(),
        lse: lse.view_mut(),
    };
    let plan = kernel.plan();
    if kernel.is_emulated() {
        let computes =
            matches!(plan, Some(fa_codegen::Plan::Ascend(plan)) if plan.has_global_barrier());
        let (result, times) = modelled_with(computes, || kernel.launch(arguments, &mut outputs));
        result?;
        return Ok((times.iter().map(|time| time.micros).sum(), true));
    }
    let start = Instant::now();
    kernel.launch(arguments, &mut outputs)?;
    Ok((start.elapsed().as_secs_f64() * 1e6, false))
}

fn remember(
    runtime: &Runtime,
    variant: &Variant,
    target: &Target,
    sizes: LaunchSizes,
    search: &mut Search,
) -> anyhow::Result<()> {
    let Some((micros, tile)) = fastest(search) else {
        return Ok(());
    };
    let tuned = Tuned {
        tile,
        micros,
        modelled: search.modelled,
    };
    let path = runtime.remember(variant, target, sizes, &tuned)?;
    search.best = Some(tile);
    search.remembered = Some(path.display().to_string());
    Ok(())
}

fn written(tile: Tile) -> String {
    format!(
        "{} x {}, {} stages",
        tile.block_q, tile.block_kv, tile.stages
    )
}

/// The tiles of a search, the fastest first.
fn table(search: &Search) -> String {
    let unit = if search.modelled {
        ">us (modelled)"
    } else {
        ">us"
    };
    let mut table = Table::new(&["tile", unit, "note"]);
    let mut order: Vec<&Tried> = search.tried.iter().collect();
    let time = |tried: &Tried| tried.micros.unwrap_or(f64::INFINITY);
    order.sort_by(|one, other| time(one).total_cmp(&time(other)));
    for tried in order {
        let mut notes = Vec::new();
        if search.best == Some(tried.tile) {
            notes.push("best".to_owned());
        }
        if search
            .tried
            .first()
            .is_some_and(|first| first.tile == tried.tile)
        {
            notes.push("the planner's choice".to_owned());
        }
        notes.extend(tried.error.clone());
        let micros = tried
            .micros
            .map_or("-".to_owned(), |micros| format!("{micros:.1}"));
        table.row([written(tried.tile), micros, notes.join(", ")]);
    }
    format!(
        "{} on {}, {}\n{}",
        search.variant,
        search.target,
        search.shape,
        table.text()
    )
}

/// The file with a variant for every shape, its tiles written: what `generate` takes without any cache.
fn offline(loaded: &Loaded, searches: &[Search]) -> String {
    let mut text = loaded.sources.text(loaded.file).trim_end().to_owned();
    for search in searches {
        let Some(tile) = search.best else { continue };
        let shape = search.shape.replace(['/', ':'], "_");
        let parent = &search.variant;
        let said = if search.modelled {
            "modelled"
        } else {
            "measured"
        };
        write!(
            text,
            "\n\n// The best of {} tiles for {} on {}, {said}.\nattention {parent}_{}_{shape} : {parent} {{\n    \
             target {} {{ tile {{ block_q = {}; block_kv = {}; stages = {}; }} }}\n}}",
            search.tried.len(),
            search.shape,
            search.target,
            search.target.replace('-', "_"),
            search.target,
            tile.block_q,
            tile.block_kv,
            tile.stages
        )
        .expect("writing to a string does not fail");
    }
    text.push('\n');
    text
}
