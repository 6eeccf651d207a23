//! The matrix unit: fractal loads and multiplication.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use crate::dtype::Dtype;
use crate::exec::lanes::any;
use crate::exec::{Machine, read_place};
use crate::local::{Locals, Mem};
use crate::plan::cube::{Initial, MmadPlan};
use crate::plan::load::{FillPlan, Load3DLayout, Load3DPlan, LoadPlan, TransposeShape};

/// Whole fractals, transposed or not.
pub(crate) fn load(machine: &mut Machine, plan: &LoadPlan) {
    let mut data = Vec::new();
    let mut shadow = Vec::new();
    for repeat in 0..plan.repeats {
        let len = match plan.transpose {
            Some(shape) => shape.side * shape.side * shape.width,
            None => plan.fractal,
        };
        let from = plan.src_start + repeat * plan.src_step;
        let (bytes, states) = read_place(&machine.locals, &plan.src, from, len);
        data.clear();
        data.extend_from_slice(bytes);
        shadow.clear();
        shadow.extend_from_slice(states);
        let at = plan.dst.1 + repeat * plan.dst_step;
        let memory = machine.locals.get_mut(plan.dst.0);
        match plan.transpose {
            None => {
                memory.bytes[at..at + len].copy_from_slice(&data);
                memory.shadow[at..at + len].copy_from_slice(&shadow);
            }
            Some(shape) => {
                transpose(&data, &mut memory.bytes, at, plan.fractal, shape);
                transpose(&shadow, &mut memory.shadow, at, plan.fractal, shape);
            }
        }
    }
}

/// Element (row, column) of a square of fractals goes to (column, row).
fn transpose(from: &[u8], to: &mut [u8], at: usize, fractal: usize, shape: TransposeShape) {
    let TransposeShape {
        width,
        side,
        dst_fractal_step,
    } = shape;
    if width == 1 {
        // Rows of a fractal are as long as the square: its two fractals lie one below the other.
        for (row, line) in from[..side * side].chunks_exact(side).enumerate() {
            for (column, &byte) in line.iter().enumerate() {
                let rows = fractal / side;
                let fractal_start = at + column / rows * dst_fractal_step;
                to[fractal_start + column % rows * side + row] = byte;
            }
        }
        return;
    }
    let per_row = fractal / side / width;
    for row in 0..side {
        for column in 0..side {
            let source = (column / per_row * side + row) * per_row + column % per_row;
            let target_fractal = row / per_row;
            let target = (column * per_row + row % per_row) * width;
            let to_start = at + target_fractal * dst_fractal_step + target;
            to[to_start..to_start + width]
                .copy_from_slice(&from[source * width..(source + 1) * width]);
        }
    }
}

/// Image-to-column load of an image held as channel groups of pixels in L1.
pub(crate) fn load3d(machine: &mut Machine, plan: &Load3DPlan) {
    let Load3DPlan {
        width, c0, rows, ..
    } = *plan;
    let (k_blocks, m_blocks) = (plan.k_extent.div_ceil(c0), plan.m_extent.div_ceil(rows));
    let (k_rows, m_groups) = (
        (k_blocks * c0).div_ceil(rows),
        (m_blocks * rows).div_ceil(c0),
    );
    let outputs: usize = plan.window.output().iter().product();
    let taps = plan.window.filter[0] * plan.window.filter[1];
    let source = machine.locals.get(Mem::L1);
    let mut copies = Vec::with_capacity(plan.k_extent * plan.m_extent);
    for m in 0..m_blocks * rows {
        for k in 0..k_blocks * c0 {
            let (row, column) = (plan.m_start + m, plan.k_start + k);
            if row >= outputs {
                continue;
            }
            let (group, tap) = (column / c0 / taps, column / c0 % taps);
            let (mut bytes, mut states) = ([0u8; 8], [0u8; 8]);
            match plan.window.pixel(row, tap) {
                Some(pixel) => {
                    let from =
                        plan.src + ((group * plan.rows_in_l1 + pixel) * c0 + column % c0) * width;
                    bytes[..width].copy_from_slice(&source.bytes[from..from + width]);
                    states[..width].copy_from_slice(&source.shadow[from..from + width]);
                }
                None => bytes = plan.window.value.to_le_bytes(),
            }
            let within = (k % rows) * c0 + m % c0;
            let to = match plan.layout {
                Load3DLayout::Left => {
                    (m / rows * k_blocks + k / c0) * rows * c0 + (m % rows) * c0 + k % c0
                }
                // The whole matrix is transposed: its rows run along K of the product.
                Load3DLayout::LeftTransposed => (k / rows * m_groups + m / c0) * rows * c0 + within,
                Load3DLayout::Right => (m / c0 * k_rows + k / rows) * rows * c0 + within,
            } * width;
            copies.push((plan.dst.1 + to, bytes, states));
        }
    }
    let memory = machine.locals.get_mut(plan.dst.0);
    for (to, bytes, states) in copies {
        memory.bytes[to..to + width].copy_from_slice(&bytes[..width]);
        memory.shadow[to..to + width].copy_from_slice(&states[..width]);
    }
}

