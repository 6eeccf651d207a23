//! Vector instructions against plain loops.

mod common;

use common::{Arg, Buffer, Module, numbers, scalar};
use half::{bf16, f16};

const COUNT: usize = 1000;
const ROUND: usize = 1024;
const UNTOUCHED: f32 = 7.0;

#[test]
fn vector_instructions() {
    let module = Module::compile("vector.cpp");
    static_add(&module);
    queue_add(&module);
    float_ops(&module);
    int_ops(&module);
    reductions(&module);
    selections(&module);
    rules(&module);
    casts(&module);
    in_place(&module);
    overflow(&module);
    pad_tails(&module);
    atomics(&module);
    speed(&module);
}

fn static_add(module: &Module) {
    let (x, y) = (numbers(4096, 1), numbers(4096, 2));
    let (a, b, z) = (Buffer::from(&x), Buffer::from(&y), Buffer::new(4096 * 4));
    module
        .launch(
            "add_static",
            4,
            &[
                Arg::Buffer(&a),
                Arg::Buffer(&b),
                Arg::Buffer(&z),
                scalar(1024),
            ],
        )
        .ok();
    let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| x + y).collect();
    assert_eq!(z.read::<f32>(), expected);
}

fn queue_add(module: &Module) {
    let half = |seed| -> Vec<f16> { numbers(1024, seed).into_iter().map(f16::from_f32).collect() };
    let (x, y) = (half(3), half(4));
    let (a, b, z) = (Buffer::from(&x), Buffer::from(&y), Buffer::new(2048));
    module
        .launch(
            "add_queues",
            1,
            &[
                Arg::Buffer(&a),
                Arg::Buffer(&b),
                Arg::Buffer(&z),
                scalar(1024),
            ],
        )
        .ok();
    let sum =
        |(x, y): (&f16, &f16)| f16::from_f32(f16::from_f32(2.0 * x.to_f32()).to_f32() + y.to_f32());
    let expected: Vec<u16> = x.iter().zip(&y).map(|pair| sum(pair).to_bits()).collect();
    assert_eq!(z.read::<u16>(), expected);
}

fn run<T: Copy + Default>(module: &Module, kernel: &str, x: &[T], y: &[T], op: i32) -> Vec<T> {
    let (a, b, z) = (
        Buffer::from(x),
        Buffer::from(y),
        Buffer::new(size_of_val(x)),
    );
    module
        .launch(
            kernel,
            1,
            &[
                Arg::Buffer(&a),
                Arg::Buffer(&b),
                Arg::Buffer(&z),
                scalar(op),
            ],
        )
        .ok();
    z.read()
}

type Lane = fn(f32, f32) -> f32;

fn float_ops(module: &Module) {
    let (x, y) = (numbers(ROUND, 5), numbers(ROUND, 6));
    let simple: [Lane; 15] = [
        |x, y| x + y,
        |x, y| x - y,
        |x, y| x * y,
        |x, y| x / y,
        f32::max,
        f32::min,
        |x, _| f64::from(x).exp() as f32,
        |x, _| x.abs(),
        |x, _| x.max(0.0),
        |x, _| x + 2.5,
        |x, _| x * -3.0,
        |x, _| x.max(0.25),
        |x, _| x.min(0.25),
        |x, _| UNTOUCHED + x * 0.5,
        |x, y| x * y + UNTOUCHED,
    ];
    for (op, lane) in simple.into_iter().enumerate() {
        let expected: Vec<f32> = (0..ROUND)
            .map(|i| {
                if i < COUNT {
                    lane(x[i], y[i])
                } else {
                    UNTOUCHED
                }
            })
            .collect();
        assert_eq!(
            run(module, "float_ops", &x, &y, op as i32),
            expected,
            "op {op}"
        );
    }
    let even = run(module, "float_ops", &x, &y, 15);
    assert!((0..ROUND).all(|i| even[i] == if i % 2 == 0 { x[i] + 1.0 } else { UNTOUCHED }));
    let rows = run(module, "float_ops", &x, &y, 16);
    let row = |i: usize| {
        if i % 64 < 10 {
            x[i] + y[i / 64 * 8 + i % 8]
        } else {
            UNTOUCHED
        }
    };
    assert!((0..ROUND).all(|i| rows[i] == row(i)));
    let counted = run(module, "float_ops", &x, &y, 17);
    assert!((0..ROUND).all(|i| counted[i] == if i < 100 { x[i] + y[i] } else { UNTOUCHED }));
    let copied = run(module, "float_ops", &x, &y, 18);
    assert!((0..ROUND).all(|i| copied[i]
        == if i < 256 {
            x[i / 64 * 128 + i % 64]
        } else {
            UNTOUCHED
        }));
    let folded = run(module, "float_ops", &x, &y, 19);
    assert!((0..64).all(|i| folded[i] == (0..16).map(|r| x[r * 64 + i]).fold(UNTOUCHED, f32::max)));
}

