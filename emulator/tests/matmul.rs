//! The Matmul object against plain loops, in every order of completion that the checks allow.

mod common;

use common::{Arg, Buffer, Module, Outcome, numbers, scalar};
use fa_emulator::experiment::{self, Experiment, Fault};
use half::{bf16, f16};

/// An element type of a matrix.
trait Element: Copy + Default {
    /// From a number in -1..1.
    fn of(number: f32) -> Self;
    fn value(self) -> f64;
    /// What rounding to the type may cost a sum of this size.
    fn slack(size: f64) -> f64;
}

macro_rules! element {
    ($type:ty, $of:expr, $value:expr, $slack:expr) => {
        impl Element for $type {
            fn of(number: f32) -> Self {
                $of(number)
            }
            fn value(self) -> f64 {
                $value(self)
            }
            fn slack(size: f64) -> f64 {
                $slack(size)
            }
        }
    };
}

element!(f16, f16::from_f32, f64::from, |size: f64| 1e-3
    + size / 1000.0);
element!(bf16, bf16::from_f32, f64::from, |size: f64| 1e-2
    + size / 120.0);
element!(f32, |number| number, f64::from, |size: f64| 1e-4
    + size * 1e-5);
element!(i8, |number| (number * 100.0) as i8, f64::from, |_| 0.5);
element!(i32, |number| number as i32, f64::from, |_| 0.0);

/// A problem and how it is cut.
#[derive(Clone, Copy, Debug)]
struct Shape {
    /// Rows, columns, depth.
    whole: [i32; 3],
    /// Rows and columns of a core.
    single: [i32; 2],
    base: [i32; 3],
    /// stepM, stepN, stepKa, stepKb.
    steps: [i32; 4],
    /// Pieces that L1 holds of each operand: 1 or 2.
    halves: i32,
    order: i32,
    /// dbL0A, dbL0B, dbL0C.
    slots: [i32; 3],
    bias: bool,
    /// Calls that share the depth.
    parts: i32,
}

const EVEN: Shape = Shape {
    whole: [64, 64, 64],
    single: [32, 64],
    base: [32, 32, 32],
    steps: [1, 1, 1, 1],
    halves: 2,
    order: 0,
    slots: [2, 2, 2],
    bias: false,
    parts: 1,
};

/// Tails of every side, several blocks of each, both orders.
const TAILS: Shape = Shape {
    whole: [83, 109, 75],
    single: [48, 64],
    base: [32, 32, 32],
    halves: 2,
    order: 1,
    bias: true,
    ..EVEN
};

/// Whole rows of blocks in L1.
const STEPS: Shape = Shape {
    whole: [100, 150, 200],
    single: [64, 96],
    base: [32, 32, 32],
    steps: [2, 3, 4, 2],
    halves: 1,
    order: 0,
    slots: [1, 2, 1],
    bias: true,
    parts: 1,
};

/// One row, one block, nothing twice.
const ROW: Shape = Shape {
    whole: [1, 40, 72],
    single: [1, 40],
    base: [16, 64, 96],
    halves: 1,
    slots: [1, 1, 1],
    ..EVEN
};

impl Shape {
    fn cores(&self) -> i32 {
        let count = |side: usize| self.whole[side].div_euclid(self.single[side]) as u32;
        let rest = |side: usize| u32::from(self.whole[side] % self.single[side] != 0);
        ((count(0) + rest(0)) * (count(1) + rest(1))) as i32
    }

    /// The structure, field by field.
    fn tiling(&self) -> [i32; 50] {
        let [m, n, k] = self.whole;
        let [step_m, step_n, step_ka, step_kb] = self.steps;
        let mut fields = [0; 50];
        let head = [
            self.cores(),
            m,
            n,
            k,
            k,
            self.single[0],
            self.single[1],
            k / self.parts,
            self.base[0],
            self.base[1],
            self.base[2],
            step_m * step_ka * self.halves,
            step_n * step_kb * self.halves,
            step_m,
            step_n,
            i32::from(self.bias),
            0,
            self.order,
        ];
        fields[..head.len()].copy_from_slice(&head);
        fields[26..28].copy_from_slice(&[step_ka, step_kb]);
        fields[30..33].copy_from_slice(&self.slots);
        fields
    }
}

/// A launch of one kernel.
#[derive(Clone, Copy)]
struct Run {
    kernel: &'static str,
    shape: Shape,
    transposed: [bool; 2],
    /// atomic, parts, columnsC, broken: the kernels' last argument.
    how: [i32; 4],
    /// Blocks of the launch; cores of one block that call an object.
    calls_per_block: u32,
}

impl Run {
    fn of(kernel: &'static str, shape: Shape, transposed: [bool; 2]) -> Run {
        Run {
            kernel,
            shape,
            transposed,
            how: [0; 4],
            calls_per_block: 2,
        }
    }

