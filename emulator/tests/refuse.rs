//! Every rule that refuses: the kind of the finding, and the line of the kernel that it names.

mod common;

use common::{Arg, Buffer, Module, Outcome, scalar, sync_address};

const FILE: &str = "refuse.cpp";

/// Case, marker in the source, kind.
const VECTOR: &[(i32, &str, &str)] = &[
    (0, "// gm-past-end", "out-of-bounds"),
    (1, "// gm-straddles", "out-of-bounds"),
    (2, "// ub-past-end", "out-of-bounds"),
    (3, "// misaligned-dst", "misaligned"),
    (4, "// misaligned-copy", "misaligned"),
    (5, "// copy-length", "copy-length"),
    (6, "// mask-too-wide", "mask-range"),
    (7, "// mask-empty", "mask-range"),
    (8, "// mask-high-word", "mask-range"),
    (9, "// beyond-extent", "tensor-extent"),
    (10, "// overlap-shifted", "overlap"),
    (11, "// overlap-widening", "overlap"),
    (12, "// cast-mode", "cast-mode"),
    (13, "// cast-bf16-none", "cast-mode"),
    (14, "// compare-int-less", "wrong-type"),
    (15, "// compare-count", "compare-count"),
    (16, "// reduce-repeat", "parameter-range"),
    (17, "// reduce-align", "misaligned"),
    (18, "// event-too-high", "event-id"),
    (19, "// set-twice", "flag-set-twice"),
    (20, "// left-over", "leftover-flag"),
    (21, "// never-set", "deadlock"),
    (22, "// scalar-stuck", "deadlock"),
    (23, "// garbage-offset", "uninitialised"),
    (24, "// garbage-scalar", "uninitialised"),
    (26, "// select-mode", "select-mode"),
    (27, "// select-reserved", "reserved-ub"),
    (28, "// pad-blocks", "parameter-range"),
    (29, "// pad-length", "copy-length"),
    (30, "// pad-left", "parameter-range"),
    (31, "// pad-huge", "parameter-range"),
    (32, "// cross-in-aiv-only", "kernel-type"),
    (33, "// trap", "trap"),
    (34, "// wrong-memory", "wrong-position"),
    (35, "// atomic-type", "atomic-type"),
    (37, "// brcb-align", "misaligned"),
    (38, "// pattern", "parameter-range"),
    (39, "// deq-scale", "deq-scale"),
    (40, "// assertion", "kernel-assert"),
    (41, "// copy-blocks", "parameter-range"),
    (42, "// sync-all-type", "kernel-type"),
    (43, "// ub-to-l1", "wrong-position"),
    (44, "// no-pipe", "tpipe-missing"),
];

const CUBE: &[(i32, &str, &str)] = &[
    (0, "// nd-pitch", "parameter-range"),
    (1, "// nd-stride", "parameter-range"),
    (2, "// nd-rows", "parameter-range"),
    (3, "// nd-past-end", "out-of-bounds"),
    (4, "// load-align", "misaligned"),
    (5, "// load-span", "tensor-extent"),
    (6, "// load-sid", "parameter-range"),
    (7, "// load-transpose", "wrong-type"),
    (8, "// mmad-range", "parameter-range"),
    (9, "// mmad-dst", "misaligned"),
    (10, "// mmad-align", "misaligned"),
    (11, "// mmad-position", "wrong-position"),
    (12, "// mmad-unit-flag", "parameter-range"),
    (13, "// fix-n", "parameter-range"),
    (14, "// fix-m", "parameter-range"),
    (15, "// fix-stride", "parameter-range"),
    (16, "// fix-quant", "quant-mode"),
    (17, "// fix-nz", "parameter-range"),
    (18, "// fix-past-end", "out-of-bounds"),
    (19, "// fix-nd", "parameter-range"),
    (20, "// fix-deq", "deq-scalar-unset"),
    (21, "// mmad-extent", "tensor-extent"),
    (23, "// mmad-b-align", "misaligned"),
    (24, "// l1-past-end", "out-of-bounds"),
    (25, "// l0a-past-end", "out-of-bounds"),
    (26, "// l0b-past-end", "out-of-bounds"),
    (27, "// l0c-past-end", "out-of-bounds"),
];