/// A constant in every element of the pieces.
pub(crate) fn fill(machine: &mut Machine, plan: &FillPlan) {
    let memory = machine.locals.get_mut(plan.dst.0);
    for piece in 0..plan.pieces {
        let at = plan.dst.1 + piece * plan.step;
        for element in memory.bytes[at..at + plan.len].chunks_exact_mut(plan.width) {
            element.copy_from_slice(&plan.value.to_le_bytes()[..plan.width]);
        }
        memory.shadow[at..at + plan.len].fill(0);
    }
}

/// A dense matrix, row-major, with a garbage mark per row or column.
struct Dense {
    values: Vec<f32>,
    garbage: Vec<bool>,
}

/// Multiplies: products are exact for 16-bit operands, sums run over k in float.
pub(crate) fn mmad(machine: &mut Machine, plan: &MmadPlan) {
    if plan.operand == Dtype::I8 {
        return mmad_i8(machine, plan);
    }
    let mut a = left(&machine.locals, plan);
    let mut b = right(&machine.locals, plan);
    if let Some(to_zero) = plan.hf32 {
        for value in a.values.iter_mut().chain(&mut b.values) {
            *value = shortened(*value, to_zero);
        }
    }
    let (mut c, mut undefined) = accumulator(&machine.locals, plan);
    multiply(&a.values, &b.values, &mut c, plan.m, plan.n, plan.k);
    mark_products(&a.garbage, &b.garbage, &mut undefined, plan.n);
    store(&mut machine.locals, plan, &c, &undefined, f32::to_le_bytes);
}

/// Mantissa bits that the short float of the matrix unit does without (HF32 page: it keeps 11).
const HF32_DROPPED_BITS: u32 = 12;

/// To the nearest short float; halfway to even, or to zero.
fn shortened(value: f32, to_zero: bool) -> f32 {
    if !value.is_finite() {
        return value;
    }
    let bits = value.to_bits();
    let odd = if to_zero {
        0
    } else {
        bits >> HF32_DROPPED_BITS & 1
    };
    let rounded = bits + (1 << (HF32_DROPPED_BITS - 1)) - 1 + odd;
    f32::from_bits(rounded >> HF32_DROPPED_BITS << HF32_DROPPED_BITS)
}

/// A lane of the product is garbage when its row of A or its column of B is.
fn mark_products(rows: &[bool], columns: &[bool], undefined: &mut [bool], n: usize) {
    if !rows.contains(&true) && !columns.contains(&true) {
        return;
    }
    for (row, states) in undefined.chunks_exact_mut(n).enumerate() {
        for (state, &column) in states.iter_mut().zip(columns) {
            *state |= rows[row] || column;
        }
    }
}

