//! The backend for general-purpose processors: plans a variant for a CPU and prints one self-contained Rust file.
//!
//! Steps, each in a file that reads only earlier ones: `refuse` (features it lacks), `hoist` and `lower`
//! (expressions to statements), `layout` (tile and scratch), `functions` and `assemble` (plan to view),
//! `render` (view to text, by `templates/rust`).

mod assemble;
mod constants;
mod expr;
mod formula;
mod functions;
mod hoist;
mod launch;
mod layout;
mod lower;
mod names;
mod refuse;
mod render;
mod simplify;
mod tasks;
mod text;
mod unfused;
mod view;

use fa_dsl::diagnostic::{Code, Diagnostic};
use fa_dsl::ir::{ExprId, Exprs, Type, Var};
use fa_dsl::tiles::{self, Extremes, TileAnalysis};
use fa_dsl::variant::{Dtype, Layout, SplitKv, Variant};
use fa_targets::Target;

pub use assemble::LEVELS;
pub use tasks::{KeySplit, TaskSizes, Tasks};

use crate::budget::Budget;
use crate::{GeneratedFile, LengthLimits, Planned, Provenance, Tile};
use layout::{Blocking, FEW_ROWS, ROWS, STRIP, Shape};
use lower::Hoisted;

pub use unfused::{Unfused, plan_unfused};

/// A CPU kernel, decided.
#[derive(Clone, Debug)]
pub struct Plan {
    variant: Variant,
    /// The variant's expressions and those of the tile analysis.
    exprs: Exprs,
    tiles: TileAnalysis,
    /// Lines of captured tensors whose least and greatest elements decide about tiles.
    extremes: Extremes,
    hoisted: Hoisted,
    /// Whether queries are multiplied by the scale as they are loaded: where nothing reads the plain product.
    scaled_query: bool,
    blocking: Blocking,
    budget: Budget,
    symbol: String,
    /// The `stages` of the file, which mean nothing here.
    stages_written: Option<u32>,
    /// Parts of the keys that the file asks for.
    split_kv: Option<u32>,
}

/// Plans a variant for a CPU.
///
/// # Errors
/// FA201 for each feature that this backend lacks; FA101 where a written tile needs more scratch per thread
/// than the second-level cache of a core.
pub fn plan(variant: &Variant, target: &Target) -> Result<Planned, Vec<Diagnostic>> {
    let schedule = variant.schedule_for(&target.name);
    let mut found = refuse::unsupported(variant);
    let Some(cpu) = &target.cpu else {
        let message = format!("target `{}` has no `[cpu]` table", target.name);
        found.push(Diagnostic::error(
            Code(202),
            message,
            "add its cache sizes to the target file",
        ));
        return Err(found);
    };
    let mut exprs = variant.exprs.clone();
    let mut extremes = Extremes::after(variant.tensors.len());
    let mut tiles = tiles::analyse_with(&mut exprs, variant.mask, variant.align, &mut extremes);
    let mut variant = variant.clone();
    simplify_all(&mut exprs, &mut variant, &mut tiles, &mut extremes);
    let dependences = exprs.dependences();
    let roots = [variant.score, variant.mask];
    let hoisted = hoist::hoist(&variant, &exprs, &dependences, &roots, &extremes);
    let shape = Shape {
        head_dim: variant.head_dim,
        v_head_dim: variant.v_head_dim,
        column_bytes: column_bytes(&exprs, &hoisted),
        column_count: u32::try_from(hoisted.columns.len()).expect("few values per column"),
    };
    match layout::choose(&schedule.tile, shape, cpu, &target.name) {
        Ok((blocking, budget)) if found.is_empty() => {
            let plan = Plan {
                scaled_query: scales_query(&variant, &exprs),
                symbol: format!("fa_{}_forward", variant.name.value),
                stages_written: schedule.tile.stages.map(|stages| stages.value),
                split_kv: match schedule.split_kv {
                    SplitKv::Auto => None,
                    SplitKv::Fixed(parts) => Some(parts.value),
                },
                variant,
                exprs,
                tiles,
                extremes,
                hoisted,
                blocking,
                budget,
            };
            Ok(Planned {
                plan: crate::Plan::Cpu(Box::new(plan)),
                warnings: Vec::new(),
            })
        }
        Ok(_) => Err(found),
        Err(too_large) => {
            found.push(*too_large);
            Err(found)
        }
    }
}

