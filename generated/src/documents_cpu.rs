//! Attention `documents`, forward. Written by fa-gen 0.1.0; edit captured.fa, not this file.
//!
//! ```text
//! source     captured.fa, sha256 0caabed143883828
//! target     cpu
//! precision  qkv fp16, softmax fp32, sums fp32, output fp16
//! layout     bnsd; any strides
//!
//! buffer      memory rows x cols x bytes       KiB
//! q_tile      L2      128 x   64 x     4     32.00
//! key_rows    L2       32 x   64 x     4      8.00
//! key_panel   L2       64 x   32 x     4      8.00
//! s_tile      L2      128 x  128 x     4     64.00  largest
//! value_rows  L2       64 x   64 x     4     16.00
//! o_acc       L2      128 x   64 x     4     32.00
//! row_max     L2        1 x  128 x     4      0.50
//! row_sum     L2        1 x  128 x     4      0.50
//! rescale     L2        1 x  128 x     4      0.50
//! columns     L2        1 x  128 x     4      0.50
//!             L2     total                  162.00 of 1024.00
//! ```

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
use std::array;
use std::ffi::c_void;
use std::mem::offset_of;
use std::ops::Range;
use std::slice;

/// Width of Q and K rows.
const HEAD_DIM: usize = 64;
/// Width of V and O rows.
const V_HEAD_DIM: usize = 64;
/// Query rows of a task.
const BLOCK_Q: usize = 128;
/// Key rows of a tile.
const BLOCK_KV: usize = 128;
/// Query rows of a micro-kernel.
const ROWS: usize = 4;
/// Most rows that packing keys does not pay for.
const FEW_ROWS: usize = 8;
/// Key rows that are packed at once.
const PANEL: usize = 32;
/// Value rows that are loaded at once.
const VALUE_ROWS: usize = 64;
/// Width of a value row, filled up to whole vectors.
const V_COLS: usize = 64;
/// Elements that are worked on side by side.
const LANES: usize = 16;
/// Pointers of a launch.
const POINTERS: usize = 6;
/// Score of a unit product.
const SCALE: f32 = 0.125;
/// Weight of a masked pair: a zero that no exponential gives.
const MASKED: f32 = -0.0;
/// First byte of `q_tile` in the scratch.
const Q_TILE_OFFSET: usize = 0;
/// First byte of `key_rows` in the scratch.
const KEY_ROWS_OFFSET: usize = Q_TILE_OFFSET + BLOCK_Q * HEAD_DIM * 4;
/// First byte of `key_panel` in the scratch.
const KEY_PANEL_OFFSET: usize = KEY_ROWS_OFFSET + PANEL * HEAD_DIM * 4;
/// First byte of `s_tile` in the scratch.
const S_TILE_OFFSET: usize = KEY_PANEL_OFFSET + HEAD_DIM * PANEL * 4;
/// First byte of `value_rows` in the scratch.
const VALUE_ROWS_OFFSET: usize = S_TILE_OFFSET + BLOCK_Q * BLOCK_KV * 4;
/// First byte of `o_acc` in the scratch.
const O_ACC_OFFSET: usize = VALUE_ROWS_OFFSET + VALUE_ROWS * V_COLS * 4;
/// First byte of `row_max` in the scratch.
const ROW_MAX_OFFSET: usize = O_ACC_OFFSET + BLOCK_Q * V_COLS * 4;
/// First byte of `row_sum` in the scratch.
const ROW_SUM_OFFSET: usize = ROW_MAX_OFFSET + BLOCK_Q * 4;
/// First byte of `rescale` in the scratch.
const RESCALE_OFFSET: usize = ROW_SUM_OFFSET + BLOCK_Q * 4;
/// First byte of `columns` in the scratch.
const COLUMNS_OFFSET: usize = RESCALE_OFFSET + BLOCK_Q * 4;
/// Bytes of the scratch of one thread.
const SCRATCH_BYTES: usize = (COLUMNS_OFFSET + BLOCK_KV * 4).next_multiple_of(64);
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
    /// Strides of `ids`, outermost first; 0 broadcasts.
    pub ids_stride: [i64; 4],
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
    assert!(offset_of!(FaLaunch, ids_stride) == 208);
};

/// An element as it lies in memory.
trait Element: Copy {
    /// What expressions and products see.
    type Value: Copy;

    /// Its value.
    fn value(self) -> Self::Value;

