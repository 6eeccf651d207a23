//! The Matmul object against plain loops, in every order of completion that the checks allow.

mod common;

use common::product::{
    Data, EVEN, Element, ROW, Run, STEPS, Shape, TAILS, check, data, strict, sums,
};
use common::{Buffer, Module};
use fa_emulator::experiment::{self, Experiment, Fault};
use half::{bf16, f16};

/// Kernels that take the whole of a core's C in one call.
fn whole(module: &Module) {
    for shape in [EVEN, TAILS, STEPS, ROW] {
        let of = |kernel, a, b| Run::of(kernel, shape, [a, b]);
        check::<f16, f32, f32>(module, of("half_nn", false, false), 2, None, sums);
        check::<f16, f32, f32>(module, of("half_tt", true, true), 2, None, sums);
        check::<f16, f16, f32>(module, of("half_many", false, true), 2, None, sums);
        check::<f16, f32, f32>(module, of("half_many_t", true, false), 2, None, sums);
        check::<bf16, bf16, f32>(module, of("brain", false, true), 1, None, sums);
        check::<bf16, f32, f32>(module, of("brain_float", true, false), 1, None, sums);
        check::<f32, f32, f32>(module, of("float_nn", false, false), 2, None, sums);
        check::<f32, f32, f32>(module, of("float_tt", true, true), 2, None, sums);
        check::<i8, i32, i32>(module, of("bytes_nn", false, false), 2, None, sums);
        let transposed = Shape {
            base: [32, shape.base[1], shape.base[2]],
            ..shape
        };
        let bytes = Run::of("bytes_tt", transposed, [true, true]);
        check::<i8, i32, i32>(module, bytes, 2, None, sums);
        let one = Run {
            calls_per_block: 1,
            ..of("half_one", false, true)
        };
        check::<f16, f32, f32>(module, one, 2, None, sums);
    }
}

/// Column groups of a matrix: `width` columns side by side, one group after the other.
fn grouped<T: Element>(
    rows: usize,
    columns: usize,
    width: usize,
    at: impl Fn(usize, usize) -> T,
) -> Vec<T> {
    let groups = (0..columns.div_ceil(width)).flat_map(|group| {
        let places = (0..rows).flat_map(move |row| (0..width).map(move |lane| (row, lane)));
        places.map(move |(row, lane)| (row, group * width + lane))
    });
    groups.map(|(row, column)| at(row, column)).collect()
}

/// Operands and results as column groups.
fn groups(module: &Module) {
    let shape = Shape {
        whole: [64, 48, 80],
        single: [64, 48],
        ..EVEN
    };
    let run = Run::of("groups", shape, [false, true]);
    let [m, n, k] = shape.whole.map(|side| side as usize);
    let data = data::<f16, f32>(&run, 1.0);
    let a = Buffer::from(&grouped(m, k, 16, |row, d| data.a[row * k + d]));
    let b = Buffer::from(&grouped(n, k, 16, |column, d| data.b[column * k + d]));
    let (bias, c) = (Buffer::from(&data.bias), Buffer::new(m * n * 4));
    let outcome = strict(None, || run.launch(module, [&a, &b, &bias, &c]));
    assert!(outcome.findings.is_empty(), "{:#?}", outcome.findings);
    let want = grouped(m, n, 16, |row, column| data.sums[row * n + column] as f32);
    for (value, want) in c.read::<f32>().into_iter().zip(want) {
        assert!((value - want).abs() < 1e-3, "{value} for {want}");
    }
}

/// Blocks of C that the vector cores go on with.
fn blocks(module: &Module) {
    let bent = |data: &Data<f16, f32>| -> Vec<f64> {
        let bend = |&sum: &f64| if sum > 0.0 { sum } else { sum / 8.0 };
        data.sums.iter().map(bend).collect()
    };
    let long = Shape {
        whole: [40, 720, 48],
        single: [40, 360],
        base: [16, 16, 48],
        order: 0,
        ..TAILS
    };
    for shape in [Shape { bias: true, ..EVEN }, TAILS, STEPS, long] {
        for kernel in ["fused", "fused_behind"] {
            let run = Run::of(kernel, shape, [false, true]);
            check::<f16, f32, f32>(module, run, 3, None, bent);
        }
    }
    for parts in 0..2 {
        let run = Run {
            how: [0, parts, 0, 0],
            ..Run::of("to_ub", EVEN, [false, false])
        };
        check::<f16, f32, f32>(module, run, 3, None, |data| {
            data.sums.iter().map(|sum| sum + 1.0).collect()
        });
    }
}

