//! Attention `pair_bias`, forward. Written by fa-gen 0.1.0; edit captured.fa, not this file.
//!
//! ```text
//! source     captured.fa, sha256 4984e749ab984a6b
//! target     cpu
//! precision  qkv fp16, softmax fp32, sums fp32, output fp16
//! layout     bnsd; any strides
//!
//! buffer      memory rows x cols x bytes       KiB
//! q_tile      L2      384 x   64 x     4     96.00
//! key_rows    L2       16 x   64 x     4      4.00
//! key_tile    L2      256 x   64 x     4     64.00
//! value_tile  L2      256 x   64 x     4     64.00
//! s_tile      L2       24 x  256 x     4     24.00
//! o_acc       L2      384 x   64 x     4     96.00  largest
//! row_max     L2        1 x  384 x     4      1.50
//! row_sum     L2        1 x  384 x     4      1.50
//! rescale     L2        1 x   24 x     4      0.09
//!             L2     total                  351.09 of 1024.00
//! ```

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
use std::array;
use std::cell::RefCell;
use std::ffi::c_void;
use std::hint;
use std::mem::offset_of;
use std::ops::Range;
use std::slice;
#[cfg(target_arch = "x86_64")]
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Width of Q and K rows.
const HEAD_DIM: usize = 64;
/// Width of V and O rows.
const V_HEAD_DIM: usize = 64;
/// Query rows of a task.
const BLOCK_Q: usize = 384;
/// Key rows of a tile.
const BLOCK_KV: usize = 256;
/// Query rows of a micro-kernel.
const ROWS: usize = 6;
/// Query rows of a task, filled up to whole micro-kernels.
const Q_ROWS: usize = 384;
/// Query rows whose scores are kept at once.
const STRIP: usize = 24;
/// Most rows that packing keys does not pay for.
const FEW_ROWS: usize = 8;
/// Key rows of a packed panel.
const PANEL: usize = 64;
/// Width of a query or key row, filled up to whole vectors.
const K_COLS: usize = 64;
/// Width of a value row, filled up to whole vectors.
const V_COLS: usize = 64;
/// Elements that are worked on side by side.
const LANES: usize = 16;
/// Bytes of a line of the cache.
const CACHE_LINE_BYTES: usize = 64;
/// Parts of a tile that are read in turn: memory gives more to several streams.
const STREAMS: usize = 4;
/// Query rows that are multiplied with one key of each stream.
const DOT_ROWS: usize = LANES / STREAMS;
/// Rows that a stream is asked for ahead of its use.
const AHEAD: i32 = 8;
/// Pointers of a launch.
const POINTERS: usize = 6;
/// Score of a unit product.
const SCALE: f32 = 0.125;
/// Weight of a masked pair: a zero that no exponential gives.
const MASKED: f32 = -0.0;
/// First byte of `q_tile` in the scratch.
const Q_TILE_OFFSET: usize = 0;
/// First byte of `key_rows` in the scratch.
const KEY_ROWS_OFFSET: usize = Q_TILE_OFFSET + Q_ROWS * K_COLS * 4;
/// First byte of `key_tile` in the scratch.
const KEY_TILE_OFFSET: usize = KEY_ROWS_OFFSET + LANES * K_COLS * 4;
/// First byte of `value_tile` in the scratch.
const VALUE_TILE_OFFSET: usize = KEY_TILE_OFFSET + BLOCK_KV * HEAD_DIM * 4;
/// First byte of `s_tile` in the scratch.
const S_TILE_OFFSET: usize = VALUE_TILE_OFFSET + BLOCK_KV * V_COLS * 4;
/// First byte of `o_acc` in the scratch.
const O_ACC_OFFSET: usize = S_TILE_OFFSET + STRIP * BLOCK_KV * 4;
/// First byte of `row_max` in the scratch.
const ROW_MAX_OFFSET: usize = O_ACC_OFFSET + Q_ROWS * V_COLS * 4;
/// First byte of `row_sum` in the scratch.
const ROW_SUM_OFFSET: usize = ROW_MAX_OFFSET + Q_ROWS * 4;
/// First byte of `rescale` in the scratch.
const RESCALE_OFFSET: usize = ROW_SUM_OFFSET + Q_ROWS * 4;
/// Bytes of the scratch of one thread.
const SCRATCH_BYTES: usize = (RESCALE_OFFSET + STRIP * 4).next_multiple_of(64);
/// Bytes of the second-level cache of a core.
const L2_BYTES: usize = 1048576;

/// Sizes, strides (in elements) and scalars of one launch, in the layout that the host writes.
#[repr(C)]
pub struct FaLaunch {
    /// Sequences.
    pub batch: i64,
    /// Query heads.
    pub heads: i64,
    /// Key/value heads; divides `heads`.
    pub kv_heads: i64,
    /// Query rows of a sequence.
    pub q_len: i64,
    /// Key rows of a sequence.
    pub kv_len: i64,
    /// Strides of Q by sequence, head, row and column.
    pub q_stride: [i64; 4],
    /// Strides of K.
    pub k_stride: [i64; 4],
    /// Strides of V.
    pub v_stride: [i64; 4],
    /// Strides of O.
    pub out_stride: [i64; 4],
    /// Strides of LSE by sequence, head and row.
    pub lse_stride: [i64; 3],
    /// Seed of dropout.
    pub seed: u64,
    /// Last word of the counter of dropout.
    pub offset: u32,
    /// 1 where dropout acts, else 0.
    pub training: u32,
    /// Strides of `bias`, outermost first; 0 broadcasts.
    pub bias_stride: [i64; 4],
}

const _: () = {
    assert!(size_of::<FaLaunch>() == 240);
    assert!(offset_of!(FaLaunch, batch) == 0);
    assert!(offset_of!(FaLaunch, heads) == 8);
    assert!(offset_of!(FaLaunch, kv_heads) == 16);
    assert!(offset_of!(FaLaunch, q_len) == 24);
    assert!(offset_of!(FaLaunch, kv_len) == 32);
    assert!(offset_of!(FaLaunch, q_stride) == 40);
    assert!(offset_of!(FaLaunch, k_stride) == 72);
    assert!(offset_of!(FaLaunch, v_stride) == 104);
    assert!(offset_of!(FaLaunch, out_stride) == 136);
    assert!(offset_of!(FaLaunch, lse_stride) == 168);
    assert!(offset_of!(FaLaunch, seed) == 192);
    assert!(offset_of!(FaLaunch, offset) == 200);
    assert!(offset_of!(FaLaunch, training) == 204);
    assert!(offset_of!(FaLaunch, bias_stride) == 208);
};

/// An element as it lies in memory.
trait Element: Copy {
    /// What expressions and products see.
    type Value: Copy;

    /// Its value.
    fn value(self) -> Self::Value;

    /// The elements themselves as whole vectors, where they are what products take.
    #[inline(always)]
    fn as_lanes(_elements: &[Self]) -> &[Lanes] {
        &[]
    }

    /// Values of neighbouring elements, by the best means of the level.
    #[inline(always)]
    fn widen<L: Level>(elements: &[Self], values: &mut [Self::Value]) {
        for (value, element) in values.iter_mut().zip(elements) {
            *value = element.value();
        }
    }
}

/// An IEEE half.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Fp16(u16);

impl Element for Fp16 {
    type Value = f32;

    #[inline(always)]
    fn value(self) -> f32 {
        let bits = u32::from(self.0);
        // With exponent and mantissa in place the exponent is too small by 112; this product is exact.
        let magnitude = f32::from_bits((bits & 0x7fff) << 13) * f32::from_bits(0x7780_0000);
        let special = if magnitude >= 65536.0 { 0x7f80_0000 } else { 0 };
        f32::from_bits((bits & 0x8000) << 16 | special | magnitude.to_bits())
    }

    #[inline(always)]
    fn widen<L: Level>(elements: &[Fp16], values: &mut [f32]) {
        L::widen_halves(elements, values);
    }
}

impl Fp16 {
    /// The nearest half, ties to even.
    #[inline(always)]
    fn rounded(value: f32) -> Fp16 {
        let sign = (value.to_bits() >> 16) & 0x8000;
        let magnitude = value.to_bits() & 0x7fff_ffff;
        let odd = (magnitude >> 13) & 1;
        // The exponent moves from bias 127 to bias 15; a carry out of the mantissa is right as it is.
        let normal = magnitude.wrapping_add(0xc800_0fff).wrapping_add(odd) >> 13;
        // One unit in the last place of 0.5 is the smallest half: the sum rounds to it.
        let tiny = (f32::from_bits(magnitude) + 0.5).to_bits() & 0x007f_ffff;
        let finite = if magnitude < 0x3880_0000 {
            tiny
        } else {
            normal
        };
        let large = if magnitude > 0x7f80_0000 {
            0x7e00
        } else {
            0x7c00
        };
        let half = if magnitude < 0x477f_f000 {
            finite
        } else {
            large
        };
        Fp16((sign | half) as u16)
    }
}

/// A tensor: its elements from the first to the last, and the distance of neighbours on each axis.
#[derive(Clone, Copy)]
struct View<'a, T> {
    elements: &'a [T],
    stride: [i64; 4],
}

impl<T: Element> View<'_, T> {
    /// # Safety
    /// `start` points to all elements that sizes and strides reach, and nobody writes them during `'a`.
    unsafe fn new(start: *mut c_void, sizes: [i64; 4], stride: [i64; 4]) -> Self {
        let elements = match extent(sizes, stride) {
            0 => &[],
            // SAFETY: the caller vouches for the elements.
            elems => unsafe { slice::from_raw_parts(start.cast_const().cast(), elems) },
        };
        View { elements, stride }
    }

    /// Where the element lies that has this index on the first axes and 0 on the others.
    #[inline(always)]
    fn offset<const RANK: usize>(&self, index: [i32; RANK]) -> usize {
        let distances = index.iter().zip(&self.stride);
        let offset: i64 = distances
            .map(|(index, stride)| i64::from(*index) * stride)
            .sum();
        offset as usize
    }

    /// Reads a row of the last axis, from its start on.
    #[inline(always)]
    fn read_row<L: Level>(&self, index: [i32; 3], row: &mut [T::Value]) {
        if self.stride[3] == 1 {
            let start = self.offset(index);
            T::widen::<L>(&self.elements[start..start + row.len()], row);
        } else {
            self.read_run(index, 3, row);
        }
    }

    /// Asks for a row of the last axis ahead of its use. Where it is no row of the tensor, nothing happens.
    #[inline(always)]
    fn prefetch_row<L: Level>(&self, index: [i32; 3], elems: usize) {
        let start = self.elements.as_ptr().wrapping_add(self.offset(index));
        for place in (0..elems).step_by(CACHE_LINE_BYTES / size_of::<T>()) {
            L::prefetch(start.wrapping_add(place).cast());
        }
    }

    /// Reads neighbours on one axis, from an index on.
    #[inline(always)]
    fn read_run<const RANK: usize>(&self, index: [i32; RANK], axis: usize, run: &mut [T::Value]) {
        let elements = &self.elements[self.offset(index)..];
        match self.stride[axis] as usize {
            1 => {
                let elements = &elements[..run.len()];
                for (value, element) in run.iter_mut().zip(elements) {
                    *value = element.value();
                }
            }
            stride => {
                for (place, value) in run.iter_mut().enumerate() {
                    *value = elements[place * stride].value();
                }
            }
        }
    }
}

