//! Launches of the reference backend, and everything that is refused before a kernel runs.

use fa_dsl::ir::eval::Value;
use fa_dsl::ir::{Binary, ParamId, TensorId, Type, Var};
use fa_dsl::span::{SourceMap, Span};
use fa_dsl::variant::{Dim, Dtype, Layout, Param, Precision, Size, Tensor as Declared, Variant};
use fa_runtime::{Arguments, Error, Kernel, Outputs, PackedLengths, Tensor, TensorView};

fn here() -> Span {
    let file = SourceMap::new().add("test.fa", "");
    Span {
        file,
        start: 0,
        end: 0,
    }
}

fn variant(layout: Layout) -> Variant {
    let mut variant = Variant::with_defaults("case", 2, here());
    variant.precision = Precision::FP32;
    variant.layout = layout;
    variant
}

fn ramp(shape: &[usize]) -> Tensor {
    let count: usize = shape.iter().product();
    let values: Vec<f64> = (0..count).map(|i| (i % 7) as f64 * 0.25 - 0.5).collect();
    Tensor::from_f64(Dtype::Fp32, shape, &values)
}

/// Messages of a refused launch.
fn refusal(variant: &Variant, arguments: &Arguments<'_>) -> Vec<String> {
    match Kernel::reference(variant).run(arguments) {
        Err(Error::Launch(faults)) => faults
            .into_iter()
            .map(|fault| format!("{} {}", fault.code, fault.message))
            .collect(),
        Err(other) => panic!("refused by {other}"),
        Ok(_) => panic!("not refused"),
    }
}

#[test]
fn layouts_are_views_of_one_computation() {
    let (q, kv) = (ramp(&[2, 4, 3, 2]), ramp(&[2, 2, 5, 2]));
    let expected = Kernel::reference(&variant(Layout::Bnsd))
        .run(&Arguments::new(q.view(), kv.view(), kv.view()))
        .expect("a plain launch");
    let bsnd = |t: &Tensor| t.view().permute(&[0, 2, 1, 3]).to_tensor();
    let sbnd = |t: &Tensor| t.view().permute(&[2, 0, 1, 3]).to_tensor();
    for (layout, q, kv, back) in [
        (Layout::Bsnd, bsnd(&q), bsnd(&kv), [0, 2, 1, 3]),
        (
            Layout::Bsh,
            bsnd(&q).reshape(&[2, 3, 8]),
            bsnd(&kv).reshape(&[2, 5, 4]),
            [0, 2, 1, 3],
        ),
        (
            Layout::Sbh,
            sbnd(&q).reshape(&[3, 2, 8]),
            sbnd(&kv).reshape(&[5, 2, 4]),
            [1, 2, 0, 3],
        ),
    ] {
        let results = Kernel::reference(&variant(layout))
            .run(&Arguments::new(q.view(), kv.view(), kv.view()))
            .expect("a plain launch");
        assert_eq!(results.lse.bytes(), expected.lse.bytes());
        let shape = match layout {
            Layout::Sbh => [3, 2, 4, 2],
            _ => [2, 3, 4, 2],
        };
        let out = results
            .out
            .reshape(&shape)
            .view()
            .permute(&back)
            .to_tensor();
        assert_eq!(out.bytes(), expected.out.bytes(), "{layout:?}");
    }
}

#[test]
fn strided_inputs_equal_copies() {
    let variant = variant(Layout::Bnsd);
    let wide = ramp(&[1, 2, 8, 2]);
    let every_second = wide.view().slice(2, 1, 4, 2);
    let expanded = every_second.slice(1, 0, 1, 1).expand(1, 2);
    let copies = [every_second.to_tensor(), expanded.to_tensor()];
    let run = |q: TensorView<'_>, kv: TensorView<'_>| {
        Kernel::reference(&variant)
            .run(&Arguments::new(q, kv.clone(), kv))
            .expect("a plain launch")
            .out
    };
    assert_eq!(
        run(every_second, expanded).bytes(),
        run(copies[0].view(), copies[1].view()).bytes()
    );
}

#[test]
fn packed_sequences_are_checked_and_run() {
    let variant = variant(Layout::Tnd);
    let (q, kv) = (ramp(&[2, 1, 2]), ramp(&[8, 1, 2]));
    let mut arguments = Arguments::new(q.view(), kv.view(), kv.view());
    arguments.packed = Some(PackedLengths {
        cu_q: vec![0, 0, 1, 1, 2],
        cu_kv: vec![0, 0, 3, 3, 8],
    });
    let results = Kernel::reference(&variant)
        .run(&arguments)
        .expect("it fits");
    assert_eq!(results.lse.shape(), [1, 2]);
    arguments.packed = Some(PackedLengths {
        cu_q: vec![0, 2],
        cu_kv: vec![0, 7],
    });
    assert_eq!(
        refusal(&variant, &arguments),
        ["FA301 the last element of `cu_kv` is 7, the packed tensor has 8 rows"]
    );
}

