//! Timing by the emulator's model of a chip: no data moves, each kernel is launched once. All times are *modelled*.

use std::time::Instant;

use fa_codegen::Plan;
use fa_codegen::ascend::LaunchShape;
use fa_dsl::variant::{Dtype, Variant};
use fa_runtime::verify::Case;
use fa_runtime::{
    Arguments, LaunchSizes, ModelledTime, Outputs, Runtime, Tensor, lse_shape, machine, modelled,
    modelled_with, output_shape, sample_rows,
};
use fa_targets::Target;

use super::Settings;
use super::common::{mib, missing_memory, sizes_of, text};
use super::pairs::{self, Pairs};
use super::row::{FUSED, Launch, Outcome, Row, Subject, Timed, UNFUSED};
use super::shape::BenchShape;
use crate::session::Session;

/// Rows from which pairs are estimated where elements of tensors decide.
const SAMPLED_ROWS: usize = 32;
/// Bytes of the host for each byte of a device: the emulator keeps note of what is defined.
const HOST_BYTES: u64 = 2;
/// Names of the unfused kernels.
const STEPS: [&str; 3] = ["scores", "softmax", "output"];

/// What times are made of.
struct Job<'a> {
    variant: &'a Variant,
    target: &'a Target,
    sizes: LaunchSizes,
    pairs: Pairs,
    arguments: &'a Arguments<'a>,
}

/// Why there are no times.
enum NotTimed {
    Unsupported(String),
    Failed(String),
}

impl From<fa_runtime::Error> for NotTimed {
    fn from(error: fa_runtime::Error) -> NotTimed {
        match error {
            fa_runtime::Error::Plan(_) => NotTimed::Unsupported(text(&error)),
            other => NotTimed::Failed(text(&other)),
        }
    }
}

/// Times one shape.
pub(super) fn shape(
    runtime: &Runtime,
    settings: &Settings,
    variant: &Variant,
    target: &Target,
    shape: BenchShape,
    session: &mut Session,
) -> anyhow::Result<Vec<Row>> {
    let mut subject = Subject {
        shape,
        dtype: variant.precision.qkv.name(),
        variant: variant.name.value.clone(),
        causal: false,
        threads: 0,
        target: target.name.clone(),
    };
    if let Some(unsupported) = missing_memory(variant, shape) {
        return Ok(vec![
            subject.row(FUSED, Outcome::Unsupported { unsupported }),
        ]);
    }
    let progress = session.progress(format!("{shape}: making tensors"));
    let case = Case::random(variant, sizes_of(shape), 1, false);
    let arguments = case.arguments();
    let checked = match arguments.check(variant) {
        Ok(checked) => checked,
        Err(error) => {
            let error = text(&error);
            return Ok(vec![subject.row(FUSED, Outcome::Failed { error })]);
        }
    };
    let rows = sample_rows(variant, &arguments, SAMPLED_ROWS)?;
    let pairs = pairs::count(variant, checked.sizes, &checked.params, &rows);
    subject.causal = pairs.causal;
    let job = Job {
        variant,
        target,
        sizes: checked.sizes,
        pairs,
        arguments: &arguments,
    };
    progress.set_message(format!("{shape}: fused, on the emulator"));
    let mut fused = job.fused(runtime);
    progress.set_message(format!("{shape}: unfused, on the emulator"));
    let unfused = settings.unfused.then(|| job.unfused(runtime));
    progress.finish_and_clear();
    if let (Ok(fused), Some(Ok(unfused))) = (&mut fused, &unfused) {
        fused.speedup = Some(unfused.median_ms / fused.median_ms);
    }
    let row = |peer, result| {
        subject.row(
            peer,
            match result {
                Ok(timed) => Outcome::Timed(Box::new(timed)),
                Err(NotTimed::Unsupported(unsupported)) => Outcome::Unsupported { unsupported },
                Err(NotTimed::Failed(error)) => Outcome::Failed { error },
            },
        )
    };
    let mut found = vec![row(FUSED, fused)];
    found.extend(unfused.map(|unfused| row(UNFUSED, unfused)));
    Ok(found)
}