impl<T: Element<Value = f32>> View<'_, T> {
    /// A row of `WIDTH` elements, filled up to whole vectors: where it lies, if it can be used there, else in a buffer.
    #[inline(always)]
    fn row<'s, L: Level, const WIDTH: usize, const VECTORS: usize>(
        &'s self,
        index: [i32; 3],
        buffer: &'s mut [Lanes; VECTORS],
    ) -> &'s [Lanes; VECTORS] {
        if self.stride[3] == 1 && WIDTH == VECTORS * LANES {
            let start = self.offset(index);
            let lanes = T::as_lanes(&self.elements[start..start + WIDTH]);
            if let Some(row) = lanes.first_chunk() {
                return row;
            }
        }
        let (row, rest) = buffer.as_flattened_mut().split_at_mut(WIDTH);
        self.read_row::<L>(index, row);
        rest.fill(0.0);
        buffer
    }
}

/// Memory that the tasks of a launch write, each element by one task.
struct Output<T> {
    start: *mut T,
    elems: usize,
    stride: [i64; 4],
}

impl<T> Output<T> {
    /// # Safety
    /// `start` points to all elements that sizes and strides reach; only tasks of this launch touch them.
    unsafe fn new(start: *mut c_void, sizes: [i64; 4], stride: [i64; 4]) -> Self {
        Output {
            start: start.cast(),
            elems: extent(sizes, stride),
            stride,
        }
    }

    /// Stores a row of the last axis; it has an element.
    #[inline(always)]
    fn store_row(&self, index: [i64; 3], row: impl ExactSizeIterator<Item = T>) {
        let distances = index.iter().zip(&self.stride);
        let start: i64 = distances.map(|(index, stride)| index * stride).sum();
        let (start, stride) = (start as usize, self.stride[3] as usize);
        let last = start + (row.len() - 1) * stride;
        assert!(last < self.elems, "an output row leaves its tensor");
        // SAFETY: the row lies inside the tensor.
        let start = unsafe { self.start.add(start) };
        // A distance known to be 1 lets the compiler store whole vectors.
        let stride = if stride == 1 { 1 } else { stride };
        for (place, value) in row.enumerate() {
            // SAFETY: no other task writes this element, which lies no further than the last.
            unsafe { start.add(place * stride).write(value) }
        }
    }
}

/// Elements from the first to the last of a tensor; 0 where it has none.
fn extent(sizes: [i64; 4], stride: [i64; 4]) -> usize {
    if sizes.contains(&0) {
        return 0;
    }
    let distances = sizes.iter().zip(&stride);
    let last: i64 = distances.map(|(size, stride)| (size - 1) * stride).sum();
    last as usize + 1
}

/// A launch as safe values.
struct Problem<'a> {
    launch: &'a FaLaunch,
    q: View<'a, Fp16>,
    k: View<'a, Fp16>,
    v: View<'a, Fp16>,
    out: Output<Fp16>,
    lse: Option<Output<f32>>,
    bias: View<'a, Fp16>,
}

impl<'a> Problem<'a> {
    /// # Safety
    /// As for [`fa_pair_bias_forward`].
    unsafe fn new(launch: &'a FaLaunch, pointers: &[*mut c_void; POINTERS]) -> Self {
        let FaLaunch {
            batch,
            heads,
            kv_heads,
            q_len,
            kv_len,
            ..
        } = *launch;
        let q_sizes = [batch, heads, q_len, HEAD_DIM as i64];
        let k_sizes = [batch, kv_heads, kv_len, HEAD_DIM as i64];
        let v_sizes = [batch, kv_heads, kv_len, V_HEAD_DIM as i64];
        let out_sizes = [batch, heads, q_len, V_HEAD_DIM as i64];
        let lse_sizes = [batch, heads, q_len, 1];
        let [lse_b, lse_h, lse_s] = launch.lse_stride;
        let lse_stride = [lse_b, lse_h, lse_s, 0];
        // SAFETY: the caller vouches for every tensor of the launch.
        unsafe {
            Problem {
                launch,
                q: View::new(pointers[0], q_sizes, launch.q_stride),
                k: View::new(pointers[1], k_sizes, launch.k_stride),
                v: View::new(pointers[2], v_sizes, launch.v_stride),
                out: Output::new(pointers[3], out_sizes, launch.out_stride),
                lse: (!pointers[4].is_null())
                    .then(|| Output::new(pointers[4], lse_sizes, lse_stride)),
                bias: View::new(pointers[5], [heads, q_len, kv_len, 1], launch.bias_stride),
            }
        }
    }
}

/// Neighbouring elements that are worked on side by side.
type Lanes = [f32; LANES];
/// Up to `PANEL` keys, column by column.
type KeyPanel = [Lanes; HEAD_DIM * PANEL / LANES];
/// A key as whole vectors.
type KeyRow = [Lanes; K_COLS / LANES];
/// Values of a key as whole vectors.
type ValueRow = [Lanes; V_COLS / LANES];
/// Values of a tile, in the order of the level.
type ValueTile = [Lanes; BLOCK_KV * V_COLS / LANES];

/// Buffers of one thread, in the order of the budget.
#[repr(C, align(64))]
struct Scratch {
    /// Query rows of the task.
    q_tile: [[f32; K_COLS]; Q_ROWS],
    /// Key rows, as they come.
    key_rows: [[f32; K_COLS]; LANES],
    /// Keys of a tile, column by column.
    key_tile: [KeyPanel; BLOCK_KV / PANEL],
    /// Values of a tile.
    value_tile: ValueTile,
    /// Scores of a strip, then their weights.
    s_tile: [[f32; BLOCK_KV]; STRIP],
    /// Output sums, not yet divided.
    o_acc: [[f32; V_COLS]; Q_ROWS],
    /// Running maximum of each row.
    row_max: [f32; Q_ROWS],
    /// Running sum of each row.
    row_sum: [f32; Q_ROWS],
    /// Factor for older sums of each row of a strip.
    rescale: [f32; STRIP],
}

const _: () = {
    assert!(offset_of!(Scratch, q_tile) == Q_TILE_OFFSET);
    assert!(offset_of!(Scratch, key_rows) == KEY_ROWS_OFFSET);
    assert!(offset_of!(Scratch, key_tile) == KEY_TILE_OFFSET);
    assert!(offset_of!(Scratch, value_tile) == VALUE_TILE_OFFSET);
    assert!(offset_of!(Scratch, s_tile) == S_TILE_OFFSET);
    assert!(offset_of!(Scratch, o_acc) == O_ACC_OFFSET);
    assert!(offset_of!(Scratch, row_max) == ROW_MAX_OFFSET);
    assert!(offset_of!(Scratch, row_sum) == ROW_SUM_OFFSET);
    assert!(offset_of!(Scratch, rescale) == RESCALE_OFFSET);
    assert!(size_of::<Scratch>() == SCRATCH_BYTES);
    assert!(SCRATCH_BYTES <= L2_BYTES, "L2 budget exceeded");
};

thread_local! {
    /// Buffers are kept between launches.
    static SCRATCH: RefCell<Box<Scratch>> = RefCell::new(Scratch::new());
}

impl Scratch {
    /// Zeroed buffers on the heap.
    fn new() -> Box<Scratch> {
        // SAFETY: every buffer holds numbers or bools, for which zero bytes are a value.
        unsafe { Box::new_zeroed().assume_init() }
    }
}

/// Query rows of one block of one head.
#[derive(Clone, Copy)]
struct Task<'a> {
    problem: &'a Problem<'a>,
    b: i32,
    h: i32,
    kv_h: i32,
    first_row: i32,
    rows: usize,
    q_len: i32,
    kv_len: i32,
    q_shift: i32,
}

impl<'a> Task<'a> {
    /// The task with this number; tasks go by sequence, then head, then block of query rows, the last block
    /// first: below a diagonal it has the most keys.
    fn new(problem: &'a Problem<'a>, number: i64) -> Self {
        let launch = problem.launch;
        let blocks = launch.q_len.div_euclid(BLOCK_Q as i64) + 1;
        let blocks = blocks - i64::from(launch.q_len % BLOCK_Q as i64 == 0);
        let (plane, block) = (number / blocks, blocks - 1 - number % blocks);
        let (b, h) = (plane / launch.heads, plane % launch.heads);
        // Blocks share the rows evenly, in whole groups.
        let share = (launch.q_len as usize).div_ceil(blocks as usize);
        let share = share.next_multiple_of(ROWS).min(BLOCK_Q) as i64;
        let first_row = block * share;
        Task {
            problem,
            b: b as i32,
            h: h as i32,
            kv_h: (h / (launch.heads / launch.kv_heads)) as i32,
            first_row: first_row as i32,
            rows: (launch.q_len - first_row).min(share) as usize,
            q_len: launch.q_len as i32,
            kv_len: launch.kv_len as i32,
            q_shift: (launch.kv_len - launch.q_len) as i32,
        }
    }

    /// The group of rows that starts with this row of the task; beyond the last row it is empty.
    fn group(&self, first: usize) -> Self {
        Task {
            first_row: self.first_row + first as i32,
            rows: ROWS.min(self.rows.saturating_sub(first)),
            ..*self
        }
    }

    /// The same rows of a later head.
    fn head(&self, further: usize) -> Self {
        Task {
            h: self.h + further as i32,
            ..*self
        }
    }

    /// Heads that share keys and few rows are computed by the task of the first of them: their number, or 0
    /// for the tasks of the others.
    fn led_heads(&self) -> usize {
        let launch = self.problem.launch;
        let group = (launch.heads / launch.kv_heads) as usize;
        let share = (FEW_ROWS / launch.q_len as usize).min(group);
        let place = self.h as usize % group;
        if place.is_multiple_of(share) {
            share.min(group - place)
        } else {
            0
        }
    }
}

/// Key and value rows of one step.
#[derive(Clone, Copy)]
struct KeyTile {
    first: i32,
    cols: usize,
    /// Whether all values are finite.
    finite: bool,
    full: bool,
}

impl KeyTile {
    /// The tile that starts with a key, of those before `end`.
    fn new(first: i32, end: i32) -> Self {
        KeyTile {
            first,
            cols: (end - first).min(BLOCK_KV as i32) as usize,
            finite: true,
            full: false,
        }
    }
}

