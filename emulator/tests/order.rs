//! Accesses that nothing orders are found, with both lines, the bytes and the event that would order them.

mod common;

use std::sync::{Mutex, MutexGuard, PoisonError};

use common::{Arg, Buffer, Module, Outcome, scalar, sync_address};
use fa_emulator::experiment::{self, Experiment};
use fa_emulator::report::Finding;

const FILE: &str = "order.cpp";
const PLANTED: &str = "../../examples/kernels/planted.cpp";

/// Bit of the kernel's last argument, marker of the later access, kind, and what the help names.
type Case = (i32, &'static str, &'static str, &'static str);

const VECTOR: &[Case] = &[
    (0, "// raw-mte2-v", "race-raw", "HardEvent::MTE2_V"),
    (1, "// raw-v-v", "race-raw", "PipeBarrier<PIPE_V>"),
    (2, "// raw-v-mte3", "race-raw", "HardEvent::V_MTE3"),
    (3, "// war-v-mte2", "race-war", "HardEvent::V_MTE2"),
    (4, "// war-mte3-v", "race-war", "HardEvent::MTE3_V"),
    (5, "// waw-mte3", "race-waw", "PipeBarrier<PIPE_MTE3>"),
    (6, "// raw-s-v", "race-raw", "HardEvent::S_V"),
    (7, "// raw-v-s", "race-raw", "HardEvent::V_S"),
    (8, "// waw-mte2", "race-waw", "PipeBarrier<PIPE_MTE2>"),
];

const CUBE: &[Case] = &[
    (0, "// raw-mte2-mte1", "race-raw", "HardEvent::MTE2_MTE1"),
    (1, "// raw-mte1-m", "race-raw", "HardEvent::MTE1_M"),
    (2, "// raw-m-m", "race-waw", "PipeBarrier<PIPE_M>"),
    (3, "// raw-m-fix", "race-raw", "HardEvent::M_FIX"),
    (4, "// war-m-mte1", "race-war", "HardEvent::M_MTE1"),
    (5, "// war-fix-m", "race-war", "HardEvent::FIX_M"),
    (6, "// waw-fix", "race-waw", "PipeBarrier<PIPE_FIX>"),
];

/// Options are the process's: one test at a time.
static ONE: Mutex<()> = Mutex::new(());

fn one_at_a_time() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Order is the kernel's own business here.
fn strict() {
    common::set_up();
    fa_emulator::set_options(fa_emulator::Options::default());
}

fn expect(outcome: &Outcome, (_, marker, kind, remedy): Case) -> &Finding {
    let finding = outcome.finds(kind, FILE, marker);
    let other = finding.other.as_ref().expect("a race has two places");
    assert!(other.file.ends_with(FILE) && other.line > 0, "{finding}");
    assert!(finding.help.contains(remedy), "{finding}");
    assert!(finding.message.contains("bytes"), "{finding}");
    finding
}

#[test]
fn missing_orders() {
    let _one = one_at_a_time();
    strict();
    let module = Module::compile(FILE);
    let x = Buffer::from(&[1.0f32; 4096]);
    let z = Buffer::from(&[0.0f32; 4096]);
    let launch = |kernel: &str, broken: i32| {
        strict();
        module.launch_as_set(
            kernel,
            1,
            &[Arg::Buffer(&x), Arg::Buffer(&z), scalar(broken)],
        )
    };
    for (kernel, cases) in [("order_vector", VECTOR), ("order_cube", CUBE)] {
        launch(kernel, 0).ok();
        for &case in cases {
            expect(&launch(kernel, 1 << case.0), case);
        }
    }
    units(&module, &x, &z);
    mix(&module, &x, &z);
    caches(&module, &z);
    all_at_once(&module, &x, &z);
    trusting(&module, &x, &z);
}

/// Order that the matrix unit keeps by itself holds where both sides ask for it, and one side alone is found.
fn units(module: &Module, x: &Buffer, z: &Buffer) {
    let launch = |which: i32| {
        let args = [Arg::Buffer(x), Arg::Buffer(z), scalar(which)];
        module.launch_as_set("order_unit", 1, &args)
    };
    for seed in [None, Some(1), Some(2)] {
        let plan = Experiment {
            seed,
            ..Experiment::default()
        };
        let (outcome, _) = experiment::run(plan, || launch(0));
        outcome.ok();
        let sums = z.read::<f32>();
        assert!(sums[..1024].iter().any(|&sum| sum != 0.0));
        assert_eq!(sums[..1024], sums[1024..2048]);
        let twice: Vec<f32> = sums[2048..3072].iter().map(|sum| 2.0 * sum).collect();
        assert_eq!(sums[..1024], twice);
    }
    for (which, marker, remedy) in [
        (1, "// unit-untaken", "give the Fixpipe"),
        (2, "// unit-unfilled", "give the last Mmad"),
        (3, "// unit-refilled", "give the Fixpipe"),
        (4, "// unit-begun", "give the last Mmad"),
        (5, "// unit-half", "cover the block"),
    ] {
        let outcome = launch(which);
        let finding = outcome.finds("unit-flag", FILE, marker);
        assert!(finding.help.contains(remedy), "{finding}");
        assert!(finding.message.contains("of L0C"), "{finding}");
    }
}

/// Scalar accesses of global memory pass through a cache that nothing keeps coherent.
fn caches(module: &Module, z: &Buffer) {
    let launch = |broken: i32| {
        let args = [sync_address(), Arg::Buffer(z), scalar(broken)];
        module.launch_as_set("order_cache", 2, &args)
    };
    launch(0).ok();
    for (bit, marker, words, remedy) in [
        (0, "// stale-store", "bytes 0..256 of GM", "after line"),
        (1, "// stale-load", "bytes 260..264 of GM", "before line"),
        (2, "// stale-other-core", "block 0 aiv 0", "after line"),
    ] {
        let case = (bit, marker, "stale-cache", "DataCacheCleanAndInvalid<");
        let outcome = launch(1 << bit);
        let finding = expect(&outcome, case);
        assert!(finding.message.contains(words), "{finding}");
        assert!(finding.help.contains(remedy), "{finding}");
        assert_eq!(outcome.findings.len(), 1, "{:#?}", outcome.findings);
    }
}

/// Between cores: the set must name the pipe that stored, and vector cores need a barrier of their own.
fn mix(module: &Module, x: &Buffer, z: &Buffer) {
    let launch = |broken: i32| {
        let args = [
            sync_address(),
            Arg::Buffer(x),
            Arg::Buffer(z),
            scalar(broken),
        ];
        module.launch_as_set("order_mix", 1, &args)
    };
    launch(0).ok();
    let wrong_pipe = (
        0,
        "// raw-fix-mte2",
        "race-raw",
        "CrossCoreSetFlag<2, PIPE_FIX>",
    );
    let outcome = launch(1);
    let finding = expect(&outcome, wrong_pipe);
    assert!(finding.message.contains("block 0 aic"), "{finding}");
    // The wait holds back what comes later; what came before it need not have completed.
    let not_drained = (2, "// raw-not-drained", "race-raw", "HardEvent::MTE2_V");
    expect(&launch(4), not_drained);
    let outcome = launch(2);
    let unsynchronised = (1, "// raw-between-cores", "race-raw", "SyncAll");
    let found = outcome
        .findings
        .iter()
        .any(|finding| finding.kind.starts_with("race-"));
    assert!(found, "{:#?}", outcome.findings);
    if outcome.findings[0].kind == "race-raw" {
        expect(&outcome, unsynchronised);
    }
}

/// One run finds them all.
fn all_at_once(module: &Module, x: &Buffer, z: &Buffer) {
    let args = [Arg::Buffer(x), Arg::Buffer(z), scalar(0b1111)];
    let outcome = module.launch_as_set("order_vector", 1, &args);
    for &case in &VECTOR[..4] {
        expect(&outcome, case);
    }
    let lines: Vec<_> = outcome
        .findings
        .iter()
        .map(|finding| (finding.line, &finding.other))
        .collect();
    let mut unique = lines.clone();
    unique.dedup();
    assert_eq!(
        unique.len(),
        lines.len(),
        "a pair of lines is reported once"
    );
}

/// Trusting the compiler with the vector unit's own order, and not looking at all.
fn trusting(module: &Module, x: &Buffer, z: &Buffer) {
    for (options, bits) in [
        (
            fa_emulator::Options {
                auto_sync: true,
                ..fa_emulator::Options::default()
            },
            0b1100_0010,
        ),
        (
            fa_emulator::Options {
                hazards: false,
                ..fa_emulator::Options::default()
            },
            0xff,
        ),
    ] {
        fa_emulator::set_options(options);
        let args = [Arg::Buffer(x), Arg::Buffer(z), scalar(bits)];
        module.launch_as_set("order_vector", 1, &args).ok();
    }
}

#[test]
fn five_mistakes_in_one_run() {
    let _one = one_at_a_time();
    strict();
    let module = Module::compile(PLANTED);
    let x = Buffer::from(&[1.0f32; 4096]);
    let z = Buffer::from(&[0.0f32; 4096]);
    let outcome = module.launch_as_set("planted", 1, &[Arg::Buffer(&x), Arg::Buffer(&z)]);
    for (kind, marker) in [
        ("race-raw", "// planted-race"),
        ("overlap", "// planted-overlap"),
        ("misaligned", "// planted-misalignment"),
        ("uninitialised", "// planted-uninitialised"),
        ("leftover-flag", "// planted-lost-flag"),
    ] {
        outcome.finds(kind, PLANTED, marker);
    }
    assert_eq!(outcome.findings.len(), 5, "{:#?}", outcome.findings);
}

#[test]
fn an_endless_kernel_is_stopped() {
    let _one = one_at_a_time();
    strict();
    let module = Module::compile(FILE);
    let x = Buffer::from(&[1.0f32; 8]);
    fa_emulator::set_options(fa_emulator::Options {
        max_steps: 10_000,
        ..fa_emulator::Options::default()
    });
    let outcome = module.launch_as_set("endless", 1, &[Arg::Buffer(&x)]);
    strict();
    outcome.finds("step-limit", FILE, "// endless");
}
