//! Library calls and rarer instructions against plain loops; every kernel runs with the checks of order on.

mod common;

use common::{Arg, Buffer, Module, numbers, scalar};
use half::f16;

#[test]
fn what_kernels_of_the_field_use() {
    let module = Module::compile("api.cpp");
    sorts(&module);
    merges(&module);
    softmax(&module);
    pools(&module);
    fused(&module);
    shuffles(&module);
    filters(&module);
    in_order(&module);
    convolution(&module);
    bytes(&module);
    ways_out(&module);
}

fn order_of(scores: &[f32]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..scores.len() as u32).collect();
    order.sort_by(|&a, &b| scores[b as usize].total_cmp(&scores[a as usize]));
    order
}

fn sorts(module: &Module) {
    for (count, half) in [(32, false), (544, false), (1024, true), (160, true)] {
        // Few different scores, so that ties have to keep their order.
        let scores: Vec<f32> = numbers(count, 21)
            .iter()
            .map(|x| (x * 40.0).round())
            .collect();
        let input = if half {
            let halves: Vec<u16> = scores.iter().map(|&x| f16::from_f32(x).to_bits()).collect();
            Buffer::from(&halves)
        } else {
            Buffer::from(&scores)
        };
        let width = if half { 2 } else { 4 };
        let (values, indices) = (Buffer::new(count * width), Buffer::new(count * 4));
        let args = [
            Arg::Buffer(&input),
            Arg::Buffer(&values),
            Arg::Buffer(&indices),
            scalar(count as i32),
            scalar(i32::from(half)),
        ];
        module.launch("sort_all", 1, &args).ok();
        let order = order_of(&scores);
        assert_eq!(indices.read::<u32>(), order, "{count} {half}");
        let sorted: Vec<f32> = order.iter().map(|&at| scores[at as usize]).collect();
        let found: Vec<f32> = if half {
            let bits = values.read::<u16>();
            bits.into_iter()
                .map(|bits| f16::from_bits(bits).to_f32())
                .collect()
        } else {
            values.read()
        };
        assert_eq!(found, sorted, "{count} {half}");
    }
}

fn merges(module: &Module) {
    let x = numbers(64, 22);
    let (input, out, counts) = (Buffer::from(&x), Buffer::new(512), Buffer::new(32));
    let args = [Arg::Buffer(&input), Arg::Buffer(&out), Arg::Buffer(&counts)];
    module.launch("merge_some", 1, &args).ok();
    let run =
        |part: &[f32]| -> Vec<f32> { order_of(part).iter().map(|&at| part[at as usize]).collect() };
    let (first, second) = (run(&x[..32]), run(&x[32..]));
    // The list that ends higher runs out first.
    let limit = first[31].max(second[31]);
    let mut all: Vec<f32> = first.iter().chain(&second).copied().collect();
    all.retain(|&value| value >= limit);
    let all = run(&all);
    let taken: Vec<i32> = [first, second]
        .iter()
        .map(|list| list.iter().filter(|&&value| value >= limit).count() as i32)
        .chain([0; 6])
        .collect();
    assert_eq!(counts.read::<i32>(), taken);
    let records = out.read::<f32>();
    assert!(
        all.iter()
            .enumerate()
            .all(|(at, value)| records[2 * at] == *value)
    );
    assert!(records[2 * all.len()..].iter().all(|&value| value == 0.0));
}

#[derive(Clone, Copy)]
struct Rows {
    rows: usize,
    pitch: usize,
    columns: usize,
}

/// Types of data and statistics, and whether data is in column groups.
#[derive(Clone, Copy)]
struct Types {
    code: i32,
    half: bool,
    half_statistics: bool,
    nz: bool,
}

const TYPES: [Types; 5] = {
    const fn types(code: i32, half: bool, half_statistics: bool, nz: bool) -> Types {
        Types {
            code,
            half,
            half_statistics,
            nz,
        }
    }
    [
        types(0, false, false, false),
        types(1, true, false, false),
        types(2, true, true, false),
        types(3, false, false, true),
        types(4, true, true, true),
    ]
};

struct Softmax {
    out: Vec<f32>,
    max: Vec<f32>,
    sum: Vec<f32>,
}

/// Rows as column groups of 16: where element `at` of the rows goes.
fn grouped(shape: Rows, at: usize) -> usize {
    let (row, column) = (at / shape.pitch, at % shape.pitch);
    (column / 16 * shape.rows + row) * 16 + column % 16
}

fn upload(data: &[f32], half: bool) -> Buffer {
    let halves: Vec<u16> = data.iter().map(|&x| f16::from_f32(x).to_bits()).collect();
    if half {
        Buffer::from(&halves)
    } else {
        Buffer::from(data)
    }
}

