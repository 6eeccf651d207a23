//! Launches without data on the emulator: how long a kernel would take at a shape, by the model.
//!
//! Inputs are zeros, but captured tensors hold what a verification would fill them with; L2 holds the launch's data
//! already, as when a launch is repeated.

use fa_codegen::ascend::{LaunchShape, Plan};
use fa_dsl::variant::{Layout, Variant};
use fa_emulator::experiment::{self, Experiment};
use fa_emulator::timeline::{self, Detail, Timeline};
use fa_runtime::verify::{Case, Shape};
use fa_runtime::{Arguments, Error, Kernel, PackedLengths, Tensor};

/// Times one launch; `None` where a toolkit is installed, which the emulator does not see.
///
/// # Errors
/// The launch is refused or fails.
pub(crate) fn time(
    kernel: &Kernel,
    shape: Shape,
    detail: Detail,
) -> Result<Option<Timeline>, Error> {
    // What some kernels compute first decides about their tiles.
    let computes =
        matches!(kernel.plan(), Some(fa_codegen::Plan::Ascend(plan)) if plan.has_global_barrier());
    let plan = Experiment {
        data: computes,
        hazards: false,
        timeline: Some(detail),
        warm: true,
        ..Experiment::default()
    };
    timeline::take();
    let (outcome, _) = experiment::run(plan, || {
        with_inputs(kernel.variant(), shape, |arguments| {
            kernel.run(arguments).map(drop)
        })
    });
    outcome?;
    Ok(timeline::take().pop())
}

/// Calls a launch with inputs of a shape.
pub(crate) fn with_inputs<R>(
    variant: &Variant,
    shape: Shape,
    launch: impl FnOnce(&Arguments<'_>) -> R,
) -> R {
    let narrow = narrow(variant);
    let case = Case::random(&narrow, shape, 1, false);
    let given = case.arguments();
    let [q, k, v] = zeros(variant, shape, given.packed.as_ref());
    launch(&Arguments {
        q: q.view(),
        k: k.view(),
        v: v.view(),
        ..given
    })
}

/// The variant with rows of one element, for which captured tensors are the same and random inputs cost nothing.
fn narrow(variant: &Variant) -> Variant {
    let mut narrow = variant.clone();
    (narrow.head_dim, narrow.v_head_dim) = (1, 1);
    narrow
}

fn zeros(variant: &Variant, shape: Shape, packed: Option<&PackedLengths>) -> [Tensor; 3] {
    let total = |cumulative: &[i64]| {
        let last = cumulative.last().copied().unwrap_or(0);
        usize::try_from(last).unwrap_or(0)
    };
    let (q_rows, kv_rows) = match packed {
        Some(packed) => (total(&packed.cu_q), total(&packed.cu_kv)),
        None => (shape.q_len, shape.kv_len),
    };
    let tensor = |heads: usize, rows: usize, width: u32| {
        let (batch, width) = (shape.batch, width as usize);
        let dims = match variant.layout {
            Layout::Bnsd => vec![batch, heads, rows, width],
            Layout::Bsnd => vec![batch, rows, heads, width],
            Layout::Bsh => vec![batch, rows, heads * width],
            Layout::Sbh => vec![rows, batch, heads * width],
            Layout::Tnd => vec![rows, heads, width],
        };
        Tensor::zeros(variant.precision.qkv, &dims)
    };
    [
        tensor(shape.heads, q_rows, variant.head_dim),
        tensor(shape.kv_heads, kv_rows, variant.head_dim),
        tensor(shape.kv_heads, kv_rows, variant.v_head_dim),
    ]
}

/// Bytes of workspace that a launch needs.
pub(crate) fn workspace_bytes(plan: &Plan, waves: Waves, shape: Shape, cube_cores: u32) -> u64 {
    let [batch, heads, kv_heads, q_len, kv_len] = [
        shape.batch,
        shape.heads,
        shape.kv_heads,
        shape.q_len,
        shape.kv_len,
    ]
    .map(|size| size as u64);
    let shape = LaunchShape {
        batch,
        heads,
        kv_heads,
        q_len,
        kv_len,
    };
    plan.workspace_bytes(plan.blocks(waves.tasks, cube_cores), &shape)
}

/// Query rows that the rows of tiles of a launch cover and the cores that they are dealt to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Waves {
    /// Blocks of query rows.
    pub(crate) tasks: u64,
    /// Cores that work.
    pub(crate) cores: u32,
}

impl Waves {
    /// Of a shape.
    pub(crate) fn of(shape: Shape, plan: &fa_codegen::Plan, cube_cores: u32) -> Waves {
        let heads = (shape.batch * shape.heads) as u64;
        let rows = plan.task_rows(heads, shape.q_len as u64, cube_cores);
        let blocks = shape.q_len.div_ceil(rows.max(1) as usize);
        let tasks = (shape.batch * shape.heads * blocks) as u64;
        Waves {
            tasks,
            cores: u32::try_from(tasks)
                .unwrap_or(u32::MAX)
                .clamp(1, cube_cores.max(1)),
        }
    }

    /// Tasks of the core that has most of them.
    pub(crate) fn most(&self) -> u64 {
        self.tasks.div_ceil(u64::from(self.cores))
    }

    /// Share of the places of all waves that hold a task.
    pub(crate) fn filled(&self, cube_cores: u32) -> f64 {
        self.tasks as f64 / (self.most() * u64::from(cube_cores.max(1))) as f64
    }
}
