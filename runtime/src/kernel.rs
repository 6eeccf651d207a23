//! A compiled variant and how it is launched; the same calls for every backend.

use std::time::{Duration, Instant};

use fa_codegen::cpu::Tasks;
use fa_codegen::{GeneratedFile, Plan, Provenance};
use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::variant::{Dtype, Variant};
use fa_targets::{Target, TargetKind};

use crate::abi::CpuEntry;
use crate::ascend::{self, AscendKernel};
use crate::cache::Cache;
use crate::cpu::{self, CpuKernel, CpuLaunch};
use crate::effort::Effort;
use crate::error::{Error, Result};
use crate::launch::{Arguments, Checked, Outputs, lse_shape, output_shape, strict_result_findings};
use crate::merge::{self, Merged, Partial};
use crate::reference;
use crate::tensor::Tensor;

/// Who computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// The f64 interpreter.
    Reference,
    /// Emitted Rust.
    Cpu,
    /// Emitted Ascend C.
    Ascend,
}

impl Backend {
    /// The spelling on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Reference => "reference",
            Backend::Cpu => "cpu",
            Backend::Ascend => "ascend",
        }
    }

    /// The backend that a target's kernels run on.
    pub fn of(target: &Target) -> Backend {
        match target.kind {
            TargetKind::SplitCore => Backend::Ascend,
            TargetKind::Cpu => Backend::Cpu,
        }
    }
}

/// What is known about a finished launch.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Report {
    /// Who computed.
    pub backend: Backend,
    /// The results come from the emulator and not from hardware.
    pub emulated: bool,
    /// Host time of the launch, transfers included, compilation not. Of an emulated launch it says nothing about a
    /// chip.
    #[serde(rename = "host_seconds", serialize_with = "seconds")]
    pub host_time: Duration,
    /// What a reader of the result should know, such as inputs that were copied.
    pub notes: Vec<String>,
}

