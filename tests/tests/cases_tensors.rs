//! Tensors, scores and dropout: public bug reports of other attention systems (sections B and C of the case list),
//! each with its right value, on every backend.

use std::sync::LazyLock;

use fa_dsl::philox::Seed;
use fa_dsl::variant::Dtype;
use fa_runtime::cache::Cache;
use fa_runtime::verify::{Case, Shape, compare};
use fa_runtime::{Arguments, Effort, Kernel, Runtime, Tensor, TensorView};
use fa_tests::harness::{Backends, Noise, Rows, close, compile, compile_for, planned};
use fa_tests::{target, variants};

/// Two backends and the reference, of variants that most tests share.
static SHARED: LazyLock<Vec<Backends>> = LazyLock::new(|| {
    compile(
        "attention plain { head_dim = 4; v_head_dim = 1; scale = 1.0; }
         attention bias { head_dim = 4; v_head_dim = 1; tensor t: fp32[kv_len]; score = score + t[kv_idx]; }
         attention dropped { head_dim = 16; tensor drop: bool[b, q_len, kv_len]; mask = !drop[b, q_idx, kv_idx]; }
         attention dense { head_dim = 16; tensor m: bool[b, h, q_len, kv_len]; mask = dense(m); }
         attention cap_after { head_dim = 4; v_head_dim = 1; scale = 1.0; tensor t: fp32[kv_len];
             score = softcap(score + t[kv_idx], 2.0); }
         attention cap_before { head_dim = 4; v_head_dim = 1; scale = 1.0; tensor t: fp32[kv_len];
             score = softcap(score, 2.0) + t[kv_idx]; }
         attention once { head_dim = 4; v_head_dim = 1; scale = 0.5; tensor slopes: fp32[h];
             score = softcap(score, 2.0) + slopes[h] * float(kv_pos - q_pos); }
         attention alibi { head_dim = 4; v_head_dim = 1; mask = causal; tensor slopes: fp32[h];
             score = score + slopes[h] * float(kv_pos - q_pos); }",
    )
});

fn shared(name: &str) -> &'static Backends {
    Backends::named(&SHARED, name)
}

fn halves(shape: &[usize], values: &[f64]) -> Tensor {
    Tensor::from_f64(Dtype::Fp16, shape, values)
}

fn floats(values: &[f64]) -> Tensor {
    Tensor::from_f64(Dtype::Fp32, &[values.len()], values)
}

/// One query, one head: products of the query with the keys, and values.
fn one_query(
    name: &str,
    products: &[f64],
    v: &[f64],
    captured: &[(&str, &Tensor)],
    check: impl Fn(&str, Rows),
) {
    let keys: Vec<f64> = products
        .iter()
        .flat_map(|product| [*product, 0.0, 0.0, 0.0])
        .collect();
    let q = halves(&[1, 1, 1, 4], &[1.0, 0.0, 0.0, 0.0]);
    let k = halves(&[1, 1, products.len(), 4], &keys);
    let v = halves(&[1, 1, v.len(), 1], v);
    let mut arguments = Arguments::new(q.view(), k.view(), v.view());
    for (name, tensor) in captured {
        arguments = arguments.with(name, tensor.view());
    }
    shared(name).each(&arguments, check);
}

#[test]
fn b18_polarity_of_masks_and_biases() {
    let bias = floats(&[0.0, 0.0, -1e4, -1e4]);
    // Values 1 2 4 8 tell which weights were .5: their mean is 1.5.
    one_query(
        "bias",
        &[0.0; 4],
        &[1.0, 2.0, 4.0, 8.0],
        &[("t", &bias)],
        |backend, rows| {
            assert!(close(&rows.out, &[1.5], 1e-3), "{backend}: {rows:?}");
            assert!(close(&rows.lse, &[2f64.ln()], 1e-5), "{backend}: {rows:?}");
        },
    );
    let errors = |text: &str| {
        let mut sources = fa_dsl::span::SourceMap::new();
        let file = sources.add("polarity.fa", text);
        let found = fa_dsl::check::check(&sources, file, &[]).diagnostics;
        found
            .into_iter()
            .filter(|found| found.is_error())
            .map(|found| found.message)
            .collect::<Vec<_>>()
    };
    let float = errors(
        "attention a { head_dim = 16; tensor m: fp32[q_len, kv_len]; mask = m[q_idx, kv_idx]; }",
    );
    assert_eq!(float.len(), 1, "{float:?}");
    let unread = errors("attention a { head_dim = 16; tensor m: bool[q_len, kv_len]; }");
    assert!(unread.len() == 1 && unread[0].contains('m'), "{unread:?}");
}

