//! Tiles worth trying for a variant that leaves its tile open.

use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::variant::Variant;
use fa_targets::Target;

use crate::{Plan, Tile, plan};

/// Query rows and key rows that are tried, each with the other as the planner likes it and with each other.
const BLOCKS: [u32; 9] = [1024, 768, 512, 384, 256, 192, 128, 64, 32];
/// What the planner's model may be wrong by: tiles that it finds slower than the best by more are not tried.
const MODEL_ERROR: f64 = 1.5;
/// Tiles in flight on a chip with rings of slots.
const STAGES: [u32; 3] = [2, 3, 4];

/// Sizes of the launches that tiles are tried for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Query heads of all batches.
    pub heads: u64,
    /// Query rows of a sequence.
    pub q_len: u64,
    /// Key rows.
    pub kv_len: u64,
}

/// Tiles that have a plan, at most so many: the planner's own choice first, then the cheapest by its model of such a
/// launch. Where that sees no difference, those nearest to its choice come first.
///
/// # Errors
/// As [`plan`].
pub fn candidates(
    variant: &Variant,
    target: &Target,
    work: Work,
    most: usize,
) -> Result<Vec<Tile>, Vec<Diagnostic>> {
    let chosen = plan(variant, target)?.plan;
    let stages = match &chosen {
        Plan::Ascend(_) => STAGES.to_vec(),
        Plan::Cpu(_) => vec![chosen.tile().stages],
    };
    let mut found: Vec<(f64, f64, Tile)> = Vec::new();
    for block_q in BLOCKS {
        for block_kv in BLOCKS {
            for &stages in &stages {
                let tried = variant.with_tile(&target.name, [block_q, block_kv, stages]);
                let Ok(planned) = plan(&tried, target) else {
                    continue;
                };
                let tile = planned.plan.tile();
                found.push((
                    cost(&planned.plan, target, work),
                    distance(tile, chosen.tile()),
                    tile,
                ));
            }
        }
    }
    found.retain(|(_, _, tile)| *tile != chosen.tile());
    found.sort_by(|one, other| {
        let by_cost = one.0.total_cmp(&other.0);
        by_cost.then(one.1.total_cmp(&other.1))
    });
    let least = found.first().map_or(0.0, |(cost, ..)| *cost);
    let mut tiles = vec![chosen.tile()];
    for (cost, _, tile) in found {
        // The model tells numbers of stages apart well; of others it is right by about as much.
        let is_new = tiles
            .iter()
            .all(|kept| (kept.block_q, kept.block_kv) != (tile.block_q, tile.block_kv));
        if is_new && cost <= MODEL_ERROR * least {
            tiles.push(tile);
        }
    }
    tiles.truncate(most.max(1));
    Ok(tiles)
}

/// The same blocks with other numbers of tiles in flight, where these have a plan.
pub fn other_stages(variant: &Variant, target: &Target, tile: Tile) -> Vec<Tile> {
    let others = STAGES.into_iter().filter(|stages| *stages != tile.stages);
    let planned = others.filter_map(|stages| {
        let tried = variant.with_tile(&target.name, [tile.block_q, tile.block_kv, stages]);
        match plan(&tried, target).ok()?.plan {
            Plan::Ascend(plan) => Some(plan.tile()),
            Plan::Cpu(_) => None,
        }
    });
    planned.collect()
}

/// Cycles of a core, as far as the planner has a model of them.
fn cost(plan: &Plan, target: &Target, work: Work) -> f64 {
    let Plan::Ascend(plan) = plan else {
        return 0.0;
    };
    let cores = target.chip.as_ref().map_or(1, |chip| chip.cube_cores);
    let rows = plan.task_rows(work.heads, work.q_len, cores);
    let rounds = plan
        .tasks(work.heads, work.q_len, cores)
        .div_ceil(cores.into());
    let size = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    rounds as f64 * plan.work(rows, size(work.kv_len))
}

/// How far apart two tiles are, in halvings.
fn distance(one: Tile, other: Tile) -> f64 {
    let halvings = |one: u32, other: u32| (f64::from(one) / f64::from(other)).log2().abs();
    halvings(one.block_q, other.block_q) + halvings(one.block_kv, other.block_kv)
}