    fn blocks(&self) -> u32 {
        (self.shape.cores() as u32).div_ceil(self.calls_per_block)
    }

    fn launch(&self, module: &Module, buffers: [&Buffer; 4]) -> Outcome {
        let workspace = Buffer::new(16 << 20);
        let [a, b, bias, c] = buffers.map(Arg::Buffer);
        let args = [
            a,
            b,
            bias,
            c,
            Arg::Buffer(&workspace),
            scalar(self.shape.tiling()),
            scalar(self.how),
        ];
        module.launch_as_set(self.kernel, self.blocks(), &args)
    }
}

/// Operands and what they make, as they lie in memory.
struct Data<T, B> {
    a: Vec<T>,
    b: Vec<T>,
    bias: Vec<B>,
    sums: Vec<f64>,
}

/// Matrices of the shape, transposed in memory where the run says so.
fn data<T: Element, B: Element>(run: &Run, bias_scale: f32) -> Data<T, B> {
    let [m, n, k] = run.shape.whole.map(|side| side as usize);
    let make = |count, seed| -> Vec<T> { numbers(count, seed).into_iter().map(T::of).collect() };
    let (a, b) = (make(m * k, 1), make(n * k, 2));
    let bias: Vec<B> = numbers(n, 3)
        .into_iter()
        .map(|number| B::of(number * bias_scale))
        .collect();
    let mut sums = Vec::with_capacity(m * n);
    for row in 0..m {
        for column in 0..n {
            let left = |d: usize| match run.transposed[0] {
                true => a[d * m + row].value(),
                false => a[row * k + d].value(),
            };
            let right = |d: usize| match run.transposed[1] {
                true => b[column * k + d].value(),
                false => b[d * n + column].value(),
            };
            let start = if run.shape.bias {
                bias[column].value()
            } else {
                0.0
            };
            sums.push((0..k).fold(start, |sum, d| sum + left(d) * right(d)));
        }
    }
    Data { a, b, bias, sums }
}

/// Order is the kernel's own business, and what completes first is drawn.
fn strict<R>(seed: Option<u64>, body: impl FnOnce() -> R) -> R {
    fa_emulator::set_options(fa_emulator::Options::default());
    let experiment = Experiment {
        seed,
        ..Experiment::default()
    };
    experiment::run(experiment, body).0
}

/// Launches in program order and in a few others; the results are those of `expected`, and nothing is found.
fn check<T: Element, C: Element, B: Element>(
    module: &Module,
    run: Run,
    seeds: u64,
    start: Option<C>,
    expected: impl Fn(&Data<T, B>) -> Vec<f64>,
) {
    let bias_scale = if size_of::<T>() == 1 { 1000.0 } else { 1.0 };
    let data = data::<T, B>(&run, bias_scale);
    let (a, b) = (Buffer::from(&data.a), Buffer::from(&data.b));
    let bias = Buffer::from(&data.bias);
    let want = expected(&data);
    for seed in std::iter::once(None).chain((0..seeds).map(Some)) {
        let c = match start {
            Some(value) => Buffer::from(&vec![value; want.len()]),
            None => Buffer::new(want.len() * size_of::<C>()),
        };
        let outcome = strict(seed, || run.launch(module, [&a, &b, &bias, &c]));
        let place = format!("{} {:?} {:?} seed {seed:?}", run.kernel, run.shape, run.how);
        assert!(
            outcome.findings.is_empty(),
            "{place}: {:#?}",
            outcome.findings
        );
        outcome.ok();
        for (index, value) in c.read::<C>().into_iter().enumerate() {
            let (value, want) = (value.value(), want[index]);
            assert!(
                (value - want).abs() <= C::slack(want.abs()),
                "{place} [{index}]: {value} for {want}"
            );
        }
    }
}

fn sums<T, B>(data: &Data<T, B>) -> Vec<f64> {
    data.sums.clone()
}

