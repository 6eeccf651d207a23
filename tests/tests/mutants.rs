//! What the emulator says about an emitted kernel's order and time, and what that is worth: every flag, barrier and
//! slot taken away in turn, the order of completion drawn at random, times with and without data.

#![allow(
    clippy::print_stdout,
    reason = "the tables are what these tests are for"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use fa_emulator::experiment::{self, Experiment, Fault, Observed};
use fa_emulator::report::{self, Finding, Severity};
use fa_emulator::timeline::{self, Detail, Timeline};
use fa_runtime::verify::{Case, Shape};
use fa_runtime::{Arguments, Kernel, Runtime, Tensor};
use fa_tests::{root, target, variants};

/// (batch, query rows, key rows) that between them reach every line on two cores: several tasks of a core, several
/// tiles of a task, tails of every kind, a vector core without rows, rows without keys.
const SHAPES: [(usize, usize, usize); 3] = [(1, 300, 1300), (2, 1, 530), (1, 600, 140)];
const HEADS: usize = 2;

/// A kernel with inputs, and the lines of its source.
struct Bench {
    name: String,
    kernel: Kernel,
    cases: Vec<Case>,
    workspace_word: usize,
    lines: Vec<String>,
}

impl Bench {
    fn new(name: &str, shapes: &[(usize, usize, usize)]) -> Bench {
        let text = fs_err::read_to_string(root().join(format!("examples/{name}.fa")));
        let variant = variants(name, &text.expect("an example")).remove(0);
        let mut chip = target("ascend910b");
        chip.chip.as_mut().expect("a chip").cube_cores = 2;
        let runtime = Runtime::from_env().expect("a cache");
        let kernel = runtime.compile(&variant, &chip).expect("a kernel");
        let kv_heads = variant.kv_heads.map_or(HEADS, |heads| heads as usize);
        let heads = variant.heads.map_or(kv_heads, |heads| heads as usize);
        let case = |&(batch, q_len, kv_len): &(usize, usize, usize)| {
            let shape = Shape {
                batch,
                heads,
                kv_heads,
                q_len,
                kv_len,
            };
            Case::random(&variant, shape, 1, false)
        };
        let folder = format!("{}_ascend910b", variant.name.value);
        let golden = root().join(format!("generated/ascendc/{folder}/{folder}.cpp"));
        let text = fs_err::read_to_string(golden).expect("a golden kernel");
        Bench {
            name: name.to_owned(),
            cases: shapes.iter().map(case).collect(),
            workspace_word: WORKSPACE_WORD + variant.tensors.len(),
            kernel,
            lines: text.lines().map(str::to_owned).collect(),
        }
    }

    /// Errors of the launches with these faults, up to the first that fails.
    fn errors(&self, faults: &[Fault]) -> (Vec<Finding>, Observed) {
        let plan = Experiment {
            faults: faults.to_vec(),
            data: false,
            observe: true,
            ..Experiment::default()
        };
        experiment::run(plan, || {
            for case in &self.cases {
                report::take_findings();
                let failed = self.kernel.run(&case.arguments()).is_err();
                let mut found = report::take_findings();
                found.retain(|finding| finding.severity == Severity::Error);
                if failed {
                    return found;
                }
            }
            Vec::new()
        })
    }

    fn line(&self, line: u32) -> &str {
        self.lines[line as usize - 1].trim()
    }

    /// The function that a line belongs to.
    fn function(&self, line: u32) -> &str {
        let above = self.lines[..line as usize].iter().rev();
        let head = above
            .filter(|text| {
                text.starts_with("    __aicore__")
                    || text.starts_with("    {")
                    || text.starts_with("extern")
            })
            .find(|text| text.contains('('));
        let head = head.map_or("", |text| text.split('(').next().unwrap_or(""));
        head.rsplit(' ').next().unwrap_or("")
    }

    /// Lines with a call, by its text.
    fn sites(&self, call: &str) -> BTreeSet<u32> {
        let lines = self.lines.iter().enumerate();
        lines
            .filter(|(_, text)| text.contains(call))
            .map(|(index, _)| index as u32 + 1)
            .collect()
    }