fn int_ops(module: &Module) {
    let x: Vec<u16> = (0..ROUND).map(|i| (i * 40503) as u16).collect();
    let y: Vec<u16> = (0..ROUND).map(|i| (i * 12345 + 7) as u16).collect();
    let ops: [fn(u16, u16) -> u16; 5] = [
        |x, y| x & y,
        |x, y| x | y,
        |x, _| !x,
        |x, _| x << 3,
        |x, _| x >> 3,
    ];
    for (op, lane) in ops.into_iter().enumerate() {
        let expected: Vec<u16> = (0..ROUND)
            .map(|i| if i < COUNT { lane(x[i], y[i]) } else { 7 })
            .collect();
        assert_eq!(
            run(module, "int_ops", &x, &y, op as i32),
            expected,
            "op {op}"
        );
    }
}

fn tree(values: &[f32]) -> f32 {
    match values {
        [one] => *one,
        _ => {
            let (left, right) = values.split_at(values.len() / 2);
            tree(left) + tree(right)
        }
    }
}

fn reductions(module: &Module) {
    let x = numbers(ROUND, 8);
    let run = |op| run(module, "reduce_ops", &x, &x, op);
    let repeats = || x.chunks_exact(64);
    let sums: Vec<f32> = repeats().map(tree).collect();
    assert_eq!(run(0)[..16], sums);
    let maxima: Vec<f32> = repeats()
        .map(|r| r[..40].iter().copied().fold(f32::MIN, f32::max))
        .collect();
    assert_eq!(run(1)[..16], maxima);
    let least = |r: &[f32]| (0..64).fold(0, |best, i| if r[i] < r[best] { i } else { best });
    for (pair, r) in run(2).chunks_exact(2).zip(repeats()) {
        assert_eq!(
            (pair[0], pair[1].to_bits() as usize),
            (r[least(r)], least(r))
        );
    }
    let blocks: Vec<f32> = x
        .chunks_exact(8)
        .map(|b| b.iter().copied().fold(f32::MIN, f32::max))
        .collect();
    assert_eq!(run(3)[..128], blocks);
    let pairs: Vec<f32> = x.chunks_exact(2).map(|p| p[0] + p[1]).collect();
    assert_eq!(run(4)[..512], pairs);
    let mut padded = x[..COUNT].to_vec();
    padded.resize(ROUND, 0.0);
    let total = padded
        .chunks_exact(64)
        .map(tree)
        .reduce(|a, b| a + b)
        .expect("repeats");
    assert_eq!(run(5)[0], total);
    let best = (0..COUNT).fold(0, |best, i| if x[i] > x[best] { i } else { best });
    let found = run(6);
    assert_eq!((found[0], found[1].to_bits() as usize), (x[best], best));
    let most = |r: &[f32]| (0..64).fold(0, |best, i| if r[i] > r[best] { i } else { best });
    let indices: Vec<u32> = repeats().map(|r| most(r) as u32).collect();
    assert_eq!(
        run(7)[..16].iter().map(|v| v.to_bits()).collect::<Vec<_>>(),
        indices
    );
    let mut masked = x.clone();
    masked.chunks_exact_mut(64).for_each(|r| r[60..].fill(0.0));
    let blocks: Vec<f32> = masked.chunks_exact(8).map(tree).collect();
    assert_eq!(run(8)[..128], blocks);
}

