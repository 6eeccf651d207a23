//! Problems of matrix products, how they are cut, and what they make.

use fa_emulator::experiment::{self, Experiment};
use half::{bf16, f16};

use super::{Arg, Buffer, Module, Outcome, numbers, scalar};

/// An element type of a matrix.
pub(crate) trait Element: Copy + Default {
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
pub(crate) struct Shape {
    /// Rows, columns, depth.
    pub(crate) whole: [i32; 3],
    /// Rows and columns of a core.
    pub(crate) single: [i32; 2],
    pub(crate) base: [i32; 3],
    /// stepM, stepN, stepKa, stepKb.
    pub(crate) steps: [i32; 4],
    /// Pieces that L1 holds of each operand: 1 or 2.
    pub(crate) halves: i32,
    pub(crate) order: i32,
    /// dbL0A, dbL0B, dbL0C.
    pub(crate) slots: [i32; 3],
    pub(crate) bias: bool,
    /// Calls that share the depth.
    pub(crate) parts: i32,
}

pub(crate) const EVEN: Shape = Shape {
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
pub(crate) const TAILS: Shape = Shape {
    whole: [83, 109, 75],
    single: [48, 64],
    base: [32, 32, 32],
    halves: 2,
    order: 1,
    bias: true,
    ..EVEN
};

/// Whole rows of blocks in L1.
pub(crate) const STEPS: Shape = Shape {
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
pub(crate) const ROW: Shape = Shape {
    whole: [1, 40, 72],
    single: [1, 40],
    base: [16, 64, 96],
    halves: 1,
    slots: [1, 1, 1],
    ..EVEN
};

impl Shape {
    pub(crate) fn cores(&self) -> i32 {
        let count = |side: usize| self.whole[side].div_euclid(self.single[side]) as u32;
        let rest = |side: usize| u32::from(self.whole[side] % self.single[side] != 0);
        ((count(0) + rest(0)) * (count(1) + rest(1))) as i32
    }

    /// The structure, field by field.
    pub(crate) fn tiling(&self) -> [i32; 50] {
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
pub(crate) struct Run {
    pub(crate) kernel: &'static str,
    pub(crate) shape: Shape,
    pub(crate) transposed: [bool; 2],
    /// atomic, parts, columnsC, broken: the kernels' last argument.
    pub(crate) how: [i32; 4],
    /// Blocks of the launch; cores of one block that call an object.
    pub(crate) calls_per_block: u32,
}

impl Run {
    pub(crate) fn of(kernel: &'static str, shape: Shape, transposed: [bool; 2]) -> Run {
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

    pub(crate) fn launch(&self, module: &Module, buffers: [&Buffer; 4]) -> Outcome {
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
pub(crate) struct Data<T, B> {
    pub(crate) a: Vec<T>,
    pub(crate) b: Vec<T>,
    pub(crate) bias: Vec<B>,
    pub(crate) sums: Vec<f64>,
}

/// Matrices of the shape, transposed in memory where the run says so.
pub(crate) fn data<T: Element, B: Element>(run: &Run, bias_scale: f32) -> Data<T, B> {
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
pub(crate) fn strict<R>(seed: Option<u64>, body: impl FnOnce() -> R) -> R {
    fa_emulator::set_options(fa_emulator::Options::default());
    let experiment = Experiment {
        seed,
        ..Experiment::default()
    };
    experiment::run(experiment, body).0
}

/// Launches in program order and in a few others; the results are those of `expected`, and nothing is found.
pub(crate) fn check<T: Element, C: Element, B: Element>(
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

pub(crate) fn sums<T, B>(data: &Data<T, B>) -> Vec<f64> {
    data.sums.clone()
}