#[test]
fn b18_the_other_polarity_is_written_with_a_not() {
    let mut noise = Noise::new(2);
    let mut tensor = |len| noise.tensor(Dtype::Fp16, &[1, 1, len, 16], 1.0);
    let (q, k, v) = (tensor(20), tensor(30), tensor(30));
    let bits: Vec<f64> = (0..600)
        .map(|place| f64::from(u8::from(place * 7 % 5 < 2)))
        .collect();
    let opposite: Vec<f64> = bits.iter().map(|bit| 1.0 - bit).collect();
    let drop = Tensor::from_f64(Dtype::Bool, &[1, 20, 30], &bits);
    let keep = Tensor::from_f64(Dtype::Bool, &[1, 1, 20, 30], &opposite);
    let plain = Arguments::new(q.view(), k.view(), v.view());
    let mut found = Vec::new();
    shared("dropped").each(&plain.clone().with("drop", drop.view()), |_, rows| {
        found.push(rows)
    });
    let mut others = found.iter();
    shared("dense").each(&plain.with("m", keep.view()), |backend, rows| {
        assert_eq!(Some(&rows), others.next(), "{backend}");
    });
}

#[test]
fn b19_masks_broadcast_along_any_dimension() {
    let mut noise = Noise::new(19);
    let (batch, heads, q_len, kv_len) = (2, 2, 18, 35);
    let mut tensor = |len| noise.tensor(Dtype::Fp16, &[batch, heads, len, 16], 1.0);
    let (q, k, v) = (tensor(q_len), tensor(kv_len), tensor(kv_len));
    let full = [batch, heads, q_len, kv_len];
    for shape in [
        [batch, 1, 1, kv_len],
        [1, 1, q_len, kv_len],
        [1, heads, q_len, 1],
        full,
    ] {
        let count = shape.iter().product::<usize>();
        let bits: Vec<f64> = (0..count)
            .map(|place| f64::from(u8::from(place * 11 % 7 < 5)))
            .collect();
        let given = Tensor::from_f64(Dtype::Bool, &shape, &bits);
        let mut expanded = given.view();
        for (axis, size) in full.into_iter().enumerate() {
            if shape[axis] == 1 {
                expanded = expanded.expand(axis, size);
            }
        }
        let copied = expanded.to_tensor();
        let run = |m: TensorView<'_>| {
            let mut found = Vec::new();
            let arguments = Arguments::new(q.view(), k.view(), v.view()).with("m", m);
            shared("dense").each(&arguments, |_, rows| found.push(rows));
            found
        };
        let wanted = run(copied.view());
        assert_eq!(run(given.view()), wanted, "{shape:?} broadcast");
        assert_eq!(run(expanded), wanted, "{shape:?} with strides of 0");
    }
}

#[test]
fn b21_a_thousand_launches_of_one_compilation() {
    let text =
        "attention any { head_dim = 8; tensor ids: int32[b, kv_len]; mask = causal && same(ids); }";
    let variant = &variants("any.fa", text)[0];
    for (name, launches) in [("cpu", 1000), ("ascend910b", 1000)] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let runtime = Runtime::with_cache(Cache::at(folder.path())).for_effort(Effort::Compile);
        let mut compiled = 0;
        let mut seen = std::collections::BTreeSet::new();
        let mut kernel = None;
        for seed in 0..launches {
            // Whoever asks again for the variant, for another length, gets the same code.
            if seed % 50 == 0 {
                let found = runtime.compile(variant, &target(name));
                kernel = Some(found.expect("it compiles"));
                compiled += kernel.iter().filter(|kernel| !kernel.cache_hit()).count();
            }
            let kernel = kernel.as_ref().expect("compiled at the first launch");
            let shape = Shape {
                batch: 1,
                heads: 1,
                kv_heads: 1,
                q_len: 1 + seed % 31,
                kv_len: 31 + seed / 31,
            };
            assert!(seen.insert((shape.q_len, shape.kv_len)));
            let case = Case::random(variant, shape, seed as u64, false);
            let rows = compare(variant, &[kernel], &case).expect("a legal launch");
            assert!(rows[0].pass, "{:?}", rows[0]);
        }
        assert_eq!(compiled, 1, "{name}");
    }
}