fn download(buffer: &Buffer, half: bool) -> Vec<f32> {
    if half {
        let bits = buffer.read::<u16>().into_iter();
        bits.map(|bits| f16::from_bits(bits).to_f32()).collect()
    } else {
        buffer.read()
    }
}

fn run_softmax(
    module: &Module,
    x: &[f32],
    y: &[f32],
    shape: Rows,
    op: u32,
    types: Types,
) -> Softmax {
    let count = shape.rows * shape.pitch;
    let place = |at: usize| if types.nz { grouped(shape, at) } else { at };
    let laid_out = |data: &[f32]| {
        let mut moved = vec![0.0; count];
        for (at, &value) in data.iter().enumerate() {
            moved[place(at)] = value;
        }
        upload(&moved, types.half)
    };
    let (a, b) = (laid_out(x), laid_out(y));
    let out = Buffer::new(count * if types.half { 2 } else { 4 });
    let stats = Buffer::new(shape.rows * 64);
    let sizes = [
        shape.rows as u32,
        shape.pitch as u32,
        shape.columns as u32,
        op,
    ];
    let args = [
        Arg::Buffer(&a),
        Arg::Buffer(&b),
        Arg::Buffer(&out),
        Arg::Buffer(&stats),
        scalar(sizes),
        scalar(types.code),
    ];
    module.launch("softmax_calls", 1, &args).ok();
    let stats = download(&stats, types.half_statistics);
    let block = if types.half_statistics { 16 } else { 8 };
    assert!(
        stats
            .chunks_exact(block)
            .all(|block| block.iter().all(|value| *value == block[0]))
    );
    let first = |part: &[f32]| part.iter().step_by(block).copied().collect();
    let (max, sum) = stats.split_at(shape.rows * block);
    let moved = download(&out, types.half);
    Softmax {
        out: (0..count).map(|at| moved[place(at)]).collect(),
        max: first(max),
        sum: first(sum),
    }
}

fn near(found: f32, expected: f32, tolerance: f32) {
    assert!(
        (found - expected).abs() <= tolerance * expected.abs().max(1e-3),
        "{found} is not {expected}"
    );
}

fn softmax(module: &Module) {
    let shapes = [(9, 80, 72), (8, 64, 64), (3, 160, 149)];
    for (rows, pitch, columns) in shapes {
        let shape = Rows {
            rows,
            pitch,
            columns,
        };
        for types in TYPES {
            softmax_of(module, shape, types);
        }
    }
}

fn softmax_of(module: &Module, shape: Rows, types: Types) {
    let Rows {
        rows,
        pitch,
        columns,
    } = shape;
    let exact = |x: f32| {
        if types.half {
            f16::from_f32(x).to_f32()
        } else {
            x
        }
    };
    let scaled = |seed: u32, factor: f32| -> Vec<f32> {
        let values = numbers(rows * pitch, seed).into_iter();
        values.map(|value| exact(value * factor)).collect()
    };
    let (x, y) = (scaled(31, 6.0), scaled(32, 9.0));
    let tolerance = if types.half { 2e-3 } else { 2e-6 };
    let of_sums = if types.half_statistics { 2e-3 } else { 1e-5 };
    let whole = run_softmax(module, &x, &y, shape, 0, types);
    let again = run_softmax(module, &x, &y, shape, 2, types);
    let flash = run_softmax(module, &x, &y, shape, 1, types);
    for row in 0..rows {
        let line = |data: &[f32]| data[row * pitch..row * pitch + columns].to_vec();
        let (a, b) = (line(&x), line(&y));
        let max = a.iter().copied().fold(f32::MIN, f32::max);
        let sum: f32 = a.iter().map(|a| (a - max).exp()).sum();
        assert_eq!(whole.max[row], max);
        near(whole.sum[row], sum, of_sums);
        let next = b.iter().copied().fold(max, f32::max);
        for column in 0..pitch {
            let at = row * pitch + column;
            let inside = |value: f32| if column < columns { value } else { 0.0 };
            let expected = inside((x[at] - max).exp() / sum);
            near(whole.out[at], expected, tolerance);
            near(again.out[at], expected, tolerance.max(of_sums));
            near(flash.out[at], inside((y[at] - next).exp()), tolerance);
        }
        assert_eq!(flash.max[row], next);
        let sum = sum * (max - next).exp() + b.iter().map(|b| (b - next).exp()).sum::<f32>();
        near(flash.sum[row], sum, of_sums);
    }
    if types.half != types.half_statistics {
        return;
    }
    let front = run_softmax(module, &x, &y, shape, 3, types);
    for row in 0..rows {
        let at = row * pitch..row * pitch + columns;
        let terms = x[at.clone()].iter().zip(&y[at]).map(|(x, y)| x * y);
        let size: f32 = terms.clone().map(f32::abs).sum();
        let error = (front.sum[row] - terms.sum::<f32>()).abs();
        assert!(error < of_sums * size, "{error} of {size}");
    }
    assert!(front.out.iter().all(|&value| value == 3.0));
}

