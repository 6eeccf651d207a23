//! Unfused attention of a variant: the kernels that a fused one is timed against, with the whole matrix of scores
//! in memory between them.

use fa_codegen::{ascend, cpu};
use fa_dsl::codes::UNSUPPORTED_FEATURE;
use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::variant::{Dtype, Variant};
use fa_targets::{Target, TargetKind};

use crate::ascend::{self as ascend_backend, AscendUnfused};
use crate::cpu::{self as cpu_backend, CpuKernel, CpuLaunch};
use crate::error::{Error, Result};
use crate::kernel::{Runtime, unsaved};
use crate::launch::{Arguments, Checked, LaunchSizes, Outputs};
use crate::tensor::Tensor;

/// The kernels of a variant, ready to be launched one after the other.
#[derive(Clone, Debug)]
pub struct Unfused {
    variant: Variant,
    code: Code,
}

#[derive(Clone, Debug)]
enum Code {
    Cpu {
        plan: Box<cpu::Unfused>,
        steps: Vec<CpuKernel>,
    },
    Ascend(Box<AscendUnfused>),
}

/// Scores of a launch on the host; what they hold between launches does not matter. Those of a device are there.
#[derive(Debug)]
pub struct Scores(Tensor);

impl Runtime {
    /// Plans, renders, compiles and loads the unfused kernels of a variant for a target.
    ///
    /// # Errors
    /// As [`Runtime::compile`]; also features that only the fused kernel has.
    pub fn compile_unfused(&self, variant: &Variant, target: &Target) -> Result<Unfused> {
        let code = match target.kind {
            TargetKind::Cpu => self.unfused_cpu(variant, target)?,
            TargetKind::SplitCore => self.unfused_ascend(variant, target)?,
        };
        Ok(Unfused {
            variant: variant.clone(),
            code,
        })
    }

    fn unfused_cpu(&self, variant: &Variant, target: &Target) -> Result<Code> {
        let plan = cpu::plan_unfused(variant, target).map_err(Error::Plan)?;
        let file = plan.render(&unsaved(variant));
        let library = cpu_backend::compile(&self.cache, self.effort, &[file])?;
        let symbols = plan.symbols();
        let steps = symbols.iter().map(|symbol| library.kernel(symbol));
        Ok(Code::Cpu {
            steps: steps.collect::<Result<_>>()?,
            plan: Box::new(plan),
        })
    }

    fn unfused_ascend(&self, variant: &Variant, target: &Target) -> Result<Code> {
        let plan = ascend::plan_unfused(variant, target).map_err(Error::Plan)?;
        let files = plan.render(&unsaved(variant));
        let library = ascend_backend::compile(&self.cache, self.effort, target, &[files])?;
        Ok(Code::Ascend(Box::new(AscendUnfused { library, plan })))
    }
}

impl Unfused {
    /// Whether results come from the emulator.
    pub fn is_emulated(&self) -> bool {
        match &self.code {
            Code::Cpu { .. } => false,
            Code::Ascend(kernels) => kernels.is_emulated(),
        }
    }

    /// Bytes that a launch keeps in memory between its kernels: scores, and where they are not overwritten by them,
    /// probabilities.
    pub fn workspace_bytes(&self, sizes: LaunchSizes) -> u64 {
        let planes = (sizes.batch * sizes.heads) as u64;
        let (q_len, kv_len) = (sizes.q_len as u64, sizes.kv_len as u64);
        match &self.code {
            Code::Cpu { plan, .. } => plan.scores_bytes(planes, q_len, kv_len),
            Code::Ascend(kernels) => {
                let matrices = kernels.plan.workspace_bytes(planes * q_len, kv_len);
                matrices.iter().sum()
            }
        }
    }

    /// Memory of the host for the scores of a launch.
    ///
    /// # Errors
    /// As [`Arguments::check`].
    pub fn scores(&self, arguments: &Arguments<'_>) -> Result<Scores> {
        let sizes = arguments.check(&self.variant)?.sizes;
        let bytes = match self.code {
            Code::Cpu { .. } => self.workspace_bytes(sizes),
            Code::Ascend(_) => 0,
        };
        Ok(Scores(Tensor::zeros(Dtype::Fp32, &[bytes as usize / 4])))
    }

    /// Runs all kernels, on the current rayon pool or the device; returns what a reader of the result should know. On
    /// a device LSE is not written.
    ///
    /// # Errors
    /// As [`Kernel::launch`](crate::Kernel::launch); a training launch of a device.
    ///
    /// # Panics
    /// The scores are those of a smaller launch.
    pub fn launch(
        &self,
        arguments: &Arguments<'_>,
        outputs: &mut Outputs<'_>,
        scores: &mut Scores,
    ) -> Result<Vec<String>> {
        let checked = arguments.check(&self.variant)?;
        checked.check_outputs(&self.variant, outputs)?;
        let sizes = checked.sizes;
        let max_len = match &self.code {
            Code::Cpu { plan, .. } => plan.limits().max_len,
            Code::Ascend(kernels) => kernels.plan.limits().max_len,
        };
        checked.check_limit(max_len)?;
        match &self.code {
            Code::Cpu { plan, steps } => {
                let needed = self.workspace_bytes(sizes);
                assert!(
                    scores.0.bytes().len() as u64 >= needed,
                    "scores of this launch"
                );
                let launch = CpuLaunch {
                    checked: &checked,
                    variant: &self.variant,
                    tasks: plan.tasks(),
                };
                let scores = scores.0.bytes_mut().as_mut_ptr();
                steps
                    .iter()
                    .try_for_each(|step| step.launch_unfused(&launch, outputs, scores.cast()))?;
                Ok(Vec::new())
            }
            Code::Ascend(kernels) => {
                refuse_for_device(&checked)?;
                kernels.launch(&self.variant, &checked, outputs)
            }
        }
    }
}

/// What the kernels of a device do not have.
fn refuse_for_device(checked: &Checked<'_>) -> Result<()> {
    let sizes = checked.sizes;
    let empty = sizes.batch * sizes.heads * sizes.q_len * sizes.kv_len == 0;
    let found = match (checked.training.is_some(), empty) {
        (true, _) => "unfused kernels have no training launches",
        (false, true) => "unfused kernels have no launches without rows or keys",
        (false, false) => return Ok(()),
    };
    let help = "launch the fused kernel";
    Err(Error::Launch(vec![Diagnostic::error(
        UNSUPPORTED_FEATURE,
        found,
        help,
    )]))
}
