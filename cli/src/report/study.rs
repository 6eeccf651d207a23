//! Everything that is found out about one variant on one target, and the section of the page that shows it.

use fa_codegen::{Plan, Planned};
use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::variant::Variant;
use fa_emulator::timeline::{Detail, Timeline};
use fa_runtime::verify::{Row, Shape};
use fa_runtime::{Effort, Error, Kernel, Runtime};
use fa_targets::{Target, TargetKind};

use super::advice::Findings;
use super::choice::{CONFIRMED_PAIRS, TRACED_PAIRS, asked, pairs_of, reduced, sizes};
use super::lengths::{Analytic, Curves, Unfused};
use super::page::{Absent, Fact, Figure, Prose, Section};
use super::pairs::Pairs;
use super::roofline::{Roofs, Work};
use super::timing::Waves;
use super::trace::{PipeShare, Steady};
use super::unfused::Emitted;
use super::whatif::{Alternative, Sensitivity};
use super::{
    checks, lengths, memory, numerics, pairs, pipeline, roofline, text, tiles, timing, trace,
    utilisation, whatif,
};
use crate::commands::mask::{self, MaskTiles};
use crate::table::kib;

/// What launches say about time.
pub(crate) struct Times {
    /// A launch with every instruction.
    pub(crate) timeline: Timeline,
    /// Its sizes.
    pub(crate) traced: Shape,
    /// Its steady state, if it has one.
    pub(crate) steady: Option<Steady>,
    cube: Vec<PipeShare>,
    vector: Vec<PipeShare>,
    micros: f64,
    launch_cycles: u64,
    cycles: u64,
    work: Option<(Roofs, Work)>,
    sensitivities: Vec<Sensitivity>,
    alternatives: Vec<Alternative>,
    asked: Shape,
    curves: Option<Curves>,
}

/// One variant on one target.
pub(crate) struct Study<'v> {
    variant: &'v Variant,
    target: &'v Target,
    plan: &'v Plan,
    warnings: Vec<Diagnostic>,
    shape: Shape,
    tiles: MaskTiles,
    pairs: Pairs,
    times: Option<Times>,
    rows: Vec<Row>,
}

impl<'v> Study<'v> {
    /// Finds everything out; `doing` is told what goes on.
    ///
    /// # Errors
    /// A kernel does not compile, or a launch is refused or fails.
    pub(crate) fn new(
        (variant, target, plan): (&'v Variant, &'v Target, &'v Plan),
        shape: Shape,
        mut doing: impl FnMut(&str),
    ) -> Result<Study<'v>, Error> {
        let tiles = mask::classify(
            variant,
            plan.tile(),
            shape.q_len as u32,
            shape.kv_len as u32,
        );
        let pairs = pairs::count(variant, &tiles);
        let warnings = match fa_codegen::plan(variant, target) {
            Ok(Planned { warnings, .. }) => warnings,
            Err(_) => Vec::new(),
        };
        let runtime = Runtime::from_env()?;
        doing("compiling");
        let kernel = runtime.compile(variant, target)?;
        doing("comparing with the reference");
        let rows = numerics::rows(variant, &[&kernel])?;
        let mut study = Study {
            variant,
            target,
            plan,
            warnings,
            shape,
            tiles,
            pairs,
            times: None,
            rows,
        };
        if target.kind == TargetKind::SplitCore {
            study.times = study.time(&runtime, &kernel, &mut doing)?;
        }
        Ok(study)
    }