/// Kernels that take the whole of a core's C in one call.
fn whole(module: &Module) {
    for shape in [EVEN, TAILS, STEPS, ROW] {
        let of = |kernel, a, b| Run::of(kernel, shape, [a, b]);
        check::<f16, f32, f32>(module, of("half_nn", false, false), 6, None, sums);
        check::<f16, f32, f32>(module, of("half_tt", true, true), 3, None, sums);
        check::<f16, f16, f32>(module, of("half_many", false, true), 3, None, sums);
        check::<f16, f32, f32>(module, of("half_many_t", true, false), 3, None, sums);
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
            check::<f16, f32, f32>(module, run, 6, None, bent);
        }
    }
    for parts in 0..2 {
        let run = Run {
            how: [0, parts, 0, 0],
            ..Run::of("to_ub", EVEN, [false, false])
        };
        check::<f16, f32, f32>(module, run, 6, None, |data| {
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
        check::<f16, f32, f32>(module, run, 6, Some(2.0), |data| {
            data.sums.iter().map(|sum| sum + 2.0).collect()
        });
        let block = Shape {
            base: [48, 64, 16],
            bias: true,
            ..deep
        };
        let run = parts(block, "partial", count);
        check::<f16, f32, f32>(module, run, 6, None, sums);
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
        check::<f16, f32, f32>(module, run, 6, None, |data| {
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
        check::<f16, f32, f32>(module, run, 6, Some(0.0), |data| {
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

const BROKEN: &str = "matmul_broken.cpp";

/// Bit of the kernel's last argument, marker, kind, and what the message and the help say.
type Case = (i32, &'static str, &'static str, &'static str, &'static str);

const CALLS: &[Case] = &[
    (
        0,
        "// mm-unregistered",
        "matmul-order",
        "REGIST_MATMUL_OBJ does not name",
        "register the object",
    ),
    (
        1,
        "// mm-no-a",
        "matmul-order",
        "A is not set",
        "SetTensorA before",
    ),
    (
        3,
        "// mm-while-open",
        "matmul-unfinished",
        "has not called End",
        "call End of that object",
    ),
    (
        4,
        "// mm-end",
        "matmul-unfinished",
        "has not called End when the kernel ends",
        "call End",
    ),
    (
        5,
        "// mm-not-waited",
        "matmul-unfinished",
        "1 result(s) of this call",
        "WaitIterateAll",
    ),
    (
        6,
        "// mm-nothing",
        "matmul-order",
        "no IterateAll<false>",
        "true) before",
    ),
    (
        7,
        "// mm-no-block",
        "matmul-order",
        "no block that Iterate",
        "call Iterate before",
    ),
    (
        8,
        "// mm-dropped",
        "matmul-order",
        "dropped by the Iterate at line",
        "GetTensorC behind each",
    ),
    (
        9,
        "// mm-transposed",
        "matmul-order",
        "B is set transposed",
        "ISTRANS = true",
    ),
    (
        10,
        "// mm-flag",
        "cross-core-flag-reserved",
        "two flags each: 0 to 3",
        "a flag from 4 on",
    ),
    (
        11,
        "// mm-partial",
        "matmul-shape",
        "partial sums of 4 blocks",
        "let singleCoreM be baseM",
    ),
    (
        12,
        "// mm-no-workspace",
        "matmul-order",
        "needs a workspace",
        "SetWorkspace before",
    ),
    (
        13,
        "// mm-shape",
        "matmul-shape",
        "32 x 0 x 64 elements",
        "SetSingleShape",
    ),
    (
        14,
        "// mm-bias-off",
        "matmul-order",
        "isBias = 0",
        "set isBias",
    ),
    (
        15,
        "// mm-atomic-ub",
        "matmul-order",
        "enAtomic is 1",
        "add in UB",
    ),
    (
        16,
        "// mm-pitch",
        "matmul-shape",
        "70000 elements apart, a copy can step over 65535",
        "intrinsicsCheck",
    ),
    (17, "// mm-behind", "race-war", "Fixpipe writes bytes", ""),
    (
        18,
        "// mm-regist",
        "deadlock",
        "aic waits for the GetTensorC by which aiv 0 takes its partial sums",
        "",
    ),
    (
        19,
        "// mm-partial-first",
        "matmul-order",
        "partial sums of nothing",
        "Iterate(false)",
    ),
    (
        20,
        "// mm-stage",
        "matmul-shape",
        "bytes of the system workspace",
        "smaller blocks",
    ),
    (21, "// mm-past-end", "out-of-bounds", "Fixpipe", ""),
];

/// Fields of the tiling and their values, what is wrong with it, and the way out.
type Tiled = (&'static [(usize, i32)], &'static str, &'static str);

const TILINGS: &[Tiled] = &[
    (&[(8, 0)], "baseM of the tiling is 0, it is 1 to", "ranges"),
    (
        &[(9, 40)],
        "baseN of the tiling is 40 elements, no multiple of 16",
        "whole fractals",
    ),
    (
        &[(10, 24)],
        "baseK of the tiling is 24 elements, no multiple of 16",
        "whole fractals",
    ),
    (&[(7, 0)], "singleCoreK of the tiling is 0", "ranges"),
    (
        &[(8, 1024)],
        "dbL0A * baseM * baseK takes 131072 bytes of L0A, which has 65536",
        "smaller",
    ),
    (
        &[(9, 1024)],
        "dbL0B * baseK * baseN takes 131072 bytes of L0B, which has 65536",
        "smaller",
    ),
    (
        &[(8, 256), (9, 256)],
        "dbL0C * baseM * baseN takes 524288 bytes of L0C, which has 131072",
        "smaller",
    ),
    (
        &[(11, 512), (26, 256)],
        "bytes of L1, which has 524032",
        "lower depthA1",
    ),
    (
        &[(11, 3)],
        "depthA1 of the tiling is 3 base blocks, its steps make 1, or 2 in two halves",
        "twice that",
    ),
    (
        &[(13, 512)],
        "depthA1 of the tiling is 2 base blocks, its steps make 512",
        "product of the steps",
    ),
    (
        &[(15, 2)],
        "isBias of the tiling is 2, it is 0 to 1",
        "ranges",
    ),
    (&[(17, 2)], "iterateOrder of the tiling is 2", "ranges"),
    (
        &[(30, 3)],
        "dbL0A of the tiling is 3, it is 1 to 2",
        "ranges",
    ),
];

#[test]
fn mistakes_are_found() {
    let module = Module::compile(BROKEN);
    let shape = Shape {
        single: [32, 64],
        base: [16, 32, 32],
        ..EVEN
    };
    let (a, b) = (
        Buffer::from(&[f16::ONE; 64 * 64]),
        Buffer::from(&[f16::ONE; 64 * 64]),
    );
    let c = Buffer::from(&[0f32; 64 * 64]);
    let workspace = Buffer::new(16 << 20);
    let calls = |tiling: [i32; 50], broken: i32| {
        let args = [&a, &b, &c, &workspace].map(Arg::Buffer);
        let args: Vec<Arg<'_>> = args
            .into_iter()
            .chain([scalar(tiling), scalar(broken)])
            .collect();
        strict(None, || module.launch_as_set("broken_calls", 1, &args))
    };
    calls(shape.tiling(), -1).ok();
    for &(bit, marker, kind, message, help) in CALLS {
        let outcome = calls(shape.tiling(), bit);
        let finding = outcome.finds(kind, BROKEN, marker);
        assert!(finding.message.contains(message), "{finding}");
        assert!(finding.help.contains(help), "{finding}");
    }
    let biased = Shape {
        bias: true,
        ..shape
    };
    let outcome = calls(biased.tiling(), 2);
    let finding = outcome.finds("matmul-order", BROKEN, "// mm-no-bias");
    assert!(finding.help.contains("SetBias before"), "{finding}");
    for &(fields, message, help) in TILINGS {
        let mut tiling = shape.tiling();
        for &(field, value) in fields {
            tiling[field] = value;
        }
        // Nothing can be computed with such a tiling, and nothing hangs.
        let outcome = calls(tiling, 4);
        let finding = outcome.finds("matmul-tiling", BROKEN, "// mm-regist");
        assert!(
            outcome
                .findings
                .iter()
                .any(|finding| finding.message.contains(message)),
            "{message}: {:#?}",
            outcome.findings
        );
        assert!(finding.help.contains(help), "{finding}");
        assert!(
            outcome
                .findings
                .iter()
                .all(|finding| finding.kind == "matmul-tiling"),
            "{:#?}",
            outcome.findings
        );
    }
    kernels(&module, &shape);
}

/// Kernels that cannot have objects at all.
fn kernels(module: &Module, shape: &Shape) {
    let workspace = Buffer::new(16 << 20);
    let small = Buffer::new(1 << 20);
    let launch = |kernel, args: &[Arg<'_>]| strict(None, || module.launch_as_set(kernel, 1, args));
    let tiling = || scalar(shape.tiling());
    let outcome = launch("no_workspace", &[Arg::Buffer(&workspace), tiling()]);
    let finding = outcome.finds("workspace-unset", BROKEN, "// mm-workspace");
    assert!(finding.help.contains("__kfc_workspace__"), "{finding}");
    let outcome = launch("no_tiling", &[Arg::Buffer(&workspace), Arg::Buffer(&small)]);
    let finding = outcome.finds("matmul-order", BROKEN, "// mm-no-tiling");
    assert!(finding.message.contains("without a tiling"), "{finding}");
    let outcome = launch("no_cube", &[Arg::Buffer(&workspace), tiling()]);
    let finding = outcome.finds("kernel-type", BROKEN, "// mm-type");
    assert!(
        finding.help.contains("KERNEL_TYPE_MIX_AIC_1_2"),
        "{finding}"
    );
    let outcome = launch(
        "own_products",
        &[Arg::Buffer(&small), Arg::Buffer(&workspace), tiling()],
    );
    let finding = outcome.finds("matmul-order", BROKEN, "// mm-product");
    assert!(finding.help.contains("ASCENDC_CUBE_ONLY"), "{finding}");
    let mut args: Vec<Arg<'_>> = [&small; 4].map(Arg::Buffer).into_iter().collect();
    args.extend([tiling(), scalar(4)]);
    let outcome = launch("broken_calls", &args);
    let finding = outcome.finds("out-of-bounds", BROKEN, "// mm-regist");
    assert!(finding.message.contains("16777216"), "{finding}");
}
