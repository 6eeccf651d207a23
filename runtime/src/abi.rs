//! The launch ABI: one block of bytes that both backends read, mirrored by both templates.
//!
//! The block is a [`Launch`], then one `i64[4]` of strides per captured tensor (declaration order, dimensions
//! outermost first, stride 0 for a broadcast dimension, unused ones 0), then one 4-byte word per parameter
//! (declaration order), padded to 8 bytes.
//!
//! The pointers are `q, k, v, out, lse`, then the captured tensors. Where sequences are packed, `cu_q` and `cu_kv`
//! follow `lse`: `int32[batch + 1]`, the first row of each sequence and the total. Lengths are then those of the
//! longest sequence, strides by sequence are 0, and a captured tensor whose `b` and length are the packed axis has
//! stride 0 for `b`.

use std::ffi::c_void;
use std::sync::atomic::AtomicU32;

use fa_dsl::ir::eval::Value;

/// Changes whenever the block or the entry points change; part of every cache key.
pub const ABI_VERSION: u32 = 2;

/// Most dimensions of a captured tensor.
pub const MAX_RANK: usize = 4;

/// The fixed part of the block. Strides are in elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Launch {
    /// Sequences.
    pub batch: i64,
    /// Query heads.
    pub heads: i64,
    /// Key/value heads.
    pub kv_heads: i64,
    /// Query rows; of the longest sequence where they are packed.
    pub q_len: i64,
    /// Key rows, likewise.
    pub kv_len: i64,
    /// Of q, by batch, head, row, column.
    pub q_stride: [i64; 4],
    /// Of k, likewise.
    pub k_stride: [i64; 4],
    /// Of v, likewise.
    pub v_stride: [i64; 4],
    /// Of the output, likewise.
    pub out_stride: [i64; 4],
    /// Of LSE, by batch, head, row.
    pub lse_stride: [i64; 3],
    /// Key of the dropout generator.
    pub seed: u64,
    /// Last counter word of the dropout generator.
    pub offset: u32,
    /// 1 in a training launch, where dropout acts.
    pub training: u32,
}

/// Bytes of the fixed part.
pub const LAUNCH_BYTES: usize = 208;
const _: () = assert!(size_of::<Launch>() == LAUNCH_BYTES);
const _: () = assert!(align_of::<Launch>() == 8);

/// Keys of a launch of a CPU kernel in parts, mirrored by the emitted file.
#[derive(Debug)]
#[repr(C)]
pub struct Split {
    /// Parts of the keys.
    pub parts: i64,
    /// Keys of a part.
    pub part_keys: i64,
    /// Room for what each part of each task keeps for the last one.
    pub states: *mut f32,
    /// For each task the parts that are done.
    pub done: *const AtomicU32,
}

/// Entry of a CPU kernel: the block, `[q, k, v, out, lse, (cu_q, cu_kv,) captured..., split]`, and a range of tasks; the
/// split is null where keys are whole. Returns 0.
pub type CpuEntry = unsafe extern "C" fn(
    launch: *const Launch,
    pointers: *const *mut c_void,
    first_task: i64,
    last_task: i64,
) -> i32;

/// The whole block, 8-byte aligned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    words: Vec<u64>,
}

impl Block {
    /// Lays out a launch.
    pub fn new(
        launch: &Launch,
        captured_strides: &[[i64; MAX_RANK]],
        params: &[Value<f32>],
    ) -> Block {
        let mut words: Vec<u64> = Vec::with_capacity(LAUNCH_BYTES / 8);
        let signed = |value: i64| value as u64;
        words.extend(
            [
                launch.batch,
                launch.heads,
                launch.kv_heads,
                launch.q_len,
                launch.kv_len,
            ]
            .map(signed),
        );
        for strides in [
            launch.q_stride,
            launch.k_stride,
            launch.v_stride,
            launch.out_stride,
        ] {
            words.extend(strides.map(signed));
        }
        words.extend(launch.lse_stride.map(signed));
        words.push(launch.seed);
        words.push(two_words(launch.offset, launch.training));
        for strides in captured_strides {
            words.extend(strides.map(signed));
        }
        for pair in params.chunks(2) {
            let second = pair.get(1).map_or(0, |value| param_bits(*value));
            words.push(two_words(param_bits(pair[0]), second));
        }
        Block { words }
    }

    /// Its bytes, in the machine's order.
    pub fn bytes(&self) -> Vec<u8> {
        self.words
            .iter()
            .flat_map(|word| word.to_ne_bytes())
            .collect()
    }

    /// Its first byte, 8-byte aligned.
    pub fn as_ptr(&self) -> *const Launch {
        self.words.as_ptr().cast()
    }
}

/// A word of memory that holds two 32-bit values, the first at the lower address.
fn two_words(first: u32, second: u32) -> u64 {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&first.to_ne_bytes());
    bytes[4..].copy_from_slice(&second.to_ne_bytes());
    u64::from_ne_bytes(bytes)
}

fn param_bits(value: Value<f32>) -> u32 {
    match value {
        Value::Int(value) => value as u32,
        Value::Float(value) => value.to_bits(),
        Value::Bool(value) => u32::from(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_starts_with_the_struct() {
        let launch = Launch {
            batch: 1,
            heads: 2,
            kv_heads: 3,
            q_len: 4,
            kv_len: 5,
            q_stride: [6, 7, 8, 9],
            k_stride: [10, 11, 12, 13],
            v_stride: [14, 15, 16, 17],
            out_stride: [18, 19, 20, 21],
            lse_stride: [22, 23, 24],
            seed: 25,
            offset: 26,
            training: 1,
        };
        let params = [Value::Float(1.0), Value::Int(-1), Value::Bool(true)];
        let block = Block::new(&launch, &[[27, 28, 0, 0]], &params);
        // SAFETY: the block is 8-byte aligned and starts with a `Launch`.
        assert_eq!(unsafe { *block.as_ptr() }, launch);
        let bytes = block.bytes();
        assert_eq!(bytes.len(), LAUNCH_BYTES + 32 + 16);
        assert_eq!(bytes[208], 27);
        assert_eq!(bytes[240..244], 1.0_f32.to_ne_bytes());
        assert_eq!(bytes[244..248], [255; 4]);
        assert_eq!(bytes[248..256], [1, 0, 0, 0, 0, 0, 0, 0]);
    }
}
