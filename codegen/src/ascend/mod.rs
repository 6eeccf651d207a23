//! The backend for split-core Ascend chips: one cube core and two vector cores that meet in global memory.
//!
//! `plan` lowers the expressions, chooses the tile, places every buffer and fixes the schedule; `render` prints
//! the result. The emitted kernel, its tiling header, launcher and build file come from `templates/ascendc/`.

mod choose;
mod cost;
mod emit;
mod ends;
mod ends_view;
mod lookup_view;
mod lower;
mod memory;
mod merge;
mod order;
mod render;
mod support;
mod unfused;
mod view;

use fa_dsl::diagnostic::{Code, Diagnostic};
use fa_dsl::ir::{ExprId, Exprs, Node};
use fa_dsl::tiles::{self, Extremes, TileAnalysis};
use fa_dsl::variant::Variant;
use fa_targets::Target;

use crate::budget::{Budget, Buffer};
use crate::{GeneratedFile, LengthLimits, Planned, Provenance, Tile};

use crate::budget::kib;
use choose::{Choice, Chooser};
use cost::CostModel;
pub use cost::TileCost;
pub use ends::LaunchShape;
use ends::{Ends, Runs};
use lower::names::Names;
use lower::scalar::ScalarPrinter;
use lower::{Lowered, lower};
use memory::{Arrangement, Facts, Sizes};
pub use merge::{MergePlan, plan_merge, render_merge};
pub use unfused::{Unfused, UnfusedStep, plan_unfused};

/// Score and output rings of the workspace start on full-bandwidth addresses.
fn ring_bytes(stages: u32, rows: u32, cols: u32, bytes: u32, align: u64) -> u64 {
    (u64::from(rows) * u64::from(cols) * u64::from(bytes)).next_multiple_of(align)
        * u64::from(stages)
}

/// A plan for a split-core chip: everything the renderer needs, decided.
#[derive(Clone, Debug)]
pub struct Plan {
    variant: Variant,
    target: Target,
    symbol: String,
    facts: Facts,
    arrangement: Arrangement,
    sizes: Sizes,
    budget: Budget,
    cost: TileCost,
    lowered: Lowered,
    /// The variant's expressions and what tile analysis added to them.
    exprs: Exprs,
    analysis: TileAnalysis,
    ends: Ends,
    names: Names,
    /// For every captured tensor the dimension along which elements are neighbours on the device.
    inner_axes: Vec<usize>,
    max_len: u32,
    /// Whether hardly any tile is known to need no mask.
    always_masks: bool,
}

/// Plans one variant for a split-core chip.
///
/// # Errors
/// `FA201` for features this backend does not have yet, `FA203` for ints that its vector code cannot hold,
/// `FA101` where no arrangement fits the on-chip memories.
pub fn plan(variant: &Variant, target: &Target) -> Result<Planned, Vec<Diagnostic>> {
    let ascend = target
        .ascend()
        .expect("a split-core target has all Ascend tables");
    let errors = support::refusals(variant, &target.name);
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut exprs = variant.exprs.clone();
    let mut extremes = Extremes::after(variant.tensors.len());
    let analysis = tiles::analyse_with(&mut exprs, variant.mask, variant.align, &mut extremes);
    let roots = [variant.score, variant.mask];
    let inner_axes = lower::loads::inner_axes(&mut exprs, variant, &roots);
    let loads = lower::loads::plan_loads(&mut exprs, variant, &roots, &inner_axes)
        .map_err(|refused| support::unloadable(variant, &variant.exprs, &target.name, &refused))?;
    let max_len = support::length_limit(variant, &exprs, &loads, &target.name)
        .map_err(|error| vec![*error])?;
    let names = Names::new(variant);
    if let Some(sink) = variant.sink
        && !ScalarPrinter::new(&exprs, &names).prints(sink.value)
    {
        return Err(vec![support::sink_beyond_scalar_unit(&sink, &target.name)]);
    }
    let analysis = answerable(&mut exprs, variant, &names, analysis, &extremes);
    let ends = Ends::new(&exprs, variant, &analysis, extremes, &inner_axes);
    let lowered = lower(variant, &exprs, &names, &loads);
    let facts = Facts::new(variant, &ascend);
    let schedule = variant.schedule_for(&target.name);
    let never_full = *exprs.node(analysis.full) == Node::Bool(false);
    let always_masks = never_full || cost::always_masks(variant);
    let chooser = Chooser {
        variant,
        target: &target.name,
        ascend,
        facts,
        lowered: &lowered,
        model: CostModel {
            variant,
            ascend: &ascend,
            timing: ascend.timing,
            facts: &facts,
            lowered: &lowered,
            always_masks,
        },
    };
    let Choice {
        arrangement,
        budget,
        cost,
    } = chooser
        .choose(&schedule.tile)
        .map_err(|error| vec![*error])?;
    let warnings = warnings(variant, target, &arrangement, facts.lanes);
    let plan = Plan {
        symbol: format!("fa_{}_forward", variant.name.value),
        sizes: facts.sizes(&arrangement),
        variant: variant.clone(),
        target: target.clone(),
        facts,
        arrangement,
        budget,
        cost,
        lowered,
        exprs,
        analysis,
        ends,
        names,
        inner_axes,
        max_len,
        always_masks,
    };
    Ok(Planned {
        plan: crate::Plan::Ascend(Box::new(plan)),
        warnings,
    })
}