fn seconds<S: serde::Serializer>(
    time: &Duration,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

/// A variant, ready to be launched.
#[derive(Clone, Debug)]
pub struct Kernel {
    variant: Variant,
    code: Code,
    cache_hit: bool,
    warnings: Vec<Diagnostic>,
}

/// A CPU kernel that was compiled into the program, and what its launch must know of its plan.
#[derive(Clone, Copy, Debug)]
pub struct LinkedCode {
    /// Names the kernel in messages.
    pub symbol: &'static str,
    /// The kernel.
    pub entry: CpuEntry,
    /// How launches fall into tasks.
    pub tasks: Tasks,
    /// The longest sequences, rows.
    pub max_len: u32,
}

#[derive(Clone, Debug)]
enum Code {
    Reference,
    Linked {
        code: LinkedCode,
        kernel: CpuKernel,
    },
    Cpu {
        plan: Plan,
        kernel: CpuKernel,
    },
    Ascend {
        plan: Plan,
        kernel: Box<AscendKernel>,
    },
}

/// O and LSE of a launch that allocated them.
#[derive(Clone, Debug)]
pub struct Results {
    /// The attention output, in the variant's layout and type.
    pub out: Tensor,
    /// Natural log-sum-exp, fp32.
    pub lse: Tensor,
    /// About the launch.
    pub report: Report,
}

/// Compiles variants, with a cache behind it.
#[derive(Clone, Debug)]
pub struct Runtime {
    pub(crate) cache: Cache,
    pub(crate) effort: Effort,
}

impl Runtime {
    /// With the user's cache.
    ///
    /// # Errors
    /// No cache folder is known.
    pub fn from_env() -> Result<Runtime> {
        Ok(Runtime::with_cache(Cache::from_env()?))
    }

    /// With a cache of one's own.
    pub fn with_cache(cache: Cache) -> Runtime {
        Runtime {
            cache,
            effort: Effort::default(),
        }
    }

    /// What kernels are compiled for.
    #[must_use]
    pub fn for_effort(mut self, effort: Effort) -> Runtime {
        self.effort = effort;
        self
    }

    /// Plans, renders, compiles and loads a variant for a target.
    ///
    /// # Errors
    /// No plan, no compiler, or a compiler that refuses the emitted code.
    pub fn compile(&self, variant: &Variant, target: &Target) -> Result<Kernel> {
        let kernels = self.compile_many(&[variant], target)?;
        Ok(kernels
            .into_iter()
            .next()
            .expect("one kernel for one variant"))
    }

    /// The same for several variants in one translation unit, which saves compiler starts.
    ///
    /// # Errors
    /// As [`Runtime::compile`]; also two variants of one name.
    pub fn compile_many(&self, variants: &[&Variant], target: &Target) -> Result<Vec<Kernel>> {
        let mut planned = Vec::with_capacity(variants.len());
        for variant in variants {
            planned.push(fa_codegen::plan(variant, target).map_err(Error::Plan)?);
        }
        let plans: Vec<&Plan> = planned.iter().map(|planned| &planned.plan).collect();
        distinct_symbols(&plans)?;
        let renderings: Vec<Vec<GeneratedFile>> = variants
            .iter()
            .zip(&plans)
            .map(|(variant, plan)| fa_codegen::render(plan, &unsaved(variant)))
            .collect();
        let (codes, cache_hit) = match target.kind {
            TargetKind::Cpu => self.cpu_codes(&plans, &renderings)?,
            TargetKind::SplitCore => self.ascend_codes(&plans, &renderings, target)?,
        };
        Ok(variants
            .iter()
            .zip(planned)
            .zip(codes)
            .map(|((variant, planned), code)| Kernel {
                variant: (*variant).clone(),
                code,
                cache_hit,
                warnings: planned.warnings,
            })
            .collect())
    }

    /// Merges partial results on the backend of a target: on a chip by a kernel of its vector cores, in fp32;
    /// elsewhere as [`merge`](crate::merge()) does. Empty parts are treated as there.
    ///
    /// # Errors
    /// As [`merge`](crate::merge()); also rows too wide for the chip, and what the toolkit refuses.
    pub fn merge(&self, target: &Target, parts: &[Partial<'_>]) -> Result<Merged> {
        merge::check(parts)?;
        match target.kind {
            TargetKind::Cpu => merge::merge(parts),
            TargetKind::SplitCore => ascend::merge(&self.cache, target, parts),
        }
    }

    fn cpu_codes(
        &self,
        plans: &[&Plan],
        renderings: &[Vec<GeneratedFile>],
    ) -> Result<(Vec<Code>, bool)> {
        let files: Vec<GeneratedFile> = renderings.iter().map(|files| files[0].clone()).collect();
        let library = cpu::compile(&self.cache, self.effort, &files)?;
        let codes = plans
            .iter()
            .map(|plan| {
                Ok(Code::Cpu {
                    plan: (*plan).clone(),
                    kernel: library.kernel(plan.symbol())?,
                })
            })
            .collect::<Result<_>>()?;
        Ok((codes, library.cache_hit))
    }

    fn ascend_codes(
        &self,
        plans: &[&Plan],
        renderings: &[Vec<GeneratedFile>],
        target: &Target,
    ) -> Result<(Vec<Code>, bool)> {
        let library = ascend::compile(&self.cache, self.effort, target, renderings)?;
        let codes = plans
            .iter()
            .map(|plan| {
                Ok(Code::Ascend {
                    plan: (*plan).clone(),
                    kernel: Box::new(library.kernel(plan.symbol())?),
                })
            })
            .collect::<Result<_>>()?;
        Ok((codes, library.cache_hit))
    }
}

/// Kernels compiled here have no file behind them; a fixed origin keeps equal variants at one cache key.
pub(crate) fn unsaved(variant: &Variant) -> Provenance {
    Provenance {
        source_name: format!("{}.fa", variant.name.value),
        source_sha256: "unsaved".to_owned(),
    }
}

fn distinct_symbols(plans: &[&Plan]) -> Result<()> {
    let mut symbols: Vec<&str> = plans.iter().map(|plan| plan.symbol()).collect();
    symbols.sort_unstable();
    match symbols.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Error::DuplicateSymbol(pair[0].to_owned())),
        None => Ok(()),
    }
}

impl Kernel {
    /// The f64 interpreter of a variant; needs no compiler.
    pub fn reference(variant: &Variant) -> Kernel {
        Kernel {
            variant: variant.clone(),
            code: Code::Reference,
            cache_hit: true,
            warnings: Vec::new(),
        }
    }

    /// A CPU kernel that was compiled into the program; needs no compiler.
    ///
    /// # Safety
    /// `code` is what was rendered and planned for this variant.
    pub unsafe fn linked(variant: Variant, code: LinkedCode) -> Kernel {
        Kernel {
            variant,
            code: Code::Linked {
                code,
                kernel: CpuKernel::linked(code.symbol, code.entry),
            },
            cache_hit: true,
            warnings: Vec::new(),
        }
    }