/// Sum of all lanes, as a tree.
#[inline(always)]
fn total(lanes: [f32; LANES]) -> f32 {
    let eight: [f32; 8] = array::from_fn(|lane| lanes[lane] + lanes[lane + 8]);
    let four: [f32; 4] = array::from_fn(|lane| eight[lane] + eight[lane + 4]);
    (four[0] + four[2]) + (four[1] + four[3])
}

/// The largest number of some lanes; NaN is passed over.
#[inline(always)]
fn largest<L: Level>(scores: &[Lanes]) -> f32 {
    // Several at once, since each waits for the one before.
    let mut maxima = [L::splat(f32::NEG_INFINITY); 4];
    let (groups, rest) = scores.as_chunks::<4>();
    for group in groups {
        for (max, scores) in maxima.iter_mut().zip(group) {
            *max = L::larger(L::load(scores), *max);
        }
    }
    for scores in rest {
        maxima[0] = L::larger(L::load(scores), maxima[0]);
    }
    let [first, second, third, fourth] = maxima;
    let larger = L::larger(L::larger(first, second), L::larger(third, fourth));
    let mut lanes = [0.0; LANES];
    L::store(larger, &mut lanes);
    let larger = |a: f32, b: f32| if a > b { a } else { b };
    let eight: [f32; 8] = array::from_fn(|lane| larger(lanes[lane], lanes[lane + 8]));
    let four: [f32; 4] = array::from_fn(|lane| larger(eight[lane], eight[lane + 4]));
    larger(larger(four[0], four[2]), larger(four[1], four[3]))
}

/// 1.5 * 2^23 + 127: adding it leaves the nearest integer in the low bits of the mantissa, biased as an exponent.
const ROUNDING: f32 = 12_583_039.0;

/// ln 2 in two parts; the first has so few bits that its product with an exponent is exact.
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;

/// The polynomial of e^r, lowest power first: the best of its degree that starts with 1 + r.
const EXP_TERMS: [f32; 7] = [
    1.0,
    1.0,
    4.999_999_4e-1,
    1.666_652_2e-1,
    4.166_839e-2,
    8.368_745e-3,
    1.381_454e-3,
];

/// e^r, for r up to ln 2 / 2 from 0. Pairs of terms make the chain of steps a third shorter than Horner's.
#[inline(always)]
fn exp_of_rest<L: Level>(r: L::Vector) -> L::Vector {
    let square = L::times(r, r);
    let first = L::plus(r, L::splat(EXP_TERMS[0]));
    let second = L::fused_lanes(r, L::splat(EXP_TERMS[3]), L::splat(EXP_TERMS[2]));
    let third = L::fused_lanes(r, L::splat(EXP_TERMS[5]), L::splat(EXP_TERMS[4]));
    let sum = L::fused_lanes(square, L::splat(EXP_TERMS[6]), third);
    let sum = L::fused_lanes(square, sum, second);
    L::fused_lanes(square, sum, first)
}

/// e^x of lower numbers is taken for 0: half of the smallest normal number and less.
const LEAST_EXPONENT: f32 = -87.9;

/// e^x for x <= 0, within 2 ulp down to the smallest normal number; results below half of it are 0. NaN stays NaN.
/// Vectors go side by side, for each step waits for the one before.
#[inline(always)]
fn exp_of_negatives<L: Level, const N: usize>(x: [L::Vector; N]) -> [L::Vector; N] {
    let x = x.map(|x| L::larger(L::splat(LEAST_EXPONENT), x));
    let log2_e = L::splat(std::f32::consts::LOG2_E);
    let shifted = x.map(|x| L::fused_lanes(x, log2_e, L::splat(ROUNDING)));
    let n = shifted.map(|shifted| L::minus(shifted, L::splat(ROUNDING)));
    let mut r = x;
    for part in [-LN_2_HIGH, -LN_2_LOW] {
        for (r, n) in r.iter_mut().zip(n) {
            *r = L::fused_lanes(n, L::splat(part), *r);
        }
    }
    let mut results = x;
    for ((result, r), shifted) in results.iter_mut().zip(r).zip(shifted) {
        *result = L::times(exp_of_rest::<L>(r), L::powers(shifted));
    }
    results
}

/// [`exp_of_negatives`] of one number.
#[inline(always)]
fn exp_of_negative<L: Level>(x: f32) -> f32 {
    let [result] = exp_of_negatives::<L, 1>([L::splat(x)]);
    let mut lanes = [0.0; LANES];
    L::store(result, &mut lanes);
    lanes[0]
}

/// Turns scores into weights, e^(score - shift), and adds them up lane by lane. With `MARK`, the weight of a masked
/// pair is `MASKED`: the sign of its zero tells it from one whose weight is too small.
#[inline(always)]
fn weigh_lanes<L: Level, const MARK: bool>(scores: &mut [Lanes], shift: f32) -> Lanes {
    let shift = L::splat(shift);
    let mut sums = [L::splat(0.0); 2];
    let (pairs, rest) = scores.as_chunks_mut::<2>();
    for pair in pairs {
        weigh_vectors::<L, 2, MARK>(pair, shift, &mut sums);
    }
    let [mut first, second] = sums.map(|sum| [sum]);
    for single in rest.as_chunks_mut().0 {
        weigh_vectors::<L, 1, MARK>(single, shift, &mut first);
    }
    let mut lanes = [0.0; LANES];
    L::store(L::plus(first[0], second[0]), &mut lanes);
    lanes
}

/// [`weigh_lanes`] of a few vectors side by side.
#[inline(always)]
fn weigh_vectors<L: Level, const N: usize, const MARK: bool>(
    scores: &mut [Lanes; N],
    shift: L::Vector,
    sums: &mut [L::Vector; N],
) {
    let given = *scores;
    let weights = exp_of_negatives::<L, N>(given.map(|lanes| L::minus(L::load(&lanes), shift)));
    for ((scores, weights), sum) in scores.iter_mut().zip(weights).zip(sums) {
        L::store(weights, scores);
        *sum = L::plus(*sum, weights);
    }
    if MARK {
        let weights = scores.as_flattened_mut().iter_mut();
        for (weight, score) in weights.zip(given.as_flattened()) {
            if *score == f32::NEG_INFINITY {
                *weight = MASKED;
            }
        }
    }
}

/// An instruction-set level: its arithmetic, its micro-kernels and the order in which they want keys and values.
trait Level {
    /// `LANES` numbers, in registers where the level has them.
    type Vector: Copy;

    /// a * b + c, rounded once where the level can.
    fn fused(a: f32, b: f32, c: f32) -> f32;

