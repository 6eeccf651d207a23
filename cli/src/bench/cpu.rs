//! Timing on this machine: fused and unfused kernels take turns in rounds, so that a slow phase falls on both.

use std::time::{Instant, SystemTime};

use fa_dsl::variant::{Dtype, Variant};
use fa_runtime::machine::{self, FmaPeak};
use fa_runtime::verify::Case;
use fa_runtime::{
    Arguments, Error, Outputs, Runtime, SampledRow, Tensor, lse_shape, output_shape, sample_rows,
    sampled_error,
};
use fa_targets::Target;
use serde_json::{Value, json};

use super::Settings;
use super::common::{kv_bytes, mib, missing_memory, sizes_of, text};
use super::pairs::{self, Pairs};
use super::row::{FUSED, Outcome, Row, Subject, Timed, UNFUSED};
use super::shape::BenchShape;
use super::watch::Watch;
use crate::session::Session;

/// Rows that are compared with the f64 reference.
const CHECKED_ROWS: usize = 32;
/// Share of the processors of others that spoils a sample.
const FOREIGN: f64 = 0.1;
/// Undisturbed samples below which all are used.
const FEW_SAMPLES: usize = 3;
/// Attempts at each undisturbed sample.
const ATTEMPTS: usize = 3;
/// Seconds that the samples of a kernel take, about; a slow one gets fewer.
const MAX_SECONDS: f64 = 20.0;
/// Query rows up to which memory bounds a kernel, not arithmetic.
const FEW_ROWS: usize = 8;
/// Share of the free memory that scores may take.
const USABLE_MEMORY: f64 = 0.9;
/// Measurements of the peak before the first kernel.
const PEAK_TRIES: usize = 5;

/// The machine, and how it is timed.
pub(super) struct CpuBench {
    settings: Settings,
    runtime: Runtime,
    peak: Option<FmaPeak>,
    bandwidth: Option<f64>,
}

/// A kernel that takes its turns.
struct Contender<'a> {
    peer: &'static str,
    run: Box<dyn FnMut() -> fa_runtime::Result<()> + 'a>,
    inner: usize,
    wanted: usize,
    /// Milliseconds of a call, and the share of others.
    samples: Vec<(f64, Option<f64>)>,
    prepare_s: f64,
    extra_bytes: Option<u64>,
}

/// O and LSE of one kernel.
struct Results {
    out: Tensor,
    lse: Tensor,
}

impl CpuBench {
    /// Makes the thread pool; nothing else of this process has one yet.
    pub(super) fn new(settings: Settings) -> anyhow::Result<CpuBench> {
        rayon::ThreadPoolBuilder::new()
            .num_threads(settings.threads)
            .build_global()?;
        Ok(CpuBench {
            settings,
            runtime: Runtime::from_env()?.for_effort(settings.effort),
            peak: None,
            bandwidth: None,
        })
    }