/// Calls that share C: added with atomics, or in L0C.
fn shared(module: &Module) {
    let parts = |shape: Shape, kernel, parts: i32| Run {
        how: [0, parts, 0, 0],
        ..Run::of(kernel, Shape { parts, ..shape }, [false, false])
    };
    let deep = Shape {
        whole: [50, 109, 96],
        single: [48, 64],
        bias: false,
        ..TAILS
    };
    for count in [1, 2, 3] {
        let run = parts(deep, "behind", count);
        check::<f16, f32, f32>(module, run, 3, Some(2.0), |data| {
            data.sums.iter().map(|sum| sum + 2.0).collect()
        });
        let block = Shape {
            base: [48, 64, 16],
            bias: true,
            ..deep
        };
        let run = parts(block, "partial", count);
        check::<f16, f32, f32>(module, run, 3, None, sums);
    }
    for (atomic, kept) in [(2, f64::max as fn(f64, f64) -> f64), (3, f64::min)] {
        let run = Run {
            how: [atomic, 0, 0, 0],
            ..Run::of("half_nn", TAILS, [false, false])
        };
        check::<f16, f32, f32>(module, run, 2, Some(1.5), |data| {
            data.sums.iter().map(|&sum| kept(sum, 1.5)).collect()
        });
    }
}

/// Operands in UB: A doubled, a bias of ones.
fn from_ub(module: &Module) {
    for (shape, parts) in [(EVEN, 0), (TAILS, 0), (TAILS, 1), (TAILS, 2), (STEPS, 1)] {
        let run = Run {
            how: [0, parts, 0, 0],
            ..Run::of(
                "from_ub",
                Shape {
                    bias: true,
                    ..shape
                },
                [false, false],
            )
        };
        check::<f16, f32, f32>(module, run, 3, None, |data| {
            let n = data.bias.len();
            let plain = data.sums.iter().enumerate();
            plain
                .map(|(index, sum)| 2.0 * (sum - f64::from(data.bias[index % n])) + 1.0)
                .collect()
        });
    }
}

/// Two objects; flags of the kernel's own beside them.
fn together(module: &Module) {
    let square = Shape {
        whole: [83, 72, 72],
        single: [48, 40],
        bias: false,
        ..TAILS
    };
    for parts in 0..2 {
        let run = Run {
            how: [0, parts, 0, 0],
            ..Run::of("two", square, [false, false])
        };
        check::<f16, f32, f32>(module, run, 3, Some(0.0), |data| {
            let turned = Run {
                transposed: [false, true],
                ..run
            };
            let other = self::data::<f16, f32>(&turned, 1.0);
            data.sums
                .iter()
                .zip(&other.sums)
                .map(|(a, b)| a + b)
                .collect()
        });
    }
    let run = Run::of("with_flags", EVEN, [false, false]);
    check::<f16, f32, f32>(module, run, 3, None, sums);
}

/// Scales of a sixteenth, or one a column.
fn scaled(module: &Module) {
    for shape in [
        EVEN,
        Shape {
            bias: false,
            ..TAILS
        },
    ] {
        for parts in 0..2 {
            let run = |kernel| Run {
                how: [0, parts, 0, 0],
                ..Run::of(kernel, shape, [false, false])
            };
            let n = shape.whole[1] as usize;
            let scales: Vec<u64> = (0..n)
                .map(|column| u64::from((1.0 / f32::from(16u8 << (column % 3))).to_bits()))
                .collect();
            let factor = |index: usize| match parts {
                0 => 1.0 / 16.0,
                _ => f64::from(f32::from_bits(scales[index % n] as u32)),
            };
            let data = data::<i8, i32>(&run("bytes_half"), 0.0);
            let exact: Vec<f64> = data
                .sums
                .iter()
                .enumerate()
                .map(|(i, sum)| sum * factor(i))
                .collect();
            let (a, b, bias) = (
                Buffer::from(&data.a),
                Buffer::from(&data.b),
                Buffer::from(&scales),
            );
            let c = Buffer::new(exact.len() * 2);
            strict(Some(1), || {
                run("bytes_half").launch(module, [&a, &b, &bias, &c])
            })
            .ok();
            for (value, want) in c.read::<f16>().into_iter().zip(&exact) {
                assert!(
                    (value.value() - want).abs() <= f16::slack(want.abs()),
                    "{value} for {want}"
                );
            }
            let c = Buffer::new(exact.len());
            strict(Some(1), || {
                run("bytes_bytes").launch(module, [&a, &b, &bias, &c])
            })
            .ok();
            for (value, want) in c.read::<i8>().into_iter().zip(&exact) {
                let want = want.clamp(-128.0, 127.0);
                assert!(
                    (value.value() - want).abs() <= i8::slack(want),
                    "{value} for {want}"
                );
            }
        }
    }
}