    /// The event id of a flag, where it is the same every time.
    fn event(&self, line: u32) -> Option<usize> {
        let id = self.line(line).split('(').nth(1)?.split(')').next()?;
        evaluate(id, &self.constants())
    }

    /// Constants of the kernel that are sums and products of numbers and earlier constants.
    fn constants(&self) -> BTreeMap<String, usize> {
        let mut known = BTreeMap::new();
        for line in &self.lines {
            let rest = line.strip_prefix("constexpr uint32_t ");
            let Some(rest) = rest.or_else(|| line.strip_prefix("constexpr int32_t ")) else {
                continue;
            };
            let (name, value) = rest.split_once(" = ").unwrap_or((rest, ""));
            let value = value.split(';').next().unwrap_or("");
            if let Some(value) = evaluate(value, &known) {
                known.insert(name.to_owned(), value);
            }
        }
        known
    }
}

fn evaluate(text: &str, known: &BTreeMap<String, usize>) -> Option<usize> {
    let term = |text: &str| {
        text.split('*').try_fold(1, |product, factor| {
            let factor = factor.trim();
            let value = factor.parse().ok().or_else(|| known.get(factor).copied());
            value.map(|value: usize| product * value)
        })
    };
    text.split('+')
        .try_fold(0, |sum, part| term(part).map(|value| sum + value))
}

/// What a mutant came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    /// A read or write that nothing orders, with both lines.
    Race,
    /// Flags that do not balance, or a deadlock.
    Balance,
    /// Nothing: the site orders nothing that something else does not order too.
    Redundant,
}

fn verdict(errors: &[Finding]) -> Verdict {
    let is_race = |finding: &&Finding| finding.kind.starts_with("race-");
    if let Some(race) = errors.iter().find(is_race) {
        let other = race.other.as_ref().expect("a race has two places");
        assert!(
            race.line > 0 && other.line > 0 && !race.help.is_empty(),
            "{race}"
        );
        return Verdict::Race;
    }
    let balance = [
        "deadlock",
        "leftover-flag",
        "flag-set-twice",
        "leftover-cross-core-flag",
        "cross-core-counter",
    ];
    match errors.first() {
        None => Verdict::Redundant,
        Some(error) => {
            assert!(balance.contains(&error.kind), "{error}");
            Verdict::Balance
        }
    }
}

/// The slots of the rings, each laid over the one before it.
fn shared_slots(bench: &Bench) -> Vec<(String, Fault)> {
    let known = bench.constants();
    let value = |name: &str| {
        *known
            .get(name)
            .unwrap_or_else(|| panic!("no constant {name}"))
    };
    let mut faults = Vec::new();
    let on_chip = [
        ("kPTile", "L1"),
        ("kSSum", "L0C"),
        ("kSlot", "UB"),
        ("kRescale", "UB"),
        ("kFinalSum", "UB"),
    ];
    for (name, memory) in on_chip {
        let (at, bytes) = (value(&format!("{name}At")), value(&format!("{name}Bytes")));
        faults.push((name.to_owned(), slot(memory, 0, at, bytes)));
    }
    let stages = value("kStages");
    let align = |bytes: usize| bytes.next_multiple_of(512);
    let tile = value("kBlockQ") * value("kBlockKv");
    let partial = value("kBlockQ") * value("kValueDimPad");
    let mut at = 0;
    for (name, bytes) in [
        ("scores", tile * 4),
        ("probabilities", tile * 2),
        ("partial", partial * 4),
    ] {
        faults.push((
            name.to_owned(),
            slot("GM", bench.workspace_word, at, align(bytes)),
        ));
        at += stages * align(bytes);
    }
    faults
}

/// The workspace among the kernel's arguments: after the flag area, Q, K, V, O, LSE and captured tensors.
const WORKSPACE_WORD: usize = 6;

fn slot(memory: &'static str, argument: usize, at: usize, bytes: usize) -> Fault {
    Fault::SharedSlot {
        memory,
        argument,
        slot: at + bytes..at + 2 * bytes,
        onto: at,
    }
}

/// An event id that the kernel does not use.
const UNUSED_ID: u8 = 6;