    /// The same for each lane.
    fn fused_lanes(a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;

    /// a + b in each lane.
    fn plus(a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// a - b in each lane.
    fn minus(a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// a * b in each lane.
    fn times(a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// 2^n in each lane that holds `ROUNDING + n`, n between -127 and 127; for -127 it is 0.
    fn powers(shifted: Self::Vector) -> Self::Vector;

    /// The larger of both in each lane; where one is NaN, `b`.
    fn larger(a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// One number in all lanes.
    fn splat(value: f32) -> Self::Vector;

    /// Lanes from memory.
    fn load(lanes: &Lanes) -> Self::Vector;

    /// Lanes to memory.
    fn store(vector: Self::Vector, lanes: &mut Lanes);

    /// Asks for a line of the cache; any address is harmless.
    fn prefetch(address: *const i8);

    /// Rows to columns.
    fn transpose(rows: [Self::Vector; LANES]) -> [Self::Vector; LANES];

    /// The sum of the lanes of each of `LANES` vectors.
    #[inline(always)]
    fn totals(sums: &[Self::Vector]) -> Lanes {
        let sums = sums.first_chunk().expect("as many as lanes");
        let columns = Self::transpose(*sums);
        let mut totals = [Self::splat(0.0); 4];
        for columns in columns.as_chunks::<4>().0 {
            for (total, column) in totals.iter_mut().zip(columns) {
                *total = Self::plus(*total, *column);
            }
        }
        let [first, second, third, fourth] = totals;
        let total = Self::plus(Self::plus(first, second), Self::plus(third, fourth));
        let mut lanes = [0.0; LANES];
        Self::store(total, &mut lanes);
        lanes
    }

    /// Products of some queries with one key of each stream, query by query.
    fn dots(queries: &[[f32; K_COLS]; DOT_ROWS], keys: [&KeyRow; STREAMS]) -> Lanes;

    /// O = O + P V of some rows with some keys, whose values lie row by row.
    fn few_values(
        weights: [&Lanes; DOT_ROWS],
        values: &[&ValueRow; LANES],
        outputs: &mut [[f32; V_COLS]; DOT_ROWS],
    );

    /// Elements of Q, K and V as single precision; both slices have one length.
    #[inline(always)]
    fn widen_halves(halves: &[Fp16], values: &mut [f32]) {
        for (value, half) in values.iter_mut().zip(halves) {
            *value = half.value();
        }
    }

    /// Packs key rows as vector number `vector` of all columns of a panel.
    fn pack_columns(rows: &[[f32; K_COLS]; LANES], vector: usize, panel: &mut KeyPanel);

    /// Where a vector of a value row lies in a tile of values.
    fn value_place(key: usize, vector: usize) -> usize;

    /// S = Q K^T of a group of rows with one panel of keys, from a column of the tile on.
    fn score_block(
        queries: &[[f32; K_COLS]; ROWS],
        panel: &KeyPanel,
        column: usize,
        scores: &mut [[f32; BLOCK_KV]; ROWS],
    );

    /// O = O * rescale + P V of a group of rows with some keys of a tile.
    fn value_block(
        weights: &[[f32; BLOCK_KV]; ROWS],
        keys: &Range<usize>,
        values: &ValueTile,
        rescale: &[f32; ROWS],
        outputs: &mut [[f32; V_COLS]; ROWS],
    );
}

/// x86-64 with AVX-512.
#[cfg(target_arch = "x86_64")]
struct Avx512;

#[cfg(target_arch = "x86_64")]
impl Level for Avx512 {
    type Vector = __m512;

    #[inline(always)]
    fn fused(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }

    #[inline(always)]
    fn fused_lanes(a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: this level runs where its features were detected.
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn plus(a: __m512, b: __m512) -> __m512 {
        // SAFETY: as above.
        unsafe { _mm512_add_ps(a, b) }
    }

    #[inline(always)]
    fn minus(a: __m512, b: __m512) -> __m512 {
        // SAFETY: as above.
        unsafe { _mm512_sub_ps(a, b) }
    }

    #[inline(always)]
    fn times(a: __m512, b: __m512) -> __m512 {
        // SAFETY: as above.
        unsafe { _mm512_mul_ps(a, b) }
    }

    #[inline(always)]
    fn powers(shifted: __m512) -> __m512 {
        // SAFETY: as above.
        unsafe { _mm512_castsi512_ps(_mm512_slli_epi32::<23>(_mm512_castps_si512(shifted))) }
    }

    #[inline(always)]
    fn larger(a: __m512, b: __m512) -> __m512 {
        // SAFETY: as above.
        unsafe { _mm512_max_ps(a, b) }
    }

    #[inline(always)]
    fn splat(value: f32) -> __m512 {
        // SAFETY: as above.
        unsafe { _mm512_set1_ps(value) }
    }

    #[inline(always)]
    fn load(lanes: &Lanes) -> __m512 {
        // SAFETY: as above; the lanes fill a register.
        unsafe { _mm512_loadu_ps(lanes.as_ptr()) }
    }

    #[inline(always)]
    fn store(vector: __m512, lanes: &mut Lanes) {
        // SAFETY: as above; the lanes fill a register.
        unsafe { _mm512_storeu_ps(lanes.as_mut_ptr(), vector) }
    }

    #[inline(always)]
    fn prefetch(address: *const i8) {
        // SAFETY: a prefetch reads nothing that a program could see.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address) }
    }

    #[inline(always)]
    fn transpose(rows: [__m512; LANES]) -> [__m512; LANES] {
        let (mut pairs, mut fours, mut eights, mut columns) = (rows, rows, rows, rows);
        // SAFETY: as above.
        unsafe {
            for i in (0..LANES).step_by(2) {
                pairs[i] = _mm512_unpacklo_ps(rows[i], rows[i + 1]);
                pairs[i + 1] = _mm512_unpackhi_ps(rows[i], rows[i + 1]);
            }
            for i in (0..LANES).step_by(4) {
                for half in 0..2 {
                    let low = _mm512_castps_pd(pairs[i + half]);
                    let high = _mm512_castps_pd(pairs[i + half + 2]);
                    fours[i + half * 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(low, high));
                    fours[i + half * 2 + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low, high));
                }
            }
            // Each quarter of `fours[4 * g + c]` is a column of four rows; even and odd quarters part twice.
            for i in [0, 1, 2, 3, 8, 9, 10, 11] {
                eights[i] = _mm512_shuffle_f32x4::<0x88>(fours[i], fours[i + 4]);
                eights[i + 4] = _mm512_shuffle_f32x4::<0xdd>(fours[i], fours[i + 4]);
            }
            for i in 0..8 {
                columns[i] = _mm512_shuffle_f32x4::<0x88>(eights[i], eights[i + 8]);
                columns[i + 8] = _mm512_shuffle_f32x4::<0xdd>(eights[i], eights[i + 8]);
            }
        }
        columns
    }

    #[inline(always)]
    fn widen_halves(halves: &[Fp16], values: &mut [f32]) {
        let (half_groups, half_rest) = halves.as_chunks::<16>();
        let (groups, rest) = values.as_chunks_mut::<16>();
        for (halves, values) in half_groups.iter().zip(groups) {
            // SAFETY: this level runs where its features were detected; both groups fill a register.
            unsafe {
                let halves = _mm256_loadu_si256(halves.as_ptr().cast());
                let values = values.as_mut_ptr();
                _mm512_storeu_ps(values, _mm512_cvtph_ps(halves));
            }
        }
        for (value, half) in rest.iter_mut().zip(half_rest) {
            *value = half.value();
        }
    }

    #[inline(always)]
    fn pack_columns(rows: &[[f32; K_COLS]; LANES], vector: usize, panel: &mut KeyPanel) {
        pack_columns::<Self, 4>(rows, vector, panel);
    }

    #[inline(always)]
    fn value_place(key: usize, vector: usize) -> usize {
        value_place::<4>(key, vector)
    }
    #[inline(always)]
    fn dots(queries: &[[f32; K_COLS]; DOT_ROWS], keys: [&KeyRow; STREAMS]) -> Lanes {
        dots::<Self, 4>(queries, &keys)
    }

    #[inline(always)]
    fn few_values(
        weights: [&Lanes; DOT_ROWS],
        values: &[&ValueRow; LANES],
        outputs: &mut [[f32; V_COLS]; DOT_ROWS],
    ) {
        /// A function of its own has all registers.
        #[inline(never)]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
        fn block(
            weights: &[&Lanes; DOT_ROWS],
            values: &[&ValueRow; LANES],
            outputs: &mut [[f32; V_COLS]; DOT_ROWS],
        ) {
            few_values::<Avx512>(weights, values, outputs);
        }
        // SAFETY: this level runs where its features were detected.
        unsafe { block(&weights, values, outputs) }
    }

    #[inline(always)]
    fn score_block(
        queries: &[[f32; K_COLS]; ROWS],
        panel: &KeyPanel,
        column: usize,
        scores: &mut [[f32; BLOCK_KV]; ROWS],
    ) {
        /// A function of its own has all registers.
        #[inline(never)]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
        fn block(
            queries: &[[f32; K_COLS]; ROWS],
            panel: &KeyPanel,
            column: usize,
            scores: &mut [[f32; BLOCK_KV]; ROWS],
        ) {
            score_columns::<Avx512, 4>(queries, panel, column, scores);
        }
        // SAFETY: this level runs where its features were detected.
        unsafe { block(queries, panel, column, scores) }
    }

    #[inline(always)]
    fn value_block(
        weights: &[[f32; BLOCK_KV]; ROWS],
        keys: &Range<usize>,
        values: &ValueTile,
        rescale: &[f32; ROWS],
        outputs: &mut [[f32; V_COLS]; ROWS],
    ) {
        /// A function of its own has all registers.
        #[inline(never)]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
        fn block(
            weights: &[[f32; BLOCK_KV]; ROWS],
            keys: &Range<usize>,
            values: &ValueTile,
            rescale: &[f32; ROWS],
            outputs: &mut [[f32; V_COLS]; ROWS],
        ) {
            value_columns::<Avx512, 4>(weights, keys, values, 0, rescale, outputs);
        }
        // SAFETY: this level runs where its features were detected.
        unsafe { block(weights, keys, values, rescale, outputs) }
    }
}

/// x86-64 with AVX2, FMA and F16C.
#[cfg(target_arch = "x86_64")]
struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Level for Avx2 {
    type Vector = [__m256; 2];

    #[inline(always)]
    fn fused(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }

    #[inline(always)]
    fn fused_lanes(a: [__m256; 2], b: [__m256; 2], c: [__m256; 2]) -> [__m256; 2] {
        // SAFETY: this level runs where its features were detected.
        array::from_fn(|half| unsafe { _mm256_fmadd_ps(a[half], b[half], c[half]) })
    }

    #[inline(always)]
    fn plus(a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        // SAFETY: as above.
        array::from_fn(|half| unsafe { _mm256_add_ps(a[half], b[half]) })
    }

    #[inline(always)]
    fn minus(a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        // SAFETY: as above.
        array::from_fn(|half| unsafe { _mm256_sub_ps(a[half], b[half]) })
    }

    #[inline(always)]
    fn times(a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        // SAFETY: as above.
        array::from_fn(|half| unsafe { _mm256_mul_ps(a[half], b[half]) })
    }

    #[inline(always)]
    fn powers(shifted: [__m256; 2]) -> [__m256; 2] {
        // SAFETY: as above.
        let power = |half| unsafe { _mm256_slli_epi32::<23>(_mm256_castps_si256(half)) };
        // SAFETY: as above.
        shifted.map(|half| unsafe { _mm256_castsi256_ps(power(half)) })
    }

    #[inline(always)]
    fn larger(a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        // SAFETY: as above.
        array::from_fn(|half| unsafe { _mm256_max_ps(a[half], b[half]) })
    }

    #[inline(always)]
    fn splat(value: f32) -> [__m256; 2] {
        // SAFETY: as above.
        [unsafe { _mm256_set1_ps(value) }; 2]
    }

    #[inline(always)]
    fn load(lanes: &Lanes) -> [__m256; 2] {
        let halves = lanes.as_chunks::<8>().0;
        // SAFETY: as above; eight lanes fill a register.
        array::from_fn(|half| unsafe { _mm256_loadu_ps(halves[half].as_ptr()) })
    }

    #[inline(always)]
    fn store(vector: [__m256; 2], lanes: &mut Lanes) {
        for (half, vector) in lanes.as_chunks_mut::<8>().0.iter_mut().zip(vector) {
            // SAFETY: as above; eight lanes fill a register.
            unsafe { _mm256_storeu_ps(half.as_mut_ptr(), vector) }
        }
    }

    #[inline(always)]
    fn prefetch(address: *const i8) {
        // SAFETY: a prefetch reads nothing that a program could see.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address) }
    }

    #[inline(always)]
    fn transpose(rows: [[__m256; 2]; LANES]) -> [[__m256; 2]; LANES] {
        let mut columns = rows;
        for (high_rows, high_columns) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let block = array::from_fn(|i| rows[high_rows * 8 + i][high_columns]);
            for (i, column) in transpose_eight(block).into_iter().enumerate() {
                columns[high_columns * 8 + i][high_rows] = column;
            }
        }
        columns
    }

    #[inline(always)]
    fn widen_halves(halves: &[Fp16], values: &mut [f32]) {
        let (half_groups, half_rest) = halves.as_chunks::<8>();
        let (groups, rest) = values.as_chunks_mut::<8>();
        for (halves, values) in half_groups.iter().zip(groups) {
            // SAFETY: this level runs where its features were detected; both groups fill a register.
            unsafe {
                let halves = _mm_loadu_si128(halves.as_ptr().cast());
                let values = values.as_mut_ptr();
                _mm256_storeu_ps(values, _mm256_cvtph_ps(halves));
            }
        }
        for (value, half) in rest.iter_mut().zip(half_rest) {
            *value = half.value();
        }
    }

    #[inline(always)]
    fn totals(sums: &[[__m256; 2]]) -> Lanes {
        let mut lanes = [0.0; LANES];
        let halves = lanes.as_chunks_mut::<8>().0.iter_mut();
        for (lanes, sums) in halves.zip(sums.as_chunks::<8>().0) {
            let total = total_eight(sums);
            // SAFETY: this level runs where its features were detected; eight lanes fill a register.
            unsafe { _mm256_storeu_ps(lanes.as_mut_ptr(), total) }
        }
        lanes
    }

    #[inline(always)]
    fn pack_columns(rows: &[[f32; K_COLS]; LANES], vector: usize, panel: &mut KeyPanel) {
        pack_columns::<Self, 1>(rows, vector, panel);
    }

    #[inline(always)]
    fn value_place(key: usize, vector: usize) -> usize {
        value_place::<1>(key, vector)
    }
    #[inline(always)]
    fn dots(queries: &[[f32; K_COLS]; DOT_ROWS], keys: [&KeyRow; STREAMS]) -> Lanes {
        dots::<Self, 1>(queries, &keys)
    }

    #[inline(always)]
    fn few_values(
        weights: [&Lanes; DOT_ROWS],
        values: &[&ValueRow; LANES],
        outputs: &mut [[f32; V_COLS]; DOT_ROWS],
    ) {
        /// A function of its own has all registers.
        #[inline(never)]
        #[target_feature(enable = "avx2,fma,f16c")]
        fn block(
            weights: &[&Lanes; DOT_ROWS],
            values: &[&ValueRow; LANES],
            outputs: &mut [[f32; V_COLS]; DOT_ROWS],
        ) {
            few_values::<Avx2>(weights, values, outputs);
        }
        // SAFETY: this level runs where its features were detected.
        unsafe { block(&weights, values, outputs) }
    }

    #[inline(always)]
    fn score_block(
        queries: &[[f32; K_COLS]; ROWS],
        panel: &KeyPanel,
        column: usize,
        scores: &mut [[f32; BLOCK_KV]; ROWS],
    ) {
        /// A function of its own has all registers.
        #[inline(never)]
        #[target_feature(enable = "avx2,fma,f16c")]
        fn block(
            queries: &[[f32; K_COLS]; ROWS],
            panel: &KeyPanel,
            column: usize,
            scores: &mut [[f32; BLOCK_KV]; ROWS],
        ) {
            score_columns::<Avx2, 1>(queries, panel, column, scores);
        }
        // SAFETY: this level runs where its features were detected.
        unsafe { block(queries, panel, column, scores) }
    }

    #[inline(always)]
    fn value_block(
        weights: &[[f32; BLOCK_KV]; ROWS],
        keys: &Range<usize>,
        values: &ValueTile,
        rescale: &[f32; ROWS],
        outputs: &mut [[f32; V_COLS]; ROWS],
    ) {
        /// A function of its own has all registers.
        #[inline(never)]
        #[target_feature(enable = "avx2,fma,f16c")]
        fn block(
            weights: &[[f32; BLOCK_KV]; ROWS],
            keys: &Range<usize>,
            values: &ValueTile,
            rescale: &[f32; ROWS],
            outputs: &mut [[f32; V_COLS]; ROWS],
        ) {
            for vector in 0..4 {
                value_columns::<Avx2, 1>(weights, keys, values, vector, rescale, outputs);
            }
        }
        // SAFETY: this level runs where its features were detected.
        unsafe { block(weights, keys, values, rescale, outputs) }
    }
}

/// Any processor; on AArch64 the compiler uses NEON.
struct Portable;

impl Level for Portable {
    type Vector = Lanes;

    #[inline(always)]
    fn fused(a: f32, b: f32, c: f32) -> f32 {
        if cfg!(any(target_arch = "aarch64", target_feature = "fma")) {
            a.mul_add(b, c)
        } else {
            a * b + c
        }
    }

    #[inline(always)]
    fn fused_lanes(a: Lanes, b: Lanes, c: Lanes) -> Lanes {
        array::from_fn(|lane| Self::fused(a[lane], b[lane], c[lane]))
    }

    #[inline(always)]
    fn plus(a: Lanes, b: Lanes) -> Lanes {
        array::from_fn(|lane| a[lane] + b[lane])
    }

    #[inline(always)]
    fn minus(a: Lanes, b: Lanes) -> Lanes {
        array::from_fn(|lane| a[lane] - b[lane])
    }

    #[inline(always)]
    fn times(a: Lanes, b: Lanes) -> Lanes {
        array::from_fn(|lane| a[lane] * b[lane])
    }

    #[inline(always)]
    fn powers(shifted: Lanes) -> Lanes {
        shifted.map(|lane| f32::from_bits(lane.to_bits() << 23))
    }

    #[inline(always)]
    fn larger(a: Lanes, b: Lanes) -> Lanes {
        array::from_fn(|lane| if a[lane] > b[lane] { a[lane] } else { b[lane] })
    }

    #[inline(always)]
    fn splat(value: f32) -> Lanes {
        [value; LANES]
    }

    #[inline(always)]
    fn load(lanes: &Lanes) -> Lanes {
        *lanes
    }

    #[inline(always)]
    fn store(vector: Lanes, lanes: &mut Lanes) {
        *lanes = vector;
    }

    #[inline(always)]
    fn prefetch(_address: *const i8) {}

    #[inline(always)]
    fn transpose(rows: [Lanes; LANES]) -> [Lanes; LANES] {
        array::from_fn(|column| array::from_fn(|row| rows[row][column]))
    }

    #[inline(always)]
    fn pack_columns(rows: &[[f32; K_COLS]; LANES], vector: usize, panel: &mut KeyPanel) {
        pack_columns::<Self, 1>(rows, vector, panel);
    }

    #[inline(always)]
    fn value_place(key: usize, vector: usize) -> usize {
        value_place::<1>(key, vector)
    }
    #[inline(always)]
    fn dots(queries: &[[f32; K_COLS]; DOT_ROWS], keys: [&KeyRow; STREAMS]) -> Lanes {
        dots::<Self, 1>(queries, &keys)
    }

    fn few_values(
        weights: [&Lanes; DOT_ROWS],
        values: &[&ValueRow; LANES],
        outputs: &mut [[f32; V_COLS]; DOT_ROWS],
    ) {
        few_values::<Self>(&weights, values, outputs);
    }

    fn score_block(
        queries: &[[f32; K_COLS]; ROWS],
        panel: &KeyPanel,
        column: usize,
        scores: &mut [[f32; BLOCK_KV]; ROWS],
    ) {
        score_columns::<Self, 1>(queries, panel, column, scores);
    }

    fn value_block(
        weights: &[[f32; BLOCK_KV]; ROWS],
        keys: &Range<usize>,
        values: &ValueTile,
        rescale: &[f32; ROWS],
        outputs: &mut [[f32; V_COLS]; ROWS],
    ) {
        for vector in 0..V_COLS / LANES {
            value_columns::<Self, 1>(weights, keys, values, vector, rescale, outputs);
        }
    }
}

/// Columns of an 8 x 8 block.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn transpose_eight(rows: [__m256; 8]) -> [__m256; 8] {
    let (mut pairs, mut fours, mut columns) = (rows, rows, rows);
    // SAFETY: only the level with AVX2 calls this.
    unsafe {
        for i in (0..8).step_by(2) {
            pairs[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
            pairs[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
        }
        for i in [0, 1, 4, 5] {
            let (low, high) = (_mm256_castps_pd(pairs[i]), _mm256_castps_pd(pairs[i + 2]));
            // Rows 0 and 1 of a pair hold columns 0 to 1 and 2 to 3.
            let at = i / 4 * 4 + i % 4 * 2;
            fours[at] = _mm256_castpd_ps(_mm256_unpacklo_pd(low, high));
            fours[at + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(low, high));
        }
        for i in 0..4 {
            columns[i] = _mm256_permute2f128_ps::<0x20>(fours[i], fours[i + 4]);
            columns[i + 4] = _mm256_permute2f128_ps::<0x31>(fours[i], fours[i + 4]);
        }
    }
    columns
}

/// The sum of all lanes of eight vectors, each two registers.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn total_eight(sums: &[[__m256; 2]; 8]) -> __m256 {
    // SAFETY: only the level with AVX2 calls this.
    unsafe {
        let mut pairs = [_mm256_setzero_ps(); 4];
        for (pair, sums) in pairs.iter_mut().zip(sums.as_chunks::<2>().0) {
            let first = _mm256_add_ps(sums[0][0], sums[0][1]);
            let second = _mm256_add_ps(sums[1][0], sums[1][1]);
            let low = _mm256_unpacklo_ps(first, second);
            *pair = _mm256_add_ps(low, _mm256_unpackhi_ps(first, second));
        }
        let mut fours = [_mm256_setzero_ps(); 2];
        for (four, pairs) in fours.iter_mut().zip(pairs.as_chunks::<2>().0) {
            let (first, second) = (_mm256_castps_pd(pairs[0]), _mm256_castps_pd(pairs[1]));
            let low = _mm256_castpd_ps(_mm256_unpacklo_pd(first, second));
            let high = _mm256_castpd_ps(_mm256_unpackhi_pd(first, second));
            *four = _mm256_add_ps(low, high);
        }
        let low = _mm256_permute2f128_ps::<0x20>(fours[0], fours[1]);
        _mm256_add_ps(low, _mm256_permute2f128_ps::<0x31>(fours[0], fours[1]))
    }
}

/// [`Level::dots`] with sums of `DOT_ROWS` rows and `N` keys in registers.
#[inline(always)]
fn dots<L: Level, const N: usize>(
    queries: &[[f32; K_COLS]; DOT_ROWS],
    keys: &[&KeyRow; STREAMS],
) -> Lanes {
    let mut sums = [[L::splat(0.0); STREAMS]; DOT_ROWS];
    for (place, keys) in keys.as_chunks::<N>().0.iter().enumerate() {
        // Told nothing of them, the compiler loads queries where they are multiplied: loaded once for all keys, they
        // would be copied to the stack.
        let queries = hint::black_box(queries);
        let mut block = [[L::splat(0.0); N]; DOT_ROWS];
        for part in 0..K_COLS / LANES {
            let keys: [L::Vector; N] = array::from_fn(|key| L::load(&keys[key][part]));
            for (query, sums) in queries.iter().zip(&mut block) {
                let query = L::load(&query.as_chunks().0[part]);
                for (sum, key) in sums.iter_mut().zip(keys) {
                    *sum = L::fused_lanes(query, key, *sum);
                }
            }
        }
        for (sums, block) in sums.iter_mut().zip(block) {
            sums[place * N..][..N].copy_from_slice(&block);
        }
    }
    L::totals(sums.as_flattened())
}

/// [`Level::few_values`] with the sums of one vector of columns in registers.
#[inline(always)]
fn few_values<L: Level>(
    weights: &[&Lanes; DOT_ROWS],
    values: &[&ValueRow; LANES],
    outputs: &mut [[f32; V_COLS]; DOT_ROWS],
) {
    for part in 0..V_COLS / LANES {
        let mut sums = [L::splat(0.0); DOT_ROWS];
        for (sum, outputs) in sums.iter_mut().zip(&*outputs) {
            *sum = L::load(&outputs.as_chunks().0[part]);
        }
        for (key, value) in values.iter().enumerate() {
            let value = L::load(&value[part]);
            for (sum, weights) in sums.iter_mut().zip(weights) {
                *sum = L::fused_lanes(L::splat(weights[key]), value, *sum);
            }
        }
        for (sum, outputs) in sums.into_iter().zip(&mut *outputs) {
            L::store(sum, &mut outputs.as_chunks_mut().0[part]);
        }
    }
}

/// [`Level::pack_columns`] for micro-kernels that take `V` vectors of columns at once.
#[inline(always)]
fn pack_columns<L: Level, const V: usize>(
    rows: &[[f32; K_COLS]; LANES],
    vector: usize,
    panel: &mut KeyPanel,
) {
    let first = vector / V * V * HEAD_DIM + vector % V;
    let places = panel[first..].iter_mut().step_by(V);
    let mut places = places.take(HEAD_DIM);
    for part in 0..K_COLS / LANES {
        let rows = array::from_fn(|row| L::load(&rows[row].as_chunks().0[part]));
        for (column, place) in L::transpose(rows).into_iter().zip(&mut places) {
            L::store(column, place);
        }
    }
}

/// [`Level::value_place`] for micro-kernels that take `V` vectors of columns at once.
#[inline(always)]
fn value_place<const V: usize>(key: usize, vector: usize) -> usize {
    vector / V * V * BLOCK_KV + key * V + vector % V
}

/// [`Level::score_block`] with sums of `ROWS` rows and `V` vectors in registers.
#[inline(always)]
fn score_columns<L: Level, const V: usize>(
    queries: &[[f32; K_COLS]; ROWS],
    panel: &KeyPanel,
    column: usize,
    scores: &mut [[f32; BLOCK_KV]; ROWS],
) {
    let groups = panel.as_chunks::<V>().0.as_chunks::<HEAD_DIM>().0;
    for (group, keys) in groups.iter().enumerate() {
        let mut sums = [[L::splat(0.0); V]; ROWS];
        for (d, keys) in keys.iter().enumerate() {
            let keys: [L::Vector; V] = array::from_fn(|vector| L::load(&keys[vector]));
            for (query, sums) in queries.iter().zip(&mut sums) {
                let query = L::splat(query[d]);
                for (sum, keys) in sums.iter_mut().zip(keys) {
                    *sum = L::fused_lanes(query, keys, *sum);
                }
            }
        }
        let vector = column / LANES + group * V;
        for (scores, sums) in scores.iter_mut().zip(sums) {
            let places = &mut scores.as_chunks_mut().0[vector..vector + V];
            for (place, sum) in places.iter_mut().zip(sums) {
                L::store(sum, place);
            }
        }
    }
}

/// [`Level::value_block`] for `V` vectors of columns, their sums in registers.
#[inline(always)]
fn value_columns<L: Level, const V: usize>(
    weights: &[[f32; BLOCK_KV]; ROWS],
    keys: &Range<usize>,
    values: &ValueTile,
    vector: usize,
    rescale: &[f32; ROWS],
    outputs: &mut [[f32; V_COLS]; ROWS],
) {
    let values = values[vector * BLOCK_KV..].as_chunks::<V>().0;
    let values = values.first_chunk::<BLOCK_KV>().expect("one per key");
    let mut sums = [[L::splat(0.0); V]; ROWS];
    for ((sums, outputs), rescale) in sums.iter_mut().zip(&*outputs).zip(rescale) {
        let outputs = &outputs.as_chunks().0[vector..vector + V];
        for (sum, output) in sums.iter_mut().zip(outputs) {
            *sum = L::fused_lanes(L::load(output), L::splat(*rescale), *sum);
        }
    }
    for key in keys.start..keys.end.min(BLOCK_KV) {
        let values: [L::Vector; V] = array::from_fn(|vector| L::load(&values[key][vector]));
        for (weights, sums) in weights.iter().zip(&mut sums) {
            let weight = L::splat(weights[key]);
            for (sum, values) in sums.iter_mut().zip(values) {
                *sum = L::fused_lanes(weight, values, *sum);
            }
        }
    }
    for (outputs, sums) in outputs.iter_mut().zip(sums) {
        let outputs = &mut outputs.as_chunks_mut().0[vector..vector + V];
        for (output, sum) in outputs.iter_mut().zip(sums) {
            L::store(sum, output);
        }
    }
}

/// The first of the levels, best ones first, that may be used: `FA_CPU_LEVEL` names it, for tests and comparisons.
#[cfg(target_arch = "x86_64")]
fn first_level() -> usize {
    static FIRST: OnceLock<usize> = OnceLock::new();
    *FIRST.get_or_init(|| {
        let asked = std::env::var("FA_CPU_LEVEL").unwrap_or_default();
        let known = ["avx512", "avx2", "portable"];
        known.iter().position(|name| *name == asked).unwrap_or(0)
    })
}

/// Loads the query rows of a task, multiplied by the scale; rows that fill up the last group are 0.
#[inline(always)]
fn load_query<L: Level>(task: &Task, first: usize, scratch: &mut Scratch) {
    let q_tile = &mut scratch.q_tile[first..first + task.rows.next_multiple_of(ROWS)];
    let (rows, padding) = q_tile.split_at_mut(task.rows);
    for (q_idx, query) in (task.first_row..).zip(rows) {
        let q = &task.problem.q;
        q.read_row::<L>([task.b, task.h, q_idx], &mut query[..HEAD_DIM]);
        for value in query {
            *value *= SCALE;
        }
    }
    padding.as_flattened_mut().fill(0.0);
}

/// Sets the rows of a task, which lie at `first` in the buffers, to the state before the first key.
#[inline(always)]
fn start_rows(task: &Task, first: usize, scratch: &mut Scratch) {
    let rows = first..first + task.rows.next_multiple_of(ROWS);
    scratch.row_max[rows.clone()].fill(f32::NEG_INFINITY);
    scratch.row_sum[rows.clone()].fill(0.0);
    scratch.o_acc[rows].as_flattened_mut().fill(0.0);
}

/// Keys that some row of the task may see.
#[inline(always)]
fn key_limits(task: &Task) -> Range<i32> {
    // end: max(min(kv_len, q_last + (kv_len - q_len) + 1), 0)
    let q_last = task.first_row + task.rows as i32 - 1;
    let value_1 = task.kv_len.wrapping_sub(task.q_len);
    let value_2 = q_last.wrapping_add(value_1);
    let value_3 = value_2.wrapping_add(1);
    let value_4 = task.kv_len.min(value_3);
    0..value_4.max(0)
}

/// Whether every pair of the tile is attended.
#[inline(always)]
fn tile_is_full(task: &Task, tile: &KeyTile) -> bool {
    // kv_last < q_first + (kv_len - q_len + 1)
    let kv_last = tile.first + tile.cols as i32 - 1;
    let value_1 = task.kv_len.wrapping_sub(task.q_len);
    let value_2 = value_1.wrapping_add(1);
    let value_3 = task.first_row.wrapping_add(value_2);
    kv_last < value_3
}

/// Packs the keys of a tile column by column, in panels; columns without a key are 0.
#[inline(always)]
fn pack_keys<L: Level>(task: &Task, tile: &KeyTile, scratch: &mut Scratch) {
    let Scratch {
        key_rows, key_tile, ..
    } = scratch;
    for first in (0..tile.cols).step_by(LANES) {
        let count = LANES.min(tile.cols - first);
        let (keys, padding) = key_rows.split_at_mut(count);
        for (kv_idx, key) in (tile.first + first as i32..).zip(keys) {
            let k = &task.problem.k;
            k.read_row::<L>([task.b, task.kv_h, kv_idx], &mut key[..HEAD_DIM]);
        }
        padding.as_flattened_mut().fill(0.0);
        let panel = &mut key_tile[first / PANEL];
        L::pack_columns(key_rows, first % PANEL / LANES, panel);
    }
}

/// Columns of a tile that some row of a task may see, widened to whole vectors.
#[inline(always)]
fn visible_columns(task: &Task, tile: &KeyTile) -> Range<usize> {
    let keys = key_limits(task);
    let column = |key: i32| (key - tile.first).clamp(0, tile.cols as i32) as usize;
    let (first, last) = (column(keys.start), column(keys.end));
    if task.rows == 0 || first >= last {
        return 0..0;
    }
    first - first % LANES..last.next_multiple_of(LANES)
}

/// S = Q K^T * scale for one key tile and few rows, for which packing the keys does not pay. The values
/// of the tile are asked for meanwhile.
#[inline(always)]
fn compute_few_scores<L: Level>(task: &Task, tile: &KeyTile, rows: usize, scratch: &mut Scratch) {
    let Task { b, kv_h, .. } = *task;
    let (k, v) = (&task.problem.k, &task.problem.v);
    let share = tile.cols.div_ceil(STREAMS);
    for step in 0..share {
        let columns: [usize; STREAMS] =
            array::from_fn(|stream| (stream * share + step).min(tile.cols - 1));
        let mut keys = [const { &[[0.0; LANES]; K_COLS / LANES] }; STREAMS];
        let buffers = scratch.key_rows.as_flattened_mut().as_chunks_mut().0;
        let buffers = buffers.as_chunks_mut().0.iter_mut().zip(columns);
        for (key, (buffer, column)) in keys.iter_mut().zip(buffers) {
            let kv_idx = tile.first + column as i32;
            k.prefetch_row::<L>([b, kv_h, kv_idx + AHEAD], HEAD_DIM);
            *key = k.row::<L, HEAD_DIM, _>([b, kv_h, kv_idx], buffer);
            v.prefetch_row::<L>([b, kv_h, kv_idx], V_HEAD_DIM);
        }
        let queries = scratch.q_tile.as_chunks().0;
        let scores = scratch.s_tile.as_chunks_mut::<DOT_ROWS>().0;
        for (queries, scores) in queries.iter().zip(scores).take(rows.div_ceil(DOT_ROWS)) {
            let products = L::dots(queries, keys);
            for (scores, products) in scores.iter_mut().zip(products.as_chunks::<STREAMS>().0) {
                for (column, product) in columns.iter().zip(products) {
                    scores[*column] = *product;
                }
            }
        }
    }
}

/// O = O * rescale + P V for one key tile and few rows, with values as they lie. The weight of a masked pair is
/// `MASKED`, and that of what fills up the last vector is 0.
#[inline(always)]
fn add_few_values<L: Level>(task: &Task, tile: &KeyTile, rows: usize, scratch: &mut Scratch) {
    let Scratch {
        o_acc,
        rescale,
        s_tile,
        value_tile,
        ..
    } = scratch;
    let mut before = [[0.0; V_COLS]; FEW_ROWS];
    for ((outputs, before), rescale) in o_acc.iter_mut().zip(&mut before).zip(rescale).take(rows) {
        for (output, before) in outputs.iter_mut().zip(before) {
            *output *= *rescale;
            *before = *output;
        }
    }
    let v = &task.problem.v;
    let index = |column: usize| [task.b, task.kv_h, tile.first + column as i32];
    for first in (0..tile.cols).step_by(LANES) {
        let mut values = [const { &[[0.0; LANES]; V_COLS / LANES] }; LANES];
        let buffers = value_tile.as_chunks_mut().0.iter_mut();
        for (column, (value, buffer)) in (first..tile.cols).zip(values.iter_mut().zip(buffers)) {
            *value = v.row::<L, V_HEAD_DIM, _>(index(column), buffer);
        }
        let groups = s_tile.as_chunks::<DOT_ROWS>().0.iter();
        let groups = groups.zip(o_acc.as_chunks_mut::<DOT_ROWS>().0);
        for (weights, outputs) in groups.take(rows.div_ceil(DOT_ROWS)) {
            let part = |row: usize| &weights[row].as_chunks().0[first / LANES];
            L::few_values(array::from_fn(part), &values, outputs);
        }
    }
    // Where a value is infinite or NaN, pairs that are masked must not see it: once more, pair by pair.
    let mut sums = o_acc[..rows].as_flattened().iter();
    if !sums.all(|sum| sum.is_finite()) {
        o_acc[..rows].copy_from_slice(&before[..rows]);
        let buffer: &mut ValueRow = &mut value_tile.as_chunks_mut().0[0];
        for column in 0..tile.cols {
            let value = v.row::<L, V_HEAD_DIM, _>(index(column), &mut *buffer);
            for (outputs, weights) in o_acc[..rows].iter_mut().zip(&*s_tile) {
                if weights[column].to_bits() != MASKED.to_bits() {
                    for (output, value) in outputs.iter_mut().zip(value.as_flattened()) {
                        *output += weights[column] * *value;
                    }
                }
            }
        }
    }
}

/// S = Q K^T * scale for one key tile and a strip of rows, in the columns that each group of rows sees.
#[inline(always)]
fn compute_scores<L: Level>(groups: &[Group], scratch: &mut Scratch) {
    let queries = scratch.q_tile[groups[0].row..].as_chunks().0;
    let scores = scratch.s_tile.as_chunks_mut().0;
    for (place, panel) in scratch.key_tile.iter().enumerate() {
        let column = place * PANEL;
        for ((group, queries), scores) in groups.iter().zip(queries).zip(&mut *scores) {
            if group.columns.start < column + PANEL && column < group.columns.end {
                L::score_block(queries, panel, column, scores);
            }
        }
    }
}

/// Turns the products of one row of a tile into scores.
#[inline(always)]
fn apply_score(task: &Task, tile: &KeyTile, row: usize, scores: &mut [f32; BLOCK_KV]) {
    // s = score + bias[h, q_idx, kv_idx]
    let bias = &task.problem.bias;
    let q_idx = task.first_row + row as i32;
    let mut bias_1 = [0.0; BLOCK_KV];
    bias.read_run([task.h, q_idx, tile.first], 2, &mut bias_1[..tile.cols]);
    for (lane, score) in scores.iter_mut().enumerate() {
        *score += bias_1[lane];
    }
}

/// s = -inf for the pairs of one row that the mask leaves out.
#[inline(always)]
fn apply_mask(task: &Task, tile: &KeyTile, row: usize, scores: &mut [f32; BLOCK_KV]) {
    // attend where kv_idx <= q_pos
    let q_pos = task.first_row + row as i32 + task.q_shift;
    for (lane, score) in scores.iter_mut().enumerate() {
        let kv_idx = tile.first + lane as i32;
        *score = if kv_idx <= q_pos {
            *score
        } else {
            f32::NEG_INFINITY
        };
    }
}

/// Folds the scores of one row into its running maximum and sum and turns them into weights; returns the
/// factor for what was accumulated before. With `MARK`, the weight of a masked pair is `MASKED`.
#[inline(always)]
fn update_softmax<L: Level, const MARK: bool>(
    scores: &mut [Lanes],
    row_max: &mut f32,
    row_sum: &mut f32,
) -> f32 {
    let tile_max = row_max.max(largest::<L>(scores));
    // A fully masked row stays at -inf; shifting it by zero gives exp(-inf) = 0 instead of NaN.
    let shift = if tile_max == f32::NEG_INFINITY {
        0.0
    } else {
        tile_max
    };
    let sums = weigh_lanes::<L, MARK>(scores, shift);
    // After its first tiles a row seldom finds a larger score.
    let rescale = if *row_max >= tile_max {
        1.0
    } else {
        exp_of_negative::<L>(*row_max - shift)
    };
    *row_max = tile_max;
    *row_sum = *row_sum * rescale + total(sums);
    rescale
}

/// Loads the value rows of a tile; what fills up the last vector of columns or keys is 0. Returns whether all
/// are finite.
#[inline(always)]
fn load_values<L: Level>(task: &Task, tile: &KeyTile, values: &mut ValueTile) -> bool {
    let mut row = [0.0; V_COLS];
    // A finite number times 0 is 0, any other is NaN.
    let mut zeros = L::splat(0.0);
    let share = tile.cols.div_ceil(LANES) * LANES / STREAMS;
    for place in 0..share * STREAMS {
        let key = place % STREAMS * share + place / STREAMS;
        if key < tile.cols {
            let index = [task.b, task.kv_h, tile.first + key as i32];
            let row = &mut row[..V_HEAD_DIM];
            task.problem.v.read_row::<L>(index, row);
        } else {
            row.fill(0.0);
        }
        for (vector, lanes) in row.as_chunks::<LANES>().0.iter().enumerate() {
            zeros = L::fused_lanes(L::load(lanes), L::splat(0.0), zeros);
            values[L::value_place(key, vector)] = *lanes;
        }
    }
    let mut lanes = [0.0; LANES];
    L::store(zeros, &mut lanes);
    total(lanes) == 0.0
}

/// Asks for keys and values ahead of their use.
#[inline(always)]
fn prefetch_rows<L: Level>(task: &Task, kv_indices: Range<i32>) {
    for kv_idx in kv_indices {
        let index = [task.b, task.kv_h, kv_idx];
        task.problem.k.prefetch_row::<L>(index, HEAD_DIM);
        task.problem.v.prefetch_row::<L>(index, V_HEAD_DIM);
    }
}

/// O = O * rescale + P V for one key tile and a strip of rows, over the keys that each group of rows sees.
#[inline(always)]
fn accumulate_output<L: Level>(groups: &[Group], tile: &KeyTile, scratch: &mut Scratch) {
    let weights = scratch.s_tile.as_chunks().0;
    let rescale = scratch.rescale.as_chunks().0;
    let outputs = scratch.o_acc[groups[0].row..].as_chunks_mut().0;
    let rows = weights.iter().zip(rescale).zip(outputs);
    for (group, ((weights, rescale), outputs)) in groups.iter().zip(rows) {
        if !group.columns.is_empty() {
            let (keys, values) = (&group.columns, &scratch.value_tile);
            add_values::<L>(weights, keys, tile, values, rescale, outputs);
        }
    }
}

/// O = O * rescale + P V for a group of rows.
#[inline(always)]
fn add_values<L: Level>(
    weights: &[[f32; BLOCK_KV]; ROWS],
    keys: &Range<usize>,
    tile: &KeyTile,
    values: &ValueTile,
    rescale: &[f32; ROWS],
    outputs: &mut [[f32; V_COLS]; ROWS],
) {
    if tile.finite {
        L::value_block(weights, keys, values, rescale, outputs);
    } else {
        add_attended_values::<L>(weights, keys, values, rescale, outputs);
    }
}

/// [`Level::value_block`] for values with infinities or NaNs: pairs that are masked do not see them.
fn add_attended_values<L: Level>(
    weights: &[[f32; BLOCK_KV]; ROWS],
    keys: &Range<usize>,
    values: &ValueTile,
    rescale: &[f32; ROWS],
    outputs: &mut [[f32; V_COLS]; ROWS],
) {
    for ((weights, rescale), outputs) in weights.iter().zip(rescale).zip(outputs) {
        for output in outputs.iter_mut() {
            *output *= *rescale;
        }
        for key in keys.clone() {
            let weight = weights[key];
            if weight.to_bits() == MASKED.to_bits() {
                continue;
            }
            for (vector, outputs) in outputs.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
                let values = &values[L::value_place(key, vector)];
                for (output, value) in outputs.iter_mut().zip(values) {
                    *output += weight * *value;
                }
            }
        }
    }
}

/// out = O / row sum; a row that attends to nothing is 0.
#[inline(always)]
fn store_output(task: &Task, first: usize, scratch: &Scratch) {
    for row in 0..task.rows {
        let row_sum = scratch.row_sum[first + row];
        let weight = if row_sum == 0.0 { 0.0 } else { 1.0 / row_sum };
        let q_idx = i64::from(task.first_row) + row as i64;
        let index = [i64::from(task.b), i64::from(task.h), q_idx];
        let output = scratch.o_acc[first + row][..V_HEAD_DIM].iter();
        let output = output.map(|value| Fp16::rounded(*value * weight));
        task.problem.out.store_row(index, output);
    }
}

/// LSE = m + ln(l), where the launch wants it; -inf for a row that attends to nothing.
#[inline(always)]
fn store_lse(task: &Task, first: usize, scratch: &Scratch) {
    let Some(lse) = &task.problem.lse else {
        return;
    };
    for row in 0..task.rows {
        let q_idx = i64::from(task.first_row) + row as i64;
        let index = [i64::from(task.b), i64::from(task.h), q_idx];
        let value = scratch.row_max[first + row] + scratch.row_sum[first + row].ln();
        lse.store_row(index, [value].into_iter());
    }
}

/// Keys of a launch in parts, so that each task becomes as many as there are parts; the one that is done last puts
/// together what all of them found. Any order of tasks gives the same bits.
#[repr(C)]
pub struct FaSplit {
    /// Parts of the keys.
    pub parts: i64,
    /// Keys of a part, a multiple of the rows of a tile.
    pub part_keys: i64,
    /// What parts keep for the last one: for each part of each task a row of numbers, as long as [`state_rows`] rows of
    /// `STATE_COLS`.
    pub states: *mut f32,
    /// For each task the parts that are done; zeros before the launch.
    pub done: *const AtomicU32,
}

/// Numbers that a part keeps of a row.
const STATE_COLS: usize = V_COLS + 2;
/// Output sums, running maximum and running sum of a row.
type RowState = [f32; STATE_COLS];

/// Rows that a task of queries of this length may have.
fn state_rows(q_len: i64) -> usize {
    if q_len <= FEW_ROWS as i64 {
        FEW_ROWS
    } else {
        (q_len as usize).next_multiple_of(ROWS).min(Q_ROWS)
    }
}

/// One of the parts that the keys of a task are split in.
#[derive(Clone, Copy)]
struct Part<'a> {
    split: &'a FaSplit,
    /// Number of the task.
    task: i64,
    /// Number of the part.
    place: i64,
    /// Rows that a task of the launch may have.
    rows: usize,
}

impl<'a> Part<'a> {
    /// The part of a task that has this number.
    fn new(split: &'a FaSplit, number: i64, q_len: i64) -> Self {
        Part {
            split,
            task: number / split.parts,
            place: number % split.parts,
            rows: state_rows(q_len),
        }
    }

    /// Those of some keys that belong to the part.
    fn keys(&self, keys: Range<i32>) -> Range<i32> {
        let first = self.place * self.split.part_keys;
        let [start, end] = [keys.start, keys.end]
            .map(|key| i64::from(key).clamp(first, first + self.split.part_keys) as i32);
        start..end
    }

    /// The rows of a part of the task.
    fn states(&self, place: i64) -> *mut RowState {
        let number = (self.task * self.split.parts + place) as usize;
        // SAFETY: the launch has room for the rows of each part of each task.
        unsafe { self.split.states.cast::<RowState>().add(number * self.rows) }
    }

    /// Keeps the first rows of the buffers; returns whether all other parts of the task have done so.
    fn keep(&self, rows: usize, scratch: &Scratch) -> bool {
        // SAFETY: a task has no more rows than there is room for, and nobody else looks at them before they are counted.
        let states = unsafe { slice::from_raw_parts_mut(self.states(self.place), rows) };
        for (row, state) in states.iter_mut().enumerate() {
            state[..V_COLS].copy_from_slice(&scratch.o_acc[row]);
            state[V_COLS] = scratch.row_max[row];
            state[V_COLS + 1] = scratch.row_sum[row];
        }
        // SAFETY: there is a counter for each task.
        let done = unsafe { &*self.split.done.add(self.task as usize) };
        i64::from(done.fetch_add(1, Ordering::AcqRel)) + 1 == self.split.parts
    }

    /// Puts the rows of all parts together, part by part.
    #[inline(always)]
    fn merge<L: Level>(&self, rows: usize, scratch: &mut Scratch) {
        for row in 0..rows {
            // SAFETY: all parts have kept their rows, and none writes them again.
            let state = |place| unsafe { &*self.states(place).add(row) };
            let mut row_max = f32::NEG_INFINITY;
            for place in 0..self.split.parts {
                row_max = row_max.max(state(place)[V_COLS]);
            }
            let shift = if row_max == f32::NEG_INFINITY {
                0.0
            } else {
                row_max
            };
            let outputs = &mut scratch.o_acc[row];
            outputs.fill(0.0);
            let mut row_sum = 0.0;
            for place in 0..self.split.parts {
                let state = state(place);
                let factor = exp_of_negative::<L>(state[V_COLS] - shift);
                for (output, sum) in outputs.iter_mut().zip(state) {
                    *output = L::fused(factor, *sum, *output);
                }
                row_sum = L::fused(factor, state[V_COLS + 1], row_sum);
            }
            scratch.row_max[row] = row_max;
            scratch.row_sum[row] = row_sum;
        }
    }
}

/// Stores the rows of some heads, `task.rows` of each; of a task whose keys are split, only once all parts are done.
#[inline(always)]
fn finish<L: Level>(task: &Task, heads: usize, part: Option<Part>, scratch: &mut Scratch) {
    if let Some(part) = part {
        let rows = heads * task.rows;
        if !part.keep(rows, scratch) {
            return;
        }
        part.merge::<L>(rows, scratch);
    }
    for head in 0..heads {
        store_output(&task.head(head), head * task.rows, scratch);
        store_lse(&task.head(head), head * task.rows, scratch);
    }
}

/// A group of rows within the buffers of a thread.
struct Group<'a> {
    task: Task<'a>,
    /// Its first row among those of the buffers.
    row: usize,
    /// Its first row among those of the strip.
    strip_row: usize,
    /// Columns of the tile that are worked on.
    columns: Range<usize>,
}

/// Turns the products of a group of rows into weights.
#[inline(always)]
fn weigh<L: Level>(group: &Group, tile: &KeyTile, scratch: &mut Scratch) {
    let task = &group.task;
    let tile = &KeyTile {
        full: tile_is_full(task, tile),
        ..*tile
    };
    for row in 0..task.rows {
        let scores = &mut scratch.s_tile[group.strip_row + row];
        apply_score(task, tile, row, scores);
        if !tile.full {
            apply_mask(task, tile, row, scores);
        }
        if tile.cols < group.columns.end {
            scores[tile.cols..group.columns.end].fill(f32::NEG_INFINITY);
        }
        let state = group.row + row;
        let (row_max, row_sum) = (&mut scratch.row_max[state], &mut scratch.row_sum[state]);
        let vectors = group.columns.start / LANES..group.columns.end / LANES;
        let vectors = &mut scores.as_chunks_mut().0[vectors];
        scratch.rescale[group.strip_row + row] = if tile.finite {
            update_softmax::<L, false>(vectors, row_max, row_sum)
        } else {
            update_softmax::<L, true>(vectors, row_max, row_sum)
        };
    }
}

/// Folds one key tile into a strip of rows, from `first` on.
#[inline(always)]
fn fold_strip<L: Level>(task: &Task, tile: &KeyTile, first: usize, scratch: &mut Scratch) {
    let groups: [Group; STRIP / ROWS] = array::from_fn(|group| {
        let row = first + group * ROWS;
        let task = task.group(row);
        let columns = visible_columns(&task, tile);
        Group {
            task,
            row,
            strip_row: group * ROWS,
            columns,
        }
    });
    compute_scores::<L>(&groups, scratch);
    for group in &groups {
        if !group.columns.is_empty() {
            weigh::<L>(group, tile, scratch);
        }
    }
    accumulate_output::<L>(&groups, tile, scratch);
}

/// Computes the rows of one task, with all of its keys or a part of them.
#[inline(always)]
fn attend<L: Level>(task: &Task, part: Option<Part>, scratch: &mut Scratch) {
    load_query::<L>(task, 0, scratch);
    start_rows(task, 0, scratch);
    let mut keys = key_limits(task);
    if let Some(part) = part {
        keys = part.keys(keys);
    }
    // Tiles lie at multiples of their height, whatever the limits.
    let mut first = keys.start - keys.start % BLOCK_KV as i32;
    while first < keys.end {
        let tile = &mut KeyTile::new(first, keys.end);
        first += BLOCK_KV as i32;
        pack_keys::<L>(task, tile, scratch);
        tile.finite = load_values::<L>(task, tile, &mut scratch.value_tile);
        // Rows of the next tile come into the cache while this one is worked on.
        let ahead = (BLOCK_KV * STRIP).div_ceil(task.rows) as i32;
        let mut next = tile.first + BLOCK_KV as i32;
        for first in (0..task.rows).step_by(STRIP) {
            prefetch_rows::<L>(task, next..(next + ahead).min(keys.end));
            next += ahead;
            fold_strip::<L>(task, tile, first, scratch);
        }
    }
    finish::<L>(task, 1, part, scratch);
}

/// Computes the few rows of some heads that share keys and values, which are read once.
#[inline(always)]
fn attend_few<L: Level>(task: &Task, heads: usize, part: Option<Part>, scratch: &mut Scratch) {
    let rows = heads * task.rows;
    let mut keys = 0..0;
    for head in 0..heads {
        let task = &task.head(head);
        load_query::<L>(task, head * task.rows, scratch);
        start_rows(task, head * task.rows, scratch);
        let own = key_limits(task);
        keys = if head == 0 {
            own
        } else {
            keys.start.min(own.start)..keys.end.max(own.end)
        };
    }
    if let Some(part) = part {
        keys = part.keys(keys);
    }
    let mut first = keys.start - keys.start % BLOCK_KV as i32;
    while first < keys.end {
        let tile = &mut KeyTile::new(first, keys.end);
        first += BLOCK_KV as i32;
        compute_few_scores::<L>(task, tile, rows, scratch);
        // Masked pairs are marked, whatever the values.
        tile.finite = false;
        let groups: [Group; FEW_ROWS] = array::from_fn(|head| Group {
            task: task.head(head),
            row: head * task.rows,
            strip_row: head * task.rows,
            columns: 0..tile.cols.next_multiple_of(LANES),
        });
        for group in &groups[..heads] {
            weigh::<L>(group, tile, scratch);
        }
        add_few_values::<L>(task, tile, rows, scratch);
    }
    finish::<L>(task, heads, part, scratch);
}

/// A launch, and how its keys are split.
struct Work<'a> {
    problem: Problem<'a>,
    split: Option<&'a FaSplit>,
}