#[test]
fn sizes_that_do_not_fit_are_named_with_both_numbers() {
    let variant = variant(Layout::Bnsd);
    let kv = ramp(&[1, 2, 5, 2]);
    let odd_heads = ramp(&[1, 33, 3, 2]);
    assert_eq!(
        refusal(
            &variant,
            &Arguments::new(odd_heads.view(), kv.view(), kv.view())
        ),
        ["FA305 2 key/value heads do not divide 33 query heads"]
    );
    let wide = ramp(&[1, 2, 3, 4]);
    let half = kv.convert(Dtype::Fp16);
    let v = ramp(&[1, 2, 6, 2]);
    assert_eq!(
        refusal(
            &variant,
            &Arguments::new(wide.view(), half.view(), v.view())
        ),
        [
            "FA301 `k` is fp16, the variant's precision takes fp32",
            "FA301 the last dimension of `q` is 4, the variant's head_dim is 2",
        ]
    );
    let q = ramp(&[1, 2, 3, 2]);
    assert_eq!(
        refusal(&variant, &Arguments::new(q.view(), kv.view(), v.view())),
        ["FA301 key rows: `k` has 5, `v` has 6"]
    );
}

#[test]
fn null_pointers_and_overlaps_are_refused() {
    let variant = variant(Layout::Bnsd);
    let q = ramp(&[1, 1, 3, 2]);
    // SAFETY: a null pointer is what the launch has to refuse.
    let null = unsafe {
        TensorView::from_raw(Dtype::Fp32, std::ptr::null(), &[1, 1, 3, 2], &[6, 6, 2, 1])
    };
    assert_eq!(
        refusal(&variant, &Arguments::new(q.view(), null, q.view())),
        ["FA302 `k` is a null pointer with 6 elements"]
    );
    let mut storage = Tensor::zeros(Dtype::Fp32, &[6]);
    let mut lse = Tensor::zeros(Dtype::Fp32, &[1, 1, 3]);
    let folded = fa_runtime::TensorViewMut::new(
        Dtype::Fp32,
        storage.bytes_mut(),
        &[1, 1, 3, 2],
        &[0, 0, 1, 1],
    )
    .expect("inside the storage");
    let mut outputs = Outputs {
        out: folded,
        lse: lse.view_mut(),
    };
    let arguments = Arguments::new(q.view(), q.view(), q.view());
    let error = Kernel::reference(&variant)
        .launch(&arguments, &mut outputs)
        .expect_err("elements share memory");
    assert!(error.to_string().contains("FA302"), "{error}");
}

/// `score * temperature + bias[h, kv_len]`.
fn with_captured() -> Variant {
    let mut variant = variant(Layout::Bnsd);
    variant.params.push(Param {
        name: "temperature".to_owned(),
        ty: Type::Float,
        default: Some(Value::Float(1.0)),
        span: here(),
    });
    let dim = |size| Dim {
        sizes: vec![size],
        constant: 0,
    };
    variant.tensors.push(Declared {
        name: "bias".to_owned(),
        dtype: Dtype::Fp32,
        dims: vec![dim(Size::H), dim(Size::KvLen)],
        grad: false,
        span: here(),
    });
    let e = &mut variant.exprs;
    let index = vec![e.var(Var::H), e.var(Var::KvIdx)];
    let bias = e.load(TensorId(0), index, Type::Float);
    let (score, temperature) = (e.var(Var::Score), e.param(ParamId(0), Type::Float));
    let scaled = e.binary(Binary::Mul, score, temperature);
    variant.score = e.binary(Binary::Add, scaled, bias);
    variant
}

#[test]
fn captured_tensors_and_parameters_go_by_name() {
    let variant = with_captured();
    let q = ramp(&[1, 2, 3, 2]);
    let arguments = || Arguments::new(q.view(), q.view(), q.view());
    assert_eq!(
        refusal(&variant, &arguments()),
        ["FA304 captured tensor `bias` is missing"]
    );
    let (bias, short) = (ramp(&[1, 3]), ramp(&[2, 4]));
    assert_eq!(
        refusal(
            &variant,
            &arguments()
                .with("bias", short.view())
                .with("slopes", bias.view())
                .with_param("temperature", Value::Int(2))
        ),
        [
            "FA304 parameter `temperature` is of type float, the launch passes type int",
            "FA304 there is no captured tensor `slopes`",
            "FA301 dimension 1 of `bias` is 4, the launch needs 3: `kv_len`, which `k` has by layout `bnsd`, [b, h, n, d]",
        ]
    );
    let plain = Kernel::reference(&variant)
        .run(&arguments().with("bias", bias.view()))
        .expect("a dimension of 1 broadcasts");
    let hot = Kernel::reference(&variant)
        .run(
            &arguments()
                .with("bias", bias.view())
                .with_param("temperature", Value::Float(3.0)),
        )
        .expect("a plain launch");
    assert_ne!(plain.out.bytes(), hot.out.bytes());
}

#[test]
fn zero_lengths_are_legal() {
    let variant = variant(Layout::Bnsd);
    let (some, none) = (ramp(&[1, 2, 3, 2]), ramp(&[1, 2, 0, 2]));
    let results = Kernel::reference(&variant)
        .run(&Arguments::new(some.view(), none.view(), none.view()))
        .expect("no keys");
    assert!(results.out.to_f64().iter().all(|x| *x == 0.0));
    assert!(results.lse.to_f64().iter().all(|x| *x == f64::NEG_INFINITY));
    let results = Kernel::reference(&variant)
        .run(&Arguments::new(none.view(), some.view(), some.view()))
        .expect("no queries");
    assert!(results.out.is_empty());
}
