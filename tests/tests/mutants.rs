//! What the emulator says about an emitted kernel's order, and what that is worth: every flag, barrier and slot taken
//! away in turn, the order of completion drawn at random.

#![allow(
    clippy::print_stdout,
    reason = "the tables are what these tests are for"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use fa_dsl::variant::Variant;
use fa_emulator::experiment::{self, Experiment, Fault, Observed};
use fa_emulator::report::{self, Finding, Severity};
use fa_runtime::verify::{Case, Shape};
use fa_runtime::{Arguments, Effort, Kernel, Partial, Runtime, Tensor};
use fa_targets::Target;
use fa_tests::{files_below, plan, provenance, root, variants, with_cores};

/// (batch, query rows, key rows) that between them reach every line on two cores: several tasks of a core, several
/// tiles of a task, tails of every kind, a vector core without rows, rows without keys; tiles and tasks so small that no
/// ring comes round between two of them, also behind many tasks without keys.
const SHAPES: [(usize, usize, usize); 7] = [
    (1, 300, 1300),
    (2, 1, 530),
    (1, 600, 140),
    (3, 20, 100),
    (1, 40, 2200),
    (2, 20, 0),
    (1, 4624, 16),
];
const HEADS: usize = 2;

/// The stock variant or the variant of the corpus with that name.
fn named(name: &str) -> Variant {
    let files = [
        files_below("examples", ".fa"),
        files_below("tests/corpus", ".fa"),
    ];
    let texts = files.concat().into_iter().flat_map(|path| {
        let text = fs_err::read_to_string(&path).expect("a readable file");
        variants(&path.to_string_lossy(), &text)
    });
    let mut found = texts.filter(|variant| variant.name.value == name);
    found.next().unwrap_or_else(|| panic!("no variant {name}"))
}

/// Sizes of a launch: batch, query rows, key rows.
fn sized(variant: &Variant, (batch, q_len, kv_len): (usize, usize, usize)) -> Shape {
    let kv_heads = variant.kv_heads.map_or(HEADS, |heads| heads as usize);
    Shape {
        batch,
        heads: variant.heads.map_or(kv_heads, |heads| heads as usize),
        kv_heads,
        q_len,
        kv_len,
    }
}

/// Two tiles of equal scores, and a short one with scores so much higher that it is done again.
fn rising_scores(kernel: Rc<Kernel>, tile: usize) -> Launch {
    const ROWS: usize = 40;
    /// Of the last tile: all that a vector core has of it passes through UB at once, so that no ring of slots orders the
    /// two attempts.
    const TAIL: usize = 100;
    /// exp of it overflows fp16.
    const RISE: f64 = 20.0;
    let variant = kernel.variant();
    let width = variant.head_dim as usize;
    let keys = 2 * tile + TAIL;
    let shape = sized(variant, (1, ROWS, keys));
    let tensor = |heads: usize, rows: usize, value: &dyn Fn(usize) -> f64| {
        let values: Vec<f64> = (0..heads * rows * width)
            .map(|at| value(at / width % rows))
            .collect();
        Tensor::from_f64(variant.precision.qkv, &[1, heads, rows, width], &values)
    };
    let step = RISE / (width as f64).sqrt();
    let q = tensor(shape.heads, ROWS, &|_| 1.0);
    let k = tensor(shape.kv_heads, keys, &|row| {
        if row < 2 * tile { 0.0 } else { step }
    });
    let v = tensor(shape.kv_heads, keys, &|_| 1.0);
    Box::new(move || {
        let arguments = Arguments::new(q.view(), k.view(), v.view());
        kernel.run(&arguments).map(drop)
    })
}

/// A chip small enough that a core has several tasks.
fn chip() -> Target {
    with_cores("ascend910b", 2)
}

/// One launch, which may fail.
type Launch = Box<dyn Fn() -> Result<(), fa_runtime::Error>>;

/// A kernel's launches, and the lines of its source.
struct Bench {
    name: String,
    /// Run without data.
    launches: Vec<Launch>,
    /// With data that make the kernel do tiles again.
    rising: Option<Launch>,
    /// The workspace among the words of the arguments.
    workspace_word: Option<usize>,
    lines: Vec<String>,
}

