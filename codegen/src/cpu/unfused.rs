//! Unfused attention of the same variant: three steps with the whole matrix of scores in memory between them. It is
//! what fused kernels are timed against, so it has the same micro-kernels, packing and vector exponential.

use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::variant::{Layout, TileSpec, Variant};
use fa_targets::Target;

use super::layout::ROWS;
use super::names::snake_case;
use super::view::{StepView, UnfusedView};
use super::{Plan, Tasks, assemble, refuse, render};
use crate::{GeneratedFile, LengthLimits, Provenance};

/// The steps of an unfused kernel, decided.
#[derive(Clone, Debug)]
pub struct Unfused {
    plan: Plan,
}

/// Plans the unfused steps of a variant for a CPU. Tiles are the planner's, whatever the file says: they are
/// blocks of two matrix products here.
///
/// # Errors
/// As for the fused kernel; also FA201 for packed sequences.
pub fn plan_unfused(variant: &Variant, target: &Target) -> Result<Unfused, Vec<Diagnostic>> {
    let mut variant = variant.clone();
    variant.schedule.tile = TileSpec::default();
    for named in &mut variant.targets {
        named.schedule.tile = TileSpec::default();
    }
    if variant.layout == Layout::Tnd {
        let at = variant.layout_span.unwrap_or(variant.name.span);
        let help =
            "time a variant of another layout; the fused kernel is timed alone with `--no-unfused`";
        return Err(vec![refuse::refuse("unfused packed sequences", at, help)]);
    }
    let planned = super::plan(&variant, target)?;
    let crate::Plan::Cpu(plan) = planned.plan else {
        unreachable!("cpu targets give cpu plans")
    };
    Ok(Unfused { plan: *plan })
}

impl Unfused {
    /// The exported functions, in the order in which they run; each runs all tasks.
    pub fn symbols(&self) -> Vec<String> {
        self.steps().into_iter().map(|step| step.symbol).collect()
    }

    /// How launches fall into tasks; keys are never split.
    pub fn tasks(&self) -> Tasks {
        self.plan.tasks()
    }

    /// The longest sequences that positions are exact for.
    pub fn limits(&self) -> LengthLimits {
        self.plan.limits()
    }

    /// Bytes of the scores of this many sequences times heads.
    pub fn scores_bytes(&self, planes: u64, q_len: u64, kv_len: u64) -> u64 {
        let (rows, keys) = (u64::from(ROWS), u64::from(self.plan.blocking.block_kv));
        planes * q_len.next_multiple_of(rows) * kv_len.next_multiple_of(keys) * 4
    }

    /// Prints the file, `<variant>_unfused_cpu.rs`.
    pub fn render(&self, provenance: &Provenance) -> GeneratedFile {
        let mut view = assemble::view(&self.plan, provenance);
        view.fused = false;
        let name = &self.plan.variant.name.value;
        let kind = format!("Attention `{name}`, forward.");
        let unfused = format!("Attention `{name}`, forward, unfused: scores lie in memory.");
        view.head_lines[0] = view.head_lines[0].replacen(&kind, &unfused, 1);
        view.imports.retain(|line| line != assemble::ATOMICS);
        // Limits of the keys and tests for empty tiles serve a fused kernel alone.
        view.scalar_functions.retain(|function| {
            let heads = ["fn key_limits(", "fn tile_is_empty("];
            !function
                .lines
                .iter()
                .any(|line| heads.iter().any(|head| line.starts_with(head)))
        });
        let dropout = self.plan.variant.dropout.is_some();
        let steps = UnfusedView {
            steps: self.steps(),
            quotient_pattern: if dropout { "(tile, scores)" } else { "scores" },
            quotient_tiles: if dropout {
                "key_tiles(task).zip(tiles)"
            } else {
                "tiles"
            },
        };
        GeneratedFile {
            path: format!("{name}_unfused_cpu.rs"),
            // Steps that are left out leave their blank lines.
            text: render::unfused(&view, &steps).replace("\n\n\n", "\n\n"),
        }
    }

    fn steps(&self) -> Vec<StepView> {
        let name = &self.plan.variant.name.value;
        let steps = [
            ("Scores", "scores", "S = Q K^T"),
            ("Softmax", "softmax", "P = softmax(S)"),
            ("Values", "values", "O = P V"),
        ];
        let step = |(variant, word, formula)| StepView {
            name: variant,
            formula,
            function: format!("fa_{}_unfused_{word}", snake_case(name)),
            symbol: format!("fa_{name}_unfused_{word}"),
        };
        steps.map(step).to_vec()
    }
}