fn pools(module: &Module) {
    let (x, y) = (numbers(256, 41), numbers(256, 42));
    let (a, b, out) = (Buffer::from(&x), Buffer::from(&y), Buffer::new(2048));
    let args = [Arg::Buffer(&a), Arg::Buffer(&b), Arg::Buffer(&out)];
    module.launch("pools", 1, &args).ok();
    let found = out.read::<f32>();
    for i in 0..256 {
        assert_eq!(found[i], (x[i] + y[i]) * y[i]);
        assert_eq!(found[256 + i], if x[i] < y[i] { x[i] } else { x[i] / y[i] });
    }
}

fn fused(module: &Module) {
    let (mut x, mut y) = (numbers(128, 51), numbers(128, 52));
    x.iter_mut().for_each(|x| *x *= 20.0);
    y.iter_mut().for_each(|y| *y *= 20.0);
    let (a, b, out) = (Buffer::from(&x), Buffer::from(&y), Buffer::new(1024));
    let args = [Arg::Buffer(&a), Arg::Buffer(&b), Arg::Buffer(&out)];
    module.launch("fused", 1, &args).ok();
    let found = out.read::<u8>();
    let half = |x: f32| f16::from_f32(x).to_f32();
    let half_at = |at: usize| f16::from_le_bytes([found[at], found[at + 1]]).to_f32();
    for i in 0..128 {
        let product = half(half(x[i]) * half(y[i])).round_ties_even();
        assert_eq!(found[i] as i8, product.clamp(-128.0, 127.0) as i8);
        assert_eq!(found[128 + i], product.clamp(0.0, 255.0) as u8);
        let sum = x[i].round_ties_even() + y[i].round_ties_even();
        let difference = half(half(x[i]) - half(y[i])).max(0.0).round_ties_even();
        assert_eq!(found[384 + i] as i8, difference.min(127.0) as i8);
        assert_eq!(half_at(512 + 2 * i), half((x[i] + y[i]).max(0.0)));
        assert_eq!(half_at(768 + 2 * i), half((sum * 0.5).max(0.0)));
        assert_eq!(found[256 + i] as i8, sum.clamp(0.0, 127.0) as i8);
    }
}

fn shuffles(module: &Module) {
    let x: Vec<u8> = (0..512)
        .flat_map(|i| (i as f32 * 0.25 - 40.0).to_le_bytes())
        .collect();
    let before = [1.0f32; 16];
    let mut start = vec![0u8; 4096];
    for (place, value) in start[3072..3136].chunks_exact_mut(4).zip(before) {
        place.copy_from_slice(&value.to_le_bytes());
    }
    let (input, out) = (Buffer::from(&x), Buffer::from(&start));
    module
        .launch("shuffles", 1, &[Arg::Buffer(&input), Arg::Buffer(&out)])
        .ok();
    let found = out.read::<u8>();
    for row in 0..16 {
        for column in 0..16 {
            assert_eq!(found[column * 32 + 16 + row], x[row * 32 + 16 + column]);
            assert_eq!(found[column * 32 + row], 0);
        }
    }
    let word = |bytes: &[u8], at: usize| {
        f32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
    };
    for row in 0..16 {
        for column in 0..8 {
            // Column j of 16 rows fills the two blocks 2j and 2j + 1.
            let to = 512 + (2 * column + row / 8) * 32 + row % 8 * 4;
            assert_eq!(word(&found, to), word(&x, row * 32 + column * 4));
        }
    }
    for row in 0..16 {
        for column in 0..32 {
            let from = (column / 16 * 256 + row * 16 + column % 16) * 2;
            let to = 2048 + (row * 32 + column) * 2;
            assert_eq!(found[to..to + 2], x[from..from + 2]);
        }
    }
    for i in 0..16 {
        assert_eq!(word(&found, 3072 + 4 * i), 1.0 + word(&x, 4 * i));
    }
}