impl Bench {
    /// Launches of an attention kernel.
    fn new(name: &str) -> Bench {
        let variant = named(name);
        let runtime = Runtime::from_env().expect("a cache").for_effort(effort());
        let chip = chip();
        let kernel = runtime.compile(&variant, &chip).expect("a kernel");
        let files = fa_codegen::render(&plan(&variant, &chip), &provenance(root(), ""));
        let text = &files[0].text;
        let (_, parameters) = text.split_once("_forward(").expect("an entry");
        let mut parameters = parameters.split(',');
        let workspace = parameters.position(|one| one.trim() == "GM_ADDR workspace");
        let mut bench = Bench {
            name: name.to_owned(),
            launches: Vec::new(),
            rising: None,
            workspace_word: Some(workspace.expect("a kernel has a workspace")),
            lines: text.lines().map(str::to_owned).collect(),
        };
        let kernel = Rc::new(kernel);
        if name == RISING {
            let tile = bench.constants()["kBlockKv"];
            bench.rising = Some(rising_scores(Rc::clone(&kernel), tile));
        }
        for shape in SHAPES {
            let case = Case::random(
                &variant,
                sized(&variant, shape),
                1,
                variant.dropout.is_some(),
            );
            let kernel = Rc::clone(&kernel);
            // Of captured tensors the other form that is read: one element along the last axis.
            let repeated = shape == SHAPES[2] && name != "packed";
            let launch = move || {
                let mut arguments = case.arguments();
                for (_, view) in arguments.captured.iter_mut().filter(|_| repeated) {
                    *view = view.slice(view.shape().len() - 1, 0, 1, 1);
                }
                kernel.run(&arguments).map(drop)
            };
            bench.launches.push(Box::new(launch));
        }
        bench
    }