/// Simplifies every expression that is emitted; their ids change, in the one arena that all of them share.
fn simplify_all(
    exprs: &mut Exprs,
    variant: &mut Variant,
    tiles: &mut TileAnalysis,
    extremes: &mut Extremes,
) {
    let mut roots = vec![
        &mut variant.mask,
        &mut variant.score,
        &mut tiles.kv_begin,
        &mut tiles.kv_end,
        &mut tiles.empty,
        &mut tiles.full,
    ];
    roots.extend(variant.sink.as_mut().map(|sink| &mut sink.value));
    let lines = extremes.lines.iter_mut();
    roots.extend(lines.flat_map(|line| line.index.iter_mut()));
    simplify::simplify(exprs, &mut roots);
}

fn scales_query(variant: &Variant, exprs: &Exprs) -> bool {
    !exprs.reads(variant.score, Var::Dot) && variant.precision.accumulate == Dtype::Fp32
}

fn column_bytes(exprs: &Exprs, hoisted: &Hoisted) -> u32 {
    let bytes = |id: &ExprId| if exprs.ty(*id) == Type::Bool { 1 } else { 4 };
    hoisted.columns.keys().map(bytes).sum()
}

/// Prints a plan: one file, `<variant>_cpu.rs`.
pub fn render(plan: &Plan, provenance: &Provenance) -> Vec<GeneratedFile> {
    let view = assemble::view(plan, provenance);
    vec![GeneratedFile {
        path: format!("{}_cpu.rs", plan.variant.name.value),
        text: render::kernel(&view),
    }]
}

impl Plan {
    /// The exported symbol.
    pub fn symbol(&self) -> &str {
        &self.symbol
    }

    /// Its tile. Nothing is in flight beside the tile at work.
    pub fn tile(&self) -> Tile {
        Tile {
            block_q: self.blocking.block_q,
            block_kv: self.blocking.block_kv,
            stages: 1,
        }
    }

    /// How launches fall into tasks.
    pub fn tasks(&self) -> Tasks {
        Tasks {
            block_q: self.blocking.block_q,
            block_kv: self.blocking.block_kv,
            v_cols: self.blocking.v_cols,
            split_kv: self.split_kv,
        }
    }

    /// The scratch of one thread against the second-level cache.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// The longest sequences that positions are exact for.
    pub fn limits(&self) -> LengthLimits {
        LengthLimits {
            max_len: tiles::MAX_LENGTH,
        }
    }

    /// The steps of one task in words.
    pub fn schedule(&self) -> Vec<String> {
        let Blocking {
            block_q,
            block_kv,
            panel,
            ..
        } = self.blocking;
        let mut steps = vec![
            format!(
                "one task per sequence, head and block of {block_q} query rows; tasks run on any thread"
            ),
            "load the query rows as fp32".to_owned(),
            format!(
                "for each tile of {block_kv} keys within the limits of the mask, empty tiles skipped:"
            ),
            format!("  pack keys in panels of {panel} rows, load values"),
            format!(
                "  for each strip of {STRIP} query rows, by groups of {ROWS} and the keys that they see:"
            ),
            "    multiply with the keys".to_owned(),
            "    apply score and mask row by row, full tiles without the mask".to_owned(),
            "    update the running maximum and sum of each row".to_owned(),
            "    add up values by weight".to_owned(),
            "divide by the sum, store output and LSE".to_owned(),
            format!(
                "up to {FEW_ROWS} query rows: the heads that share keys are one task, keys are not packed"
            ),
        ];
        steps.push(match self.split_kv {
            None => "fewer tasks than threads want: keys are split in parts, each a task; the last part puts all together"
                .to_owned(),
            Some(1) => "keys of a task are never split".to_owned(),
            Some(parts) => format!(
                "keys of a task are split in up to {parts} parts of whole tiles; the last one puts all together"
            ),
        });
        if let Some(stages) = self.stages_written {
            steps.push(format!(
                "`stages = {stages}` has no effect here: a thread works on one tile at a time, and memory is fetched by the caches"
            ));
        }
        steps
    }

    /// Whether sequences lie packed, one after the other.
    fn is_packed(&self) -> bool {
        self.variant.layout == Layout::Tnd
    }

    /// Bytes of hoisted values per key column.
    fn column_bytes(&self) -> u32 {
        column_bytes(&self.exprs, &self.hoisted)
    }
}
