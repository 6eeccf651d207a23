//! Dropout draws the same pairs on every backend, for every tile and in every precision. With V = I the output shows
//! the weight of every pair.

use fa_dsl::philox::{Seed, draw, keep_factor};
use fa_runtime::verify::{Case, Shape};
use fa_runtime::{Arguments, Tensor};
use fa_tests::harness::{close, compile};

/// Batches, heads, query rows, keys: several counters to a row, tails of rows, columns and counters.
const SIZES: [usize; 4] = [2, 2, 21, 72];

const SEEDS: [Seed; 2] = [
    Seed {
        seed: 42,
        offset: 0,
    },
    Seed {
        seed: 0x9e37_79b9_7f4a_7c15,
        offset: 0xffff_fffe,
    },
];

#[test]
fn every_backend_and_tile_drops_the_same_pairs() {
    let variant = |name: &str, rest: &str| {
        format!(
            "attention {name} {{ head_dim = 16; v_head_dim = 72; dropout = 0.25; \
             allow = [FA102, FA103, FA105]; {rest} }}\n"
        )
    };
    let text = [
        variant("chosen", ""),
        variant(
            "narrow",
            "tile { block_q = 16; block_kv = 16; stages = 3; }",
        ),
        variant("uneven", "tile { block_q = 32; block_kv = 48; }"),
        variant(
            "half",
            "precision = bf16; tile { block_q = 128; block_kv = 64; }",
        ),
    ]
    .concat();
    let [batch, heads, q_len, kv_len] = SIZES;
    for backends in compile(&text) {
        let dtype = backends.variant.precision.qkv;
        let threshold = backends.variant.dropout.expect("declared").threshold;
        let q = Tensor::zeros(dtype, &[batch, heads, q_len, 16]);
        let k = Tensor::zeros(dtype, &[batch, heads, kv_len, 16]);
        let identity: Vec<f64> = (0..batch * heads * kv_len * kv_len)
            .map(|at| f64::from(u8::from(at % kv_len == at / kv_len % kv_len)))
            .collect();
        let v = Tensor::from_f64(dtype, &[batch, heads, kv_len, kv_len], &identity);
        for seed in SEEDS {
            let arguments = Arguments::new(q.view(), k.view(), v.view()).training(seed);
            backends.each(&arguments, |backend, rows| {
                for (at, weight) in rows.out.iter().enumerate() {
                    let (row, key) = (at / kv_len, at % kv_len);
                    let (plane, row) = ((row / q_len) as u32, (row % q_len) as u32);
                    let keep = keep_factor(threshold, draw(seed, plane, row, key as u32));
                    let place = (backend, &backends.variant.name.value, plane, row, key);
                    assert_eq!(*weight == 0.0, keep == 0.0, "{place:?}");
                    let expected = keep / kv_len as f64;
                    assert!(
                        (weight - expected).abs() < 0.01 * expected + 1e-9,
                        "{place:?}: {weight}"
                    );
                }
                // A dropped pair stays in the sum.
                assert!(
                    rows.lse
                        .iter()
                        .all(|lse| (lse - (kv_len as f64).ln()).abs() < 1e-2)
                );
            });
        }
    }
}

/// Two chunks of fp32 rows, one after the other in the vector unit: dropout of the first reads factors where the score of
/// the second puts a step of its own, and nothing else orders the two.
#[test]
fn a_score_behind_dropout_waits_for_it() {
    let text = "attention scored { head_dim = 16; precision = fp32; dropout = 0.1; allow = [FA103]; \
                score = score + 0.05 * float(kv_pos - q_pos); }";
    let backends = &compile(text)[0];
    let shape = Shape {
        batch: 1,
        heads: 1,
        kv_heads: 1,
        q_len: 40,
        kv_len: 300,
    };
    let case = Case::random(&backends.variant, shape, 1, true);
    let mut outputs: Vec<Vec<f64>> = Vec::new();
    backends.each(&case.arguments(), |_, rows| outputs.push(rows.out));
    let (first, others) = outputs.split_first().expect("backends");
    assert!(others.iter().all(|other| close(other, first, 1e-5)));
}