fn filters(module: &Module) {
    const ROWS: usize = 3;
    const COLUMNS: usize = 160;
    const PITCH: usize = 192;
    let x = numbers(ROWS * COLUMNS, 61);
    let mask: Vec<u8> = numbers(ROWS * PITCH, 62)
        .iter()
        .map(|x| u8::from(*x > 0.2))
        .collect();
    let packed: Vec<u8> = (0..ROWS * PITCH).map(|i| (i * 37 + i / 5) as u8).collect();
    let bit = |at: usize| packed[at / 8] >> (at % 8) & 1 == 1;
    for op in 0..5 {
        let bytes = matches!(op, 0 | 1 | 4);
        let (a, m) = (
            Buffer::from(&x),
            Buffer::from(if bytes { &mask } else { &packed }),
        );
        let out = Buffer::new(ROWS * COLUMNS * 4);
        let args = [
            Arg::Buffer(&a),
            Arg::Buffer(&m),
            Arg::Buffer(&out),
            scalar(op),
        ];
        module.launch("filters", 1, &args).ok();
        for (at, value) in out.read::<f32>().into_iter().enumerate() {
            let (row, column) = (at / COLUMNS, at % COLUMNS);
            let set = mask[row * PITCH + column] != 0;
            let expected = match op {
                0 => {
                    if set {
                        -5.0
                    } else {
                        x[at]
                    }
                }
                1 => {
                    if set {
                        x[at]
                    } else {
                        -5.0
                    }
                }
                2 => {
                    if bit(at) {
                        x[at] * 2.0
                    } else {
                        0.0
                    }
                }
                3 => {
                    if bit(row * PITCH + column) {
                        x[at] * 2.0
                    } else {
                        0.0
                    }
                }
                _ => {
                    if set {
                        x[at] * 2.0
                    } else {
                        0.0
                    }
                }
            };
            assert_eq!(value, expected, "op {op} at {at}");
        }
    }
}

fn in_order(module: &Module) {
    const BLOCKS: usize = 5;
    let x: Vec<f32> = numbers(BLOCKS * 64, 71).iter().map(|x| x * 1e6).collect();
    let (words, turns) = (
        Buffer::from(&[0i32; BLOCKS * 16]),
        Buffer::from(&[0i32; BLOCKS * 8]),
    );
    let (input, sum) = (Buffer::from(&x), Buffer::from(&[0f32; 128]));
    let args = [
        Arg::Buffer(&words),
        Arg::Buffer(&turns),
        Arg::Buffer(&input),
        Arg::Buffer(&sum),
    ];
    module.launch("in_order", BLOCKS as u32, &args).ok();
    let found = sum.read::<f32>();
    for lane in 0..64 {
        assert_eq!(found[lane], BLOCKS as f32);
        let expected = (0..BLOCKS).fold(0f32, |sum, block| sum + x[block * 64 + lane]);
        assert_eq!(found[64 + lane], expected);
    }
    let dirty = Buffer::from(&[1i32; BLOCKS * 16]);
    let args = [
        Arg::Buffer(&dirty),
        Arg::Buffer(&turns),
        Arg::Buffer(&input),
        Arg::Buffer(&sum),
    ];
    let outcome = module.launch("in_order", BLOCKS as u32, &args);
    let finding = outcome.finds("uninitialised", "api.cpp", "IBSet(wordGm, ub, block, 0);");
    assert!(finding.message.contains("not 0"), "{finding}");
}

fn convolution(module: &Module) {
    let (height, width, channels, columns) = (5usize, 9usize, 16usize, 32usize);
    let (filter, stride, padding) = ([2usize, 3usize], [1usize, 2usize], [[1usize, 1], [1, 0]]);
    let out_rows = (height + padding[0][0] + padding[0][1] - filter[0]) / stride[0] + 1;
    let out_cols = (width + padding[1][0] + padding[1][1] - filter[1]) / stride[1] + 1;
    let (outputs, depth) = (out_rows * out_cols, channels * filter[0] * filter[1]);
    let half = |seed, count| -> Vec<f16> {
        numbers(count, seed)
            .into_iter()
            .map(f16::from_f32)
            .collect()
    };
    let image = half(81, height * width * channels);
    let weights = half(82, columns * depth);
    let (a, b) = (Buffer::from(&image), Buffer::from(&weights));
    let out = Buffer::new(outputs * columns * 4);
    let sizes = [height, width, outputs, depth, columns].map(|value| value as u16);
    let args = [
        Arg::Buffer(&a),
        Arg::Buffer(&b),
        Arg::Buffer(&out),
        scalar(sizes),
    ];
    module.launch("convolution", 1, &args).ok();
    let found = out.read::<f32>();
    for output in 0..outputs {
        let place = [output / out_cols, output % out_cols];
        for column in 0..columns {
            let mut sum = 0f32;
            for k in 0..depth {
                let (tap, channel) = (k / channels, k % channels);
                let row = place[0] * stride[0] + tap / filter[1];
                let col = place[1] * stride[1] + tap % filter[1];
                let inside = row >= 1 && row <= height && col >= 1 && col <= width;
                let pixel = if inside {
                    image[((row - 1) * width + col - 1) * channels + channel].to_f32()
                } else {
                    0.5
                };
                sum += pixel * weights[column * depth + k].to_f32();
            }
            assert_eq!(found[output * columns + column], sum, "{output} {column}");
        }
    }
}

