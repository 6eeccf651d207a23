//! The kernel that merges partial results on the vector cores of a split-core chip.
//!
//! It knows no variant: all it is made for is the width of a row.

use fa_dsl::codes::UNSUPPORTED_FEATURE;
use fa_dsl::diagnostic::Diagnostic;
use fa_targets::Target;

use super::lower::names::pascal_case;
use super::render;
use super::view::{MemoryView, budget_lines, memory_view};
use crate::budget::kib;
use crate::budget::{Budget, Buffer, MemoryUse};
use crate::{GENERATOR_VERSION, GeneratedFile};

/// Rows at a time, at most: enough for long instructions, and within a repeat count.
const MAX_ROWS: u32 = 128;

/// Buffers of fp32: name, whether it holds whole rows, and role. `row_blocks` is 8 wide.
const BUFFERS: [(&str, Shape, &str); 10] = [
    ("part_out", Shape::Rows, "values of a part"),
    ("out", Shape::Rows, "merged values"),
    ("part_lse", Shape::Column, "LSE of a part"),
    ("row_max", Shape::Column, "largest LSE of a row"),
    (
        "row_sum",
        Shape::Column,
        "sum of exponentials, then the divisor",
    ),
    ("lse", Shape::Column, "merged LSE"),
    ("weight", Shape::Column, "weight of a part's rows"),
    ("seen", Shape::Column, "bits: rows that some part has seen"),
    ("hole", Shape::Column, "bits: rows that the part has not"),
    (
        "row_blocks",
        Shape::Blocks,
        "a row's number, one block each",
    ),
];

#[derive(Clone, Copy)]
enum Shape {
    /// The rows themselves.
    Rows,
    /// A number per row.
    Column,
    /// A data block per row.
    Blocks,
}

/// A plan of a merging kernel.
#[derive(Clone, Debug)]
pub struct MergePlan {
    target: Target,
    width: u32,
    rows: u32,
    budget: Budget,
}

/// What the template prints.
#[derive(Clone, Debug, serde::Serialize)]
pub(super) struct MergeView {
    version: &'static str,
    target: String,
    kernel_file: String,
    namespace: String,
    symbol: String,
    width: u32,
    width_pad: u32,
    rows: u32,
    lanes: u32,
    block_lanes: u32,
    memory: MemoryView,
    budget_lines: Vec<String>,
    buffers: Vec<String>,
}

/// Plans the kernel for rows of that many values.
///
/// # Errors
/// `FA201` where not even the fewest rows of that width fit the chip's UB.
pub fn plan_merge(width: u32, target: &Target) -> Result<MergePlan, Box<Diagnostic>> {
    let limits = &target
        .ascend()
        .expect("a split-core target has all Ascend tables")
        .limits;
    let step = limits.data_block_bytes / 4;
    // Strides from row to row are 8-bit counts of data blocks.
    let widest = limits.max_repeat * step;
    let most = MAX_ROWS.min(limits.max_repeat) / step;
    let fitting = (1..=most)
        .rev()
        .map(|groups| groups * step)
        .map(|rows| (rows, place(target, width, rows)))
        .find(|(_, budget)| super::memory::fits(budget));
    match fitting {
        Some((rows, budget)) if (1..=widest).contains(&width) => Ok(MergePlan {
            target: target.clone(),
            width,
            rows,
            budget,
        }),
        _ => {
            let needs = place(target, width, step);
            let message = format!(
                "the `{}` backend does not merge rows of {width} values: it takes 1 to {widest}, and {step} rows \
                 of them need {} of UB",
                target.name,
                kib(needs.memories[0].used_bytes())
            );
            let help = "merge parts of fewer columns, or on the host";
            Err(Box::new(Diagnostic::error(
                UNSUPPORTED_FEATURE,
                message,
                help,
            )))
        }
    }
}

fn place(target: &Target, width: u32, rows: u32) -> Budget {
    let ascend = target.ascend().expect("checked when planned");
    let lanes = ascend.limits.data_block_bytes / 4;
    let memory = &ascend.memory.ub;
    let mut next = 0;
    let buffers = BUFFERS.iter().map(|(name, shape, role)| {
        let (rows, cols) = match shape {
            Shape::Rows => (rows, width.next_multiple_of(lanes)),
            Shape::Column => (1, rows),
            Shape::Blocks => (rows, lanes),
        };
        let bytes = u64::from(rows) * u64::from(cols) * 4;
        let buffer = Buffer {
            name: (*name).to_owned(),
            copies: 1,
            rows,
            cols,
            dtype: "fp32".to_owned(),
            elem_bytes: 4,
            offset_bytes: next,
            copy_bytes: bytes.next_multiple_of(memory.align_bytes),
            role: (*role).to_owned(),
        };
        next = buffer.end_bytes();
        buffer
    });
    let buffers = buffers.collect();
    Budget {
        target: target.name.clone(),
        memories: vec![MemoryUse {
            memory: "UB".to_owned(),
            capacity_bytes: memory.usable_bytes,
            capacity_note: memory.usable_note.clone(),
            buffers,
        }],
    }
}

/// Prints the kernel.
pub fn render_merge(plan: &MergePlan) -> GeneratedFile {
    let ascend = plan.target.ascend().expect("checked when planned");
    let name = format!("merge_{}", plan.width);
    let block_lanes = ascend.limits.data_block_bytes / 4;
    let view = MergeView {
        version: GENERATOR_VERSION,
        target: plan.target.name.clone(),
        kernel_file: format!("{name}_{}.cpp", plan.target.name),
        namespace: format!("fa_{name}"),
        symbol: plan.symbol(),
        width: plan.width,
        width_pad: plan.width.next_multiple_of(block_lanes),
        rows: plan.rows,
        lanes: ascend.limits.vector_repeat_bytes / 4,
        block_lanes,
        memory: memory_view(&plan.budget.memories[0]),
        budget_lines: budget_lines(&plan.budget.memories),
        buffers: BUFFERS.iter().map(|(name, ..)| pascal_case(name)).collect(),
    };
    render::merge(&view)
}

impl MergePlan {
    /// The exported symbol of the kernel.
    pub fn symbol(&self) -> String {
        format!("fa_merge_{}_rows", self.width)
    }

    /// Rows that a vector core takes at a time.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Where every buffer lies.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }
}

impl MergeView {
    /// Where the kernel is written, below the output folder.
    pub(super) fn path(&self) -> String {
        self.kernel_file.clone()
    }
}