/// What the guides say about masks, strides and reductions, one rule a case.
fn rules(module: &Module) {
    let x = numbers(ROUND, 15);
    // Whole numbers from a few, so that extremes repeat.
    let y: Vec<f32> = numbers(ROUND, 16)
        .iter()
        .map(|y| (y * 3.0).round())
        .collect();
    let run = |op| run(module, "rules", &x, &y, op);
    let expect = |op: i32, value: &dyn Fn(usize) -> Option<f32>| {
        let found = run(op);
        for (i, found) in found.into_iter().enumerate() {
            assert_eq!(found, value(i).unwrap_or(UNTOUCHED), "rule {op} at {i}");
        }
    };
    expect(0, &|i| (i < 192 && i % 64 < 16).then(|| x[i]));
    expect(1, &|i| (i < 128).then(|| x[i / 8]));
    let most = |part: &[f32]| part.iter().copied().fold(f32::MIN, f32::max);
    expect(2, &|i| (i == 0).then(|| most(&x[..8])));
    let active = |i: usize| 0x0000_ffff_ffff_0003u64 >> i & 1 == 1;
    let extreme = |row: usize, keep: &dyn Fn(usize) -> bool, better: fn(f32, f32) -> bool| {
        let row = &y[row * 64..(row + 1) * 64];
        let mut lanes = (0..64).filter(|&i| keep(i));
        let first = lanes.next().expect("an active lane");
        let best = lanes.fold(
            first,
            |best, i| if better(row[i], row[best]) { i } else { best },
        );
        (row[best], f32::from_bits(best as u32))
    };
    let pairs = run(3);
    for row in 0..2 {
        let (value, index) = extreme(row, &active, |a, b| a > b);
        assert_eq!((pairs[4 * row], pairs[4 * row + 1]), (index, value));
        assert_eq!(pairs[4 * row + 2], UNTOUCHED);
    }
    let pairs = run(4);
    for row in 0..2 {
        let (value, index) = extreme(row, &|_| true, |a, b| a < b);
        assert_eq!((pairs[2 * row], pairs[2 * row + 1]), (value, index));
    }
    let halves: Vec<f32> = run(5)
        .iter()
        .flat_map(|v| [v.to_bits() as u16, (v.to_bits() >> 16) as u16])
        .map(|bits| f16::from_bits(bits).to_f32())
        .collect();
    let narrow: Vec<f32> = x.iter().map(|&x| f16::from_f32(x).to_f32()).collect();
    for row in 0..4 {
        assert_eq!(halves[1 + row], most(&narrow[row * 128..(row + 1) * 128]));
    }
    for block in 0..16 {
        assert_eq!(
            halves[24 + block],
            most(&narrow[block * 16..(block + 1) * 16])
        );
    }
    expect(6, &|i| {
        let one_more = match i / 64 {
            0 | 1 => active(i % 64),
            2 => i % 64 < 3,
            row => row == 3,
        };
        one_more.then(|| x[i] + 1.0)
    });
    expect(7, &|i| (i < 128).then(|| x[i % 8] + y[i % 64]));
    expect(8, &|i| {
        (i < 64 && i % 24 < 16).then(|| x[i / 24 * 32 + i % 24])
    });
    let sums: Vec<f32> = x.chunks_exact(64).map(tree).collect();
    expect(9, &|i| (i == 0).then(|| tree(&sums)));
    let bits: Vec<u8> = run(10)
        .iter()
        .flat_map(|v| v.to_bits().to_le_bytes())
        .collect();
    for i in 0..128 {
        assert_eq!(bits[i / 8] >> (i % 8) & 1 == 1, x[i] < y[i], "bit {i}");
    }
    assert_eq!(bits[16..20], UNTOUCHED.to_le_bytes());
    let bits: Vec<u8> = run(11)
        .iter()
        .flat_map(|v| v.to_bits().to_le_bytes())
        .collect();
    for i in 0..64 {
        assert_eq!(bits[i / 8] >> (i % 8) & 1 == 1, x[i] >= y[i], "bit {i}");
    }
    expect(12, &|i| (i < 128).then(|| x[i / 8 * 16 + i % 8]));
    let left = run(13);
    let best = (0..64).fold(0, |best, i| if x[i] > x[best] { i } else { best });
    assert_eq!(
        (left[0], left[8], left[9].to_bits() as usize),
        (x[best], x[best], best)
    );
    expect(14, &|i| match i {
        0..8 | 16..24 => Some(match i % 8 {
            lane @ 2..5 => x[i / 16 * 8 + lane - 2],
            _ => 3.0,
        }),
        64..72 => Some(match i % 8 {
            lane @ 1..6 => x[lane - 1],
            _ => 5.0,
        }),
        _ => None,
    });
    expect(15, &|i| Some(x[i].max(0.25)));
    expect(16, &|i| {
        let (piece, lane) = (i / 16, i % 16);
        (i < 32 && lane < 8).then(|| x[16 * piece + if lane < 5 { lane } else { 0 }])
    });
}