#[test]
fn b22_a_bias_of_43_keys() {
    let backends = &compile(
        "attention odd { head_dim = 24; tensor t: fp16[h, q_len, kv_len]; score = score + t[h, q_idx, kv_idx]; }",
    )[0];
    let shape = Shape {
        batch: 1,
        heads: 2,
        kv_heads: 1,
        q_len: 37,
        kv_len: 43,
    };
    let case = Case::random(&backends.variant, shape, 22, false);
    let kernels: Vec<&Kernel> = backends.kernels.iter().skip(1).collect();
    for row in compare(&backends.variant, &kernels, &case).expect("a legal launch") {
        assert!(row.pass, "{row:?}");
    }
}

/// Views of 2 sequences, 2 heads and 40 rows of 16 in a layout, whose elements lie in different ways: in another
/// order of axes, every second row, one row of memory for all rows.
fn views<'t>(layout: &str, wide: &'t Tensor, single: &'t Tensor) -> Vec<TensorView<'t>> {
    // `wide` is [4, 2, 80, 32]: sequences and rows are sliced by 2, columns by half.
    let sliced = wide
        .view()
        .slice(0, 0, 2, 2)
        .slice(2, 1, 40, 2)
        .slice(3, 0, 16, 1);
    // `single` is [1, 1, 1, 16].
    let same = single.view().expand(0, 2).expand(1, 2).expand(2, 40);
    let reordered = wide
        .view()
        .slice(0, 1, 2, 1)
        .slice(2, 3, 40, 1)
        .slice(3, 16, 16, 1);
    let bnsd = [sliced, same, reordered];
    let ordered = |axes: &'static [usize]| bnsd.iter().map(|view| view.permute(axes)).collect();
    match layout {
        "bnsd" => bnsd.to_vec(),
        "bsnd" => ordered(&[0, 2, 1, 3]),
        // One sequence after the other: 40 packed rows of sequence 0 alone.
        _ => bnsd
            .iter()
            .map(|view| {
                let rows = view.permute(&[0, 2, 1, 3]);
                let (shape, strides) = (rows.shape()[1..].to_vec(), rows.strides()[1..].to_vec());
                // SAFETY: the same elements as the first sequence of `rows`.
                unsafe { TensorView::from_raw(rows.dtype(), rows.as_ptr(), &shape, &strides) }
            })
            .collect(),
    }
}

/// Rows `h*d` wide can be sliced and expanded by rows and sequences alone.
fn joined_views<'t>(layout: &str, wide: &'t Tensor, single: &'t Tensor) -> Vec<TensorView<'t>> {
    // `wide` is [4, 2, 80, 32], here as [4, 160, 32]; `single` as one row of two heads.
    let bsh = wide.view().permute(&[0, 1, 2, 3]);
    let (shape, strides) = ([4, 160, 32], [2 * 80 * 32, 32, 1]);
    // SAFETY: the same elements as the contiguous `wide`.
    let bsh = unsafe { TensorView::from_raw(bsh.dtype(), bsh.as_ptr(), &shape, &strides) };
    let sliced = bsh.slice(0, 1, 2, 2).slice(1, 5, 40, 3);
    let (shape, strides) = ([1, 1, 32], [32, 32, 1]);
    // SAFETY: `single` has 32 elements.
    let row =
        unsafe { TensorView::from_raw(single.dtype(), single.view().as_ptr(), &shape, &strides) };
    let all = [
        sliced,
        row.expand(0, 2).expand(1, 40),
        bsh.slice(0, 0, 2, 1).slice(1, 0, 40, 1),
    ];
    if layout == "bsh" {
        return all.to_vec();
    }
    all.iter().map(|view| view.permute(&[1, 0, 2])).collect()
}