    /// Values of neighbouring elements, by the best means of the level.
    #[inline(always)]
    fn widen<L: Level>(elements: &[Self], values: &mut [Self::Value]) {
        for (value, element) in values.iter_mut().zip(elements) {
            *value = element.value();
        }
    }
}

impl Element for i32 {
    type Value = i32;

    #[inline(always)]
    fn value(self) -> i32 {
        self
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

    /// The element with this index.
    #[inline(always)]
    fn at<const RANK: usize>(&self, index: [i32; RANK]) -> T::Value {
        self.elements[self.offset(index)].value()
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

    /// Stores one element.
    #[inline(always)]
    fn store(&self, index: [i64; 4], value: T) {
        let distances = index.iter().zip(&self.stride);
        let offset: i64 = distances.map(|(index, stride)| index * stride).sum();
        let offset = offset as usize;
        assert!(offset < self.elems, "an output index leaves its tensor");
        // SAFETY: the offset lies inside the tensor, and no other task writes this element.
        unsafe { self.start.add(offset).write(value) }
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
    ids: View<'a, i32>,
}

impl<'a> Problem<'a> {
    /// # Safety
    /// As for [`fa_documents_forward`].
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
                ids: View::new(pointers[5], [batch, kv_len, 1, 1], launch.ids_stride),
            }
        }
    }
}

/// Buffers of one thread, in the order of the budget.
#[repr(C, align(64))]
struct Scratch {
    /// Query rows of the task.
    q_tile: [[f32; HEAD_DIM]; BLOCK_Q],
    /// Key rows of a panel, as they come.
    key_rows: [[f32; HEAD_DIM]; PANEL],
    /// The same keys, column by column.
    key_panel: [[f32; PANEL]; HEAD_DIM],
    /// Scores, then their weights.
    s_tile: [[f32; BLOCK_KV]; BLOCK_Q],
    /// Value rows of a piece.
    value_rows: [[f32; V_COLS]; VALUE_ROWS],
    /// Output sums, not yet divided.
    o_acc: [[f32; V_COLS]; BLOCK_Q],
    /// Running maximum of each row.
    row_max: [f32; BLOCK_Q],
    /// Running sum of each row.
    row_sum: [f32; BLOCK_Q],
    /// Factor for older sums of each row.
    rescale: [f32; BLOCK_Q],
    /// Values per key of a tile.
    columns: Columns,
}

const _: () = {
    assert!(offset_of!(Scratch, q_tile) == Q_TILE_OFFSET);
    assert!(offset_of!(Scratch, key_rows) == KEY_ROWS_OFFSET);
    assert!(offset_of!(Scratch, key_panel) == KEY_PANEL_OFFSET);
    assert!(offset_of!(Scratch, s_tile) == S_TILE_OFFSET);
    assert!(offset_of!(Scratch, value_rows) == VALUE_ROWS_OFFSET);
    assert!(offset_of!(Scratch, o_acc) == O_ACC_OFFSET);
    assert!(offset_of!(Scratch, row_max) == ROW_MAX_OFFSET);
    assert!(offset_of!(Scratch, row_sum) == ROW_SUM_OFFSET);
    assert!(offset_of!(Scratch, rescale) == RESCALE_OFFSET);
    assert!(offset_of!(Scratch, columns) == COLUMNS_OFFSET);
    assert!(size_of::<Scratch>() == SCRATCH_BYTES);
    assert!(SCRATCH_BYTES <= L2_BYTES, "L2 budget exceeded");
};

impl Scratch {
    /// Zeroed buffers on the heap.
    fn new() -> Box<Scratch> {
        // SAFETY: every buffer holds numbers or bools, for which zero bytes are a value.
        unsafe { Box::new_zeroed().assume_init() }
    }
}

/// Query rows of one block of one head.
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
    /// The task with this number; tasks go by sequence, then head, then block of query rows.
    fn new(problem: &'a Problem<'a>, number: i64) -> Self {
        let launch = problem.launch;
        let blocks = launch.q_len.div_euclid(BLOCK_Q as i64) + 1;
        let blocks = blocks - i64::from(launch.q_len % BLOCK_Q as i64 == 0);
        let (plane, block) = (number / blocks, number % blocks);
        let (b, h) = (plane / launch.heads, plane % launch.heads);
        let first_row = block * BLOCK_Q as i64;
        Task {
            problem,
            b: b as i32,
            h: h as i32,
            kv_h: (h / (launch.heads / launch.kv_heads)) as i32,
            first_row: first_row as i32,
            rows: (launch.q_len - first_row).min(BLOCK_Q as i64) as usize,
            q_len: launch.q_len as i32,
            kv_len: launch.kv_len as i32,
            q_shift: (launch.kv_len - launch.q_len) as i32,
        }
    }

    /// Groups of rows that the products work on; the last one may be partly unused.
    fn row_groups(&self) -> usize {
        self.rows.div_ceil(ROWS)
    }
}

