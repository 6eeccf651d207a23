//! Captured tensors, precisions and lengths as data, on every backend that has them, against the reference.

use fa_runtime::verify::{Case, compare, shapes};
use fa_runtime::{Error, Kernel};
use fa_tests::harness::compile;

/// Verifies every variant of a text on all backends and edge shapes.
fn hold(text: &str) {
    for backends in compile(text) {
        let kernels: Vec<&Kernel> = backends.kernels.iter().skip(1).collect();
        for (seed, shape) in shapes(&backends.variant).into_iter().enumerate() {
            let case = Case::random(&backends.variant, shape, seed as u64, false);
            match compare(&backends.variant, &kernels, &case) {
                Ok(rows) => rows.iter().for_each(|row| assert!(row.pass, "{row:?}")),
                // Ids of documents need a key for every query row, which two of the shapes do not have.
                Err(Error::Launch(_)) => assert!(shape.q_len > shape.kv_len, "{shape:?}"),
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[test]
fn values_per_pair() {
    hold(
        "attention bias_fp32 { head_dim = 32; mask = causal;
             tensor bias: fp32[h, q_len, kv_len]; score = score + bias[h, q_idx, kv_idx]; }
         attention bias_fp16 { head_dim = 32; tensor bias: fp16[b, h, q_len, kv_len];
             score = score + bias[b, h, q_idx, kv_idx]; }
         attention dense_4d { head_dim = 32; tensor m: bool[b, h, q_len, kv_len]; mask = dense(m); }
         attention dense_2d { head_dim = 32; tensor m: bool[q_len, kv_len]; mask = dense(m) || kv_pos < 3; }",
    );
}

#[test]
fn values_per_row_and_per_key() {
    hold(
        "attention key_bias { head_dim = 32; tensor bias: bf16[kv_h, kv_len]; score = score + bias[kv_h, kv_idx]; }
         attention row_scale { head_dim = 32; tensor t: fp16[b, q_len]; score = score * t[b, q_idx]; }
         attention row_mask { head_dim = 32; tensor drop: bool[b, q_len]; mask = !drop[b, q_idx]; }
         attention key_mask { head_dim = 32; tensor keep: bool[b, kv_len]; mask = keep[b, kv_idx]; }
         attention row_limit { head_dim = 32; tensor t: int32[b, q_len]; mask = kv_idx < t[b, q_idx]; }
         attention key_pair { head_dim = 16; tensor a: bf16[kv_len]; tensor on: bool[kv_len]; mask = on[kv_idx];
             score = score + a[kv_idx]; }
         attention documents { head_dim = 32; tensor ids: int32[b, kv_len]; mask = causal && same(ids); }",
    );
}

#[test]
fn values_per_head_and_tables() {
    hold(
        "attention lengths { head_dim = 32; tensor lens: int32[b]; mask = padding(lens); }
         attention prefixes { head_dim = 32; tensor n: int32[b]; mask = causal || prefix(n[b]); }
         attention relative { head_dim = 32; tensor table: fp32[129];
             score = score + table[clamp(q_pos - kv_pos, -64, 64) + 64]; }
         attention relative_fp16 { head_dim = 32; tensor table: fp16[h, 33]; mask = causal;
             score = score + table[h, clamp(kv_pos - q_pos, -16, 16) + 16]; }",
    );
}

/// Elements of neighbouring keys lie apart in memory: such tensors are copied, and the result says so.
#[test]
fn keys_along_any_dimension() {
    hold(
        "attention key_first { head_dim = 16; tensor t: fp16[kv_len, h]; score = score + t[kv_idx, h]; }
         attention transposed { head_dim = 16; tensor m: bool[kv_len, b, q_len]; mask = m[kv_idx, b, q_idx] && causal; }
         attention both_ways { head_dim = 16; tensor ids: int32[kv_len, q_len];
             mask = ids[kv_idx, 0] == ids[0, q_idx] || kv_idx == 0; }
         attention beside_a_table { head_dim = 16; tensor t: fp32[kv_len, 9];
             score = score + t[kv_idx, 3] + t[0, clamp(q_pos - kv_pos, 0, 8)]; }",
    );
    let text = "attention packed { layout = tnd; head_dim = 16; tensor t: bf16[h, b, kv_len, 2];
        score = score + t[h, b, kv_idx, 1]; }";
    hold(text);
    let backends = compile(text).remove(0);
    let shape = shapes(&backends.variant)[1];
    let case = Case::random(&backends.variant, shape, 1, false);
    let results = backends.kernels[2]
        .run(&case.arguments())
        .expect("a launch");
    let note = "`t` was copied so that its dimension 1 is the innermost one: its stride there is 2";
    let notes = &results.report.notes;
    assert!(notes.contains(&note.to_owned()), "{notes:?}");
}

/// Bools looked up by computed indices; blocks of a mask are such a table.
#[test]
fn tables_of_bytes() {
    hold(
        "attention blocks { head_dim = 16; tensor on: bool[h, 64];
             mask = on[h, clamp(q_idx / 32, 0, 7) * 8 + clamp(kv_idx / 32, 0, 7)]; }
         attention offsets { head_dim = 16; tensor on: bool[q_len + kv_len]; mask = on[q_idx + kv_idx] || kv_idx == 0; }
         attention apart { head_dim = 16; tensor on: bool[17, h]; tensor off: bool[q_len + kv_len, kv_h];
             mask = on[clamp(q_pos - kv_pos, 0, 16), h] && !off[q_idx - kv_idx + kv_len, kv_h]; }
         attention several { head_dim = 16; tensor a: fp16[33]; tensor on: bool[33]; tensor c: bf16[33];
             mask = on[clamp(q_pos - kv_pos, 0, 32)];
             score = score + a[clamp(q_pos - kv_pos, 0, 32)] + c[clamp(kv_pos - q_pos, 0, 32)]; }",
    );
}

#[test]
fn tables_of_launch_size() {
    hold(
        "attention falling { head_dim = 32; precision = fp32; tensor t: fp32[h, q_len + kv_len]; mask = causal;
             score = score + t[h, q_pos - kv_pos + q_len]; }
         attention rising { head_dim = 32; tensor t: bf16[q_len + kv_len + 3];
             score = score * t[kv_idx - q_idx + q_len]; tile { block_q = 32; block_kv = 48; } }
         attention per_bucket { head_dim = 32; tensor t: bf16[33, h]; tensor u: int32[9, kv_h]; mask = causal && u[(q_pos - kv_pos) % 9, kv_h] > 3;
             score = score + t[clamp(q_pos - kv_pos, 0, 32), h]; }
         attention apart { head_dim = 32; tensor t: fp32[q_len + kv_len, h]; tensor u: fp16[q_len + kv_len, h];
             score = score + t[q_pos - kv_pos + q_len, h] - u[kv_idx + q_idx, h]; }
         attention clamped { head_dim = 32; tensor t: int32[b, kv_len + q_len]; tensor u: fp16[9001];
             mask = t[b, clamp(2 * kv_idx - q_idx, 0, kv_len)] > 0 && u[clamp(q_pos - kv_pos + 4500, 4400, 9000)] > -0.5; }",
    );
}