#[test]
fn b23_strided_inputs_give_the_bits_of_copies_in_every_layout() {
    let layouts = ["bnsd", "bsnd", "bsh", "sbh", "tnd"];
    let mut noise = Noise::new(23);
    let wide = noise.tensor(Dtype::Fp16, &[4, 2, 80, 32], 1.0);
    for layout in layouts {
        let text = format!(
            "attention a {{ head_dim = 16; layout = {layout}; mask = causal; allow = [FA103]; }}"
        );
        let backends = &compile_for(&text, &planned(&text))[0];
        let joined = ["bsh", "sbh"].contains(&layout);
        let single = noise.tensor(Dtype::Fp16, &[1, 1, 1, if joined { 32 } else { 16 }], 1.0);
        let views = if joined {
            joined_views(layout, &wide, &single)
        } else {
            views(layout, &wide, &single)
        };
        for kernel in &backends.kernels {
            for turn in 0..3 {
                let strided: Vec<&TensorView<'_>> =
                    (0..3).map(|place| &views[(place + turn) % 3]).collect();
                let run = |[q, k, v]: [TensorView<'_>; 3]| {
                    let mut arguments = Arguments::new(q, k, v);
                    arguments.packed = (layout == "tnd").then(|| fa_runtime::PackedLengths {
                        cu_q: vec![0, 21, 40],
                        cu_kv: vec![0, 21, 40],
                    });
                    let results = kernel.run(&arguments).expect("a legal launch");
                    (results.out.to_f64(), results.lse.to_f64())
                };
                let [q, k, v] = [strided[0], strided[1], strided[2]];
                let found = run([q.clone(), k.clone(), v.clone()]);
                let copies = [q, k, v].map(TensorView::to_tensor);
                let wanted = run(copies.each_ref().map(Tensor::view));
                let name = kernel.backend().name();
                assert!(found == wanted, "{layout} on {name}, turn {turn}");
                assert!(found.1.iter().all(|lse| lse.is_finite()));
            }
        }
    }
}

#[test]
fn b24_offsets_beyond_32_bits() {
    // Row 225304 of stride 9728 starts at element 2191757312. Pages that nobody writes take no memory.
    const ROW: usize = 225_304;
    const STRIDE: usize = 9728;
    let backends = &compile_for(
        "attention far { head_dim = 4; v_head_dim = 1; scale = 1.0; }",
        &["cpu"],
    )[0];
    let mut memory = vec![0_u16; ROW * STRIDE + 4];
    assert_eq!(ROW * STRIDE, 2_191_757_312);
    memory[ROW * STRIDE] = half::f16::ONE.to_bits();
    let far = |shape: &[usize], strides: &[i64]| {
        // SAFETY: the last element of either view is within the memory, which outlives the views.
        unsafe { TensorView::from_raw(Dtype::Fp16, memory.as_ptr().cast(), shape, strides) }
    };
    let pitch = STRIDE as i64;
    // Two of all rows: the first and the last.
    let q = far(&[1, 1, 2, 4], &[0, 0, ROW as i64 * pitch, 1]);
    let k = far(&[1, 1, ROW + 1, 4], &[0, 0, pitch, 1]).slice(2, ROW - 1, 2, 1);
    let v = halves(&[1, 1, 2, 1], &[1.0, 2.0]);
    backends.each(&Arguments::new(q, k, v.view()), |backend, rows| {
        // Only the last query meets the last key with a product of 1.
        let weight = 1.0 / (1.0 + (-1f64).exp());
        assert!(
            close(&rows.out, &[1.5, 1.0 + weight], 1e-3),
            "{backend}: {rows:?}"
        );
    });
}

/// A kernel that reads 2191757312 elements behind the start of its keys, on both backends.
#[ignore = "takes 9 GiB of memory: cargo test --release -p fa-tests --test cases_tensors -- --ignored"]
#[test]
fn b24_offsets_beyond_32_bits_on_both_backends() {
    const ROW: usize = 225_304;
    const PITCH: usize = 9728;
    let backends = &compile(
        "attention far { head_dim = 4; v_head_dim = 1; scale = 1.0; mask = kv_pos < 2 || kv_pos >= 225303; }",
    )[0];
    let mut memory = vec![0_u16; ROW * PITCH + 4];
    memory[ROW * PITCH] = half::f16::ONE.to_bits();
    let shape = [1, 1, ROW + 1, 4];
    let strides = [0, 0, PITCH as i64, 1];
    // SAFETY: the last element of the view is the last of the memory, which outlives it.
    let k = unsafe { TensorView::from_raw(Dtype::Fp16, memory.as_ptr().cast(), &shape, &strides) };
    let q = halves(&[1, 1, 1, 4], &[1.0, 0.0, 0.0, 0.0]);
    let mut values = vec![1.0; ROW + 1];
    values[ROW] = 2.0;
    let v = halves(&[1, 1, ROW + 1, 1], &values);
    backends.each(&Arguments::new(q.view(), k, v.view()), |backend, rows| {
        // Three keys with products of 0, and the last with 1.
        let last = 1f64.exp() / (3.0 + 1f64.exp());
        assert!(close(&rows.out, &[1.0 + last], 1e-3), "{backend}: {rows:?}");
    });
}