/// Key and value rows of one step.
struct KeyTile {
    first: i32,
    cols: usize,
}

/// What scores and masks need of each key of a tile, whatever the query.
#[repr(C)]
struct Columns {
    ids: [i32; BLOCK_KV],
}

/// Sum of all lanes, as a tree.
#[inline(always)]
fn total(lanes: [f32; LANES]) -> f32 {
    let eight: [f32; 8] = array::from_fn(|lane| lanes[lane] + lanes[lane + 8]);
    let four: [f32; 4] = array::from_fn(|lane| eight[lane] + eight[lane + 4]);
    (four[0] + four[2]) + (four[1] + four[3])
}

/// 1.5 * 2^23: adding it leaves the nearest integer in the low bits of the mantissa.
const ROUNDING: f32 = 12_582_912.0;

/// ln 2 in two parts; the first has so few bits that its product with an exponent is exact.
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;

/// e^r by the polynomial of Cephes `expf`, and the integer n (as `ROUNDING + n`), where x = n ln 2 + r.
#[inline(always)]
fn exp_parts<L: Level>(x: f32) -> (f32, f32) {
    let shifted = L::fused(x, std::f32::consts::LOG2_E, ROUNDING);
    let n = shifted - ROUNDING;
    let r = L::fused(n, -LN_2_LOW, L::fused(n, -LN_2_HIGH, x));
    let mut sum = L::fused(1.987_569_1e-4, r, 1.398_199_9e-3);
    sum = L::fused(sum, r, 8.333_452e-3);
    sum = L::fused(sum, r, 4.166_579_6e-2);
    sum = L::fused(sum, r, 1.666_666_6e-1);
    sum = L::fused(sum, r, 0.5);
    (L::fused(sum, r * r, r) + 1.0, shifted)
}

/// e^x for x <= 0, within 2 ulp; results below the smallest normal number are 0. NaN stays NaN.
#[inline(always)]
fn exp_of_negative<L: Level>(x: f32) -> f32 {
    let (mantissa, shifted) = exp_parts::<L>(x);
    let power = (shifted.to_bits() << 23).wrapping_add(1.0_f32.to_bits());
    let result = mantissa * f32::from_bits(power);
    if x < -87.336_54 { 0.0 } else { result }
}

/// An instruction-set level: its arithmetic, and the shape of its micro-kernels.
trait Level {
    /// a * b + c, rounded once where the level can.
    fn fused(a: f32, b: f32, c: f32) -> f32;

    /// Halves as single precision; both slices have one length.
    #[inline(always)]
    fn widen_halves(halves: &[Fp16], values: &mut [f32]) {
        for (value, half) in values.iter_mut().zip(halves) {
            *value = half.value();
        }
    }

    /// S = Q K^T of a group of rows with one key panel; the panel is number `place` of the tile.
    fn score_block(
        queries: &[[f32; HEAD_DIM]; ROWS],
        panel: &[[f32; PANEL]; HEAD_DIM],
        place: usize,
        scores: &mut [[f32; BLOCK_KV]; ROWS],
    );

    /// O = O * rescale + P V of `N` rows with one piece of V, number `place` of the tile.
    fn value_block<const N: usize>(
        weights: &[[f32; BLOCK_KV]; N],
        values: &[[f32; V_COLS]; VALUE_ROWS],
        place: usize,
        rescale: &[f32; N],
        outputs: &mut [[f32; V_COLS]; N],
    );
}

/// x86-64 with AVX-512.
#[cfg(target_arch = "x86_64")]
struct Avx512;

#[cfg(target_arch = "x86_64")]
impl Level for Avx512 {
    #[inline(always)]
    fn fused(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }

    #[inline(always)]
    fn widen_halves(halves: &[Fp16], values: &mut [f32]) {
        let (half_groups, half_rest) = halves.as_chunks::<16>();
        let (groups, rest) = values.as_chunks_mut::<16>();
        for (halves, values) in half_groups.iter().zip(groups) {
            // SAFETY: this level runs where its features were detected; both groups fill a register.
            unsafe {
                let halves = _mm256_loadu_si256(halves.as_ptr().cast());
                _mm512_storeu_ps(values.as_mut_ptr(), _mm512_cvtph_ps(halves));
            }
        }
        for (value, half) in rest.iter_mut().zip(half_rest) {
            *value = half.value();
        }
    }

    #[inline(always)]
    fn score_block(
        queries: &[[f32; HEAD_DIM]; ROWS],
        panel: &[[f32; PANEL]; HEAD_DIM],
        place: usize,
        scores: &mut [[f32; BLOCK_KV]; ROWS],
    ) {
        score_columns::<Self, 32>(queries, panel, place, scores);
    }

    #[inline(always)]
    fn value_block<const N: usize>(
        weights: &[[f32; BLOCK_KV]; N],
        values: &[[f32; V_COLS]; VALUE_ROWS],
        place: usize,
        rescale: &[f32; N],
        outputs: &mut [[f32; V_COLS]; N],
    ) {
        value_columns::<Self, N, 32>(weights, values, place, rescale, outputs);
    }
}

/// x86-64 with AVX2, FMA and F16C.
#[cfg(target_arch = "x86_64")]
struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Level for Avx2 {
    #[inline(always)]
    fn fused(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }

    #[inline(always)]
    fn widen_halves(halves: &[Fp16], values: &mut [f32]) {
        let (half_groups, half_rest) = halves.as_chunks::<8>();
        let (groups, rest) = values.as_chunks_mut::<8>();
        for (halves, values) in half_groups.iter().zip(groups) {
            // SAFETY: this level runs where its features were detected; both groups fill a register.
            unsafe {
                let halves = _mm_loadu_si128(halves.as_ptr().cast());
                _mm256_storeu_ps(values.as_mut_ptr(), _mm256_cvtph_ps(halves));
            }
        }
        for (value, half) in rest.iter_mut().zip(half_rest) {
            *value = half.value();
        }
    }

    #[inline(always)]
    fn score_block(
        queries: &[[f32; HEAD_DIM]; ROWS],
        panel: &[[f32; PANEL]; HEAD_DIM],
        place: usize,
        scores: &mut [[f32; BLOCK_KV]; ROWS],
    ) {
        score_columns::<Self, 16>(queries, panel, place, scores);
    }

    #[inline(always)]
    fn value_block<const N: usize>(
        weights: &[[f32; BLOCK_KV]; N],
        values: &[[f32; V_COLS]; VALUE_ROWS],
        place: usize,
        rescale: &[f32; N],
        outputs: &mut [[f32; V_COLS]; N],
    ) {
        value_columns::<Self, N, 16>(weights, values, place, rescale, outputs);
    }
}

/// Any processor; on AArch64 the compiler uses NEON.
struct Portable;

impl Level for Portable {
    #[inline(always)]
    fn fused(a: f32, b: f32, c: f32) -> f32 {
        if cfg!(any(target_arch = "aarch64", target_feature = "fma")) {
            a.mul_add(b, c)
        } else {
            a * b + c
        }
    }

    #[inline(always)]
    fn score_block(
        queries: &[[f32; HEAD_DIM]; ROWS],
        panel: &[[f32; PANEL]; HEAD_DIM],
        place: usize,
        scores: &mut [[f32; BLOCK_KV]; ROWS],
    ) {
        score_columns::<Self, 8>(queries, panel, place, scores);
    }

    #[inline(always)]
    fn value_block<const N: usize>(
        weights: &[[f32; BLOCK_KV]; N],
        values: &[[f32; V_COLS]; VALUE_ROWS],
        place: usize,
        rescale: &[f32; N],
        outputs: &mut [[f32; V_COLS]; N],
    ) {
        value_columns::<Self, N, 8>(weights, values, place, rescale, outputs);
    }
}

/// [`Level::score_block`] with sums of `ROWS` x `COLS` in registers.
#[inline(always)]
fn score_columns<L: Level, const COLS: usize>(
    queries: &[[f32; HEAD_DIM]; ROWS],
    panel: &[[f32; PANEL]; HEAD_DIM],
    place: usize,
    scores: &mut [[f32; BLOCK_KV]; ROWS],
) {
    for group in 0..PANEL / COLS {
        let mut sums = [[0.0; COLS]; ROWS];
        for (d, keys) in panel.iter().enumerate() {
            let keys = &keys.as_chunks::<COLS>().0[group];
            for (query, sums) in queries.iter().zip(&mut sums) {
                for (sum, key) in sums.iter_mut().zip(keys) {
                    *sum = L::fused(query[d], *key, *sum);
                }
            }
        }
        let column = place * PANEL + group * COLS;
        for (scores, sums) in scores.iter_mut().zip(&sums) {
            scores[column..column + COLS].copy_from_slice(sums);
        }
    }
}

