//! Schedules all over the space of plans: whatever tile a file asks for, the emitted kernel has no access that nothing
//! orders, no flag that is left over, and comes to an end.

use fa_dsl::variant::Variant;
use fa_emulator::experiment::{self, Experiment};
use fa_emulator::report::{self, Severity};
use fa_runtime::verify::{Case, Shape};
use fa_tests::harness::runtime;
use fa_tests::{target, variants, with_cores};

/// Plans of a run where `FA_PLANS` does not say, and the first seed, `FA_PLANS_SEED`.
const PLANS: u64 = 24;
/// Kernels of one translation unit.
const UNIT: usize = 12;

/// What is drawn with: one mask and score of every kind of schedule.
const BODIES: [&str; 10] = [
    "",
    "mask = causal;",
    "mask = window(100, 30); layout = bsnd;",
    "precision = mixed_bf16; score = softcap(score, 20.0); mask = causal;",
    "precision = fp16; mask = q_pos / 48 == kv_pos / 48;",
    "precision = fp32; tensor bias: fp32[h, q_len, kv_len]; score = score + bias[h, q_idx, kv_idx];",
    "tensor t: fp16[33]; mask = causal; score = score + t[clamp(q_pos - kv_pos, 0, 32)];",
    "tensor on: bool[kv_len, b]; mask = on[kv_idx, b] || kv_idx == 0; tensor s: fp32[h]; sink = s[h];",
    "tensor ids: int32[b, kv_len]; mask = causal && same(ids);",
    "layout = tnd; mask = causal;",
];
const WIDTHS: [(u32, u32); 7] = [
    (64, 64),
    (128, 128),
    (40, 24),
    (256, 256),
    (16, 129),
    (192, 64),
    (512, 512),
];

/// The next number of a sequence: splitmix64, whose constants these are.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().expect("a number"))
}

/// A variant with a tile that has a plan.
fn drawn(seed: u64) -> (String, Variant) {
    let mut state = seed;
    let chip = target("ascend910b");
    loop {
        let mut below = |end: u64| next(&mut state) % end;
        let body = BODIES[below(BODIES.len() as u64) as usize];
        let (width, value) = WIDTHS[below(WIDTHS.len() as u64) as usize];
        let (block_q, block_kv) = (16 * (1 + below(20)), 16 * (1 + below(40)));
        let stages = 1 + below(8);
        let text = format!(
            "attention plan_{seed} {{ head_dim = {width}; v_head_dim = {value}; allow = [FA102, FA103, FA104, FA105]; \
             tile {{ block_q = {block_q}; block_kv = {block_kv}; stages = {stages}; }} {body} }}"
        );
        let variant = variants("plan.fa", &text).remove(0);
        if fa_codegen::plan(&variant, &chip).is_ok() {
            return (text, variant);
        }
    }
}

/// Several tasks of a core, tails of every kind, rows and sequences without keys.
fn shapes(variant: &Variant) -> Vec<Shape> {
    let sizes = [(1, 130, 700), (2, 300, 41), (3, 1, 333), (1, 90, 0)];
    let shape = |(batch, q_len, kv_len)| Shape {
        batch,
        heads: 2,
        kv_heads: 1,
        q_len,
        kv_len,
    };
    // Ids of documents need a key for every query row.
    let needs_keys = !variant.requirements.is_empty();
    let all = sizes.map(shape).into_iter();
    all.filter(|shape| !needs_keys || shape.q_len <= shape.kv_len)
        .collect()
}

#[test]
fn no_schedule_has_a_hazard() {
    let first = number("FA_PLANS_SEED", 1);
    let plans: Vec<(String, Variant)> = (first..first + number("FA_PLANS", PLANS))
        .map(drawn)
        .collect();
    // Two cubes share what there is to do: cores have several tasks, and meet.
    let chip = with_cores("ascend910b", 2);
    let runtime = runtime();
    for unit in plans.chunks(UNIT) {
        let variants: Vec<&Variant> = unit.iter().map(|(_, variant)| variant).collect();
        let kernels = runtime.compile_many(&variants, &chip).expect("kernels");
        for ((text, variant), kernel) in unit.iter().zip(kernels) {
            for (seed, shape) in shapes(variant).into_iter().enumerate() {
                let case = Case::random(variant, shape, seed as u64, false);
                report::take_findings();
                // Completion in a random order is seen by flags that are set twice.
                let plan = Experiment {
                    seed: Some(seed as u64 + 1),
                    ..Experiment::default()
                };
                let launch = || kernel.run(&case.arguments()).map(drop);
                let (outcome, _) = experiment::run(plan, launch);
                let mut found = report::take_findings();
                found.retain(|finding| finding.severity == Severity::Error);
                assert!(
                    outcome.is_ok() && found.is_empty(),
                    "{text}\n{shape:?}\n{outcome:?}\n{found:#?}"
                );
            }
        }
    }
}
