//! What binds, and what a change would gain: launches of the same kernel on a chip with one thing twice as fast, and
//! of kernels with another tile on the same chip. Nothing here is an estimate: each row is a launch on the emulator.

use fa_codegen::{Plan, Tile};
use fa_dsl::span::Spanned;
use fa_dsl::variant::{Schedule, Variant};
use fa_emulator::timeline::Detail;
use fa_runtime::verify::Shape;
use fa_runtime::{Error, Kernel, Runtime};
use fa_targets::{Cost, Target, Timing};

use super::timing::time;

/// A thing that could be faster.
struct Unit {
    name: &'static str,
    /// What a schedule can do about it.
    advice: &'static str,
    faster: fn(&mut Timing),
}

const UNITS: [Unit; 9] = [
    Unit {
        name: "cube (M)",
        advice: "nothing is left but fewer products: skip more of the mask, or take int8",
        faster: |timing| {
            for rate in [
                &mut timing.mmad_k_fp16,
                &mut timing.mmad_k_fp32,
                &mut timing.mmad_k_hf32,
                &mut timing.mmad_k_int8,
            ] {
                double(rate);
            }
        },
    },
    Unit {
        name: "vector (V)",
        advice: "simplify mask and score, or let tiles be known to be full",
        faster: |timing| {
            let slopes = &mut timing.slopes;
            for slope in [
                &mut slopes.add,
                &mut slopes.mul,
                &mut slopes.scalar,
                &mut slopes.bitwise,
                &mut slopes.exp_fp32,
                &mut slopes.exp_fp16,
                &mut slopes.root,
                &mut slopes.rsqrt,
                &mut slopes.div_fp32,
                &mut slopes.div_fp16,
                &mut slopes.axpy,
                &mut slopes.fused,
                &mut slopes.narrow,
                &mut slopes.widen,
                &mut slopes.select,
                &mut slopes.brcb,
                &mut slopes.reduce_repeat,
                &mut slopes.reduce_block,
                &mut slopes.gather,
                &mut slopes.other,
            ] {
                slope.free /= 2.0;
                slope.conflict /= 2.0;
            }
            halve(&mut timing.vector_start);
            halve(&mut timing.vector_dependent);
        },
    },
    Unit {
        name: "Fixpipe (FIX)",
        advice: "fewer bytes out of L0C: wider key tiles leave fewer partial outputs",
        faster: |timing| double(&mut timing.fixpipe_to_gm),
    },
    Unit {
        name: "operand loads (MTE1)",
        advice: "larger products reuse operands longer",
        faster: |timing| {
            double(&mut timing.l1_to_l0a);
            double(&mut timing.l1_to_l0b);
            halve(&mut timing.load_start);
        },
    },
    Unit {
        name: "ports from L2 (MTE2)",
        advice: "more query rows a task reuse keys and values longer",
        faster: |timing| {
            double(&mut timing.gm_to_l1_hit);
            double(&mut timing.gm_to_ub_hit);
        },
    },
    Unit {
        name: "stores of UB (MTE3)",
        advice: "narrower probabilities",
        faster: |timing| double(&mut timing.ub_to_gm),
    },
    Unit {
        name: "shared L2 bandwidth",
        advice: "exchange fewer bytes: larger tiles, narrower scores",
        faster: |timing| double(&mut timing.l2_gbps),
    },
    Unit {
        name: "memory bandwidth (HBM)",
        advice: "keep what is shared in L2: neighbouring tasks of one head",
        faster: |timing| {
            double(&mut timing.hbm_gbps);
            double(&mut timing.gm_to_l1_miss);
            double(&mut timing.gm_to_ub_miss);
        },
    },
    Unit {
        name: "hand-off and latency",
        advice: "more tiles in flight, or larger tiles that meet less often",
        faster: |timing| {
            for latency in [
                &mut timing.cross_core,
                &mut timing.flag_latency,
                &mut timing.copy_latency_hit,
                &mut timing.copy_latency_miss,
                &mut timing.store_latency,
            ] {
                halve(latency);
            }
        },
    },
];