    /// A traced launch alone, for the timeline of `explain`.
    ///
    /// # Errors
    /// As [`Study::new`].
    pub(crate) fn trace(
        (variant, target, plan): (&'v Variant, &'v Target, &'v Plan),
        shape: Shape,
        mut doing: impl FnMut(&str),
    ) -> Result<Option<Times>, Error> {
        let runtime = Runtime::from_env()?;
        doing("compiling");
        let kernel = runtime.compile(variant, target)?;
        let mut times = match traced(&kernel, plan, shape, &mut doing)? {
            Some(times) => times,
            None => return Ok(None),
        };
        doing("asking what binds");
        let cores = target.chip.as_ref().map_or(1, |chip| chip.cube_cores);
        times.asked = asked(shape, variant, plan, cores);
        times.sensitivities =
            whatif::sensitivities(&runtime, &kernel, plan.tile(), target, times.asked)?;
        Ok(Some(times))
    }

    fn time(
        &self,
        runtime: &Runtime,
        kernel: &Kernel,
        doing: &mut impl FnMut(&str),
    ) -> Result<Option<Times>, Error> {
        let Some(mut times) = traced(kernel, self.plan, self.shape, doing)? else {
            return Ok(None);
        };
        let (variant, target, tile) = (self.variant, self.target, self.plan.tile());
        if times.traced != self.shape {
            doing("timing the whole shape");
            if let Some(whole) = timing::time(kernel, self.shape, Detail::Totals)? {
                times.micros = whole.micros();
                (times.launch_cycles, times.cycles) = (whole.launch_cycles, whole.cycles);
                times.work = self.work(&whole);
            }
        } else {
            times.work = self.work(&times.timeline);
        }
        doing("asking what binds");
        times.asked = asked(self.shape, variant, self.plan, self.cube_cores());
        times.sensitivities = whatif::sensitivities(runtime, kernel, tile, target, times.asked)?;
        doing("trying other tiles");
        let quick = runtime.clone().for_effort(Effort::Compile);
        let whole =
            (pairs_of(&self.shape) <= CONFIRMED_PAIRS).then_some((self.shape, times.micros));
        times.alternatives =
            whatif::alternatives(&quick, kernel, (tile, target), times.asked, whole)?;
        if let Some(roofs) = roofline::roofs(target, variant) {
            doing("timing other lengths");
            let on_paper = Analytic {
                variant,
                target,
                roofs,
            };
            let emitted = Emitted::of(&quick, variant, target)?;
            let unfused: &dyn Unfused = match &emitted {
                Some(emitted) => emitted,
                None => &on_paper,
            };
            let known = (self.shape, times.micros);
            let curves = lengths::points(kernel, self.plan, target, known, unfused)?;
            times.curves = Some(curves).filter(|curves| curves.points.len() > 1);
        }
        Ok(Some(times))
    }

    fn work(&self, timeline: &Timeline) -> Option<(Roofs, Work)> {
        let roofs = roofline::roofs(self.target, self.variant)?;
        let flops = pairs::flops(self.variant, self.shape, self.pairs.attended);
        Some((roofs, Work::of(self.variant, self.shape, flops, timeline)))
    }

    fn cube_cores(&self) -> u32 {
        self.target.chip.as_ref().map_or(1, |chip| chip.cube_cores)
    }

    fn findings<'f>(&'f self, times: &'f Times) -> Findings<'f> {
        Findings {
            sensitivities: &times.sensitivities,
            alternatives: &times.alternatives,
            waves: Waves::of(self.shape, self.plan, self.cube_cores()),
            cube_cores: self.cube_cores(),
            launch_share: times.launch_cycles as f64 / times.cycles.max(1) as f64,
            shape: sizes(times.asked),
        }
    }

    /// Its section of the page.
    pub(crate) fn section(&self) -> Section {
        let id = text::slug(&format!("{}-{}", self.variant.name.value, self.target.name));
        let mut figures = vec![memory::figure(
            &id,
            self.plan,
            self.times
                .as_ref()
                .and_then(|times| Some((&times.timeline, times.steady.as_ref()?))),
        )];
        if let Some(times) = &self.times {
            figures.extend(self.time_figures(&id, times));
        }
        figures.push(tiles::figure(
            &id,
            self.plan.tile(),
            &self.tiles,
            &self.pairs,
        ));
        if let Some((roofs, work)) = self.times.as_ref().and_then(|times| times.work) {
            figures.push(roofline::figure(&id, roofs, work));
        }
        figures.push(numerics::figure(&id, &self.rows));
        figures.push(self.checks(&id));
        if let Some(curves) = self.times.as_ref().and_then(|times| times.curves.as_ref()) {
            figures.push(lengths::figure(&id, self.shape, curves));
        }
        Section {
            id,
            variant: self.variant.name.value.clone(),
            target: self.target.name.clone(),
            subtitle: self.subtitle(),
            facts: self.facts(),
            figures,
            absent: self.absent(),
        }
    }

    fn time_figures(&self, id: &str, times: &Times) -> Vec<Figure> {
        let mut figures = Vec::new();
        let mut steady = times
            .steady
            .as_ref()
            .map(|steady| pipeline::steady_figure(id, self.plan, &times.timeline, steady));
        let mut launch = pipeline::launch_figure(id, &times.timeline);
        if times.traced != self.shape {
            let note = format!("Shown is a launch of {}.", sizes(times.traced));
            launch.notes.push(Prose::new(&note));
            if let Some(figure) = &mut steady {
                figure.notes.push(Prose::new(&note));
            }
        }
        figures.extend(steady);
        figures.push(launch);
        figures.push(utilisation::figure(
            id,
            &times.timeline,
            &times.cube,
            &times.vector,
        ));
        figures.push(self.findings(times).figure(id));
        figures
    }

    fn checks(&self, id: &str) -> Figure {
        let idle = self.times.as_ref().map(|times| checks::Idle {
            cube: &times.cube,
            vector: &times.vector,
        });
        checks::figure(
            id,
            self.variant,
            self.plan,
            &self.target.name,
            &self.warnings,
            idle.as_ref(),
        )
    }

    fn subtitle(&self) -> String {
        let (tile, variant) = (self.plan.tile(), self.variant);
        let precision = &variant.precision;
        format!(
            "{}, head_dim {}{} · {} in, {} softmax, {} sums · tile {} × {}{}",
            sizes(self.shape),
            variant.head_dim,
            if variant.v_head_dim == variant.head_dim {
                String::new()
            } else {
                format!("/{}", variant.v_head_dim)
            },
            precision.qkv.name(),
            precision.softmax.name(),
            precision.accumulate.name(),
            tile.block_q,
            tile.block_kv,
            match self.plan {
                Plan::Ascend(_) => format!(
                    ", {}",
                    text::count(u64::from(tile.stages), "stage", "stages")
                ),
                Plan::Cpu(_) => String::new(),
            }
        )
    }

    fn facts(&self) -> Vec<Fact> {
        let mut facts = Vec::new();
        if let Some(times) = &self.times {
            let (value, unit) = text::time_parts(times.micros);
            facts.push(Fact {
                name: "Predicted time".to_owned(),
                value,
                unit: unit.to_owned(),
                note: "modelled, emulated; L2 warm, launch included".to_owned(),
            });
            if let Some((roofs, work)) = times.work {
                facts.push(Fact {
                    name: "Of the cube's peak".to_owned(),
                    value: format!("{:.1}", 100.0 * work.rate() / roofs.peak),
                    unit: "%".to_owned(),
                    note: format!(
                        "{} of {} TFLOPS, attended pairs only",
                        text::digits(work.rate() / 1e6),
                        text::digits(roofs.peak / 1e6)
                    ),
                });
            }
            facts.extend(self.findings(times).fact());
        }
        let tightest = self.plan.budget().memories.iter().max_by(|a, b| {
            let share = |m: &fa_codegen::budget::MemoryUse| {
                m.used_bytes() as f64 / m.capacity_bytes.max(1) as f64
            };
            share(a).total_cmp(&share(b))
        });
        if let Some(memory) = tightest {
            facts.push(Fact {
                name: format!("Fullest memory: {}", memory.memory),
                value: kib(memory.used_bytes()),
                unit: "KiB".to_owned(),
                note: format!("of {} KiB", kib(memory.capacity_bytes)),
            });
        }
        if let Plan::Ascend(plan) = self.plan {
            let waves = Waves::of(self.shape, self.plan, self.cube_cores());
            let bytes = timing::workspace_bytes(plan, waves, self.shape, self.cube_cores());
            let size = text::bytes(bytes as f64);
            let (size, unit) = size.split_once(' ').unwrap_or((&size, ""));
            facts.push(Fact {
                name: "Workspace".to_owned(),
                value: size.to_owned(),
                unit: unit.to_owned(),
                note: format!("{} bytes, all cores together", text::grouped(bytes as i64)),
            });
        }
        let worst = self.rows.iter().map(|row| row.out_error / row.out_allowed);
        let worst = worst.filter(|share| !share.is_nan()).fold(0.0, f64::max);
        facts.push(Fact {
            name: "Largest error".to_owned(),
            value: text::percent(worst).replace(" %", ""),
            unit: "%".to_owned(),
            note: "of the allowed error, against f64".to_owned(),
        });
        facts
    }

    fn absent(&self) -> Vec<Absent> {
        if let Some(times) = &self.times {
            let unsteady = times.steady.is_none().then(|| Absent {
                title: "Pipeline, steady state".to_owned(),
                reason: "the first core computes fewer than four tiles at this shape: ask for more keys or heads"
                    .to_owned(),
            });
            return unsteady.into_iter().collect();
        }
        let reason = match self.target.kind {
            TargetKind::Cpu => {
                "does not apply: the pipes of a CPU are not modelled, its time is measured by running it"
            }
            TargetKind::SplitCore if self.target.timing.is_none() => {
                "does not apply: the target file has no `[timing]` table"
            }
            TargetKind::SplitCore => {
                "does not apply: a toolkit is installed and times come from the emulator; unset ASCEND_HOME_PATH"
            }
        };
        [
            "Pipeline, steady state and whole launch",
            "Utilisation and stalls",
            "What binds, and what to change",
            "Roofline",
            "Time over sequence length",
        ]
        .into_iter()
        .map(|title| Absent {
            title: title.to_owned(),
            reason: reason.to_owned(),
        })
        .collect()
    }
}

/// A launch with every instruction, as large as its trace may be.
fn traced(
    kernel: &Kernel,
    plan: &Plan,
    shape: Shape,
    doing: &mut impl FnMut(&str),
) -> Result<Option<Times>, Error> {
    doing("tracing a launch");
    let traced = reduced(shape, TRACED_PAIRS);
    let Some(timeline) = timing::time(kernel, traced, Detail::Spans)? else {
        return Ok(None);
    };
    let steady = trace::steady(&timeline, plan.budget());
    Ok(Some(Times {
        steady,
        cube: trace::shares(&timeline, true, steady.as_ref()),
        vector: trace::shares(&timeline, false, steady.as_ref()),
        micros: timeline.micros(),
        launch_cycles: timeline.launch_cycles,
        cycles: timeline.cycles,
        timeline,
        traced,
        work: None,
        sensitivities: Vec::new(),
        alternatives: Vec::new(),
        asked: traced,
        curves: None,
    }))
}

impl Times {
    /// Pipes of the cube cores, and of the vector cores.
    pub(crate) fn shares(&self) -> [&[PipeShare]; 2] {
        [&self.cube, &self.vector]
    }

    /// What each thing twice as fast would save.
    pub(crate) fn sensitivities(&self) -> &[Sensitivity] {
        &self.sensitivities
    }
}