#[test]
fn b25_what_is_declared_changes_the_result() {
    let mut outputs = Vec::new();
    let slopes = floats(&[0.5]);
    for name in ["plain", "once", "alibi"] {
        let captured: &[(&str, &Tensor)] = if name == "plain" {
            &[]
        } else {
            &[("slopes", &slopes)]
        };
        let found = std::cell::RefCell::new(Vec::new());
        one_query(
            name,
            &[0.0, 3.0, 1.0],
            &[1.0, 2.0, 4.0],
            captured,
            |_, rows| found.borrow_mut().push(rows.out[0]),
        );
        outputs.push(found.into_inner());
    }
    for backend in 0..outputs[0].len() {
        let of = |variant: usize| outputs[variant][backend];
        assert!(
            (of(0) - of(1)).abs() > 0.01
                && (of(0) - of(2)).abs() > 0.01
                && (of(1) - of(2)).abs() > 0.01,
            "{outputs:?}"
        );
    }
}

#[test]
fn c30_lse_is_natural() {
    one_query("plain", &[0.0; 4], &[0.0; 4], &[], |backend, rows| {
        assert!(close(&rows.lse, &[1.386_294], 1e-6), "{backend}: {rows:?}");
    });
}

#[test]
fn c32_softcap_and_bias_keep_their_order() {
    let bias = floats(&[0.0, -1.0]);
    for (name, second) in [("cap_after", 0.140_602), ("cap_before", 0.131_694)] {
        one_query(
            name,
            &[3.0, 1.0],
            &[0.0, 1.0],
            &[("t", &bias)],
            |backend, rows| {
                assert!(
                    close(&rows.out, &[second], 2e-4),
                    "{name} on {backend}: {rows:?}"
                );
            },
        );
    }
}

#[test]
fn c33_the_scale_applies_once() {
    let slopes = floats(&[0.0]);
    one_query(
        "once",
        &[4.0],
        &[1.0],
        &[("slopes", &slopes)],
        |backend, rows| {
            assert!(close(&rows.lse, &[1.523_188], 1e-5), "{backend}: {rows:?}");
        },
    );
}

#[test]
fn c34_alibi_favours_near_keys() {
    let slopes = floats(&[0.5]);
    let q = halves(&[1, 1, 4, 4], &[0.0; 16]);
    let v = halves(&[1, 1, 4, 1], &[0.0, 1.0, 2.0, 3.0]);
    let arguments = Arguments::new(q.view(), q.view(), v.view()).with("slopes", slopes.view());
    shared("alibi").each(&arguments, |backend, rows| {
        assert!(
            close(&rows.out[3..], &[2.084_576], 2e-3),
            "{backend}: {rows:?}"
        );
    });
}

/// With V = I and equal scores, O shows what became of each pair.
fn recovered(
    backends: &Backends,
    shape: [usize; 3],
    seed: Seed,
    mut check: impl FnMut(&str, Vec<f64>),
) {
    let [heads, q_len, kv_len] = shape;
    let width = backends.variant.v_head_dim as usize;
    let q = halves(&[1, heads, q_len, 16], &vec![0.0; heads * q_len * 16]);
    let k = halves(&[1, heads, kv_len, 16], &vec![0.0; heads * kv_len * 16]);
    let identity: Vec<f64> = (0..heads * kv_len * width)
        .map(|place| f64::from(u8::from(place % width == place / width % kv_len)))
        .collect();
    let v = halves(&[1, heads, kv_len, width], &identity);
    let arguments = Arguments::new(q.view(), k.view(), v.view()).training(seed);
    backends.each(&arguments, |backend, rows| check(backend, rows.out));
}