/// `c += a * b`, four rows at a time, each element summed over k in order.
fn multiply(a: &[f32], b: &[f32], c: &mut [f32], m: usize, n: usize, k: usize) {
    let mut rows = c.chunks_exact_mut(4 * n);
    let mut row = 0;
    for block in &mut rows {
        let (first, rest) = block.split_at_mut(n);
        let (second, rest) = rest.split_at_mut(n);
        let (third, fourth) = rest.split_at_mut(n);
        for (step, b) in b.chunks_exact(n).enumerate() {
            let factors: [f32; 4] = std::array::from_fn(|index| a[(row + index) * k + step]);
            let lanes = first
                .iter_mut()
                .zip(second.iter_mut())
                .zip(third.iter_mut())
                .zip(fourth.iter_mut());
            for ((((first, second), third), fourth), &b) in lanes.zip(b) {
                *first += factors[0] * b;
                *second += factors[1] * b;
                *third += factors[2] * b;
                *fourth += factors[3] * b;
            }
        }
        row += 4;
    }
    for (offset, c) in rows.into_remainder().chunks_exact_mut(n).enumerate() {
        for (step, b) in b.chunks_exact(n).enumerate() {
            let factor = a[(row + offset) * k + step];
            for (c, &b) in c.iter_mut().zip(b) {
                *c += factor * b;
            }
        }
    }
    debug_assert!(row <= m);
}

/// The left operand as a row-major m x k matrix.
fn left(locals: &Locals, plan: &MmadPlan) -> Dense {
    let memory = locals.get(Mem::L0a);
    let width = plan.operand.width();
    let mut values = vec![0f32; plan.m * plan.k];
    let mut garbage = vec![false; plan.m];
    for row in 0..plan.m {
        for start in (0..plan.k).step_by(plan.c0) {
            let len = plan.c0.min(plan.k - start);
            let offset = if plan.gemv {
                start
            } else {
                ((row / plan.rows * plan.a_blocks + start / plan.c0) * plan.rows + row % plan.rows)
                    * plan.c0
            };
            let at = plan.a + offset * width;
            let bytes = len * width;
            let to = &mut values[row * plan.k + start..row * plan.k + start + len];
            decode(plan.operand, &memory.bytes[at..at + bytes], to);
            garbage[row] |= any(&memory.shadow[at..at + bytes]);
        }
    }
    Dense { values, garbage }
}

/// The right operand as a row-major k x n matrix.
fn right(locals: &Locals, plan: &MmadPlan) -> Dense {
    let memory = locals.get(Mem::L0b);
    let width = plan.operand.width();
    let columns = plan.n.div_ceil(plan.rows);
    let mut values = vec![0f32; plan.k * plan.n];
    let mut garbage = vec![false; plan.n];
    let mut lane = [0f32; 64];
    for column in 0..plan.n {
        for start in (0..plan.k).step_by(plan.c0) {
            let len = plan.c0.min(plan.k - start);
            let fractal = start / plan.c0 * columns + column / plan.rows;
            let at = plan.b + (fractal * plan.rows + column % plan.rows) * plan.c0 * width;
            let bytes = len * width;
            decode(
                plan.operand,
                &memory.bytes[at..at + bytes],
                &mut lane[..len],
            );
            for (index, &value) in lane[..len].iter().enumerate() {
                values[(start + index) * plan.n + column] = value;
            }
            garbage[column] |= any(&memory.shadow[at..at + bytes]);
        }
    }
    Dense { values, garbage }
}

fn decode(dtype: Dtype, bytes: &[u8], out: &mut [f32]) {
    match dtype {
        Dtype::F16 => {
            let mut raw = [f16::ZERO; 64];
            for (raw, bytes) in raw.iter_mut().zip(bytes.chunks_exact(2)) {
                *raw = f16::from_le_bytes(bytes.try_into().expect("two bytes"));
            }
            raw[..out.len()].convert_to_f32_slice(out);
        }
        Dtype::Bf16 => {
            for (out, bytes) in out.iter_mut().zip(bytes.chunks_exact(2)) {
                *out = bf16::from_le_bytes(bytes.try_into().expect("two bytes")).to_f32();
            }
        }
        _ => {
            for (out, bytes) in out.iter_mut().zip(bytes.chunks_exact(4)) {
                *out = f32::from_le_bytes(bytes.try_into().expect("four bytes"));
            }
        }
    }
}

/// Byte of element (row, column) of the accumulator, from its start; a 32-bit NZ layout.
fn accumulator_at(plan: &MmadPlan, row: usize, column: usize) -> usize {
    let rows = plan.rows;
    let group = column / rows * plan.m.div_ceil(rows) * rows * rows;
    plan.dst + (group + row * rows + column % rows) * 4
}