/// Every mutant: a name, the fault, and why it may be redundant.
fn mutants(bench: &Bench, observed: &Observed) -> Vec<(String, Fault, Option<&'static str>)> {
    let mut all = Vec::new();
    for &(set, wait) in &observed.flags {
        let excuse = match (bench.function(set), bench.function(wait)) {
            ("FreeBuffers", _) => Some("a buffer that is free from the start"),
            (_, "DrainBuffers") => Some("a final drain"),
            _ => None,
        };
        let name = format!(
            "lost {set} {} -> {wait} {}",
            bench.line(set),
            bench.line(wait)
        );
        let fault = Fault::LostFlag {
            set,
            wait: Some(wait),
        };
        all.push((name, fault, excuse));
    }
    for &line in &observed.barriers {
        let name = format!("lost {line} {}", bench.line(line));
        all.push((name, Fault::LostBarrier { line }, None));
    }
    let flags = observed.flags.iter().flat_map(|&(set, wait)| [set, wait]);
    for line in flags.collect::<BTreeSet<u32>>() {
        let name = format!("other id {line} {}", bench.line(line));
        if bench.event(line) != Some(1) {
            all.push((name.clone(), Fault::OtherId { line, id: 1 }, None));
        }
        all.push((
            name,
            Fault::OtherId {
                line,
                id: UNUSED_ID,
            },
            None,
        ));
    }
    for &set in &observed.cross_sets {
        let name = format!("lost {set} {}", bench.line(set));
        all.push((name, Fault::LostFlag { set, wait: None }, None));
        let right = if bench.line(set).contains("PIPE_FIX") {
            "FIX"
        } else {
            "MTE3"
        };
        for pipe in ["V", "M", "MTE1", "MTE2", "MTE3", "FIX"] {
            if pipe != right {
                let name = format!("pipe {pipe} at {set} {}", bench.line(set));
                all.push((name, Fault::OtherPipe { line: set, pipe }, None));
            }
        }
    }
    let slots = shared_slots(bench).into_iter();
    all.extend(slots.map(|(name, fault)| (format!("one slot less: {name}"), fault, None)));
    all
}

/// Sites that order nothing by themselves in one kernel, and do in another of the same text: kernel (none stands for
/// any), function, part of the line.
const REDUNDANT: &[(&str, &str, &str)] = &[
    // Another barrier follows before anything reads the value.
    ("softcap", "ComputeUniformValues", "PIPE_V"),
    ("softcap", "MakeCounters", "PIPE_V"),
    // So many slots are filled before the LSE is made again, or a tile is added, that the ring orders it too.
    ("", "StoreLse", "kLseStored"),
    ("", "AddPartial", "PIPE_V"),
    // Tasks without keys: the flag of the LSE, behind it on the same pipe, is waited for with it.
    ("sliding_window", "StoreOutput", "kOutputStored"),
    ("softcap", "StoreOutput", "kOutputStored"),
    ("alibi", "StoreOutput", "kOutputStored"),
];

/// Buffers of one pipe: a slot less there is no race but a wrong number, which verification sees.
const ONE_PIPE: &[&str] = &["kRescale", "kFinalSum"];

/// Kernels whose mutants are tried: between them masks that cut tiles on one side and on both, scores that are worked
/// on, captured tensors, grouped heads.
const SUBJECTS: [&str; 4] = ["causal_gqa", "sliding_window", "softcap", "alibi"];

/// Of the mutants of each kernel one in this many is tried, another one of each. `FA_MUTANTS=all` tries all, the name of
/// a kernel all of that one.
const SAMPLE: usize = SUBJECTS.len();

/// What the mutants of a kernel came to.
#[derive(Default)]
struct Tally {
    tried: usize,
    races: usize,
    unbalanced: usize,
    excepted: usize,
    redundant: usize,
}