    /// The compiler of this bench.
    pub(super) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Times one shape.
    pub(super) fn shape(
        &mut self,
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
            threads: self.settings.threads,
            target: target.name.clone(),
        };
        let failed = |subject: &Subject, error: String| {
            Ok(vec![subject.row(FUSED, Outcome::Failed { error })])
        };
        if let Some(missing) = missing_memory(variant, shape) {
            return Ok(vec![subject.row(
                FUSED,
                Outcome::Unsupported {
                    unsupported: missing,
                },
            )]);
        }
        let progress = session.progress(format!("{shape}: measuring the machine"));
        self.measure_machine(shape);
        progress.set_message(format!("{shape}: making tensors"));
        let case = Case::random(variant, sizes_of(shape), 1, false);
        let arguments = case.arguments();
        let checked = match arguments.check(variant) {
            Ok(checked) => checked,
            Err(error) => return failed(&subject, text(&error)),
        };
        let rows = sample_rows(variant, &arguments, CHECKED_ROWS)?;
        let pairs = pairs::count(variant, checked.sizes, &checked.params, &rows);
        subject.causal = pairs.causal;
        progress.set_message(format!("{shape}: compiling"));
        let mut results = [
            Results::new(variant, &arguments)?,
            Results::new(variant, &arguments)?,
        ];
        let [fused_results, unfused_results] = &mut results;
        let mut contenders = Vec::new();
        let mut found = Vec::new();
        match self.fused(variant, target, &arguments, fused_results) {
            Ok(contender) => contenders.push(contender),
            Err(error) => return failed(&subject, text(&error)),
        }
        let mut scores_bytes = 0;
        if self.settings.unfused {
            match self.unfused(variant, target, &arguments, unfused_results) {
                Ok((contender, bytes)) => {
                    contenders.push(contender);
                    scores_bytes = bytes;
                }
                Err(NotTimed::Unsupported(unsupported)) => {
                    found.push(subject.row(UNFUSED, Outcome::Unsupported { unsupported }));
                }
                Err(NotTimed::Failed(error)) => {
                    found.push(subject.row(UNFUSED, Outcome::Failed { error }));
                }
            }
        }
        for round in 0..self.settings.rounds * ATTEMPTS {
            let count = contenders.len();
            let wanting = contenders.iter().filter(|one| one.wants_more()).count();
            if wanting == 0 {
                break;
            }
            progress.set_message(format!("{shape}: round {}", round + 1));
            self.measure_peak();
            for turn in 0..count {
                contenders[(round + turn) % count].sample()?;
            }
        }
        progress.finish_and_clear();
        let times: Vec<(&'static str, Timed)> = contenders
            .into_iter()
            .map(|one| (one.peer, one.timed()))
            .collect();
        let medians: Vec<f64> = times.iter().map(|(_, timed)| timed.median_ms).collect();
        let work = Work {
            variant,
            shape,
            pairs: &pairs,
            rows: &rows,
        };
        let mut timed_rows = Vec::new();
        for ((peer, mut timed), results) in times.into_iter().zip(&results) {
            self.complete(&mut timed, &work, results);
            match (peer, medians.as_slice()) {
                (FUSED, [fused, unfused]) => timed.speedup = Some(unfused / fused),
                (UNFUSED, _) => timed.scores_mib = Some(mib(scores_bytes)),
                _ => {}
            }
            timed_rows.push(subject.row(peer, Outcome::Timed(Box::new(timed))));
        }
        timed_rows.extend(found);
        Ok(timed_rows)
    }

    fn measure_machine(&mut self, shape: BenchShape) {
        if self.peak.is_none() {
            (0..PEAK_TRIES).for_each(|_| self.measure_peak());
        }
        if shape.q_len <= FEW_ROWS && self.bandwidth.is_none() {
            self.bandwidth = machine::read_bandwidth();
        }
    }

    /// Keeps the best: the machine may be in a slow state at times.
    fn measure_peak(&mut self) {
        let found = machine::fma_peak();
        if self.peak.is_none_or(|peak| found.flops > peak.flops) {
            self.peak = Some(found);
        }
    }