/// Case, marker in the source, kind; of the framework, library calls and rarer fields.
const MORE: &[(i32, &str, &str)] = &[
    (0, "// buffers-17", "buffer-count"),
    (1, "// deque-empty", "queue-empty"),
    (2, "// alloc-twice", "queue-full"),
    (3, "// not-mine", "queue-misuse"),
    (4, "// ub-budget", "buffer-budget"),
    (5, "// nine-ids", "event-id"),
    (6, "// pool-budget", "buffer-budget"),
    (8, "// pool-count", "buffer-count"),
    (9, "// no-workspace", "workspace-unset"),
    (10, "// sort-repeat", "parameter-range"),
    (11, "// sort-dst", "misaligned"),
    (12, "// sort-scores", "misaligned"),
    (13, "// sort-in-place", "overlap"),
    (14, "// merge-valid", "parameter-range"),
    (15, "// merge-length", "parameter-range"),
    (16, "// merge-repeat", "parameter-range"),
    (17, "// merge-align", "misaligned"),
    (18, "// keep-all", "parameter-range"),
    (19, "// byte-pitch", "parameter-range"),
    (20, "// softmax-room", "buffer-budget"),
    (21, "// word-before", "parameter-range"),
    (22, "// word-past-end", "out-of-bounds"),
    (23, "// no-turns", "turn-order"),
    (25, "// word-never-up", "deadlock"),
    (27, "// deq-relu", "deq-scale"),
    (28, "// five-strides", "parameter-range"),
    (29, "// five-align", "misaligned"),
    (30, "// nz-columns", "parameter-range"),
    (31, "// far-repeat", "tensor-extent"),
    (32, "// reduce-tmp", "misaligned"),
    (33, "// compare-dst", "misaligned"),
    (34, "// compare-mode", "parameter-range"),
    (36, "// pair-align", "misaligned"),
    (37, "// fill-mask", "mask-range"),
    (38, "// count-negative", "parameter-range"),
    (39, "// pad-wide", "parameter-range"),
    (40, "// reduce-order", "parameter-range"),
    (41, "// cross-wait-aiv-only", "kernel-type"),
    (43, "// select-mask", "misaligned"),
    (44, "// scalar-past-end", "out-of-bounds"),
    (45, "// brcb-far", "out-of-bounds"),
    (46, "// transpose-align", "misaligned"),
    (47, "// scalar-ub-past-end", "out-of-bounds"),
];

const LOADS: &[(i32, &str, &str)] = &[
    (0, "// conv-stride", "parameter-range"),
    (1, "// conv-stride-high", "parameter-range"),
    (2, "// conv-filter", "parameter-range"),
    (3, "// conv-dilation", "parameter-range"),
    (4, "// conv-k-start", "parameter-range"),
    (5, "// conv-m-start", "parameter-range"),
    (6, "// conv-k-far", "parameter-range"),
    (7, "// conv-m-far", "parameter-range"),
    (8, "// conv-span", "tensor-extent"),
    (9, "// conv-position", "wrong-position"),
    (10, "// square-mode", "not-emulated"),
    (11, "// square-align", "misaligned"),
    (12, "// square-span", "tensor-extent"),
    (13, "// fix-no-scales", "quant-mode"),
    (14, "// fix-scales-align", "misaligned"),
    (15, "// fix-split", "parameter-range"),
    (16, "// fix-unit-flag", "parameter-range"),
    (17, "// fix-src-align", "misaligned"),
    (18, "// fix-column-major", "wrong-position"),
    (19, "// fix-position", "wrong-position"),
    (20, "// mmad-bias-align", "misaligned"),
    (21, "// mmad-bias-position", "wrong-position"),
    (22, "// nd-count", "parameter-range"),
    (23, "// nd-n-stride", "parameter-range"),
    (24, "// bt-length", "copy-length"),
    (25, "// bt-align", "misaligned"),
    (26, "// l1-align", "misaligned"),
    (27, "// load-mode", "not-emulated"),
    (28, "// load-gm-transpose", "wrong-type"),
    (29, "// fill-span", "tensor-extent"),
    (30, "// fix-stride-zero", "parameter-range"),
    (31, "// no-such-path", "wrong-position"),
    (32, "// co1-quant", "quant-mode"),
    (33, "// bt-past-end", "out-of-bounds"),
    (34, "// fb-length", "copy-length"),
    (35, "// fb-past-end", "out-of-bounds"),
    (36, "// pad-to-l1", "wrong-position"),
    (37, "// co1-align", "misaligned"),
];

fn check(module: &Module, kernel: &str, cases: &[(i32, &str, &str)]) {
    let gm = Buffer::from(&[0.5f32; 1024]);
    for (which, marker, kind) in cases {
        let outcome = module.launch(kernel, 1, &[Arg::Buffer(&gm), scalar(*which)]);
        let finding = outcome.finds(kind, FILE, marker);
        assert!(
            !finding.help.is_empty() && finding.core.starts_with("block 0"),
            "{finding:?}"
        );
        assert_ne!(outcome.code, 0, "{marker}");
        let place = format!("refuse.cpp:{}", finding.line);
        assert!(
            outcome.message.contains(&place) && outcome.message.contains("(emulated)"),
            "{}",
            outcome.message
        );
    }
    module
        .launch(kernel, 1, &[Arg::Buffer(&gm), scalar(1000)])
        .ok();
}

