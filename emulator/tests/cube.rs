//! The matrix unit against plain loops, and its speed.

mod common;

use std::time::Instant;

use common::{Arg, Buffer, Module, numbers, scalar, sync_address};
use half::{bf16, f16};

#[derive(Clone, Copy)]
struct Shape {
    m: usize,
    n: usize,
    k: usize,
    b_is_kn: bool,
    output: u32,
    k_step: usize,
    relu: bool,
}

impl Shape {
    fn argument(self, repeat: u32) -> Arg<'static> {
        let [m, n, k, step] = [self.m, self.n, self.k, self.k_step].map(|value| value as u32);
        scalar([
            m,
            n,
            k,
            u32::from(self.b_is_kn),
            self.output,
            step,
            u32::from(self.relu),
            repeat,
        ])
    }

    /// Products summed in float over k, as the unit does.
    fn product(self, a: &[f32], b: &[f32]) -> Vec<f32> {
        let mut c = Vec::with_capacity(self.m * self.n);
        for row in 0..self.m {
            for col in 0..self.n {
                let sum = (0..self.k).fold(0f32, |sum, k| {
                    let b = if self.b_is_kn {
                        b[k * self.n + col]
                    } else {
                        b[col * self.k + k]
                    };
                    sum + a[row * self.k + k] * b
                });
                c.push(if self.relu { sum.max(0.0) } else { sum });
            }
        }
        c
    }
}

const SHAPES: [Shape; 5] = [
    Shape {
        m: 16,
        n: 16,
        k: 16,
        b_is_kn: false,
        output: 0,
        k_step: 64,
        relu: false,
    },
    Shape {
        m: 13,
        n: 40,
        k: 72,
        b_is_kn: false,
        output: 0,
        k_step: 32,
        relu: false,
    },
    Shape {
        m: 33,
        n: 24,
        k: 50,
        b_is_kn: true,
        output: 0,
        k_step: 32,
        relu: true,
    },
    Shape {
        m: 20,
        n: 19,
        k: 17,
        b_is_kn: false,
        output: 0,
        k_step: 64,
        relu: false,
    },
    Shape {
        m: 128,
        n: 128,
        k: 128,
        b_is_kn: true,
        output: 0,
        k_step: 64,
        relu: false,
    },
];

#[test]
fn matrix_unit() {
    let module = Module::compile("cube.cpp");
    products(&module);
    outputs(&module);
    integers(&module);
    other_loads(&module);
    group_tails(&module);
    barriers(&module);
    speed(&module);
}

fn products(module: &Module) {
    for shape in SHAPES {
        let (a, b) = (numbers(shape.m * shape.k, 1), numbers(shape.n * shape.k, 2));
        let half = |v: &[f32]| -> Vec<f16> { v.iter().map(|v| f16::from_f32(*v)).collect() };
        let brain = |v: &[f32]| -> Vec<bf16> { v.iter().map(|v| bf16::from_f32(*v)).collect() };
        let (ha, hb) = (half(&a), half(&b));
        check(module, "matmul_half", shape, (&ha, &hb), |v| v.to_f32());
        let (ba, bb) = (brain(&a), brain(&b));
        check(module, "matmul_bfloat", shape, (&ba, &bb), |v| v.to_f32());
        if !shape.b_is_kn {
            check(module, "matmul_float", shape, (&a, &b), |v| v);
        }
    }
}

fn check<T: Copy>(
    module: &Module,
    kernel: &str,
    shape: Shape,
    (a, b): (&[T], &[T]),
    float: fn(T) -> f32,
) {
    let wide = |v: &[T]| -> Vec<f32> { v.iter().map(|v| float(*v)).collect() };
    let expected = shape.product(&wide(a), &wide(b));
    let (a, b, c) = (
        Buffer::from(a),
        Buffer::from(b),
        Buffer::new(shape.m * shape.n * 4),
    );
    let args = [
        Arg::Buffer(&a),
        Arg::Buffer(&b),
        Arg::Buffer(&c),
        shape.argument(1),
    ];
    module.launch(kernel, 1, &args).ok();
    assert_eq!(
        c.read::<f32>(),
        expected,
        "{kernel} {}x{}x{}",
        shape.m,
        shape.n,
        shape.k
    );
}