/// [`Level::value_block`] with sums of `N` x `COLS` in registers.
#[inline(always)]
fn value_columns<L: Level, const N: usize, const COLS: usize>(
    weights: &[[f32; BLOCK_KV]; N],
    values: &[[f32; V_COLS]; VALUE_ROWS],
    place: usize,
    rescale: &[f32; N],
    outputs: &mut [[f32; V_COLS]; N],
) {
    for group in 0..V_COLS / COLS {
        let mut sums = [[0.0; COLS]; N];
        for row in 0..N {
            let output = &outputs[row].as_chunks::<COLS>().0[group];
            for (sum, output) in sums[row].iter_mut().zip(output) {
                *sum = *output * rescale[row];
            }
        }
        for (j, values) in values.iter().enumerate() {
            let values = &values.as_chunks::<COLS>().0[group];
            for (weights, sums) in weights.iter().zip(&mut sums) {
                let weight = weights.as_chunks::<VALUE_ROWS>().0[place][j];
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum = L::fused(weight, *value, *sum);
                }
            }
        }
        for (output, sums) in outputs.iter_mut().zip(&sums) {
            output.as_chunks_mut::<COLS>().0[group] = *sums;
        }
    }
}

/// Loads the query rows of a task, multiplied by the scale; rows that fill up the last group are 0.
#[inline(always)]
fn load_query<L: Level>(task: &Task, q_tile: &mut [[f32; HEAD_DIM]; BLOCK_Q]) {
    let (rows, padding) = q_tile[..task.row_groups() * ROWS].split_at_mut(task.rows);
    for (q_idx, query) in (task.first_row..).zip(rows) {
        let q = &task.problem.q;
        q.read_row::<L>([task.b, task.h, q_idx], query);
        for value in query {
            *value *= SCALE;
        }
    }
    padding.as_flattened_mut().fill(0.0);
}

/// Sets the rows of a task to the state before the first key.
#[inline(always)]
fn start_rows(task: &Task, scratch: &mut Scratch) {
    scratch.row_max.fill(f32::NEG_INFINITY);
    scratch.row_sum.fill(0.0);
    let outputs = &mut scratch.o_acc[..task.row_groups() * ROWS];
    outputs.as_flattened_mut().fill(0.0);
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

/// Whether no pair of the tile is attended.
#[inline(always)]
fn tile_is_empty(task: &Task, tile: &KeyTile) -> bool {
    // q_last + (kv_len - q_len) < kv_first
    let q_last = task.first_row + task.rows as i32 - 1;
    let value_1 = task.kv_len.wrapping_sub(task.q_len);
    let value_2 = q_last.wrapping_add(value_1);
    value_2 < tile.first
}

/// Packs up to `PANEL` key rows, from `first` on, column by column; columns without a key are 0.
#[inline(always)]
fn pack_keys<L: Level>(
    task: &Task,
    first: i32,
    count: usize,
    rows: &mut [[f32; HEAD_DIM]; PANEL],
    panel: &mut [[f32; PANEL]; HEAD_DIM],
) {
    let (keys, padding) = rows.split_at_mut(count);
    for (kv_idx, key) in (first..).zip(keys) {
        let k = &task.problem.k;
        k.read_row::<L>([task.b, task.kv_h, kv_idx], key);
    }
    padding.as_flattened_mut().fill(0.0);
    for (d, column) in panel.iter_mut().enumerate() {
        for (value, row) in column.iter_mut().zip(&*rows) {
            *value = row[d];
        }
    }
}

/// a . b
#[inline(always)]
fn dot<L: Level>(a: &[f32; HEAD_DIM], b: &[f32; HEAD_DIM]) -> f32 {
    let (a_chunks, b_chunks) = (a.as_chunks::<LANES>().0, b.as_chunks::<LANES>().0);
    let mut sums = [0.0; LANES];
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for lane in 0..LANES {
            sums[lane] = L::fused(a[lane], b[lane], sums[lane]);
        }
    }
    total(sums)
}