/// Runs tasks one after the other.
#[inline(always)]
fn run_tasks<L: Level>(work: &Work, tasks: Range<i64>, scratch: &mut Scratch) {
    let Work { problem, split } = work;
    for number in tasks {
        let part = split.map(|split| Part::new(split, number, problem.launch.q_len));
        let number = part.map_or(number, |part| part.task);
        let task = Task::new(problem, number);
        if problem.launch.q_len > FEW_ROWS as i64 {
            attend::<L>(&task, part, scratch);
        } else if let heads @ 1.. = task.led_heads() {
            attend_few::<L>(&task, heads, part, scratch);
        }
    }
}

/// What runs on x86-64 with AVX-512. A module, so that it is compiled beside the other levels.
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::*;

    /// [`run_tasks`] with the instructions of this level.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn run(work: &Work, tasks: Range<i64>, scratch: &mut Scratch) {
        run_tasks::<Avx512>(work, tasks, scratch);
    }
}

/// What runs on x86-64 with AVX2, FMA and F16C. A module, so that it is compiled beside the other levels.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::*;

    /// [`run_tasks`] with the instructions of this level.
    #[target_feature(enable = "avx2,fma,f16c")]
    pub(super) fn run(work: &Work, tasks: Range<i64>, scratch: &mut Scratch) {
        run_tasks::<Avx2>(work, tasks, scratch);
    }
}