fn outputs(module: &Module) {
    let base = Shape {
        m: 20,
        n: 48,
        k: 32,
        b_is_kn: false,
        output: 0,
        k_step: 32,
        relu: false,
    };
    let half = |seed, count| -> Vec<f16> {
        numbers(count, seed)
            .into_iter()
            .map(f16::from_f32)
            .collect()
    };
    let (a, b) = (half(3, base.m * base.k), half(4, base.n * base.k));
    let wide = |v: &[f16]| -> Vec<f32> { v.iter().map(|v| v.to_f32()).collect() };
    let expected = base.product(&wide(&a), &wide(&b));
    let (a, b) = (Buffer::from(&a), Buffer::from(&b));
    let m = base.m.next_multiple_of(16);
    let run = |output, bytes: usize| {
        // Rows of the padding are not written, so the buffer starts defined.
        let c = Buffer::from(&vec![0u8; bytes]);
        let shape = Shape { output, ..base };
        module
            .launch(
                "matmul_half",
                1,
                &[
                    Arg::Buffer(&a),
                    Arg::Buffer(&b),
                    Arg::Buffer(&c),
                    shape.argument(1),
                ],
            )
            .ok();
        c
    };
    let halves = run(1, base.m * base.n * 2).read::<u16>();
    assert!(
        halves
            .iter()
            .zip(&expected)
            .all(|(h, e)| *h == f16::from_f32(*e).to_bits())
    );
    let brains = run(2, base.m * base.n * 2).read::<u16>();
    assert!(
        brains
            .iter()
            .zip(&expected)
            .all(|(h, e)| *h == bf16::from_f32(*e).to_bits())
    );
    let fractal = |row: usize, col: usize| (col / 16 * m + row) * 16 + col % 16;
    let nz = run(3, m * base.n * 4).read::<f32>();
    let cells = || (0..base.m).flat_map(|row| (0..base.n).map(move |col| (row, col)));
    assert!(cells().all(|(row, col)| nz[fractal(row, col)] == expected[row * base.n + col]));
    // By way of L1 whole fractals leave, whose padding rows nothing defines.
    let c = run(4, m * base.n * 2);
    let (code, nz) = c.try_read::<u16>();
    assert_ne!(code, 0);
    fa_emulator::report::take_findings();
    assert!(
        cells()
            .all(|(r, col)| nz[fractal(r, col)]
                == f16::from_f32(expected[r * base.n + col]).to_bits())
    );
}

fn integers(module: &Module) {
    let a: Vec<i8> = (0..16 * 64).map(|i| (i * 37 % 255 - 127) as i8).collect();
    let b: Vec<i8> = (0..32 * 64).map(|i| (i * 53 % 255 - 127) as i8).collect();
    let bias: Vec<i32> = (0..32).map(|i| i * 100).collect();
    let (ga, gb, gc, gd) = (
        Buffer::from(&a),
        Buffer::from(&b),
        Buffer::new(1024),
        Buffer::from(&bias),
    );
    let args = [
        Arg::Buffer(&ga),
        Arg::Buffer(&gb),
        Arg::Buffer(&gc),
        Arg::Buffer(&gd),
    ];
    module.launch("int8_dequantised", 1, &args).ok();
    for (index, bits) in gc.read::<u16>().into_iter().enumerate() {
        let (row, col) = (index / 32, index % 32);
        let sum: i32 = (0..64)
            .map(|k| i32::from(a[row * 64 + k]) * i32::from(b[col * 64 + k]))
            .sum();
        let want = f16::from_f32((sum + bias[col]) as f32 * 0.125);
        let want = want.to_f32().clamp(-65504.0, 65504.0);
        assert_eq!(f16::from_bits(bits).to_f32(), want);
    }
}

/// Columns are filled up to a block with zeros, rows below the matrix stay as they were.
fn group_tails(module: &Module) {
    let x: Vec<u16> = (1..=100).collect();
    let (from, out) = (Buffer::from(&x), Buffer::new(1024));
    let args = [Arg::Buffer(&from), Arg::Buffer(&out)];
    module.launch("group_tails", 1, &args).ok();
    let seven = f16::from_f32(7.0).to_bits();
    for (at, bits) in out.read::<u16>().into_iter().enumerate() {
        let (row, column) = (at / 16 % 16, at / 256 * 16 + at % 16);
        let expected = match (row < 5, column < 20) {
            (true, true) => x[row * 20 + column],
            (true, false) => 0,
            (false, _) => seven,
        };
        assert_eq!(bits, expected, "row {row}, column {column}");
    }
}