#[test]
fn precisions_and_ints_that_are_provably_small() {
    hold(
        "attention wide { head_dim = 40; v_head_dim = 129; precision = fp32; mask = window(100, 20); }
         attention wide_out { head_dim = 129; v_head_dim = 24; allow = [FA102];
             precision { qkv = fp32; softmax = fp16; accumulate = fp32; output = bf16; } }
         attention fp16_softmax { head_dim = 64; precision = fp16; mask = causal; allow = [FA102]; }
         attention bf16_softmax { head_dim = 40; precision = bf16; v_head_dim = 24; }
         attention fp32_output { head_dim = 16; v_head_dim = 5; layout = bsnd;
             precision { qkv = bf16; softmax = fp32; accumulate = fp32; output = fp32; } }
         attention three_types { head_dim = 16;
             precision { qkv = fp16; softmax = bf16; accumulate = fp32; output = bf16; } }
         attention of_float { head_dim = 16; mask = int(sigmoid(float(q_pos - kv_pos)) * 4.0) < 3; }
         attention by_param { head_dim = 16; param n: int = 7;
             mask = q_pos / clamp(n, 1, 64) == kv_pos / clamp(n, 1, 64); }
         attention by_head { head_dim = 16; mask = (q_pos - kv_pos) % (h + 1) == 0; }
         attention by_key { head_dim = 16; mask = (3 * q_pos) / -(kv_idx + 1) > -4; }",
    );
}