/// Prints a plan: the kernel, its tiling header, the launcher and `CMakeLists.txt`.
pub fn render(plan: &Plan, provenance: &Provenance) -> Vec<GeneratedFile> {
    let barriers = order::last_barriers(&plan.lowered, plan.skips_masks());
    render::files(&view::Kernel::new(plan, provenance, barriers))
}

/// The analysis as far as the scalar unit can evaluate it: what it cannot becomes "any key, never empty, never
/// full".
fn answerable(
    exprs: &mut Exprs,
    variant: &Variant,
    names: &Names,
    analysis: TileAnalysis,
    extremes: &Extremes,
) -> TileAnalysis {
    let (zero, kv_len) = (exprs.int(0), exprs.var(fa_dsl::ir::Var::KvLen));
    let never = exprs.bool(false);
    let printer = ScalarPrinter::new(exprs, names);
    let prints =
        |id: ExprId| printer.prints(id) && ends::answers(exprs, variant, &printer, extremes, id);
    let or = |id: ExprId, other: ExprId| if prints(id) { id } else { other };
    let limits_print = prints(analysis.kv_begin) && prints(analysis.kv_end);
    TileAnalysis {
        kv_begin: if limits_print {
            analysis.kv_begin
        } else {
            zero
        },
        kv_end: if limits_print {
            analysis.kv_end
        } else {
            kv_len
        },
        empty: or(analysis.empty, never),
        full: or(analysis.full, never),
    }
}

/// FA105: a schedule or tile that leaves a unit idle, where the file asked for it.
fn warnings(variant: &Variant, target: &Target, at: &Arrangement, lanes: u32) -> Vec<Diagnostic> {
    let schedule = variant.schedule_for(&target.name);
    let mut found = Vec::new();
    if let Some(stages) = schedule.tile.stages
        && stages.value == 1
    {
        let message = "`stages = 1` runs the cube and the vector cores one after the other";
        let help = "write `stages = 2;` or leave it to the planner";
        found.push(
            Diagnostic::warning(Code(105), message, help).at(stages.span, "one tile in flight"),
        );
    }
    if let Some(block_kv) = schedule.tile.block_kv
        && 2 * at.block_kv <= lanes
    {
        let message = format!(
            "`block_kv = {}` uses {} of {lanes} lanes of the vector unit",
            at.block_kv, at.block_kv
        );
        let help = format!(
            "write `block_kv = {};` or more, or leave it to the planner",
            2 * lanes
        );
        found.push(Diagnostic::warning(Code(105), message, help).at(block_kv.span, "short rows"));
    }
    found.retain(|warning| !schedule.allow.contains(&warning.code.0));
    found
}

impl Plan {
    /// The exported symbol of the kernel.
    pub fn symbol(&self) -> &str {
        &self.symbol
    }

    /// The tile.
    pub fn tile(&self) -> Tile {
        Tile {
            block_q: self.arrangement.block_q,
            block_kv: self.arrangement.block_kv,
            stages: self.arrangement.stages,
        }
    }