    /// Who will compute.
    pub fn backend(&self) -> Backend {
        match self.code {
            Code::Reference => Backend::Reference,
            Code::Linked { .. } | Code::Cpu { .. } => Backend::Cpu,
            Code::Ascend { .. } => Backend::Ascend,
        }
    }

    /// Whether results come from the emulator.
    pub fn is_emulated(&self) -> bool {
        match &self.code {
            Code::Ascend { kernel, .. } => kernel.is_emulated(),
            Code::Reference | Code::Linked { .. } | Code::Cpu { .. } => false,
        }
    }

    /// The variant.
    pub fn variant(&self) -> &Variant {
        &self.variant
    }

    /// The plan; the reference and kernels of the program itself carry none.
    pub fn plan(&self) -> Option<&Plan> {
        match &self.code {
            Code::Reference | Code::Linked { .. } => None,
            Code::Cpu { plan, .. } | Code::Ascend { plan, .. } => Some(plan),
        }
    }

    /// The longest sequences that the kernel accepts, rows.
    fn max_len(&self) -> Option<u32> {
        match &self.code {
            Code::Linked { code, .. } => Some(code.max_len),
            _ => Some(self.plan()?.limits().max_len),
        }
    }

    /// Whether nothing had to be compiled.
    pub fn cache_hit(&self) -> bool {
        self.cache_hit
    }

    /// Warnings and notes of planning.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// Checks everything, computes, and writes the results.
    ///
    /// # Errors
    /// [`Error::Launch`] before any kernel code runs; later what the backend reports, and in strict mode
    /// [`Error::Results`].
    pub fn launch(&self, arguments: &Arguments<'_>, outputs: &mut Outputs<'_>) -> Result<Report> {
        let checked = arguments.check(&self.variant)?;
        checked.check_outputs(&self.variant, outputs)?;
        if let Some(max_len) = self.max_len() {
            checked.check_limit(max_len)?;
        }
        if !arguments.strict {
            return self.launch_checked(&checked, outputs);
        }
        match checked.strict_findings(&self.variant) {
            found if found.is_empty() => {}
            found => return Err(Error::Launch(found)),
        }
        let report = self.launch_checked(&checked, outputs)?;
        match strict_result_findings(&self.variant, outputs) {
            found if found.is_empty() => Ok(report),
            found => Err(Error::Results(found)),
        }
    }

    /// The same into new tensors.
    ///
    /// # Errors
    /// As [`Kernel::launch`].
    pub fn run(&self, arguments: &Arguments<'_>) -> Result<Results> {
        let checked = arguments.check(&self.variant)?;
        let out_shape = output_shape(&self.variant, arguments.q.shape());
        let mut out = Tensor::zeros(self.variant.precision.output, &out_shape);
        let mut lse = Tensor::zeros(Dtype::Fp32, &lse_shape(&self.variant, checked.sizes));
        let mut outputs = Outputs {
            out: out.view_mut(),
            lse: lse.view_mut(),
        };
        let report = self.launch(arguments, &mut outputs)?;
        Ok(Results { out, lse, report })
    }

    fn launch_checked(&self, checked: &Checked<'_>, outputs: &mut Outputs<'_>) -> Result<Report> {
        let _span = tracing::info_span!(
            "launch",
            variant = self.variant.name.value,
            target = self.backend().name()
        )
        .entered();
        let start = Instant::now();
        let notes = match &self.code {
            Code::Reference => {
                reference::launch(&self.variant, checked, outputs)?;
                Vec::new()
            }
            Code::Linked { code, kernel } => {
                kernel.launch(&self.cpu_launch(code.tasks, checked), outputs)?;
                Vec::new()
            }
            Code::Cpu {
                plan: Plan::Cpu(plan),
                kernel,
            } => {
                kernel.launch(&self.cpu_launch(plan.tasks(), checked), outputs)?;
                Vec::new()
            }
            Code::Ascend {
                plan: Plan::Ascend(plan),
                kernel,
            } => kernel.launch(&self.variant, plan, checked, outputs)?,
            Code::Cpu { .. } | Code::Ascend { .. } => unreachable!("a plan is of its target"),
        };
        Ok(Report {
            backend: self.backend(),
            emulated: self.is_emulated(),
            host_time: start.elapsed(),
            notes,
        })
    }

    fn cpu_launch<'l, 'a>(&'l self, tasks: Tasks, checked: &'l Checked<'a>) -> CpuLaunch<'l, 'a> {
        CpuLaunch {
            checked,
            variant: &self.variant,
            tasks,
        }
    }
}