fn selections(module: &Module) {
    let mut x = numbers(ROUND, 9);
    let y = numbers(ROUND, 10);
    x[3] = y[3];
    x[700] = y[700];
    let run = |op| run(module, "select_ops", &x, &y, op);
    let modes: [fn(&f32, &f32) -> bool; 6] = [f32::lt, f32::gt, f32::eq, f32::le, f32::ge, f32::ne];
    for (op, holds) in modes.into_iter().enumerate() {
        let expected: Vec<f32> = x
            .iter()
            .zip(&y)
            .map(|(x, y)| if holds(x, y) { *x } else { -9.0 })
            .collect();
        assert_eq!(run(op as i32), expected, "mode {op}");
    }
    let pick = |i: usize, bit: usize| if x[bit] >= 0.0 { x[i] } else { y[i] };
    assert!(
        run(6)
            .iter()
            .enumerate()
            .all(|(i, v)| *v == if i < COUNT { pick(i, i) } else { UNTOUCHED })
    );
    assert!(
        run(7)
            .iter()
            .enumerate()
            .all(|(i, v)| *v == pick(i, i % 64))
    );
    assert!(
        run(8)
            .iter()
            .enumerate()
            .all(|(i, v)| *v == x[ROUND - 1 - i])
    );
    let odd = run(9);
    assert!((0..512).all(|i| odd[i] == x[2 * i + 1]) && odd[1000] == 512.0);
    let halves = |values: &[f32]| -> Vec<u16> {
        values
            .iter()
            .flat_map(|v| [v.to_bits() as u16, (v.to_bits() >> 16) as u16])
            .collect()
    };
    let (from, to) = (halves(&x), halves(&run(10)));
    assert!((0..256).all(|i| to[i] == from[i % 16 * 16 + i / 16]));
}

fn cast<S: Copy, D: Copy + Default>(module: &Module, x: &[S], pair: i32, mode: i32) -> Vec<D> {
    let (a, out) = (Buffer::from(x), Buffer::new(256 * size_of::<D>()));
    module
        .launch(
            "casts",
            1,
            &[
                Arg::Buffer(&a),
                Arg::Buffer(&out),
                scalar(pair),
                scalar(mode),
            ],
        )
        .ok();
    out.read()
}

fn rounded(value: f32, mode: i32) -> f32 {
    match mode {
        2 => value.floor(),
        3 => value.ceil(),
        4 => value.round(),
        5 => value.trunc(),
        _ => value.round_ties_even(),
    }
}

fn casts(module: &Module) {
    let mut x: Vec<f32> = numbers(256, 11).into_iter().map(|v| v * 300.0).collect();
    x[..6].copy_from_slice(&[0.5, 1.5, 2.5, -0.5, 1e-7, -3e4]);
    let halves = cast::<f32, u16>(module, &x, 0, 1);
    assert!(
        x.iter()
            .zip(&halves)
            .all(|(x, h)| f16::from_f32(*x).to_bits() == *h)
    );
    for (mode, low) in [(2, true), (3, false)] {
        for (x, bits) in x.iter().zip(cast::<f32, u16>(module, &x, 0, mode)) {
            let value = f16::from_bits(bits).to_f32();
            let near = f16::from_f32(*x).to_f32();
            assert!(if low { value <= *x } else { value >= *x }, "{x} {value}");
            assert!(
                near == *x && value == *x || (value - x).abs() < (x.abs() / 512.0).max(1e-6),
                "{x} {value}"
            );
        }
    }
    let brains = cast::<f32, u16>(module, &x, 1, 1);
    assert!(
        x.iter()
            .zip(&brains)
            .all(|(x, b)| bf16::from_f32(*x).to_bits() == *b)
    );
    for mode in 1..=5 {
        let integers = cast::<f32, i32>(module, &x, 2, mode);
        assert!(
            x.iter()
                .zip(&integers)
                .all(|(x, i)| rounded(*x, mode) == *i as f32),
            "mode {mode}"
        );
        let whole = cast::<f32, f32>(module, &x, 8, mode);
        assert!(
            x.iter().zip(&whole).all(|(x, v)| rounded(*x, mode) == *v),
            "mode {mode}"
        );
    }
    let h: Vec<f16> = x.iter().map(|x| f16::from_f32(*x)).collect();
    assert!(
        h.iter()
            .zip(cast::<f16, f32>(module, &h, 3, 0))
            .all(|(h, f)| h.to_f32() == f)
    );
    let b: Vec<bf16> = x.iter().map(|x| bf16::from_f32(*x)).collect();
    assert!(
        b.iter()
            .zip(cast::<bf16, f32>(module, &b, 4, 0))
            .all(|(b, f)| b.to_f32() == f)
    );
    let i: Vec<i32> = (0..256).map(|i| i * 66_051 - 7_000_000).collect();
    assert!(
        i.iter()
            .zip(cast::<i32, f32>(module, &i, 5, 1))
            .all(|(i, f)| *i as f32 == f)
    );
    assert!(
        i.iter()
            .zip(cast::<i32, i64>(module, &i, 10, 0))
            .all(|(i, w)| i64::from(*i) == w)
    );
    let u: Vec<u8> = (0..=255).collect();
    assert!(
        u.iter()
            .zip(cast::<u8, f16>(module, &u, 6, 0))
            .all(|(u, h)| f32::from(*u) == h.to_f32())
    );
    let clamp = |h: &f16, low: f32, high: f32| h.to_f32().round_ties_even().clamp(low, high);
    assert!(
        h.iter()
            .zip(cast::<f16, i8>(module, &h, 7, 1))
            .all(|(h, i)| clamp(h, -128.0, 127.0) == f32::from(i))
    );
    assert!(
        h.iter()
            .zip(cast::<f16, i16>(module, &h, 9, 1))
            .all(|(h, i)| clamp(h, -32768.0, 32767.0) == f32::from(i))
    );
}