    fn fused<'a>(
        &self,
        variant: &Variant,
        target: &Target,
        arguments: &'a Arguments<'_>,
        results: &'a mut Results,
    ) -> fa_runtime::Result<Contender<'a>> {
        let start = Instant::now();
        let sizes = arguments.check(variant)?.sizes;
        let kernel = self.runtime.compile_for(variant, target, sizes)?;
        let run = move || kernel.launch(arguments, &mut results.outputs()).map(drop);
        self.contender(FUSED, start, Box::new(run))
    }

    fn unfused<'a>(
        &self,
        variant: &Variant,
        target: &Target,
        arguments: &'a Arguments<'_>,
        results: &'a mut Results,
    ) -> Result<(Contender<'a>, u64), NotTimed> {
        let start = Instant::now();
        let kernels = match self.runtime.compile_unfused(variant, target) {
            Err(error @ Error::Plan(_)) => return Err(NotTimed::Unsupported(text(&error))),
            other => other?,
        };
        let sizes = arguments.check(variant)?.sizes;
        let bytes = kernels.workspace_bytes(sizes);
        if let Some(available) = machine::available_bytes()
            && bytes as f64 > available as f64 * USABLE_MEMORY
        {
            return Err(NotTimed::Unsupported(format!(
                "scores take {:.0} MiB, {:.0} MiB of memory are free",
                mib(bytes),
                mib(available)
            )));
        }
        let mut scores = None;
        let run = move || {
            if scores.is_none() {
                scores = Some(kernels.scores(arguments)?);
            }
            let scores = scores.as_mut().expect("made just now");
            kernels
                .launch(arguments, &mut results.outputs(), scores)
                .map(drop)
        };
        Ok((self.contender(UNFUSED, start, Box::new(run))?, bytes))
    }

    /// Runs it twice: the first call shows how much memory it takes, the second how long a call is.
    fn contender<'a>(
        &self,
        peer: &'static str,
        start: Instant,
        mut run: Box<dyn FnMut() -> fa_runtime::Result<()> + 'a>,
    ) -> fa_runtime::Result<Contender<'a>> {
        let (first, extra_bytes) = machine::peak_of(&mut run);
        first?;
        let prepare_s = start.elapsed().as_secs_f64();
        let start = Instant::now();
        run()?;
        let once = start.elapsed().as_secs_f64().max(1e-6);
        let inner = (self.settings.sample.as_secs_f64() / once).ceil().max(1.0);
        let affordable = MAX_SECONDS / (inner * once);
        let least = FEW_SAMPLES.min(self.settings.rounds);
        Ok(Contender {
            peer,
            run,
            inner: inner as usize,
            wanted: (affordable as usize).clamp(least, self.settings.rounds),
            samples: Vec::new(),
            prepare_s,
            extra_bytes,
        })
    }

    /// What follows from the times.
    fn complete(&self, timed: &mut Timed, work: &Work<'_>, results: &Results) {
        let variant = work.variant;
        let width = f64::from(variant.head_dim + variant.v_head_dim);
        let flops = 2.0 * work.pairs.count * width;
        timed.gflops = flops / timed.median_ms / 1e6;
        timed.gflops_best = flops / timed.min_ms / 1e6;
        timed.pairs = work.pairs.count;
        timed.pairs_counted.clone_from(&work.pairs.counted);
        if let Some(peak) = self.peak {
            timed.peak_share = timed.gflops * 1e9 / peak.flops;
        }
        let error = sampled_error(variant, &results.out.view(), work.rows);
        timed.max_error = Some(error);
        timed.correct = Some(error <= tolerance(variant.precision.qkv));
        if work.shape.q_len <= FEW_ROWS {
            let rate = kv_bytes(variant, work.shape) / timed.median_ms / 1e6;
            timed.kv_gb_s = Some(rate);
            timed.bandwidth_share = self.bandwidth.map(|bandwidth| rate * 1e9 / bandwidth);
        }
    }

    /// What the figures were measured with, in a sentence.
    pub(super) fn remark(&self) -> String {
        let Some(peak) = self.peak else {
            return String::new();
        };
        let mut text = format!(
            "{} threads; measured peak {:.1} GFLOP/s ({}); work is 2 (head_dim + v_head_dim) operations for each attended pair",
            self.settings.threads,
            peak.flops / 1e9,
            peak.path
        );
        if cfg!(debug_assertions) {
            text.push_str("; this fa-gen is built without optimisation, and so is its loop that measures the peak: use --release");
        }
        if let Some(bandwidth) = self.bandwidth {
            text.push_str(&format!(
                "; measured read bandwidth {:.1} GB/s",
                bandwidth / 1e9
            ));
        }
        text
    }

    /// The same for machines.
    pub(super) fn meta(&self, targets: &[Target]) -> Value {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let targets: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
        json!({
            "date": date(),
            "cpu": machine::processor(),
            "features": machine::features(),
            "cpus": cpus,
            "threads": self.settings.threads,
            "targets": targets,
            "peak_gflops": self.peak.map(|peak| peak.flops / 1e9),
            "peak_path": self.peak.map(|peak| peak.path),
            "read_gb_s": self.bandwidth.map(|bandwidth| bandwidth / 1e9),
        })
    }
}