/// S = Q K^T * scale for one key tile and few rows, for which packing the keys does not pay.
#[inline(always)]
fn compute_few_scores<L: Level>(task: &Task, tile: &KeyTile, scratch: &mut Scratch) {
    let queries = &scratch.q_tile[..task.rows];
    let key = &mut scratch.key_rows[0];
    for (kv_idx, column) in (tile.first..).zip(0..tile.cols) {
        let k = &task.problem.k;
        k.read_row::<L>([task.b, task.kv_h, kv_idx], key);
        for (query, scores) in queries.iter().zip(&mut scratch.s_tile) {
            scores[column] = dot::<L>(query, key);
        }
    }
}

/// S = Q K^T * scale for one key tile.
#[inline(always)]
fn compute_scores<L: Level>(task: &Task, tile: &KeyTile, scratch: &mut Scratch) {
    if task.rows <= FEW_ROWS {
        return compute_few_scores::<L>(task, tile, scratch);
    }
    let Scratch {
        q_tile,
        key_rows,
        key_panel,
        s_tile,
        ..
    } = scratch;
    for place in 0..tile.cols.div_ceil(PANEL) {
        let first = place * PANEL;
        let count = PANEL.min(tile.cols - first);
        let kv_idx = tile.first + first as i32;
        pack_keys::<L>(task, kv_idx, count, key_rows, key_panel);
        let (queries, _) = q_tile.as_chunks::<ROWS>();
        let (scores, _) = s_tile.as_chunks_mut::<ROWS>();
        for (queries, scores) in queries.iter().zip(scores).take(task.row_groups()) {
            L::score_block(queries, key_panel, place, scores);
        }
    }
}

/// Computes what masks and scores need of each key of a tile.
#[inline(always)]
fn load_columns(task: &Task, tile: &KeyTile, columns: &mut Columns) {
    let ids = &task.problem.ids;
    ids.read_run([task.b, tile.first], 1, &mut columns.ids[..tile.cols]);
}

/// s = -inf for the pairs of one row that the mask leaves out.
#[inline(always)]
fn apply_mask(
    task: &Task,
    columns: &Columns,
    tile: &KeyTile,
    row: usize,
    scores: &mut [f32; BLOCK_KV],
) {
    // attend where kv_idx <= q_pos && ids[b, q_pos] == ids[b, kv_idx]
    let q_pos = task.first_row + row as i32 + task.q_shift;
    let ids = &task.problem.ids;
    let row_1 = ids.at([task.b, q_pos]);
    for (lane, score) in scores.iter_mut().enumerate() {
        let kv_idx = tile.first + lane as i32;
        let lane_2 = row_1 == columns.ids[lane];
        let lane_3 = (kv_idx <= q_pos) & lane_2;
        *score = if lane_3 { *score } else { f32::NEG_INFINITY };
    }
}

/// Folds the scores of one row into its running maximum and sum and turns them into weights; returns the
/// factor for what was accumulated before.
#[inline(always)]
fn update_softmax<L: Level>(
    scores: &mut [f32; BLOCK_KV],
    row_max: &mut f32,
    row_sum: &mut f32,
) -> f32 {
    let mut maxima = [f32::NEG_INFINITY; LANES];
    for scores in scores.as_chunks::<LANES>().0 {
        for (max, score) in maxima.iter_mut().zip(scores) {
            *max = if *score > *max { *score } else { *max };
        }
    }
    let tile_max = maxima.into_iter().fold(*row_max, f32::max);
    // A fully masked row stays at -inf; shifting it by zero gives exp(-inf) = 0 instead of NaN.
    let shift = if tile_max == f32::NEG_INFINITY {
        0.0
    } else {
        tile_max
    };
    let mut sums = [0.0; LANES];
    for scores in scores.as_chunks_mut::<LANES>().0 {
        for (sum, score) in sums.iter_mut().zip(scores) {
            let weight = exp_of_negative::<L>(*score - shift);
            // The sign of its zero tells a masked pair from one whose weight is too small.
            *score = if *score == f32::NEG_INFINITY {
                MASKED
            } else {
                weight
            };
            *sum += weight;
        }
    }
    let rescale = (*row_max - shift).exp();
    *row_max = tile_max;
    *row_sum = *row_sum * rescale + total(sums);
    rescale
}