/// Runs tasks with the best level of this processor.
fn dispatch(work: &Work, tasks: Range<i64>, scratch: &mut Scratch) {
    #[cfg(target_arch = "x86_64")]
    let first = first_level();
    #[cfg(target_arch = "x86_64")]
    if first < 1
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
    {
        // SAFETY: the features were just detected.
        return unsafe { avx512::run(work, tasks, scratch) };
    }
    #[cfg(target_arch = "x86_64")]
    if first < 2
        && is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
    {
        // SAFETY: the features were just detected.
        return unsafe { avx2::run(work, tasks, scratch) };
    }
    run_tasks::<Portable>(work, tasks, scratch);
}

/// Runs tasks `first_task..last_task` of a launch, of `batch * heads * ceil(q_len / 384)` in all, or of as many
/// times that as a split has parts.
///
/// `pointers` holds `q`, `k`, `v`, `out`, `lse`, `bias`; `lse` may be null. Any split of the tasks
/// over threads gives the same bits. Returns 0.
/// The address of a [`FaSplit`] follows the other pointers; it is null where keys are whole.
///
/// # Safety
/// `launch` and `pointers` are valid, each pointer reaches every element that sizes and strides name, outputs
/// overlap nothing, and no task number is passed to two calls at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fa_pair_bias_forward(
    launch: *const FaLaunch,
    pointers: *const *mut c_void,
    first_task: i64,
    last_task: i64,
) -> i32 {
    // SAFETY: the caller passes a launch block, one pointer per tensor, and that of the split.
    let (launch, pointers) =
        unsafe { (&*launch, &*pointers.cast::<[*mut c_void; POINTERS + 1]>()) };
    let tensors = pointers.first_chunk().expect("there is one more");
    // SAFETY: the caller vouches for the tensors and the split.
    let work = &unsafe {
        Work {
            problem: Problem::new(launch, tensors),
            split: pointers[POINTERS].cast::<FaSplit>().as_ref(),
        }
    };
    SCRATCH.with_borrow_mut(|scratch| dispatch(work, first_task..last_task, scratch));
    0
}