fn double(cost: &mut Cost) {
    cost.value *= 2.0;
}

fn halve(cost: &mut Cost) {
    cost.value /= 2.0;
}

/// What one thing twice as fast would save.
#[derive(Clone, Debug)]
pub(crate) struct Sensitivity {
    /// The thing.
    pub(crate) name: &'static str,
    /// What a schedule can do about it.
    pub(crate) advice: &'static str,
    /// Duration with it, microseconds.
    pub(crate) micros: f64,
    /// Share of the duration that it saves.
    pub(crate) saves: f64,
}

/// Another tile.
#[derive(Clone, Debug)]
pub(crate) struct Alternative {
    /// The tile.
    pub(crate) tile: Tile,
    /// How it differs.
    pub(crate) change: String,
    /// What came of it.
    pub(crate) outcome: Outcome,
}

/// What came of another tile.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// The share by which it is quicker; negative where it is slower.
    Timed {
        /// Gain.
        gain: f64,
        /// Whether it is that of the whole launch, and not of one with fewer heads or rows.
        at_whole: bool,
    },
    /// It does not fit; why.
    Refused(String),
}

/// The same variant with its tile written out for every target.
fn with_tile(variant: &Variant, tile: Tile) -> Variant {
    let span = variant.name.span;
    let written = |value: u32| Some(Spanned { value, span });
    let set = |schedule: &mut Schedule| {
        schedule.tile.block_q = written(tile.block_q);
        schedule.tile.block_kv = written(tile.block_kv);
        schedule.tile.stages = written(tile.stages);
    };
    let mut variant = variant.clone();
    set(&mut variant.schedule);
    for target in &mut variant.targets {
        set(&mut target.schedule);
    }
    variant
}

/// What each thing twice as fast would save, the most first. The kernel is the same text; only the chip differs.
///
/// # Errors
/// A launch fails.
pub(crate) fn sensitivities(
    runtime: &Runtime,
    kernel: &Kernel,
    tile: Tile,
    target: &Target,
    shape: Shape,
) -> Result<Vec<Sensitivity>, Error> {
    let Some(timing) = &target.timing else {
        return Ok(Vec::new());
    };
    let Some(before) = micros(kernel, shape)? else {
        return Ok(Vec::new());
    };
    let variant = with_tile(kernel.variant(), tile);
    let mut found = Vec::new();
    for unit in &UNITS {
        let mut timing = timing.clone();
        (unit.faster)(&mut timing);
        let target = Target {
            timing: Some(timing),
            ..target.clone()
        };
        let kernel = runtime.compile(&variant, &target)?;
        if let Some(micros) = micros(&kernel, shape)? {
            found.push(Sensitivity {
                name: unit.name,
                advice: unit.advice,
                micros,
                saves: 1.0 - micros / before,
            });
        }
    }
    found.sort_by(|a, b| b.saves.total_cmp(&a.saves));
    Ok(found)
}

fn micros(kernel: &Kernel, shape: Shape) -> Result<Option<f64>, Error> {
    let timeline = time(kernel, shape, Detail::Totals)?;
    Ok(timeline.map(|timeline| timeline.micros()))
}

/// Tiles one step away from a plan's.
fn neighbours(tile: Tile) -> Vec<(Tile, String)> {
    let mut found = Vec::new();
    let mut add = |tile: Tile, change: String| found.push((tile, change));
    let Tile {
        block_q,
        block_kv,
        stages,
    } = tile;
    if stages > 1 {
        add(
            Tile {
                stages: stages - 1,
                ..tile
            },
            format!("stages {stages} → {}", stages - 1),
        );
    }
    add(
        Tile {
            stages: stages + 1,
            ..tile
        },
        format!("stages {stages} → {}", stages + 1),
    );
    for (factor_up, name) in [(true, "double"), (false, "half")] {
        let scaled = |block: u32| if factor_up { block * 2 } else { block / 2 };
        for (other, change) in [
            (
                Tile {
                    block_kv: scaled(block_kv),
                    ..tile
                },
                format!("block_kv {block_kv} → {} ({name})", scaled(block_kv)),
            ),
            (
                Tile {
                    block_q: scaled(block_q),
                    ..tile
                },
                format!("block_q {block_q} → {} ({name})", scaled(block_q)),
            ),
        ] {
            if other.block_q % 16 == 0
                && other.block_kv % 16 == 0
                && other.block_q * other.block_kv > 0
            {
                add(other, change);
            }
        }
    }
    found
}