fn bytes(module: &Module) {
    let x: Vec<i8> = (0..1024).map(|i| (i * 31 % 251) as u8 as i8).collect();
    let y: Vec<i8> = (0..1024).map(|i| (i * 17 % 241) as u8 as i8).collect();
    let (a, b, c) = (Buffer::from(&x), Buffer::from(&y), Buffer::new(4096));
    let args = [Arg::Buffer(&a), Arg::Buffer(&b), Arg::Buffer(&c)];
    module.launch("bytes_transposed", 1, &args).ok();
    for (at, found) in c.read::<i32>().into_iter().enumerate() {
        let (row, column) = (at / 32, at % 32);
        let product = |k: usize| i32::from(x[row * 32 + k]) * i32::from(y[k * 32 + column]);
        assert_eq!(found, (0..32).map(product).sum::<i32>(), "{row} {column}");
    }
}

/// Every conversion between the accumulator and global memory.
fn ways_out(module: &Module) {
    let x: Vec<i8> = (0..1024).map(|i| (i * 31 % 23) as i8 - 11).collect();
    let y: Vec<i8> = (0..1024).map(|i| (i * 17 % 19) as i8 - 9).collect();
    let half = |seed| -> Vec<f16> {
        let values = numbers(512, seed).into_iter();
        values.map(|x| f16::from_f32(x * 4.0)).collect()
    };
    let (u, v) = (half(91), half(92));
    // A scale, and an offset of 9 bits from bit 37 on.
    let encoded =
        |scale: f32, offset: i64| u64::from(scale.to_bits()) | (offset as u64 & 0x1ff) << 37;
    let one = encoded(0.125, -3);
    let many: Vec<u64> = (0..32)
        .map(|i| encoded(0.03125 * (i + 1) as f32, i))
        .collect();
    let scales = Buffer::from(&many);
    for way in 0..8 {
        let whole = way < 4;
        let (a, b) = if whole {
            (Buffer::from(&x), Buffer::from(&y))
        } else {
            (Buffer::from(&u), Buffer::from(&v))
        };
        let side = if whole { 32 } else { 16 };
        let width = [2, 2, 1, 1, 1, 1, 4, 4][way];
        let out = Buffer::new(side * side * width);
        let args = [
            Arg::Buffer(&a),
            Arg::Buffer(&b),
            Arg::Buffer(&scales),
            Arg::Buffer(&out),
            scalar(way as i32),
            scalar(one),
        ];
        module.launch("ways_out", 1, &args).ok();
        let found = out.read::<u8>();
        for at in 0..side * side {
            let (row, column) = (at / side, at % side);
            let sum = if whole {
                let product = |k: usize| i32::from(x[row * 32 + k]) * i32::from(y[column * 32 + k]);
                (0..32).map(product).sum::<i32>() as f32
            } else {
                let start = if way == 7 {
                    let word = many[column / 2];
                    f32::from_bits((word >> (32 * (column % 2))) as u32)
                } else {
                    0.0
                };
                (0..16).fold(start, |sum, k| {
                    sum + u[row * 16 + k].to_f32() * v[column * 16 + k].to_f32()
                })
            };
            let by = if way % 2 == 1 { many[column] } else { one };
            let scaled = sum * f32::from_bits(by as u32);
            let offset = if way % 2 == 1 { column as f32 } else { -3.0 };
            let bytes = match way {
                0 | 1 => f16::from_f32(scaled).to_le_bytes().to_vec(),
                2 | 4 => vec![(scaled.round_ties_even() + offset).clamp(-128.0, 127.0) as i8 as u8],
                3 | 5 => vec![(scaled.round_ties_even() + offset).clamp(0.0, 255.0) as u8],
                _ => sum.to_le_bytes().to_vec(),
            };
            // Groups of 8 columns one behind the other where channels are split.
            let place = if way == 6 {
                column / 8 * 128 + row * 8 + column % 8
            } else {
                at
            };
            assert_eq!(
                found[place * width..(place + 1) * width],
                bytes,
                "way {way} at {at}"
            );
        }
    }
}