#[test]
fn c36_c37_c38_dropout_is_a_function_of_position() {
    let text = "attention tiles_64 { head_dim = 16; v_head_dim = 96; dropout = 0.1; allow = [FA105];
             precision { output = fp32; } tile { block_q = 64; block_kv = 64; } }
         attention tiles_128 : tiles_64 { tile { block_q = 128; block_kv = 128; } }
         attention half { head_dim = 16; v_head_dim = 16; dropout = 0.5; precision { output = fp32; } }
         attention counted { head_dim = 16; v_head_dim = 1; dropout = 0.1; precision { output = fp32; } }";
    let all = compile_for(text, &planned(text));
    let seed = Seed {
        seed: 42,
        offset: 0,
    };
    // One query of two heads, nine keys: only key 5 of head 0 is dropped.
    let weight = 65536.0 / (65536.0 - 6554.0) / 9.0;
    recovered(&all[0], [2, 1, 9], seed, |backend, out| {
        let expected: Vec<f64> = (0..9)
            .map(|key| if key == 5 { 0.0 } else { weight })
            .collect();
        assert!(close(&out[..9], &expected, 1e-4), "{backend}: {out:?}");
    });
    // The same cells for either tile and on every backend, and others for another seed.
    let kept = |backends: &Backends, seed| {
        let mut found: Vec<(String, Vec<bool>)> = Vec::new();
        recovered(backends, [2, 150, 96], seed, |backend, out| {
            found.push((
                backend.to_owned(),
                out.iter().map(|weight| *weight > 0.0).collect(),
            ));
        });
        found
    };
    let reference = kept(&all[0], seed)[0].1.clone();
    for (backend, cells) in kept(&all[0], seed).into_iter().chain(kept(&all[1], seed)) {
        assert!(cells == reference, "{backend}");
    }
    let other = Seed {
        seed: 43,
        offset: 0,
    };
    assert!(
        kept(&all[0], other)
            .iter()
            .all(|(_, cells)| *cells != reference)
    );
    let share = reference.iter().filter(|kept| **kept).count() as f64 / reference.len() as f64;
    let rate = 1.0 - 6554.0 / 65536.0;
    let sigma = (rate * (1.0 - rate) / reference.len() as f64).sqrt();
    assert!((share - rate).abs() < 3.0 * sigma, "{share}");
    // Three equal scores of which key 0 alone is dropped: nothing is renormalised.
    let first_alone = (0..200).map(|seed| Seed { seed, offset: 0 }).find(|seed| {
        let numbers = fa_dsl::philox::draws(*seed, 0, 0, 0);
        [true, false, false] == [0, 1, 2].map(|key: usize| numbers[key] < 32768)
    });
    recovered(
        &all[2],
        [1, 1, 3],
        first_alone.expect("one of many seeds"),
        |backend, out| {
            assert!(
                close(&out[..3], &[0.0, 2.0 / 3.0, 2.0 / 3.0], 1e-3),
                "{backend}: {out:?}"
            );
        },
    );
    rate_of_a_million_cells(&all[3], seed);
}

/// Where all scores and values are equal, a row's output tells how many of its keys are kept.
fn rate_of_a_million_cells(backends: &Backends, seed: Seed) {
    let [heads, q_len, kv_len] = [4, 512, 512];
    let zeros = |len| halves(&[1, heads, len, 16], &vec![0.0; heads * len * 16]);
    let (q, k) = (zeros(q_len), zeros(kv_len));
    let v = halves(&[1, heads, kv_len, 1], &vec![1.0; heads * kv_len]);
    let rate = 1.0 - 6554.0 / 65536.0;
    let cells = (heads * q_len * kv_len) as f64;
    let sigma = (rate * (1.0 - rate) / cells).sqrt();
    let mut counts: Option<Vec<f64>> = None;
    let arguments = Arguments::new(q.view(), k.view(), v.view()).training(seed);
    backends.each(&arguments, |backend, rows| {
        let kept: Vec<f64> = rows
            .out
            .iter()
            .map(|out| out * rate * kv_len as f64)
            .collect();
        let whole: Vec<f64> = kept.iter().map(|kept| kept.round()).collect();
        assert!(close(&kept, &whole, 0.01), "{backend}: no whole numbers");
        let share = whole.iter().sum::<f64>() / cells;
        assert!((share - rate).abs() < 3.0 * sigma, "{backend}: {share}");
        let mean = rows.out.iter().sum::<f64>() / rows.out.len() as f64;
        assert!((mean - 1.0).abs() < 3.0 * sigma / rate, "{backend}: {mean}");
        assert_eq!(
            *counts.get_or_insert_with(|| whole.clone()),
            whole,
            "{backend}"
        );
    });
}