/// Starting values of the accumulator, row-major, and which are garbage.
fn accumulator(locals: &Locals, plan: &MmadPlan) -> (Vec<f32>, Vec<bool>) {
    let mut values = vec![0f32; plan.m * plan.n];
    let mut undefined = vec![false; plan.m * plan.n];
    match plan.initial {
        Initial::Zero => {}
        Initial::Accumulate => {
            let memory = locals.get(Mem::L0c);
            for row in 0..plan.m {
                for start in (0..plan.n).step_by(plan.rows) {
                    let len = plan.rows.min(plan.n - start);
                    let at = accumulator_at(plan, row, start);
                    let index = row * plan.n + start;
                    decode(
                        Dtype::F32,
                        &memory.bytes[at..at + 4 * len],
                        &mut values[index..index + len],
                    );
                    if any(&memory.shadow[at..at + 4 * len]) {
                        for lane in 0..len {
                            undefined[index + lane] =
                                any(&memory.shadow[at + 4 * lane..at + 4 * lane + 4]);
                        }
                    }
                }
            }
        }
        Initial::Bias(at) => {
            let memory = locals.get(Mem::Bt);
            let bytes = 4 * plan.n;
            for row in 0..plan.m {
                let index = row * plan.n;
                decode(
                    Dtype::F32,
                    &memory.bytes[at..at + bytes],
                    &mut values[index..index + plan.n],
                );
                for lane in 0..plan.n {
                    undefined[index + lane] = any(&memory.shadow[at + 4 * lane..at + 4 * lane + 4]);
                }
            }
        }
    }
    (values, undefined)
}

fn store<T: Copy>(
    locals: &mut Locals,
    plan: &MmadPlan,
    values: &[T],
    undefined: &[bool],
    bytes_of: impl Fn(T) -> [u8; 4],
) {
    let memory = locals.get_mut(Mem::L0c);
    let clean = !undefined.contains(&true);
    for row in 0..plan.m {
        for start in (0..plan.n).step_by(plan.rows) {
            let len = plan.rows.min(plan.n - start);
            let at = accumulator_at(plan, row, start);
            let index = row * plan.n + start;
            let target = memory.bytes[at..at + 4 * len].chunks_exact_mut(4);
            for (bytes, &value) in target.zip(&values[index..index + len]) {
                bytes.copy_from_slice(&bytes_of(value));
            }
            let states = &mut memory.shadow[at..at + 4 * len];
            if clean {
                states.fill(0);
            } else {
                for (states, &state) in states
                    .chunks_exact_mut(4)
                    .zip(&undefined[index..index + len])
                {
                    states.fill(u8::from(state));
                }
            }
        }
    }
}

/// 8-bit operands into 32-bit integers; overflow wraps.
fn mmad_i8(machine: &mut Machine, plan: &MmadPlan) {
    let locals = &machine.locals;
    let (a_memory, b_memory) = (locals.get(Mem::L0a), locals.get(Mem::L0b));
    let columns = plan.n.div_ceil(plan.rows);
    let a_at = |row: usize, step: usize| {
        if plan.gemv {
            return plan.a + step;
        }
        let fractal = row / plan.rows * plan.a_blocks + step / plan.c0;
        plan.a + (fractal * plan.rows + row % plan.rows) * plan.c0 + step % plan.c0
    };
    let b_at = |step: usize, column: usize| {
        let fractal = step / plan.c0 * columns + column / plan.rows;
        plan.b + (fractal * plan.rows + column % plan.rows) * plan.c0 + step % plan.c0
    };
    let (start, mut undefined) = accumulator(locals, plan);
    let mut sums: Vec<i32> = start.iter().map(|value| value.to_bits() as i32).collect();
    for row in 0..plan.m {
        for column in 0..plan.n {
            let index = row * plan.n + column;
            for step in 0..plan.k {
                let (a, b) = (a_at(row, step), b_at(step, column));
                let product =
                    i32::from(a_memory.bytes[a] as i8) * i32::from(b_memory.bytes[b] as i8);
                sums[index] = sums[index].wrapping_add(product);
                undefined[index] |= a_memory.shadow[a] != 0 || b_memory.shadow[b] != 0;
            }
        }
    }
    store(
        &mut machine.locals,
        plan,
        &sums,
        &undefined,
        i32::to_le_bytes,
    );
}