#[test]
fn mutants_of_emitted_kernels() {
    let asked = std::env::var("FA_MUTANTS").ok();
    let all = asked.is_some();
    println!("| kernel | mutants | race | unbalanced flags | excepted | redundant |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for (turn, name) in SUBJECTS.into_iter().enumerate() {
        if asked
            .as_ref()
            .is_some_and(|asked| asked != "all" && asked != name)
        {
            continue;
        }
        let bench = Bench::new(name, &SHAPES);
        let (errors, observed) = bench.errors(&[]);
        assert!(errors.is_empty(), "{name}: {errors:#?}");
        covered(&bench, &observed);
        let mutants = mutants(&bench, &observed).into_iter();
        let sample = mutants
            .skip(if all { 0 } else { turn })
            .step_by(if all { 1 } else { SAMPLE });
        let tally = try_mutants(&bench, sample, all);
        println!(
            "| `{name}` | {} | {} | {} | {} | {} |",
            tally.tried, tally.races, tally.unbalanced, tally.excepted, tally.redundant
        );
    }
}

/// Tries mutants; one that shows nothing has to be excused or known.
fn try_mutants(
    bench: &Bench,
    mutants: impl Iterator<Item = (String, Fault, Option<&'static str>)>,
    all: bool,
) -> Tally {
    let mut tally = Tally::default();
    let mut redundant = Vec::new();
    for (name, fault, excuse) in mutants {
        tally.tried += 1;
        match (
            verdict(&bench.errors(std::slice::from_ref(&fault)).0),
            excuse,
        ) {
            (Verdict::Race, _) => tally.races += 1,
            (Verdict::Balance, _) => tally.unbalanced += 1,
            (Verdict::Redundant, Some(_)) => tally.excepted += 1,
            (Verdict::Redundant, None) => redundant.push((name, fault)),
        }
    }
    tally.redundant = redundant.len();
    if all {
        together(bench, &redundant);
    }
    for (name, fault) in &redundant {
        assert!(known(bench, name, fault), "orders nothing: {name}");
    }
    tally
}

fn known(bench: &Bench, name: &str, fault: &Fault) -> bool {
    let line = match fault {
        Fault::LostFlag { set, .. } => *set,
        Fault::LostBarrier { line } => *line,
        Fault::SharedSlot { .. } => return ONE_PIPE.iter().any(|buffer| name.ends_with(buffer)),
        Fault::OtherId { .. } | Fault::OtherPipe { .. } => return false,
    };
    let function = bench.function(line);
    let mut sites = REDUNDANT.iter();
    sites.any(|(kernel, place, text)| {
        (kernel.is_empty() || *kernel == bench.name)
            && *place == function
            && bench.line(line).contains(text)
    })
}

/// Prints which of the redundant sites can go at once: two of them may stand in for each other.
fn together(bench: &Bench, redundant: &[(String, Fault)]) {
    let mut gone: Vec<Fault> = Vec::new();
    for (name, fault) in redundant {
        if matches!(fault, Fault::SharedSlot { .. }) {
            continue;
        }
        gone.push(fault.clone());
        if verdict(&bench.errors(&gone).0) == Verdict::Redundant {
            println!("can go: {name}");
        } else {
            gone.pop();
            println!("can go only without the others: {name}");
        }
    }
}

/// Every site of the source was executed.
fn covered(bench: &Bench, observed: &Observed) {
    let sets: BTreeSet<u32> = observed.flags.iter().map(|pair| pair.0).collect();
    let waits: BTreeSet<u32> = observed.flags.iter().map(|pair| pair.1).collect();
    assert_eq!(bench.sites("AscendC::SetFlag<"), sets);
    assert_eq!(bench.sites("AscendC::WaitFlag<"), waits);
    let mut barriers = bench.sites("AscendC::PipeBarrier<");
    barriers.retain(|&line| !bench.line(line).contains("PIPE_ALL"));
    // A tile is done twice only where data ask for it; the variants that are compared with the reference do.
    barriers.retain(|&line| !bench.line(line).contains("PIPE_MTE3"));
    assert_eq!(barriers, observed.barriers);
    assert_eq!(
        bench.sites("AscendC::CrossCoreSetFlag<"),
        observed.cross_sets
    );
    assert_eq!(
        bench.sites("AscendC::CrossCoreWaitFlag("),
        observed.cross_waits
    );
}

/// Seeds tried; continuous integration takes few, `FA_SEEDS=1000` what the proof takes.
const SEEDS: u64 = 50;

#[test]
fn any_order_of_completion_gives_the_same_numbers() {
    let bench = Bench::new("causal_gqa", &[(1, 130, 150)]);
    let launch = || {
        let results = bench.kernel.run(&bench.cases[0].arguments());
        results.expect("a clean launch")
    };
    let plain = launch();
    let seeds = std::env::var("FA_SEEDS").map_or(SEEDS, |text| text.parse().expect("a number"));
    for seed in 1..=seeds {
        let plan = Experiment {
            seed: Some(seed),
            ..Experiment::default()
        };
        let (results, _) = experiment::run(plan, launch);
        assert_eq!(results.out.bytes(), plain.out.bytes(), "seed {seed}");
        assert_eq!(results.lse.bytes(), plain.lse.bytes(), "seed {seed}");
    }
}

/// The timeline of one launch.
fn timed(kernel: &Kernel, arguments: &Arguments<'_>, data: bool) -> Timeline {
    let plan = Experiment {
        data,
        hazards: false,
        timeline: Some(Detail::Totals),
        ..Experiment::default()
    };
    timeline::take();
    let (outcome, _) = experiment::run(plan, || kernel.run(arguments).map(drop));
    outcome.expect("a clean launch");
    timeline::take().remove(0)
}

#[test]
fn times_are_the_same_without_data() {
    let bench = Bench::new("causal_gqa", &SHAPES);
    for case in &bench.cases {
        let full = timed(&bench.kernel, &case.arguments(), true);
        let quick = timed(&bench.kernel, &case.arguments(), false);
        assert_eq!(full, quick);
    }
}

/// `FA_TIME=32x8192` takes what the proof takes: heads and length.
#[test]
fn long_launches_are_timed_without_data() {
    let text = std::env::var("FA_TIME").unwrap_or_else(|_| "2x1024".to_owned());
    let (heads, len) = text.split_once('x').expect("heads x length");
    let number = |text: &str| text.parse::<usize>().expect("a number");
    let source = fs_err::read_to_string(root().join("examples/plain.fa")).expect("an example");
    let variant = variants("plain", &source).remove(0);
    let runtime = Runtime::from_env().expect("a cache");
    let kernel = runtime
        .compile(&variant, &target("ascend910b"))
        .expect("a kernel");
    let shape = [1, number(heads), number(len), variant.head_dim as usize];
    let zeros = Tensor::zeros(variant.precision.qkv, &shape);
    let arguments = Arguments::new(zeros.view(), zeros.view(), zeros.view());
    let timeline = timed(&kernel, &arguments, false);
    let flops = 4.0 * (shape[1] * shape[2] * shape[2] * shape[3]) as f64;
    println!("{}", timeline.summary());
    println!("{:.0} TFLOPS (modelled)", flops / timeline.micros() / 1e6);
    assert!(timeline.cycles > timeline.launch_cycles);
}

/// Emulating 512 x 512 x 128 stays interactive, and the checks of order cost less than the emulation.
#[test]
fn emulation_is_quick() {
    let source = fs_err::read_to_string(root().join("examples/plain.fa")).expect("an example");
    let variant = variants("plain", &source).remove(0);
    let runtime = Runtime::from_env().expect("a cache");
    let kernel = runtime
        .compile(&variant, &target("ascend910b"))
        .expect("a kernel");
    let seconds = |len: usize, hazards: bool| {
        let shape = Shape {
            batch: 1,
            heads: 1,
            kv_heads: 1,
            q_len: len,
            kv_len: len,
        };
        let case = Case::random(&variant, shape, 1, false);
        let plan = Experiment {
            hazards,
            ..Experiment::default()
        };
        let once = |_| {
            let start = Instant::now();
            let launch = || kernel.run(&case.arguments()).map(drop);
            let (outcome, _) = experiment::run(plan.clone(), launch);
            outcome.expect("a clean launch");
            start.elapsed().as_secs_f64()
        };
        (0..3).map(once).fold(f64::INFINITY, f64::min)
    };
    for len in [256, 512, 1024] {
        let (plain, checked) = (seconds(len, false), seconds(len, true));
        println!("{len} x {len}: {plain:.2} s, with checks of order {checked:.2} s");
        assert!(len != 512 || checked < 5.0, "{checked} s");
    }
}
