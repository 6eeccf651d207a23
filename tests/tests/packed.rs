//! Packed sequences of different lengths: layout `tnd` on every backend that has it, against the reference, and the
//! right values of public bug reports (section B of the case list, 26 to 28).

use std::sync::LazyLock;

use fa_dsl::variant::Dtype;
use fa_runtime::verify::{Case, compare, shapes};
use fa_runtime::{Arguments, Kernel, PackedLengths, Tensor};
use fa_tests::harness::{Backends, close, compile};

/// One value column, so that a row of the uniform problem is the mean of the keys that it sees.
static PACKED: LazyLock<Vec<Backends>> = LazyLock::new(|| {
    compile(
        "attention open { head_dim = 16; v_head_dim = 1; layout = tnd; allow = [FA103]; }
         attention causal { head_dim = 16; v_head_dim = 1; layout = tnd; mask = causal; sink = 0.5; }
         attention window { head_dim = 24; v_head_dim = 40; layout = tnd; mask = causal && window(20, 0);
             precision = mixed_bf16; heads = 4; kv_heads = 2; }
         attention captured { head_dim = 32; layout = tnd; precision = fp32;
             tensor slopes: fp32[h]; tensor ids: int32[b, kv_len]; tensor rows: fp16[b, q_len];
             tensor lens: int32[b]; tensor key_bias: fp32[h, b, kv_len];
             mask = (causal || prefix(lens[b])) && same(ids);
             score = score * rows[b, q_idx] + slopes[h] * float(q_pos - kv_pos) + key_bias[h, b, kv_idx]; }
         attention dropped { head_dim = 16; layout = tnd; dropout = 0.25; mask = q_idx + kv_idx < q_len + 3; }",
    )
});

/// The uniform problem, one head: V counts rows from 0 over all sequences.
fn launch(
    backends: &Backends,
    cu_q: &[i64],
    cu_kv: &[i64],
    mut check: impl FnMut(&str, Vec<f64>, Vec<f64>),
) {
    let rows =
        |cumulative: &[i64]| usize::try_from(*cumulative.last().expect("a total")).expect("a size");
    let dtype = backends.variant.precision.qkv;
    let values: Vec<f64> = (0..rows(cu_kv)).map(|row| row as f64).collect();
    let q = Tensor::zeros(dtype, &[rows(cu_q), 1, 16]);
    let k = Tensor::zeros(dtype, &[rows(cu_kv), 1, 16]);
    let v = Tensor::from_f64(dtype, &[rows(cu_kv), 1, 1], &values);
    let mut arguments = Arguments::new(q.view(), k.view(), v.view());
    arguments.packed = Some(PackedLengths {
        cu_q: cu_q.to_vec(),
        cu_kv: cu_kv.to_vec(),
    });
    backends.each(&arguments, |backend, rows| {
        check(backend, rows.out, rows.lse)
    });
}

#[test]
fn b26_sequences_of_length_zero() {
    let open = Backends::named(&PACKED, "open");
    launch(
        open,
        &[0, 0, 1, 1, 2],
        &[0, 0, 3, 3, 8],
        |backend, out, lse| {
            assert!(close(&out, &[1.0, 5.0], 1e-2), "{backend}: {out:?}");
            assert!(
                close(&lse, &[3f64.ln(), 5f64.ln()], 1e-5),
                "{backend}: {lse:?}"
            );
        },
    );
    launch(open, &[0, 0, 3], &[0, 4, 4], |backend, out, lse| {
        assert_eq!(out, [0.0; 3], "{backend}");
        assert_eq!(lse, [f64::NEG_INFINITY; 3], "{backend}");
    });
    // Causality counts from the end of each sequence, and a sink is the LSE of a row without keys.
    let causal = Backends::named(&PACKED, "causal");
    launch(causal, &[0, 2, 4, 5], &[0, 5, 5, 7], |backend, out, lse| {
        let sink = 0.5_f64.exp();
        let weighed = [
            6.0 / (4.0 + sink),
            10.0 / (5.0 + sink),
            0.0,
            0.0,
            11.0 / (2.0 + sink),
        ];
        assert!(close(&out, &weighed, 1e-2), "{backend}: {out:?}");
        let sums = [4.0 + sink, 5.0 + sink, sink, sink, 2.0 + sink].map(f64::ln);
        assert!(close(&lse, &sums, 1e-5), "{backend}: {lse:?}");
    });
}

#[test]
fn b27_the_first_line_names_argument_and_both_numbers() {
    let tensor = |rows| Tensor::zeros(Dtype::Fp16, &[rows, 1, 16]);
    let (q, k, v) = (tensor(4), tensor(9), Tensor::zeros(Dtype::Fp16, &[9, 1, 1]));
    let refused = |cu_q: &[i64], cu_kv: &[i64]| {
        let mut arguments = Arguments::new(q.view(), k.view(), v.view());
        arguments.packed = Some(PackedLengths {
            cu_q: cu_q.to_vec(),
            cu_kv: cu_kv.to_vec(),
        });
        let open = Backends::named(&PACKED, "open");
        let messages: Vec<String> = open
            .kernels
            .iter()
            .map(|kernel| kernel.run(&arguments).expect_err("is refused").to_string())
            .collect();
        let first = messages[0].lines().next().expect("a message").to_owned();
        assert!(
            messages.iter().all(|message| *message == messages[0]),
            "{messages:?}"
        );
        first
    };
    let contains = |line: &str, parts: &[&str]| {
        for part in parts {
            assert!(line.contains(part), "no {part} in {line}");
        }
    };
    contains(&refused(&[0, 2, 4], &[0, 5, 8]), &["cu_kv", "8", "9"]);
    contains(&refused(&[0, 2, 5], &[0, 5, 9]), &["cu_q", "5", "4"]);
    contains(&refused(&[0, 3, 2, 4], &[0, 3, 5, 9]), &["cu_q", "3", "2"]);
    contains(&refused(&[1, 2, 4], &[0, 5, 9]), &["cu_q", "1", "0"]);
    contains(&refused(&[0, 4], &[0, 5, 9]), &["cu_q", "cu_kv", "2", "3"]);
}

#[test]
fn b28_ragged_sequences_agree_with_the_reference() {
    for backends in PACKED.iter() {
        let kernels: Vec<&Kernel> = backends.kernels.iter().skip(1).collect();
        for (seed, shape) in shapes(&backends.variant).into_iter().enumerate() {
            let training = backends.variant.dropout.is_some();
            let case = Case::random(&backends.variant, shape, seed as u64, training);
            match compare(&backends.variant, &kernels, &case) {
                Ok(rows) => rows.iter().for_each(|row| assert!(row.pass, "{row:?}")),
                Err(error) => assert!(shape.q_len > shape.kv_len, "{error}"),
            }
        }
    }
}