/// Loads up to `VALUE_ROWS` value rows, from `first` on; what no value fills is 0. Returns whether all are
/// finite.
#[inline(always)]
fn load_values<L: Level>(
    task: &Task,
    first: i32,
    count: usize,
    values: &mut [[f32; V_COLS]; VALUE_ROWS],
) -> bool {
    let (rows, padding) = values.split_at_mut(count);
    for (kv_idx, row) in (first..).zip(rows) {
        let v = &task.problem.v;
        v.read_row::<L>([task.b, task.kv_h, kv_idx], &mut row[..V_HEAD_DIM]);
    }
    padding.as_flattened_mut().fill(0.0);
    // A finite number times 0 is 0, any other is NaN.
    let mut zeros = [0.0; LANES];
    for values in values.as_flattened().as_chunks::<LANES>().0 {
        for (zero, value) in zeros.iter_mut().zip(values) {
            *zero += *value * 0.0;
        }
    }
    total(zeros) == 0.0
}

/// O = O * rescale + P V for one key tile.
#[inline(always)]
fn accumulate_output<L: Level>(task: &Task, tile: &KeyTile, scratch: &mut Scratch) {
    let Scratch {
        s_tile,
        value_rows,
        o_acc,
        rescale,
        ..
    } = scratch;
    let rows = task.rows;
    let grouped = rows - rows % ROWS;
    for place in 0..tile.cols.div_ceil(VALUE_ROWS) {
        let first = place * VALUE_ROWS;
        let count = VALUE_ROWS.min(tile.cols - first);
        let kv_idx = tile.first + first as i32;
        let finite = load_values::<L>(task, kv_idx, count, value_rows);
        let piece = ValuePiece {
            values: value_rows,
            place,
            finite,
        };
        let (weights, factors) = (&s_tile[..rows], &rescale[..rows]);
        let (outputs, rest) = o_acc[..rows].split_at_mut(grouped);
        add_values::<L, ROWS>(&piece, &weights[..grouped], &factors[..grouped], outputs);
        add_values::<L, 1>(&piece, &weights[grouped..], &factors[grouped..], rest);
        rescale.fill(1.0);
    }
}

/// Value rows of a part of a tile.
struct ValuePiece<'a> {
    values: &'a [[f32; V_COLS]; VALUE_ROWS],
    place: usize,
    finite: bool,
}

/// O = O * rescale + P V for one piece of V, `N` rows at a time.
#[inline(always)]
fn add_values<L: Level, const N: usize>(
    piece: &ValuePiece,
    weights: &[[f32; BLOCK_KV]],
    rescale: &[f32],
    outputs: &mut [[f32; V_COLS]],
) {
    let weights = weights.as_chunks::<N>().0;
    let rescale = rescale.as_chunks::<N>().0;
    let outputs = outputs.as_chunks_mut::<N>().0;
    for ((weights, rescale), outputs) in weights.iter().zip(rescale).zip(outputs) {
        if piece.finite {
            L::value_block(weights, piece.values, piece.place, rescale, outputs);
        } else {
            add_attended_values(weights, piece.values, piece.place, rescale, outputs);
        }
    }
}

/// [`Level::value_block`] for a piece of V with infinities or NaNs: pairs that are masked do not see them.
fn add_attended_values<const N: usize>(
    weights: &[[f32; BLOCK_KV]; N],
    values: &[[f32; V_COLS]; VALUE_ROWS],
    place: usize,
    rescale: &[f32; N],
    outputs: &mut [[f32; V_COLS]; N],
) {
    for ((weights, rescale), outputs) in weights.iter().zip(rescale).zip(outputs) {
        for output in outputs.iter_mut() {
            *output *= *rescale;
        }
        let weights = &weights.as_chunks::<VALUE_ROWS>().0[place];
        for (weight, values) in weights.iter().zip(values) {
            if weight.to_bits() == MASKED.to_bits() {
                continue;
            }
            for (output, value) in outputs.iter_mut().zip(values) {
                *output += *weight * *value;
            }
        }
    }
}

/// out = O / row sum; a row that attends to nothing is 0.
#[inline(always)]
fn store_output(task: &Task, scratch: &Scratch) {
    for (row, output) in scratch.o_acc[..task.rows].iter().enumerate() {
        let row_sum = scratch.row_sum[row];
        let weight = if row_sum == 0.0 { 0.0 } else { 1.0 / row_sum };
        let q_idx = i64::from(task.first_row) + row as i64;
        for (d, value) in (0..).zip(&output[..V_HEAD_DIM]) {
            let index = [i64::from(task.b), i64::from(task.h), q_idx, d];
            let value = Fp16::rounded(*value * weight);
            task.problem.out.store(index, value);
        }
    }
}

