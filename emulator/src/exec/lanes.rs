//! Moving the lanes of one repeat between memory and fixed-size buffers.

use half::f16;
use half::slice::HalfFloatSliceExt;

use crate::local::Memory;
use crate::plan::vector::{Active, Strided};

/// Most lanes of one repeat that compute in 16 or 32 bits.
pub(crate) const MAX_LANES: usize = 128;
/// Bytes of one repeat.
pub(crate) const REPEAT: usize = 256;

/// Bytes of one repeat of one operand, and their definedness.
pub(crate) struct Buffer {
    pub(crate) bytes: [u8; REPEAT],
    pub(crate) shadow: [u8; REPEAT],
    /// Whether any byte that was loaded is garbage.
    pub(crate) garbage: bool,
}

impl Buffer {
    pub(crate) fn new() -> Buffer {
        Buffer {
            bytes: [0; REPEAT],
            shadow: [0; REPEAT],
            garbage: false,
        }
    }

    /// Loads the blocks that hold the first `end` lanes.
    pub(crate) fn load(
        &mut self,
        memory: &Memory,
        view: Strided,
        repeat: usize,
        end: usize,
        block: usize,
    ) {
        let bytes = end * view.width;
        let start = view.addr + repeat * view.repeat_step;
        if view.block_step == block {
            self.bytes[..bytes].copy_from_slice(&memory.bytes[start..start + bytes]);
            self.shadow[..bytes].copy_from_slice(&memory.shadow[start..start + bytes]);
        } else {
            for offset in (0..bytes).step_by(block) {
                let from = start + offset / block * view.block_step;
                let len = block.min(bytes - offset);
                self.bytes[offset..offset + len].copy_from_slice(&memory.bytes[from..from + len]);
                self.shadow[offset..offset + len].copy_from_slice(&memory.shadow[from..from + len]);
            }
        }
        self.garbage = any(&self.shadow[..bytes]);
    }

    /// Stores the active lanes.
    pub(crate) fn store(
        &self,
        memory: &mut Memory,
        view: Strided,
        repeat: usize,
        active: Active,
        block: usize,
    ) {
        let start = view.addr + repeat * view.repeat_step;
        match active {
            Active::First(count) => {
                let bytes = count * view.width;
                if view.block_step == block {
                    memory.bytes[start..start + bytes].copy_from_slice(&self.bytes[..bytes]);
                    memory.shadow[start..start + bytes].copy_from_slice(&self.shadow[..bytes]);
                    return;
                }
                for offset in (0..bytes).step_by(block) {
                    let to = start + offset / block * view.block_step;
                    let len = block.min(bytes - offset);
                    memory.bytes[to..to + len].copy_from_slice(&self.bytes[offset..offset + len]);
                    memory.shadow[to..to + len].copy_from_slice(&self.shadow[offset..offset + len]);
                }
            }
            Active::Bits(_) => {
                for lane in (0..active.end()).filter(|&lane| active.has(lane)) {
                    let offset = lane * view.width;
                    let to = start + offset / block * view.block_step + offset % block;
                    memory.bytes[to..to + view.width]
                        .copy_from_slice(&self.bytes[offset..offset + view.width]);
                    memory.shadow[to..to + view.width]
                        .copy_from_slice(&self.shadow[offset..offset + view.width]);
                }
            }
        }
    }

    pub(crate) fn f32s(&self, out: &mut [f32; MAX_LANES], count: usize) {
        for (out, bytes) in out[..count].iter_mut().zip(self.bytes.chunks_exact(4)) {
            *out = f32::from_le_bytes(bytes.try_into().expect("four bytes"));
        }
    }

    pub(crate) fn put_f32s(&mut self, values: &[f32; MAX_LANES], count: usize) {
        for (bytes, value) in self.bytes.chunks_exact_mut(4).zip(&values[..count]) {
            bytes.copy_from_slice(&value.to_le_bytes());
        }
    }

    pub(crate) fn halves(&self, out: &mut [f32; MAX_LANES], count: usize) {
        let mut raw = [f16::ZERO; MAX_LANES];
        for (raw, bytes) in raw[..count].iter_mut().zip(self.bytes.chunks_exact(2)) {
            *raw = f16::from_le_bytes(bytes.try_into().expect("two bytes"));
        }
        raw[..count].convert_to_f32_slice(&mut out[..count]);
    }

    pub(crate) fn put_halves(&mut self, values: &[f16], count: usize) {
        for (bytes, value) in self.bytes.chunks_exact_mut(2).zip(&values[..count]) {
            bytes.copy_from_slice(&value.to_le_bytes());
        }
    }

    /// Marks a lane as garbage or defined.
    pub(crate) fn mark(&mut self, lane: usize, width: usize, garbage: bool) {
        self.shadow[lane * width..(lane + 1) * width].fill(u8::from(garbage));
    }

    /// Whether any byte of a lane is garbage.
    pub(crate) fn lane_garbage(&self, lane: usize, width: usize) -> bool {
        any(&self.shadow[lane * width..(lane + 1) * width])
    }
}

/// Whether any byte is nonzero.
pub(crate) fn any(shadow: &[u8]) -> bool {
    // Folding without an early exit vectorises; the slices are short.
    shadow.iter().fold(0, |all, &state| all | state) != 0
}

/// Derives the definedness of results lane by lane from the sources'.
pub(crate) fn propagate(
    out: &mut Buffer,
    out_width: usize,
    sources: &[(&Buffer, usize)],
    count: usize,
) {
    out.garbage = sources.iter().any(|(source, _)| source.garbage);
    if !out.garbage {
        out.shadow.fill(0);
        return;
    }
    for lane in 0..count {
        let garbage = sources
            .iter()
            .any(|(source, width)| source.lane_garbage(lane, *width));
        out.mark(lane, out_width, garbage);
    }
}

/// Rounds lanes to half, applying the overflow rule.
pub(crate) fn to_halves(values: &[f32], out: &mut [f16], overflow: crate::dtype::Overflow) {
    out.convert_from_f32_slice(values);
    if overflow == crate::dtype::Overflow::Saturate {
        for value in out.iter_mut() {
            let exponent_full = value.to_bits() & 0x7c00 == 0x7c00;
            if exponent_full {
                *value = overflow.half(*value);
            }
        }
    }
}
