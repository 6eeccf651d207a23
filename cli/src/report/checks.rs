//! The five classic mistakes of fused attention, each with a verdict and the numbers behind it, also where the file
//! silences a finding.

use fa_codegen::Plan;
use fa_dsl::check;
use fa_dsl::codes;
use fa_dsl::diagnostic::{Code, Diagnostic};
use fa_dsl::variant::{Backward, Layout, Variant};

use super::page::{Check, Figure, Prose};
use super::text;
use super::trace::PipeShare;
use crate::table::kib;

/// What time says about idle units.
pub(crate) struct Idle<'s> {
    /// Pipes of the cube cores.
    pub(crate) cube: &'s [PipeShare],
    /// Pipes of the vector cores.
    pub(crate) vector: &'s [PipeShare],
}

/// The verdicts; `warnings` are those of planning.
pub(crate) fn figure(
    id: &str,
    variant: &Variant,
    plan: &Plan,
    target: &str,
    warnings: &[Diagnostic],
    idle: Option<&Idle<'_>>,
) -> Figure {
    let found = check::classic_mistakes(variant);
    let of = |code: Code| found.iter().find(|diagnostic| diagnostic.code == code);
    let allowed = |code: Code| {
        let schedule = variant.schedule_for(target);
        schedule.allow.contains(&code.0) || variant.schedule.allow.contains(&code.0)
    };
    let judged = |code: Code, numbers: String, applies: bool| {
        judge(code, of(code), allowed(code), numbers, applies)
    };
    let trains = variant.backward.value != Backward::None;
    let checks = vec![
        fits(plan),
        judged(codes::FP16_SOFTMAX, softmax_numbers(variant), true),
        judged(codes::BATCH_WITHOUT_LENGTHS, length_numbers(variant), true),
        judged(codes::FP16_TRAINING, training_numbers(variant), trains),
        idle_units(plan, warnings, allowed(Code(105)), idle),
    ];
    let open = checks.iter().filter(|check| check.class == "warn").count();
    Figure {
        id: format!("{id}-checks"),
        title: "The five classic mistakes".to_owned(),
        origin: "from the checked program and the plan".to_owned(),
        caption: match open {
            0 => "Nothing stands out.".to_owned(),
            1 => "One of them deserves a look.".to_owned(),
            open => format!("{open} of them deserve a look."),
        },
        checks,
        ..Figure::default()
    }
}

fn entry(code: Code) -> (String, String) {
    let title = codes::lookup(code).map_or("", |entry| entry.title);
    (code.to_string(), title.to_owned())
}

fn judge(
    code: Code,
    found: Option<&Diagnostic>,
    allowed: bool,
    numbers: String,
    applies: bool,
) -> Check {
    let (code, name) = entry(code);
    let (class, sign, verdict) = match (found, allowed, applies) {
        (Some(_), true, _) => ("skip", "–", "silenced by `allow`"),
        (Some(_), false, _) => ("warn", "!", "found"),
        (None, _, false) => ("skip", "–", "does not apply"),
        (None, _, true) => ("pass", "✓", "fine"),
    };
    Check {
        code,
        name,
        class,
        sign,
        verdict: verdict.to_owned(),
        numbers,
        help: found.map(|found| Prose::new(&found.help)),
    }
}

/// FA101: a plan in hand has passed the budget.
fn fits(plan: &Plan) -> Check {
    let (code, name) = entry(Code(101));
    let memories: Vec<String> = plan
        .budget()
        .memories
        .iter()
        .map(|memory| {
            format!(
                "{} {} of {} KiB",
                memory.memory,
                kib(memory.used_bytes()),
                kib(memory.capacity_bytes)
            )
        })
        .collect();
    Check {
        code,
        name,
        class: "pass",
        sign: "✓",
        verdict: "fits".to_owned(),
        numbers: memories.join(", "),
        help: None,
    }
}

fn softmax_numbers(variant: &Variant) -> String {
    let (low, high) = check::score_range(variant);
    let precision = &variant.precision;
    let range = if low.is_finite() && high.is_finite() {
        format!(
            "scores between {} and {}",
            text::digits(low),
            text::digits(high)
        )
    } else {
        "scores not bounded by the expressions".to_owned()
    };
    format!(
        "softmax in {}, sums in {}; {range}; fp16 ends at 65504",
        precision.softmax.name(),
        precision.accumulate.name()
    )
}

fn length_numbers(variant: &Variant) -> String {
    if variant.layout == Layout::Tnd {
        return "sequences are packed: each has its own length".to_owned();
    }
    let reads: Vec<String> = variant
        .exprs
        .tensors_read(&[variant.mask, variant.score])
        .into_iter()
        .map(|id| variant.tensor(id).name.clone())
        .collect();
    match reads.as_slice() {
        [] => "mask and score read no tensor: every sequence of a batch counts as full".to_owned(),
        names => format!("mask and score read {}", text::listing(names)),
    }
}

fn training_numbers(variant: &Variant) -> String {
    let precision = &variant.precision;
    match variant.backward.value {
        Backward::None => "no gradients are asked for".to_owned(),
        Backward::Recompute | Backward::Checkpoint { .. } => format!(
            "gradients with softmax in {}, sums in {}",
            precision.softmax.name(),
            precision.accumulate.name()
        ),
    }
}

/// FA105: what the planner noticed, with the shares of the two units that should overlap.
fn idle_units(
    plan: &Plan,
    warnings: &[Diagnostic],
    allowed: bool,
    idle: Option<&Idle<'_>>,
) -> Check {
    let found = warnings.iter().find(|warning| warning.code == Code(105));
    let stages = plan.tile().stages;
    let numbers = match (plan, idle) {
        (Plan::Cpu(_), _) => "one unit does all the work of a thread".to_owned(),
        (Plan::Ascend(_), None) => format!(
            "{stages} in flight",
            stages = text::count(u64::from(stages), "tile", "tiles")
        ),
        (Plan::Ascend(_), Some(idle)) => format!(
            "{} in flight; in the steady state the cube works {} of the time, the vector unit {}",
            text::count(u64::from(stages), "tile", "tiles"),
            steady(idle.cube, "M"),
            steady(idle.vector, "V")
        ),
    };
    // A schedule of one stage leaves units idle, whether or not the planner was silenced.
    let serial = matches!(plan, Plan::Ascend(_)) && stages == 1;
    let mut check = judge(
        Code(105),
        found,
        allowed && serial,
        numbers,
        matches!(plan, Plan::Ascend(_)),
    );
    if serial && found.is_none() && allowed {
        (check.class, check.sign) = ("skip", "–");
        check.verdict = "silenced by `allow`".to_owned();
    }
    check
}

fn steady(shares: &[PipeShare], pipe: &str) -> String {
    let share = shares.iter().find(|share| share.pipe == pipe);
    text::percent(share.map_or(0.0, |share| share.steady.unwrap_or(share.busy)))
}