    /// Cycles of a core with so many query rows that meet so many keys each, without a mask, by the analytic model.
    pub fn work(&self, rows_of_core: u32, keys: u32) -> f64 {
        let ascend = self.target.ascend().expect("checked when planned");
        let model = CostModel {
            variant: &self.variant,
            ascend: &ascend,
            timing: ascend.timing,
            facts: &self.facts,
            lowered: &self.lowered,
            always_masks: self.always_masks,
        };
        model.work(&self.arrangement, rows_of_core, keys)
    }

    /// Core cycles of a full tile without a mask, unit by unit, by the analytic model.
    pub fn cost(&self) -> TileCost {
        self.cost
    }

    /// Where every buffer lies.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Whether tiles can be full, so that their masks are left out.
    fn skips_masks(&self) -> bool {
        let is_never = matches!(self.exprs.node(self.analysis.full), Node::Bool(false));
        !self.lowered.mask.instrs.is_empty() && !is_never
    }

    /// For every captured tensor, by its place in the variant, the declared dimension along which the kernel takes its
    /// elements for neighbours: a stride of 1, or of 0 where one element stands for all.
    pub fn inner_axes(&self) -> &[usize] {
        &self.inner_axes
    }

    /// The longest sequences it accepts: below 2^24 where vector code computes with positions.
    pub fn limits(&self) -> LengthLimits {
        LengthLimits {
            max_len: self.max_len,
        }
    }

    /// Query rows of a task, as the kernel cuts them: as many as a tile may have, or fewer where that leaves fewer
    /// cores idle in the last round. `heads` counts those of all batches.
    pub fn task_rows(&self, heads: u64, q_len: u64, cube_cores: u32) -> u32 {
        /// A round more or less does not matter then.
        const MANY_ROUNDS: u64 = 16;
        let (block_q, fractal) = (self.arrangement.block_q, self.facts.fractal);
        let cores = u64::from(cube_cores.max(1));
        let tasks = |rows: u32| heads * q_len.div_ceil(u64::from(rows));
        if tasks(block_q) >= MANY_ROUNDS * cores {
            return block_q;
        }
        let key_rows = self.facts.key_rows(self.arrangement.block_kv);
        let time = |rows: u32| tasks(rows).div_ceil(cores) * (u64::from(rows) + key_rows);
        let sizes = (1..=block_q / fractal).rev().map(|part| part * fractal);
        sizes.min_by_key(|rows| time(*rows)).unwrap_or(block_q)
    }

    /// Tasks of a launch on that many cube cores.
    pub fn tasks(&self, heads: u64, q_len: u64, cube_cores: u32) -> u64 {
        let rows = self.task_rows(heads, q_len, cube_cores);
        heads * q_len.div_ceil(u64::from(rows))
    }

    /// Cores to launch for that many tasks on a chip with that many cube cores.
    pub fn blocks(&self, tasks: u64, cube_cores: u32) -> u32 {
        u32::try_from(tasks)
            .unwrap_or(u32::MAX)
            .clamp(1, cube_cores.max(1))
    }

    /// Bytes of workspace that a launch on that many cores needs, from a 512-byte aligned start.
    pub fn workspace_bytes(&self, blocks: u32, shape: &LaunchShape) -> u64 {
        let ends = self
            .runs()
            .iter()
            .map(|runs| runs.workspace_bytes(shape))
            .sum::<u64>();
        self.core_workspace().total() * u64::from(blocks) + ends
    }

    /// Whether the cores meet before the first tile, so that all of them have to run at once: what they have found in
    /// captured tensors decides about tiles.
    pub fn has_global_barrier(&self) -> bool {
        !self.ends.is_empty()
    }