fn in_place(module: &Module) {
    let x = numbers(1024, 12);
    let (a, out) = (Buffer::from(&x), Buffer::new(2048));
    module
        .launch("cast_in_place", 1, &[Arg::Buffer(&a), Arg::Buffer(&out)])
        .ok();
    let expected: Vec<u16> = x.iter().map(|x| f16::from_f32(*x).to_bits()).collect();
    assert_eq!(out.read::<u16>(), expected);
}

fn overflow(module: &Module) {
    let mut x = vec![1e6f32; 256];
    x[1] = f32::NEG_INFINITY;
    x[2] = f32::NAN;
    for (mode, expected) in [
        (0, [65504.0, -65504.0, 0.0]),
        (1, [f32::INFINITY, f32::NEG_INFINITY, f32::NAN]),
    ] {
        let (a, out) = (Buffer::from(&x), Buffer::new(512));
        module
            .launch(
                "overflow",
                1,
                &[Arg::Buffer(&a), Arg::Buffer(&out), scalar(mode)],
            )
            .ok();
        for (bits, want) in out.read::<u16>().into_iter().zip(expected) {
            let value = f16::from_bits(bits).to_f32();
            assert!(
                value == want || value.is_nan() && want.is_nan(),
                "{value} for {want}"
            );
        }
    }
}

fn pad_tails(module: &Module) {
    let (rows, cols) = (5usize, 13usize);
    let x: Vec<f16> = numbers(rows * cols, 13)
        .into_iter()
        .map(f16::from_f32)
        .collect();
    let (a, out) = (
        Buffer::from(&x),
        Buffer::from(&vec![0u16; rows * (cols + 1)]),
    );
    let args = [
        Arg::Buffer(&a),
        Arg::Buffer(&out),
        scalar(rows as i32),
        scalar(cols as i32),
    ];
    let outcome = module.launch("pad_tails", 1, &args);
    // Adds runs over lanes that no piece defined; only defined ones are stored.
    outcome.ok();
    let result = out.read::<u16>();
    for row in 0..rows {
        for col in 0..cols {
            let source = if col == 0 {
                3.0
            } else {
                x[row * cols + col - 1].to_f32()
            };
            let want = f16::from_f32(source + 1.0);
            assert_eq!(
                f16::from_bits(result[row * (cols + 1) + col]),
                want,
                "{row} {col}"
            );
        }
        assert_eq!(result[row * (cols + 1) + cols], 0);
    }
}

fn atomics(module: &Module) {
    let x: Vec<f32> = (0..256).map(|i| (i % 64) as f32).collect();
    let (a, out) = (Buffer::from(&x), Buffer::from(&[1f32; 64]));
    module
        .launch("atomic_sum", 4, &[Arg::Buffer(&a), Arg::Buffer(&out)])
        .ok();
    let expected: Vec<f32> = (0..64).map(|i| 2.0 * (1.0 + 4.0 * i as f32)).collect();
    assert_eq!(out.read::<f32>(), expected);
}

/// A lower bound that any machine keeps; the point is to notice a slow emulator.
fn speed(module: &Module) {
    let loops = 100;
    let start = std::time::Instant::now();
    module.launch("busy", 1, &[scalar(loops)]).ok();
    let rate = f64::from(loops) * 4.0 * 8192.0 / start.elapsed().as_secs_f64() / 1e6;
    assert!(rate > 5.0, "{rate} million lanes a second");
}