fn mix(module: &Module, which: i32) -> Outcome {
    module.launch("refuse_mix", 1, &[sync_address(), scalar(which)])
}

#[test]
fn refusals() {
    let module = Module::compile(FILE);
    check(&module, "refuse_vector", VECTOR);
    check(&module, "refuse_cube", CUBE);
    check(&module, "refuse_more", MORE);
    check(&module, "refuse_loads", LOADS);
    turns(&module);
    cross_core(&module);
    garbage(&module);
    notes(&module);
    bounds_of_arguments(&module);
}

/// With one block every turn is block 0's; a word that nobody takes down is left over.
fn turns(module: &Module) {
    let gm = Buffer::from(&[0i32; 1024]);
    let launch = |which: i32| module.launch("refuse_more", 1, &[Arg::Buffer(&gm), scalar(which)]);
    launch(24).ok();
    launch(26).finds("leftover-word", FILE, "// word-left-up");
}

fn cross_core(module: &Module) {
    let outcome = mix(module, 0);
    assert_eq!(outcome.code, 507_014, "{}", outcome.message);
    assert!(
        outcome
            .finds("deadlock", FILE, "// wait-forever")
            .message
            .contains("cross-core flag 3")
    );
    let outcome = mix(module, 1);
    let message = &outcome.finds("deadlock", FILE, "// half-set").message;
    assert!(message.contains("set so far by block 0 aiv 0"), "{message}");
    mix(module, 2).finds("leftover-cross-core-flag", FILE, "// nobody-waits");
    let outcome = mix(module, 3);
    assert!(
        outcome
            .finds("cross-core-counter", FILE, "// sixteenth")
            .message
            .contains("15")
    );
    mix(module, 4).finds("cross-core-flag", FILE, "// no-such-flag");
    let outcome = mix(module, 5);
    let deadlock = outcome
        .findings
        .iter()
        .find(|finding| finding.kind == "deadlock")
        .expect("deadlock");
    assert!(
        deadlock.message.contains("2 arrived"),
        "{}",
        deadlock.message
    );
    let wrong = module.launch("refuse_mix", 1, &[scalar(64u64), scalar(100)]);
    wrong.finds("sync-base", FILE, "// sync-base");
}

/// Garbage is reported where it reaches the host, with the store that wrote it.
fn garbage(module: &Module) {
    let gm = Buffer::from(&[0.5f32; 1024]);
    module
        .launch("refuse_vector", 1, &[Arg::Buffer(&gm), scalar(25)])
        .ok();
    let (code, _) = gm.try_read::<f32>();
    assert_ne!(code, 0);
    let findings = fa_emulator::report::take_findings();
    let outcome = Outcome {
        code,
        message: common::last_message(),
        findings,
    };
    assert!(
        outcome
            .finds("uninitialised", FILE, "// garbage-stored")
            .message
            .contains("1024 of 4096")
    );
    let fresh = Buffer::new(64);
    let (code, _) = fresh.try_read::<f32>();
    assert_ne!(code, 0);
    let findings = fa_emulator::report::take_findings();
    assert!(
        findings[0].message.contains("never written"),
        "{}",
        findings[0].message
    );
    let gm = Buffer::from(&[0.5f32; 1024]);
    module
        .launch("refuse_cube", 1, &[Arg::Buffer(&gm), scalar(22)])
        .ok();
    assert_ne!(gm.try_read::<f32>().0, 0);
    fa_emulator::report::take_findings();
}

/// What hardware accepts but guides advise against is a warning.
fn notes(module: &Module) {
    let gm = Buffer::from(&[0.5f32; 1024]);
    let outcome = module.launch("refuse_vector", 1, &[Arg::Buffer(&gm), scalar(36)]);
    let finding = outcome.finds("event-id-reserved", FILE, "// event-reserved");
    assert_eq!(finding.severity, fa_emulator::report::Severity::Warning);
    assert_eq!(outcome.code, 0);
    let outcome = module.launch("refuse_loads", 1, &[Arg::Buffer(&gm), scalar(38)]);
    outcome.finds("beyond-usable", FILE, "// beyond-usable");
    assert_eq!(outcome.code, 0);
    let outcome = mix(module, 6);
    outcome.finds("cross-core-flag-reserved", FILE, "// flag-reserved");
    assert_eq!(outcome.code, 0);
}

fn bounds_of_arguments(module: &Module) {
    let gm = Buffer::from(&[0.5f32; 256]);
    let outcome = module.launch("refuse_vector", 1, &[Arg::Buffer(&gm), scalar(0)]);
    let message = &outcome
        .finds("out-of-bounds", FILE, "// gm-past-end")
        .message;
    assert!(
        message.contains("4096 to 4352") && message.contains("1024 bytes"),
        "{message}"
    );
}