    /// Launches of the kernel that merges partial results: rows, columns, parts.
    fn merging() -> Bench {
        const SHAPES: [(usize, usize, usize); 3] = [(601, 70, 3), (5, 70, 1), (40, 70, 2)];
        let chip = chip();
        let plan = fa_codegen::ascend::plan_merge(70, &chip).expect("a plan");
        let text = fa_codegen::ascend::render_merge(&plan).text;
        let launch = |(rows, width, parts): (usize, usize, usize)| -> Launch {
            let chip = chip.clone();
            let runtime = Runtime::from_env().expect("a cache");
            let out = Tensor::from_f32(&[rows, width], &vec![1.0; rows * width]);
            let lse = Tensor::from_f32(&[rows], &vec![0.0; rows]);
            Box::new(move || {
                let part = || Partial {
                    out: out.view(),
                    lse: lse.view(),
                };
                let parts: Vec<Partial<'_>> = (0..parts).map(|_| part()).collect();
                runtime.merge(&chip, &parts).map(drop)
            })
        };
        Bench {
            name: "merge".to_owned(),
            launches: SHAPES.map(launch).into(),
            rising: None,
            workspace_word: None,
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
            let mut launches = self.launches.iter();
            launches
                .find_map(|launch| self.errors_of(launch))
                .unwrap_or_default()
        })
    }

    /// The same of the launch that needs its data.
    fn errors_of_rising_scores(&self, faults: &[Fault]) -> (Vec<Finding>, Observed) {
        let plan = Experiment {
            faults: faults.to_vec(),
            observe: true,
            ..Experiment::default()
        };
        let launch = self.rising.as_ref().expect("a launch with data");
        experiment::run(plan, || self.errors_of(launch).unwrap_or_default())
    }

    /// Errors of a launch that fails.
    fn errors_of(&self, launch: &Launch) -> Option<Vec<Finding>> {
        report::take_findings();
        let outcome = launch();
        let mut found = report::take_findings();
        found.retain(|finding| finding.severity == Severity::Error);
        let error = outcome.err()?;
        assert!(!found.is_empty(), "{}: {error}", self.name);
        Some(found)
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

    /// Whether that call does not follow again in the function of a line.
    fn is_last(&self, call: &str, line: u32) -> bool {
        let sites = self.sites(call);
        let mut later = sites.range(line + 1..);
        later.all(|&other| self.function(other) != self.function(line))
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
        let mut known = BTreeMap::from([("sizeof(float)".to_owned(), 4)]);
        let element = if self
            .lines
            .iter()
            .any(|line| line.starts_with("using Element = float;"))
        {
            4
        } else {
            2
        };
        known.insert("sizeof(Element)".to_owned(), element);
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
    let Some(workspace_word) = bench.workspace_word else {
        return Vec::new();
    };
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
    let mut at = 0;
    for line in &bench.lines {
        let slot_of = line.strip_prefix("constexpr uint64_t k");
        let Some((name, bytes)) = slot_of.and_then(|rest| rest.split_once("Slot = SlotBytes("))
        else {
            continue;
        };
        let bytes = bytes
            .trim_end_matches(");")
            .replace("uint64_t(kBlockQ)", "kBlockQ");
        let bytes =
            evaluate(&bytes, &known).unwrap_or_else(|| panic!("the size of slot {name}: {bytes}"));
        let bytes = bytes.next_multiple_of(512);
        faults.push((
            format!("workspace {name}"),
            slot("GM", workspace_word, at, bytes),
        ));
        at += stages * bytes;
    }
    assert_eq!(faults.len(), on_chip.len() + 3, "rings of {}", bench.name);
    faults
}

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
            ("FreeBuffers" | "Run", _) => Some("a buffer that is free from the start"),
            (_, "DrainBuffers") => Some("a final drain"),
            (_, "Run") if bench.is_last("AscendC::WaitFlag<", wait) => Some("a final drain"),
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
        let name = format!("lost {line} {}: {}", bench.function(line), bench.line(line));
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

/// Sites that order nothing in the launches tried: kernel, function of the set or whose last barrier it is, function of
/// the wait, what stands between brackets.
const REDUNDANT: [(&str, &str, &str, &str); 2] = [
    // A chunk whose mask is left out would need these; here every chunk of the launches has one, which is copied.
    (
        "dense_or_near",
        "ReleaseSlot",
        "ReleaseSlot",
        "kSlotUsed + slot_",
    ),
    ("dense_or_near", "ApplyScore", "", "PIPE_V"),
];

/// Buffers of one pipe: a slot less there is no race but a wrong number, which verification sees.
const ONE_PIPE: &[&str] = &["kRescale", "kFinalSum"];

/// Kernels whose mutants are tried. Between them they have every site that the emitter prints: masks that cut tiles on
/// one side and on both, scores that are worked on, grouped heads, rounded softmax, sinks, dropout, several depths,
/// captured tensors in each way that they are read, packed sequences.
const SUBJECTS: [&str; 11] = [
    "causal_gqa",
    "sliding_window",
    "softcap_causal",
    "alibi",
    "packed",
    "relative",
    "training",
    "sink_window",
    "odd_head_dim",
    "dense_or_near",
    MERGE,
];

/// The kernel that puts partial results together.
const MERGE: &str = "merge";

/// Of the mutants of each kernel one in this many is tried, another one of each. `FA_MUTANTS=all` tries all, the name of
/// a kernel all of that one.
const SAMPLE: usize = 2 * SUBJECTS.len();

/// Kernels that run thousands of launches are worth optimising.
fn effort() -> Effort {
    match std::env::var_os("FA_MUTANTS") {
        Some(_) => Effort::Speed,
        None => Effort::Compile,
    }
}

/// What the mutants of a kernel came to.
#[derive(Default)]
struct Tally {
    tried: usize,
    races: usize,
    unbalanced: usize,
    excepted: usize,
    redundant: usize,
    /// Redundant, and not known to be.
    unknown: Vec<String>,
}

#[test]
fn mutants_of_emitted_kernels() {
    let asked = std::env::var("FA_MUTANTS").ok();
    let all = asked.is_some();
    println!("| kernel | mutants | race | unbalanced flags | excepted | redundant |");
    println!("| --- | --- | --- | --- | --- | --- |");
    let mut unknown = Vec::new();
    for (turn, name) in SUBJECTS.into_iter().enumerate() {
        if asked
            .as_ref()
            .is_some_and(|asked| asked != "all" && asked != name)
        {
            continue;
        }
        let bench = match name {
            MERGE => Bench::merging(),
            name => Bench::new(name),
        };
        let (errors, observed) = bench.errors(&[]);
        assert!(errors.is_empty(), "{name}: {errors:#?}");
        let again = if name == RISING {
            redone(&bench, &observed)
        } else {
            BTreeSet::new()
        };
        covered(&bench, &observed, &again);
        let mutants = mutants(&bench, &observed).into_iter();
        let sample = mutants
            .skip(if all { 0 } else { turn })
            .step_by(if all { 1 } else { SAMPLE });
        let mut tally = try_mutants(&bench, sample, all);
        tally.tried += again.len();
        tally.races += again.len();
        println!(
            "| `{name}` | {} | {} | {} | {} | {} |",
            tally.tried, tally.races, tally.unbalanced, tally.excepted, tally.redundant
        );
        unknown.extend(tally.unknown);
    }
    assert!(unknown.is_empty(), "these order nothing: {unknown:#?}");
}

/// The kernel that also runs with data that make it do tiles again.
const RISING: &str = "causal_gqa";

/// Barriers that only run where data ask for it: no error with them, and a race without each.
fn redone(bench: &Bench, observed: &Observed) -> BTreeSet<u32> {
    let (errors, more) = bench.errors_of_rising_scores(&[]);
    assert!(errors.is_empty(), "{errors:#?}");
    let again = more.barriers.difference(&observed.barriers);
    let again: BTreeSet<u32> = again.copied().collect();
    assert!(!again.is_empty(), "no tile was done again");
    for &line in &again {
        let (errors, _) = bench.errors_of_rising_scores(&[Fault::LostBarrier { line }]);
        let found = errors.first().expect("the barrier orders something");
        assert_eq!(verdict(&errors), Verdict::Race, "{found}");
        assert_eq!(found.kind, "race-waw", "{found}");
    }
    again
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
    let unknown = redundant
        .into_iter()
        .filter(|(name, fault)| !known(bench, name, fault));
    tally.unknown = unknown
        .map(|(name, _)| format!("{}: {name}", bench.name))
        .collect();
    tally
}

fn known(bench: &Bench, name: &str, fault: &Fault) -> bool {
    let (site, wait, brackets) = match fault {
        Fault::LostFlag {
            set,
            wait: Some(wait),
        } => (*set, bench.function(*wait), ['(', ')']),
        Fault::LostBarrier { line } if bench.is_last("AscendC::PipeBarrier<", *line) => {
            (*line, "", ['<', '>'])
        }
        Fault::SharedSlot { .. } => return ONE_PIPE.iter().any(|buffer| name.ends_with(buffer)),
        _ => return false,
    };
    let what = bench.line(site).split(brackets).nth(1).unwrap_or("");
    REDUNDANT.contains(&(bench.name.as_str(), bench.function(site), wait, what))
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

/// Functions with barriers that no launch of a kernel executes.
const UNREACHED: &[(&str, &str)] = &[
    // Rows of packed sequences are not one element repeated.
    ("packed", "CopyRepeated"),
    // The window ends within two tiles, whose maxima are found first.
    ("sink_window", "LargestExcess"),
    ("sink_window", "AddPartial"),
];

/// Every site of the source was executed, in these launches or, the barriers `again`, where data ask for it.
fn covered(bench: &Bench, observed: &Observed, again: &BTreeSet<u32>) {
    let sets: BTreeSet<u32> = observed.flags.iter().map(|pair| pair.0).collect();
    let waits: BTreeSet<u32> = observed.flags.iter().map(|pair| pair.1).collect();
    assert_eq!(bench.sites("AscendC::SetFlag<"), sets);
    assert_eq!(bench.sites("AscendC::WaitFlag<"), waits);
    let mut barriers = bench.sites("AscendC::PipeBarrier<");
    barriers.retain(|&line| !bench.line(line).contains("PIPE_ALL"));
    barriers.retain(|&line| {
        let mut unreached = UNREACHED.iter();
        !unreached.any(|&site| {
            site == (bench.name.as_str(), bench.function(line))
                && !observed.barriers.contains(&line)
        })
    });
    if bench.name != RISING {
        // The same line of every kernel, which data decide to run.
        barriers.retain(|&line| !bench.line(line).contains("PIPE_MTE3"));
    }
    let executed: BTreeSet<u32> = observed.barriers.union(again).copied().collect();
    let missed = barriers.difference(&executed);
    let missed: Vec<_> = missed.map(|line| (*line, bench.function(*line))).collect();
    assert_eq!(barriers, executed, "{}: not run {missed:?}", bench.name);
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
    let variant = named("causal_gqa");
    let runtime = Runtime::from_env().expect("a cache").for_effort(effort());
    let kernel = runtime.compile(&variant, &chip()).expect("a kernel");
    let case = Case::random(&variant, sized(&variant, (1, 130, 150)), 1, false);
    let launch = || kernel.run(&case.arguments()).expect("a clean launch");
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