/// Kernels with a tile one step away, launched at the same shape, the quickest first. The first of them
/// is launched at the whole shape as well, where that and its duration are given, for fewer tasks may fill the cores
/// otherwise.
///
/// # Errors
/// A kernel does not compile or a launch fails.
pub(crate) fn alternatives(
    runtime: &Runtime,
    kernel: &Kernel,
    (tile, target): (Tile, &Target),
    shape: Shape,
    whole: Option<(Shape, f64)>,
) -> Result<Vec<Alternative>, Error> {
    let Some(before) = micros(kernel, shape)? else {
        return Ok(Vec::new());
    };
    let (mut fitting, mut found) = (Vec::new(), Vec::new());
    for (at, (tile, change)) in neighbours(tile).into_iter().enumerate() {
        let mut variant = with_tile(kernel.variant(), tile);
        variant.name.value = format!("{}_{at}", variant.name.value);
        match fa_codegen::plan(&variant, target) {
            Ok(planned) if differs(&planned.plan, tile) => {}
            Ok(_) => fitting.push((variant, tile, change)),
            Err(faults) => found.push(Alternative {
                tile,
                change,
                outcome: Outcome::Refused(reason(&faults)),
            }),
        }
    }
    let variants: Vec<&Variant> = fitting.iter().map(|(variant, ..)| variant).collect();
    let kernels = match variants.as_slice() {
        [] => Vec::new(),
        variants => runtime.compile_many(variants, target)?,
    };
    let mut timed = Vec::new();
    for ((_, tile, change), kernel) in fitting.into_iter().zip(kernels) {
        if let Some(micros) = micros(&kernel, shape)? {
            timed.push((before / micros - 1.0, tile, change, kernel));
        }
    }
    timed.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut alternatives = Vec::new();
    for (at, (mut gain, tile, change, kernel)) in timed.into_iter().enumerate() {
        let mut at_whole = whole.is_none_or(|(whole, _)| whole == shape);
        if let Some((whole, before)) = whole
            && at == 0
            && !at_whole
            && gain > 0.0
            && let Some(confirmed) = micros(&kernel, whole)?
        {
            (gain, at_whole) = (before / confirmed - 1.0, true);
        }
        alternatives.push(Alternative {
            tile,
            change,
            outcome: Outcome::Timed { gain, at_whole },
        });
    }
    alternatives.extend(found);
    Ok(alternatives)
}

/// Whether a plan is not of the tile that was asked for.
fn differs(plan: &Plan, tile: Tile) -> bool {
    plan.tile() != tile
}

/// The fact of the first fault: which memory would need how much.
fn reason(faults: &[fa_dsl::diagnostic::Diagnostic]) -> String {
    let message = faults.first().map_or("", |fault| fault.message.as_str());
    match message.split_once(": ") {
        Some((_, fact)) => fact.to_owned(),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_step_away() {
        let tile = Tile {
            block_q: 16,
            block_kv: 512,
            stages: 1,
        };
        let changes: Vec<String> = neighbours(tile)
            .into_iter()
            .map(|(_, change)| change)
            .collect();
        assert_eq!(
            changes,
            [
                "stages 1 → 2",
                "block_kv 512 → 1024 (double)",
                "block_q 16 → 32 (double)",
                "block_kv 512 → 256 (half)",
            ]
        );
    }

    #[test]
    fn every_unit_makes_something_faster() {
        let target = Target::built_in("ascend910b").expect("built in");
        let timing = target.timing.expect("it has costs");
        for unit in &UNITS {
            let mut changed = timing.clone();
            (unit.faster)(&mut changed);
            assert_ne!(changed, timing, "{}", unit.name);
        }
    }
}