fn barriers(module: &Module) {
    let blocks = 3;
    let counts = Buffer::from(&vec![0i32; 9 * 8]);
    module
        .launch(
            "everyone_meets",
            blocks,
            &[sync_address(), Arg::Buffer(&counts)],
        )
        .ok();
    assert!(
        counts
            .read::<i32>()
            .chunks_exact(8)
            .all(|slot| slot[1] == 45)
    );
    // A barrier of more blocks than the chip holds at once can never be complete.
    let counts = Buffer::from(&vec![0i32; 3 * 25 * 8]);
    let outcome = module.launch(
        "everyone_meets",
        25,
        &[sync_address(), Arg::Buffer(&counts)],
    );
    let stuck = outcome.finds("deadlock", "cube.cpp", "SyncAll<false>()");
    assert!(
        stuck.message.contains("1 block(s) wait for a free core"),
        "{}",
        stuck.message
    );
}

/// A lower bound that any machine keeps; the point is to notice a slow emulator.
fn speed(module: &Module) {
    let shape = Shape {
        m: 128,
        n: 128,
        k: 128,
        b_is_kn: false,
        output: 0,
        k_step: 128,
        relu: false,
    };
    let (a, b) = (
        Buffer::from(&vec![0u16; 128 * 128]),
        Buffer::from(&vec![0u16; 128 * 128]),
    );
    let c = Buffer::new(128 * 128 * 4);
    let repeat = 64;
    let start = Instant::now();
    module
        .launch(
            "matmul_half",
            1,
            &[
                Arg::Buffer(&a),
                Arg::Buffer(&b),
                Arg::Buffer(&c),
                shape.argument(repeat),
            ],
        )
        .ok();
    let gflops = f64::from(repeat) * 2.0 * 128f64.powi(3) / start.elapsed().as_secs_f64() / 1e9;
    assert!(gflops > 0.2, "{gflops} GFLOP/s");
}

fn other_loads(module: &Module) {
    let (m, n, k) = (32, 48, 64);
    let half = |seed, count| -> Vec<f16> {
        numbers(count, seed)
            .into_iter()
            .map(f16::from_f32)
            .collect()
    };
    let (a, b) = (half(5, m * k), half(6, n * k));
    let run3 = |kernel, a: &Buffer, b: &Buffer, count: usize| {
        let c = Buffer::new(count * 4);
        module
            .launch(
                kernel,
                1,
                &[Arg::Buffer(a), Arg::Buffer(b), Arg::Buffer(&c)],
            )
            .ok();
        c.read::<f32>()
    };
    let c = run3(
        "product_by_load3d",
        &Buffer::from(&a),
        &Buffer::from(&b),
        m * n,
    );
    for (index, value) in c.into_iter().enumerate() {
        let (row, col) = (index / n, index % n);
        let want = (0..k).fold(0f32, |sum, i| {
            sum + a[i * m + row].to_f32() * b[i * n + col].to_f32()
        });
        assert_eq!(value, want);
    }
    let (a, b) = (half(7, 256), half(8, 16 * 256));
    let c = run3("row_times_matrix", &Buffer::from(&a), &Buffer::from(&b), 16);
    for (col, value) in c.into_iter().enumerate() {
        let want = (0..256).fold(0f32, |sum, i| {
            sum + a[i].to_f32() * b[col * 256 + i].to_f32()
        });
        assert_eq!(value, want);
    }
    float_operands(module);
}

/// Whole floats, and floats of 11 mantissa bits with ties to even or to zero.
fn float_operands(module: &Module) {
    let mut a = numbers(256, 9);
    let b = numbers(256, 10);
    a[0] = 1.0 + 2f32.powi(-12);
    a[1] = 1.0 + 3.0 * 2f32.powi(-12);
    for mode in 0..3 {
        let short = |x: f32| {
            let unit = 2f64.powi(x.abs().log2().floor() as i32 - 11);
            let steps = f64::from(x) / unit;
            let near = match mode {
                1 => steps.round_ties_even(),
                _ if steps.fract().abs() == 0.5 => steps.trunc(),
                _ => steps.round(),
            };
            if mode == 0 { x } else { (near * unit) as f32 }
        };
        let (left, right, c) = (Buffer::from(&a), Buffer::from(&b), Buffer::new(1024));
        let args = [
            Arg::Buffer(&left),
            Arg::Buffer(&right),
            Arg::Buffer(&c),
            scalar(mode),
        ];
        module.launch("float_transposed", 1, &args).ok();
        for (index, value) in c.read::<f32>().into_iter().enumerate() {
            let (row, col) = (index / 16, index % 16);
            let want = (0..16).fold(0f32, |sum, i| {
                sum + short(a[row * 16 + i]) * short(b[i * 16 + col])
            });
            assert_eq!(value, want, "mode {mode} at {index}");
        }
    }
}
