//! `tile = auto` beside every tile of a grid, by modelled times of the launch that the planner compares tiles by.

#![allow(clippy::print_stdout, reason = "the table is what the long run is for")]

use fa_codegen::Plan;
use fa_dsl::variant::Variant;
use fa_runtime::verify::{Case, Shape};
use fa_runtime::{
    Arguments, Effort, Outputs, Runtime, Tensor, lse_shape, modelled_with, output_shape,
};
use fa_targets::Target;
use fa_tests::{plan, target, variants};

/// What variants differ in that tiles depend on: width, element types, expressions, masks, tensors.
const VARIANTS: [(&str, &str); 12] = [
    ("plain_128", "head_dim = 128;"),
    ("plain_64", "head_dim = 64;"),
    ("plain_256", "head_dim = 256;"),
    ("ragged_96", "head_dim = 96;"),
    ("values_64", "head_dim = 192; v_head_dim = 128;"),
    ("bf16_128", "head_dim = 128; precision = mixed_bf16;"),
    ("fp32_64", "head_dim = 64; precision = fp32;"),
    ("half_softmax", "head_dim = 64; precision = fp16;"),
    ("softcap", "head_dim = 128; score = softcap(score, 30.0);"),
    (
        "biased",
        "head_dim = 64; tensor bias: fp16[h, q_len, kv_len]; score = score + bias[h, q_idx, kv_idx];",
    ),
    (
        "alibi",
        "head_dim = 64; tensor slopes: fp32[h]; score = score - slopes[h] * float(q_pos - kv_pos);",
    ),
    (
        "odd_pairs",
        "head_dim = 128; mask = (q_pos + kv_pos) % 3 != 0;",
    ),
];

/// The grid: query rows, key rows, tiles in flight.
const ROWS: [u32; 6] = [512, 384, 256, 192, 128, 64];
const KEYS: [u32; 8] = [1024, 768, 640, 512, 384, 256, 192, 128];
const STAGES: [u32; 3] = [2, 3, 4];

/// A head for each core of the chip.
const SHAPE: Shape = Shape {
    batch: 1,
    heads: 24,
    kv_heads: 24,
    q_len: 1024,
    kv_len: 4096,
};

/// Tiles that the planner's model finds slower than its choice by more are not run; it is wrong by less.
const HOPELESS: f64 = 1.4;

/// By how much a tile of the grid may be faster than the planner's choice.
const SLACK: f64 = 1.03;

/// Modelled microseconds of a launch.
fn micros(runtime: &Runtime, variant: &Variant, chip: &Target, arguments: &Arguments<'_>) -> f64 {
    let kernel = runtime.compile(variant, chip).expect("a kernel");
    let sizes = arguments.check(variant).expect("arguments").sizes;
    let mut out = Tensor::zeros(
        variant.precision.output,
        &output_shape(variant, arguments.q.shape()),
    );
    let mut lse = Tensor::zeros(fa_dsl::variant::Dtype::Fp32, &lse_shape(variant, sizes));
    let mut outputs = Outputs {
        out: out.view_mut(),
        lse: lse.view_mut(),
    };
    let (outcome, times) = modelled_with(false, || kernel.launch(arguments, &mut outputs));
    outcome.expect("a launch");
    times[0].micros
}

/// Without `FA_TILES` two tiles of two variants, with `FA_TILES=all` or the name of a variant the whole grid.
#[test]
fn no_tile_is_much_faster_than_the_choice() {
    let asked = std::env::var("FA_TILES").ok();
    let runtime = Runtime::from_env()
        .expect("a cache")
        .for_effort(Effort::Speed);
    let chip = target("ascend910b");
    println!("| variant | chosen | us | best of the grid | us | slower by | tiles |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let mut slower = Vec::new();
    for (name, fields) in VARIANTS {
        let whole = match asked.as_deref() {
            Some("all") => true,
            Some(asked) if asked.split(',').any(|one| one == name) => true,
            Some(_) => continue,
            None if ["plain_64", "softcap"].contains(&name) => false,
            None => continue,
        };
        let text = format!("attention {name} {{ allow = [FA102, FA103]; {fields} }}");
        let variant = variants("auto.fa", &text).remove(0);
        let case = Case::random(&variant, SHAPE, 1, false);
        let arguments = case.arguments();
        let choice = plan(&variant, &chip);
        let (chosen, expected) = (choice.tile(), cycles(&choice));
        let own = micros(&runtime, &variant, &chip, &arguments);
        let mut best = (own, chosen);
        let mut tried = 0;
        for tile in grid(&variant, &chip, whole) {
            let tiled = variant.with_tile(&chip.name, tile);
            let Ok(planned) = fa_codegen::plan(&tiled, &chip) else {
                continue;
            };
            let modelled = cycles(&planned.plan) / expected;
            if modelled > HOPELESS {
                continue;
            }
            tried += 1;
            let time = micros(&runtime, &tiled, &chip, &arguments);
            if std::env::var_os("FA_TILES_EACH").is_some() {
                println!(
                    "    {name} {tile:?}: {time:.1} us, {:.3} and by the planner {modelled:.3}",
                    time / own
                );
            }
            if time < best.0 {
                best = (time, planned.plan.tile());
            }
        }
        let (least, tile) = best;
        println!(
            "| `{name}` | {:?} | {own:.1} | {:?} | {least:.1} | {:.1} % | {tried} |",
            chosen.sizes(),
            tile.sizes(),
            (own / least - 1.0) * 100.0,
        );
        if own > SLACK * least {
            slower.push(format!(
                "{name}: {chosen:?} {own:.1} us, {tile:?} {least:.1} us"
            ));
        }
    }
    assert!(slower.is_empty(), "{slower:#?}");
}

/// What the planner expects of the launch.
fn cycles(plan: &Plan) -> f64 {
    let Plan::Ascend(plan) = plan else {
        unreachable!("a plan for a chip")
    };
    plan.work(SHAPE.q_len as u32, SHAPE.kv_len as u32)
}

/// The tiles to try.
fn grid(variant: &Variant, chip: &Target, whole: bool) -> Vec<[u32; 3]> {
    if !whole {
        let chosen = plan(variant, chip).tile();
        return vec![
            [256, 256, chosen.stages],
            [128, chosen.block_kv, chosen.stages],
        ];
    }
    let keys = |rows| KEYS.map(move |keys| (rows, keys));
    let blocks = ROWS.into_iter().flat_map(keys);
    blocks
        .flat_map(|(rows, keys)| STAGES.map(|stages| [rows, keys, stages]))
        .collect()
}