    /// Lines of captured tensors whose ends tile tests ask for.
    fn runs(&self) -> Vec<Runs<'_>> {
        let ascend = self.target.ascend().expect("checked when planned");
        let tile = (self.arrangement.block_q, self.arrangement.block_kv);
        self.ends.runs(&self.variant, &ascend, tile)
    }

    /// The workspace of one core.
    fn core_workspace(&self) -> Workspace {
        let at = &self.arrangement;
        let ascend = self.target.ascend().expect("checked when planned");
        let align = u64::from(ascend.limits.gm_align_bytes);
        let ring = |cols, bytes| ring_bytes(at.stages, at.block_q, cols, bytes, align);
        Workspace {
            scores: ring(at.block_kv, 4),
            probabilities: ring(at.block_kv, self.facts.qkv_bytes),
            partial: ring(self.facts.partial_pitch, 4),
        }
    }

    /// The rings of one cube core's workspace in global memory, in address order.
    pub fn workspace(&self) -> Vec<Buffer> {
        let (at, bytes) = (&self.arrangement, self.core_workspace());
        let fp32 = ("fp32", 4);
        let probabilities = (self.variant.precision.qkv.name(), self.facts.qkv_bytes);
        let rings = [
            (
                "s_ring",
                at.block_kv,
                fp32,
                bytes.scores,
                "scores, cube to vector",
            ),
            (
                "p_ring",
                at.block_kv,
                probabilities,
                bytes.probabilities,
                "probabilities, vector to cube",
            ),
            (
                "o_ring",
                self.facts.value_dim_pad,
                fp32,
                bytes.partial,
                "partial outputs, cube to vector",
            ),
        ];
        let mut next = 0;
        rings
            .into_iter()
            .map(|(name, cols, (dtype, elem_bytes), ring_bytes, role)| {
                let offset_bytes = next;
                next += ring_bytes;
                Buffer {
                    name: name.to_owned(),
                    copies: at.stages,
                    rows: at.block_q,
                    cols,
                    dtype: dtype.to_owned(),
                    elem_bytes,
                    offset_bytes,
                    copy_bytes: ring_bytes / u64::from(at.stages),
                    role: role.to_owned(),
                }
            })
            .collect()
    }

    /// The schedule in words.
    pub fn schedule(&self) -> Vec<String> {
        let at = &self.arrangement;
        let workspace = self.core_workspace();
        let lead = at.stages - 1;
        let order = match lead {
            0 => "cube and vector cores take turns (stages = 1)".to_owned(),
            1 => format!(
                "the cube core runs 1 tile ahead of the vector cores (stages = {})",
                at.stages
            ),
            lead => format!(
                "the cube core runs {lead} tiles ahead of the vector cores (stages = {})",
                at.stages
            ),
        };
        let mut lines = vec![
            format!(
                "task: up to {} query rows of one head, fewer where that fills the cores; late rows first, dealt to the cube cores to and fro",
                at.block_q
            ),
            order,
            format!(
                "cube: S = Q K^T in blocks of {} x {}, depth {} at a time, to a ring of {} slots ({})",
                self.sizes.score_rows,
                self.sizes.sub_keys,
                self.sizes.sub_depth,
                at.stages,
                kib(workspace.scores)
            ),
            format!(
                "vector: softmax of {} rows at a time on each of {} cores, {} slot(s); P to a ring of {} slots ({})",
                at.row_step,
                self.facts.vector_cores,
                at.vector_slots,
                at.stages,
                kib(workspace.probabilities)
            ),
            format!(
                "cube: P V in blocks of {} x {}, summed over the tile in L0C, to a ring of {} slots ({})",
                self.sizes.sub_rows,
                self.sizes.sub_values,
                at.stages,
                kib(workspace.partial)
            ),
            format!(
                "vector: output rescaled and summed {} rows at a time, {} slot(s)",
                self.sizes.output_step, at.vector_slots
            ),
            format!("workspace: {} per cube core", kib(workspace.total())),
        ];
        let ends = self.runs().into_iter().map(|runs| {
            format!(
                "tile tests: least and greatest of {} in runs of {}, found before the first tile",
                runs.note(&self.variant, &self.exprs),
                runs.run
            )
        });
        lines.extend(ends);
        lines
    }
}

/// Bytes of the rings in global memory, per cube core.
#[derive(Clone, Copy, Debug)]
struct Workspace {
    scores: u64,
    probabilities: u64,
    partial: u64,
}

impl Workspace {
    fn total(&self) -> u64 {
        self.scores + self.probabilities + self.partial
    }
}
