//! The budget: every buffer of a plan, by memory, against the memory's capacity. One table, checked by the
//! planner, printed by `explain` and the head of emitted files, and asserted by the emitted code.

use serde::Serialize;

/// One buffer of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Buffer {
    /// Name, the same in plan, messages and emitted code.
    pub name: String,
    /// Slots of the ring; 1 for a plain buffer.
    pub copies: u32,
    /// Rows of one copy.
    pub rows: u32,
    /// Columns of one copy, elements.
    pub cols: u32,
    /// Element type as the messages spell it.
    pub dtype: String,
    /// Bytes of one element.
    pub elem_bytes: u32,
    /// First byte in its memory.
    pub offset_bytes: u64,
    /// Bytes of one copy, alignment included.
    pub copy_bytes: u64,
    /// What it is for, a short phrase.
    pub role: String,
}

/// One memory and what is placed in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryUse {
    /// Name as the field spells it: L1, L0A, L0B, L0C, UB, or for a CPU "scratch per thread".
    pub memory: String,
    /// Usable bytes.
    pub capacity_bytes: u64,
    /// How the capacity was counted, for people.
    pub capacity_note: String,
    /// Buffers in address order.
    pub buffers: Vec<Buffer>,
}

/// All memories of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Budget {
    /// Name of the target.
    pub target: String,
    /// Memories in the order of the data flow.
    pub memories: Vec<MemoryUse>,
}

impl Buffer {
    /// Bytes of all copies.
    pub fn bytes(&self) -> u64 {
        u64::from(self.copies) * self.copy_bytes
    }

    /// One past its last byte.
    pub fn end_bytes(&self) -> u64 {
        self.offset_bytes + self.bytes()
    }
}

impl MemoryUse {
    /// Bytes from the start of the memory to the end of its last buffer.
    pub fn used_bytes(&self) -> u64 {
        self.buffers
            .iter()
            .map(Buffer::end_bytes)
            .max()
            .unwrap_or(0)
    }

    /// The buffer that takes the most bytes.
    pub fn largest(&self) -> Option<&Buffer> {
        self.buffers.iter().max_by_key(|buffer| buffer.bytes())
    }
}

impl MemoryUse {
    /// By how much the buffers pass the memory, in a sentence.
    pub(crate) fn overrun(&self, target: &str) -> String {
        format!(
            "{} needs {} and `{target}` has {} ({} bytes too many)",
            self.memory,
            kib(self.used_bytes()),
            kib(self.capacity_bytes),
            self.used_bytes().saturating_sub(self.capacity_bytes)
        )
    }

    /// The budget, a line a buffer, the largest marked.
    pub(crate) fn table(&self) -> String {
        let largest = self.largest().map(|buffer| buffer.name.clone());
        let mut lines = vec![format!("{} at the least, buffer by buffer:", self.memory)];
        for buffer in &self.buffers {
            let mark = if Some(&buffer.name) == largest.as_ref() {
                "  <- largest"
            } else {
                ""
            };
            lines.push(format!(
                "  {:<14}{:>2} x {:>5} x {:>5} {:<5}{:>10} bytes{mark}",
                buffer.name,
                buffer.copies,
                buffer.rows,
                buffer.cols,
                buffer.dtype,
                buffer.bytes()
            ));
        }
        let (used, capacity) = (self.used_bytes(), self.capacity_bytes);
        lines.push(format!(
            "  required {used} bytes, available {capacity} ({})",
            self.capacity_note
        ));
        lines.join("\n")
    }
}

/// Bytes as KiB with at most two decimals.
pub(crate) fn kib(bytes: u64) -> String {
    let text = format!("{:.2}", bytes as f64 / 1024.0);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text} KiB")
}