#[test]
fn on_vector_cores() {
    let module = Module::compile("matmul.cpp");
    whole(&module);
    groups(&module);
    blocks(&module);
    shared(&module);
    from_ub(&module);
    together(&module);
    scaled(&module);
    order_is_checked(&module);
}

/// The object's own flags are flags like others: without them its loads, products and stores race.
fn order_is_checked(module: &Module) {
    let text = std::fs::read_to_string(common::kernel_path("matmul.cpp")).expect("source");
    let line = text
        .lines()
        .position(|line| line.contains("mm.IterateAll(part.c, how.atomic);"));
    let set = 1 + line.expect("the call is there") as u32;
    let faults = vec![Fault::LostFlag { set, wait: None }];
    let run = Run::of("half_nn", TAILS, [false, false]);
    let data = data::<f16, f32>(&run, 1.0);
    let (a, b) = (Buffer::from(&data.a), Buffer::from(&data.b));
    let (bias, c) = (Buffer::from(&data.bias), Buffer::new(data.sums.len() * 4));
    let experiment = Experiment {
        faults,
        ..Experiment::default()
    };
    let launch = || run.launch(module, [&a, &b, &bias, &c]);
    let (outcome, _) = experiment::run(experiment, launch);
    let races = outcome.findings.iter();
    assert!(
        races
            .filter(|finding| finding.kind.starts_with("race"))
            .count()
            > 0,
        "{:#?}",
        outcome.findings
    );
}

/// The same calls on the cube core, which then serves nobody.
#[test]
fn on_the_cube_core() {
    let module = Module::compile("matmul_cube.cpp");
    for shape in [EVEN, TAILS, STEPS, ROW] {
        for parts in 0..2 {
            let run = |kernel| Run {
                how: [0, parts, 0, 0],
                calls_per_block: 1,
                ..Run::of(kernel, shape, [false, false])
            };
            check::<f16, f32, f32>(&module, run("half_cube"), 3, None, sums);
            check::<f32, f32, f32>(&module, run("rounded"), 1, None, |data| {
                let short = |number: &f32| f64::from(hf32(*number));
                let [m, n, k] = shape.whole.map(|side| side as usize);
                let places = (0..m).flat_map(|row| (0..n).map(move |column| (row, column)));
                places
                    .map(|(row, column)| {
                        let start = if shape.bias {
                            data.bias[column].value()
                        } else {
                            0.0
                        };
                        let left = data.a[row * k..(row + 1) * k].iter().map(short);
                        let right = (0..k).map(|d| short(&data.b[d * n + column]));
                        left.zip(right).fold(start, |sum, (a, b)| sum + a * b)
                    })
                    .collect()
            });
        }
    }
    let run = Run {
        calls_per_block: 1,
        ..Run::of(
            "beside",
            Shape {
                single: [64, 64],
                ..EVEN
            },
            [false, false],
        )
    };
    check::<f16, f32, f32>(&module, run, 3, None, |data| {
        data.sums.iter().map(|sum| sum + 1.0).collect()
    });
}

/// Eleven bits of fraction, ties to even.
fn hf32(number: f32) -> f32 {
    let bits = number.to_bits();
    let odd = bits >> 12 & 1;
    f32::from_bits((bits + 0x7ff + odd) & !0xfff)
}
