//! A budget as constants of a program. The macro writes them; nothing is computed here.

/// The memories of one target and what a kernel places in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Name of the target.
    pub target: &'static str,
    /// Memories in the order of the data flow.
    pub memories: &'static [BudgetMemory],
}

/// One memory of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetMemory {
    /// Its name, such as `UB`.
    pub name: &'static str,
    /// Bytes up to the end of the last buffer.
    pub used_bytes: u64,
    /// Bytes that a kernel may use.
    pub capacity_bytes: u64,
    /// Buffers in address order.
    pub buffers: &'static [BudgetBuffer],
}

/// One buffer of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetBuffer {
    /// Its name, the same as in the kernel.
    pub name: &'static str,
    /// Slots of the ring; 1 for a plain buffer.
    pub copies: u32,
    /// Rows of one copy.
    pub rows: u32,
    /// Columns of one copy, elements.
    pub cols: u32,
    /// Element type.
    pub dtype: &'static str,
    /// First byte in its memory.
    pub offset_bytes: u64,
    /// Bytes of all copies.
    pub bytes: u64,
}

impl Budget {
    /// The memory of that name.
    pub fn memory(&self, name: &str) -> Option<&'static BudgetMemory> {
        self.memories.iter().find(|memory| memory.name == name)
    }
}