/// Why kernels are not timed.
enum NotTimed {
    Unsupported(String),
    Failed(String),
}

impl From<Error> for NotTimed {
    fn from(error: Error) -> NotTimed {
        NotTimed::Failed(text(&error))
    }
}

/// What a shape's times are judged by.
struct Work<'a> {
    variant: &'a Variant,
    shape: BenchShape,
    pairs: &'a Pairs,
    rows: &'a [SampledRow],
}

impl Contender<'_> {
    fn wants_more(&self) -> bool {
        self.clean().count() < self.wanted && self.samples.len() < self.wanted * ATTEMPTS
    }

    fn clean(&self) -> impl Iterator<Item = f64> {
        let clean = |foreign: &Option<f64>| foreign.is_none_or(|share| share <= FOREIGN);
        self.samples
            .iter()
            .filter(move |(_, foreign)| clean(foreign))
            .map(|(ms, _)| *ms)
    }

    fn sample(&mut self) -> fa_runtime::Result<()> {
        if !self.wants_more() {
            return Ok(());
        }
        let (watch, start) = (Watch::start(), Instant::now());
        for _ in 0..self.inner {
            (self.run)()?;
        }
        let ms = start.elapsed().as_secs_f64() * 1e3 / self.inner as f64;
        self.samples.push((ms, watch.foreign()));
        Ok(())
    }

    fn timed(&self) -> Timed {
        let mut used: Vec<f64> = self.clean().collect();
        let disturbed = self.samples.len() - used.len();
        if used.len() < FEW_SAMPLES {
            used = self.samples.iter().map(|(ms, _)| *ms).collect();
        }
        used.sort_unstable_by(f64::total_cmp);
        let median = quantile(&used, 0.5);
        Timed {
            prepare_s: self.prepare_s,
            median_ms: median,
            min_ms: used[0],
            spread: (quantile(&used, 0.75) - quantile(&used, 0.25)) / median,
            runs: used.len(),
            inner: self.inner,
            disturbed,
            all_ms: self.samples.iter().map(|(ms, _)| *ms).collect(),
            foreign: self
                .samples
                .iter()
                .filter_map(|(_, foreign)| *foreign)
                .collect(),
            extra_mib: self.extra_bytes.map(mib),
            ..Timed::default()
        }
    }
}

impl Results {
    /// Pages that are there already: those of the results are no kernel's extra memory.
    fn new(variant: &Variant, arguments: &Arguments<'_>) -> fa_runtime::Result<Results> {
        let sizes = arguments.check(variant)?.sizes;
        let shape = output_shape(variant, arguments.q.shape());
        let mut results = Results {
            out: Tensor::zeros(variant.precision.output, &shape),
            lse: Tensor::zeros(Dtype::Fp32, &lse_shape(variant, sizes)),
        };
        for tensor in [&mut results.out, &mut results.lse] {
            tensor.bytes_mut().fill(0xff);
        }
        Ok(results)
    }

    fn outputs(&mut self) -> Outputs<'_> {
        Outputs {
            out: self.out.view_mut(),
            lse: self.lse.view_mut(),
        }
    }
}

/// Between sorted values.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (low, high) = (
        sorted[place.floor() as usize],
        sorted[place.ceil() as usize],
    );
    low + (high - low) * place.fract()
}

/// The largest error that is no fault; unit inputs.
fn tolerance(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::Fp16 => 1e-2,
        Dtype::Bf16 => 4e-2,
        Dtype::Fp32 | Dtype::Int8 | Dtype::Int32 | Dtype::Bool => 1e-4,
    }
}

/// Today, `yyyy-mm-dd`, by the civil calendar.
fn date() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let days = since.map_or(0, |since| since.as_secs() / 86_400) as i64;
    // Years start in March, so that leap days come last.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    format!("{:04}-{month:02}-{day:02}", year_of_era + era * 400 + carry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_values() {
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.5), 2.0);
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.75), 3.0);
        assert_eq!(quantile(&[5.0], 0.25), 5.0);
    }
}