/// LSE = m + ln(l), where the launch wants it; -inf for a row that attends to nothing.
#[inline(always)]
fn store_lse(task: &Task, scratch: &Scratch) {
    let Some(lse) = &task.problem.lse else {
        return;
    };
    for row in 0..task.rows {
        let q_idx = i64::from(task.first_row) + row as i64;
        let index = [i64::from(task.b), i64::from(task.h), q_idx, 0];
        lse.store(index, scratch.row_max[row] + scratch.row_sum[row].ln());
    }
}

/// Folds one key tile into the rows of a task.
#[inline(always)]
fn fold_tile<L: Level>(task: &Task, tile: &KeyTile, scratch: &mut Scratch) {
    compute_scores::<L>(task, tile, scratch);
    load_columns(task, tile, &mut scratch.columns);
    for row in 0..task.rows {
        let scores = &mut scratch.s_tile[row];
        apply_mask(task, &scratch.columns, tile, row, scores);
        scores[tile.cols..].fill(f32::NEG_INFINITY);
        let (row_max, row_sum) = (&mut scratch.row_max[row], &mut scratch.row_sum[row]);
        scratch.rescale[row] = update_softmax::<L>(scores, row_max, row_sum);
    }
    accumulate_output::<L>(task, tile, scratch);
}

/// Computes the rows of one task.
#[inline(always)]
fn attend<L: Level>(task: &Task, scratch: &mut Scratch) {
    load_query::<L>(task, &mut scratch.q_tile);
    start_rows(task, scratch);
    let keys = key_limits(task);
    // Tiles lie at multiples of their height, whatever the limits.
    let mut first = keys.start - keys.start % BLOCK_KV as i32;
    while first < keys.end {
        let cols = (keys.end - first).min(BLOCK_KV as i32) as usize;
        let tile = KeyTile { first, cols };
        if !tile_is_empty(task, &tile) {
            fold_tile::<L>(task, &tile, scratch);
        }
        first += BLOCK_KV as i32;
    }
    store_output(task, scratch);
    store_lse(task, scratch);
}

/// Runs tasks one after the other, with buffers of its own.
#[inline(always)]
fn run_tasks<L: Level>(problem: &Problem, tasks: Range<i64>) {
    let mut scratch = Scratch::new();
    for number in tasks {
        attend::<L>(&Task::new(problem, number), &mut scratch);
    }
}

/// [`run_tasks`] compiled for x86-64 with AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn run_avx512(problem: &Problem, tasks: Range<i64>) {
    run_tasks::<Avx512>(problem, tasks);
}

/// [`run_tasks`] compiled for x86-64 with AVX2, FMA and F16C.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn run_avx2(problem: &Problem, tasks: Range<i64>) {
    run_tasks::<Avx2>(problem, tasks);
}

/// Runs tasks with the best level of this processor.
fn dispatch(problem: &Problem, tasks: Range<i64>) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
    {
        // SAFETY: the features were just detected.
        return unsafe { run_avx512(problem, tasks) };
    }
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
    {
        // SAFETY: the features were just detected.
        return unsafe { run_avx2(problem, tasks) };
    }
    run_tasks::<Portable>(problem, tasks);
}

/// Runs tasks `first_task..last_task` of a launch, of `batch * heads * ceil(q_len / 128)` in all.
///
/// `pointers` holds `q`, `k`, `v`, `out`, `lse`, `ids`; `lse` may be null. Any split of the tasks
/// over threads gives the same bits. Returns 0.
///
/// # Safety
/// `launch` and `pointers` are valid, each pointer reaches every element that sizes and strides name, outputs
/// overlap nothing, and no task number is passed to two calls at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fa_documents_forward(
    launch: *const FaLaunch,
    pointers: *const *mut c_void,
    first_task: i64,
    last_task: i64,
) -> i32 {
    // SAFETY: the caller passes a launch block and one pointer per tensor.
    let (launch, pointers) = unsafe { (&*launch, &*pointers.cast::<[*mut c_void; POINTERS]>()) };
    // SAFETY: the caller vouches for the tensors.
    let problem = unsafe { Problem::new(launch, pointers) };
    dispatch(&problem, first_task..last_task);
    0
}