impl Job<'_> {
    fn fused(&self, runtime: &Runtime) -> Result<Timed, NotTimed> {
        let start = Instant::now();
        let kernel = runtime.compile_for(self.variant, self.target, self.sizes)?;
        emulated(kernel.is_emulated())?;
        let extra = match kernel.plan() {
            Some(Plan::Ascend(plan)) => {
                let blocks = self.sizes.q_len.div_ceil(plan.tile().block_q as usize);
                let tasks = (self.sizes.batch * self.sizes.heads * blocks) as u64;
                let cores = self.target.chip.as_ref().map_or(1, |chip| chip.cube_cores);
                plan.workspace_bytes(plan.blocks(tasks, cores), &self.launch_shape())
            }
            _ => 0,
        };
        let (mut out, mut lse) = self.results();
        let mut outputs = Outputs {
            out: out.view_mut(),
            lse: lse.view_mut(),
        };
        let computes =
            matches!(kernel.plan(), Some(Plan::Ascend(plan)) if plan.has_global_barrier());
        let launch = || kernel.launch(self.arguments, &mut outputs);
        let (result, times) = modelled_with(computes, launch);
        result?;
        Ok(self.timed(start, &["attention"], times, extra))
    }

    fn launch_shape(&self) -> LaunchShape {
        let sizes = self.sizes;
        LaunchShape {
            batch: sizes.batch as u64,
            heads: sizes.heads as u64,
            kv_heads: sizes.kv_heads as u64,
            q_len: sizes.q_len as u64,
            kv_len: sizes.kv_len as u64,
        }
    }

    fn unfused(&self, runtime: &Runtime) -> Result<Timed, NotTimed> {
        let start = Instant::now();
        let kernels = runtime.compile_unfused(self.variant, self.target)?;
        emulated(kernels.is_emulated())?;
        let bytes = kernels.workspace_bytes(self.sizes);
        if let Some(available) = machine::available_bytes()
            && bytes * HOST_BYTES > available
        {
            return Err(NotTimed::Unsupported(format!(
                "scores and probabilities take {:.0} MiB, and as much again on the emulator; {:.0} MiB of memory are free",
                mib(bytes),
                mib(available)
            )));
        }
        let (mut out, mut lse) = self.results();
        let mut outputs = Outputs {
            out: out.view_mut(),
            lse: lse.view_mut(),
        };
        let mut scores = kernels.scores(self.arguments)?;
        let (result, times) =
            modelled(|| kernels.launch(self.arguments, &mut outputs, &mut scores));
        result?;
        let mut timed = self.timed(start, &STEPS, times, bytes);
        timed.scores_mib = Some(mib(bytes));
        Ok(timed)
    }

    fn results(&self) -> (Tensor, Tensor) {
        let shape = output_shape(self.variant, self.arguments.q.shape());
        let lse = lse_shape(self.variant, self.sizes);
        (
            Tensor::zeros(self.variant.precision.output, &shape),
            Tensor::zeros(Dtype::Fp32, &lse),
        )
    }

    fn timed(
        &self,
        start: Instant,
        names: &[&'static str],
        times: Vec<ModelledTime>,
        extra: u64,
    ) -> Timed {
        let ms = times.iter().map(|time| time.micros).sum::<f64>() / 1e3;
        let width = f64::from(self.variant.head_dim + self.variant.v_head_dim);
        let gflops = 2.0 * self.pairs.count * width / ms / 1e6;
        let launches = names.iter().zip(times);
        Timed {
            prepare_s: start.elapsed().as_secs_f64(),
            median_ms: ms,
            min_ms: ms,
            gflops,
            gflops_best: gflops,
            runs: 1,
            inner: 1,
            all_ms: vec![ms],
            pairs: self.pairs.count,
            pairs_counted: self.pairs.counted.clone(),
            peak_share: self.peak().map_or(0.0, |peak| gflops * 1e9 / peak),
            extra_mib: Some(mib(extra)),
            modelled: true,
            launches: launches
                .map(|(kernel, time)| Launch { kernel, time })
                .collect(),
            ..Timed::default()
        }
    }

    /// Operations a second of all cube cores in the type of the inputs.
    fn peak(&self) -> Option<f64> {
        let ascend = self.target.ascend()?;
        let timing = self.target.timing.as_ref()?;
        let share = match self.variant.precision.qkv {
            Dtype::Fp32 => timing.mmad_k_fp32.value / timing.mmad_k_fp16.value,
            _ => 1.0,
        };
        let cycles = f64::from(ascend.chip.cube_cores) * f64::from(ascend.chip.clock_mhz) * 1e6;
        Some(2.0 * f64::from(ascend.rates.cube_macs_fp16) * share * cycles)
    }
}

/// Times of an installed toolkit would be those of its device, which a clock on this side does not see.
fn emulated(is: bool) -> Result<(), NotTimed> {
    if is {
        return Ok(());
    }
    Err(NotTimed::Unsupported(
        "an installed toolkit is in use; times come from the emulator alone, unset ASCEND_HOME_PATH"
            .to_owned(),
    ))
}
