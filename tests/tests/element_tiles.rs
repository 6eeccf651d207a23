//! Tiles that elements of captured tensors show to be empty or full: right results on every backend, and the work
//! that they save on (emulated) Ascend.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::LazyLock;

use fa_codegen::ascend::LaunchShape;
use fa_dsl::variant::Dtype;
use fa_emulator::experiment::{self, Experiment, Fault};
use fa_emulator::report::{self, Severity};
use fa_emulator::timeline::{self, Detail, Timeline};
use fa_runtime::verify::{Case, compare, shapes};
use fa_runtime::{Arguments, Error, Kernel, Tensor};
use fa_tests::harness::{Backends, Rows, close, compile, compile_for, compile_on, runtime};
use fa_tests::{plan, provenance, root, target, variants, with_cores};

/// Tiles of 16 x 16, so that every launch has tiles of all kinds; `long` has those of the planner.
const MASKS: [(&str, &str); 9] = [
    (
        "documents",
        "tensor ids: int32[b, kv_len]; mask = causal && same(ids);",
    ),
    (
        "packed",
        "layout = tnd; tensor ids: int32[b, kv_len]; mask = same(ids);",
    ),
    (
        "others",
        "tensor ids: int32[b, kv_len]; tensor n: int32[b]; mask = !same(ids) || window(2, 2) || prefix(n[b]);",
    ),
    (
        "keys",
        "tensor on: bool[h, kv_len]; mask = on[h, kv_idx] && causal;",
    ),
    (
        "rows",
        "tensor off: bool[b, q_len]; tensor last: int32[b, q_len]; \
         mask = !off[b, q_idx] && kv_idx <= last[b, q_idx];",
    ),
    (
        "groups",
        "layout = bsnd; tensor ids: int32[b, kv_h, q_len + kv_len]; \
         mask = ids[b, kv_h, q_len + kv_idx] == ids[b, kv_h, q_idx];",
    ),
    (
        "apart",
        "tensor last: int32[q_len, h]; tensor off: bool[q_len, kv_h]; \
         mask = kv_idx <= last[q_idx, h] && !off[q_idx, kv_h];",
    ),
    (
        "table",
        "tensor t: int32[kv_len + q_len]; mask = t[q_idx - kv_idx + kv_len] < 12 && causal;",
    ),
    ("long", ""),
];

fn text() -> String {
    let tile = "head_dim = 16; allow = [FA105]; tile { block_q = 16; block_kv = 16; }";
    let variant = |(name, fields): &(&str, &str)| {
        match *name {
        "long" => "attention long { head_dim = 16; v_head_dim = 1; layout = bnsd; tensor ids: int32[b, kv_len]; \
                   mask = same(ids); }\n"
            .to_owned(),
        _ => format!("attention {name} {{ {tile} {fields} }}\n"),
    }
    };
    MASKS.iter().map(variant).collect()
}

static ALL: LazyLock<Vec<Backends>> = LazyLock::new(|| compile(&text()));

#[test]
fn results_are_those_of_the_reference() {
    for backends in ALL.iter() {
        let kernels: Vec<&Kernel> = backends.kernels.iter().skip(1).collect();
        for (seed, shape) in shapes(&backends.variant).into_iter().enumerate() {
            let case = Case::random(&backends.variant, shape, seed as u64, false);
            match compare(&backends.variant, &kernels, &case) {
                Ok(rows) => rows.iter().for_each(|row| assert!(row.pass, "{row:?}")),
                // Ids of documents need a key for every query row, which two of the shapes do not have.
                Err(Error::Launch(_)) => assert!(shape.q_len > shape.kv_len, "{shape:?}"),
                Err(error) => panic!("{}: {error}", backends.variant.name.value),
            }
        }
    }
}

/// What the scalar unit has no operations for stays in the loop.
#[test]
fn computed_elements_decide_on_the_cpu() {
    let tile = "head_dim = 16; allow = [FA105]; tile { block_q = 16; block_kv = 16; }";
    let text = format!(
        "attention rows {{ {tile} tensor off: bool[b, q_len]; tensor last: int32[b, q_len];
             mask = !off[b, q_idx] && kv_idx <= last[b, q_idx] % 64; }}
         attention shifted {{ {tile} tensor t: int32[q_len + kv_len];
             mask = t[kv_idx + q_len] < t[q_idx] + 0 || kv_idx < 3; }}"
    );
    for backends in compile_for(&text, &["cpu"]) {
        let kernels = [&backends.kernels[1]];
        for (seed, shape) in shapes(&backends.variant).into_iter().enumerate() {
            let case = Case::random(&backends.variant, shape, seed as u64, false);
            let rows = compare(&backends.variant, &kernels, &case).expect("a launch");
            rows.iter().for_each(|row| assert!(row.pass, "{row:?}"));
        }
    }
}

fn ints(shape: &[usize], values: &[i32]) -> Tensor {
    let values: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
    Tensor::from_f64(Dtype::Int32, shape, &values)
}

/// Launches with these ids of one sequence, Q = K = 0 and `V[j] = j`: every backend like the reference.
fn with_ids(name: &str, q_len: usize, ids: &Tensor, kv_len: usize) {
    let backends = Backends::named(&ALL, name);
    let width = backends.variant.head_dim as usize;
    let value = backends.variant.v_head_dim as usize;
    let dtype = backends.variant.precision.qkv;
    let values: Vec<f64> = (0..kv_len)
        .flat_map(|key| vec![(key % 61) as f64; value])
        .collect();
    let q = Tensor::zeros(dtype, &[1, 1, q_len, width]);
    let k = Tensor::zeros(dtype, &[1, 1, kv_len, width]);
    let v = Tensor::from_f64(dtype, &[1, 1, kv_len, value], &values);
    let mut arguments = Arguments::new(q.view(), k.view(), v.view());
    arguments.captured.push(("ids".to_owned(), ids.view()));
    let prefixes = ints(&[1], &[3]);
    if name == "others" {
        arguments.captured.push(("n".to_owned(), prefixes.view()));
    }
    let mut wanted: Option<Rows> = None;
    backends.each(&arguments, |backend, rows| {
        let wanted = wanted.get_or_insert_with(|| rows.clone());
        assert!(close(&rows.out, &wanted.out, 2e-2), "{name} on {backend}");
        assert!(close(&rows.lse, &wanted.lse, 1e-3), "{name} on {backend}");
    });
}

/// Neighbouring ints that fp32 cannot tell apart, the ends of the type, ids in any order, one id for all.
#[test]
fn ids_of_any_size_and_order() {
    let ids: [fn(i32) -> i32; 7] = [
        |row| (1 << 24) + row / 20,
        |row| i32::MAX - row / 31,
        |row| i32::MIN + row / 16,
        |row| if row % 50 < 25 { i32::MIN } else { i32::MAX },
        |row| row.wrapping_mul(1_640_531_535) % 5,
        |row| row * 40_503 % 131,
        |_| -7,
    ];
    for of_row in ids {
        let ids: Vec<i32> = (0..150).map(of_row).collect();
        let ids = ints(&[1, 150], &ids);
        for name in ["documents", "others"] {
            with_ids(name, 141, &ids, 150);
        }
    }
    let one = ints(&[1, 1], &[1 << 25]);
    with_ids("documents", 100, &one, 150);
}

/// Sequences of several pieces, the last of them short, on tiles of 512 keys.
#[test]
fn long_sequences_are_skipped_in_groups() {
    let kv_len = 17_000;
    for of_row in [|row| row / 1000, |row| (row / 600) % 2, |row| row % 2] {
        let ids: Vec<i32> = (0..kv_len as i32).map(of_row).collect();
        with_ids("long", 40, &ints(&[1, kv_len], &ids), kv_len);
    }
}

/// Work of a launch of `long` with that many documents of equal length.
fn timed(kv_len: usize, of_row: impl Fn(usize) -> i32) -> Timeline {
    let backends = Backends::named(&ALL, "long");
    let ids: Vec<i32> = (0..kv_len).map(of_row).collect();
    let ids = ints(&[1, kv_len], &ids);
    let dtype = backends.variant.precision.qkv;
    let qk = Tensor::zeros(dtype, &[1, 1, kv_len, 16]);
    let v = Tensor::zeros(dtype, &[1, 1, kv_len, 1]);
    let mut arguments = Arguments::new(qk.view(), qk.view(), v.view());
    arguments.captured.push(("ids".to_owned(), ids.view()));
    let plan = Experiment {
        hazards: false,
        timeline: Some(Detail::Totals),
        ..Experiment::default()
    };
    timeline::take();
    let launch = || backends.kernels[2].run(&arguments).map(drop);
    let (outcome, _) = experiment::run(plan, launch);
    outcome.expect("a clean launch");
    timeline::take().remove(0)
}

/// Cycles at work of a pipe of all cores of a kind.
fn busy(timeline: &Timeline, kind: &str, pipe: &str) -> u64 {
    let cores = timeline
        .cores
        .iter()
        .filter(|core| core.name.contains(kind));
    let pipes = cores.flat_map(|core| &core.pipes);
    pipes.filter(|of| of.pipe == pipe).map(|of| of.busy).sum()
}

#[test]
fn documents_save_what_their_masks_hide() {
    let kv_len = 4096;
    let one = timed(kv_len, |_| 1);
    let eight = timed(kv_len, |row| (row / 512) as i32);
    let mixed = timed(kv_len, |row| (row % 2) as i32);
    // An eighth of the products, and of what brings scores and probabilities in and out.
    for (kind, pipe) in [("aic", "M"), ("aic", "FIX"), ("aiv", "V"), ("aiv", "MTE3")] {
        let (all, some) = (busy(&one, kind, pipe), busy(&eight, kind, pipe));
        let most = if pipe == "V" { all / 4 } else { all / 7 };
        assert!(some <= most, "{kind} {pipe}: {some} of {all} cycles");
    }
    // Every tile is full of one document: no mask is applied.
    let (full, partial) = (busy(&one, "aiv", "V"), busy(&mixed, "aiv", "V"));
    assert!(2 * full < partial, "{full} and {partial} cycles");
    let after_launch = |timeline: &Timeline| timeline.cycles - timeline.launch_cycles;
    let [one, eight, mixed] = [one, eight, mixed].map(|timeline| after_launch(&timeline));
    assert!(
        2 * eight < one && 2 * one < mixed,
        "{eight}, {one}, {mixed} cycles"
    );
}

/// The launcher asks for the workspace that the runtime gives.
#[test]
fn launchers_know_the_workspace() {
    let path = root().join("examples/documents.fa");
    let text = fs_err::read_to_string(&path).expect("an example");
    let variant = variants("documents.fa", &text).remove(0);
    let fa_codegen::Plan::Ascend(plan) = plan(&variant, &target("ascend910b")) else {
        panic!("a plan for another backend")
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let header = root().join("generated/ascendc/documents_ascend910b/documents_launch.h");
    let source = folder.path().join("host.cpp");
    let shapes = [
        (1, 2, 128, 128),
        (3, 4, 1, 8193),
        (2, 2, 0, 0),
        (1, 1, 9000, 1_000_000),
    ];
    let mut program = format!(
        "#include <cstdio>\n#include \"{}\"\nint main()\n{{\n    fa_documents::Tiling tiling {{}};\n",
        header.display()
    );
    let mut wanted = String::new();
    for (batch, heads, q_len, kv_len) in shapes {
        let shape = LaunchShape {
            batch,
            heads,
            kv_heads: heads,
            q_len,
            kv_len,
        };
        program.push_str(&format!(
            "    tiling.batch = {batch}; tiling.heads = {heads}; tiling.kvHeads = {heads};\n    \
             tiling.qLen = {q_len}; tiling.kvLen = {kv_len};\n    \
             std::printf(\"%llu\\n\", (unsigned long long)fa_documents::WorkspaceBytes(tiling, 7));\n"
        ));
        wanted.push_str(&format!("{}\n", plan.workspace_bytes(7, &shape)));
    }
    program.push_str("}\n");
    fs_err::write(&source, program).expect("a writable folder");
    let binary = folder.path().join("host");
    let include = root().join("emulator/include");
    let mut compiler = Command::new("c++");
    compiler
        .args(["-std=c++17", "-isystem"])
        .arg(include)
        .arg(&source)
        .arg("-o")
        .arg(&binary);
    assert!(compiler.status().expect("a C++ compiler").success());
    let output = Command::new(&binary).output().expect("a program");
    assert_eq!(String::from_utf8_lossy(&output.stdout), wanted);
}

/// Every flag and barrier that the search for ends adds, taken away in turn: the checks of order speak. Two cubes
/// have tasks and meet; six pieces are dealt to four vector cores.
#[test]
fn every_new_flag_orders_something() {
    let all = compile_on(&runtime(), &text(), &[with_cores("ascend910b", 2)]);
    let backends = Backends::named(&all, "long");
    let plan = plan(&backends.variant, &target("ascend910b"));
    let kernel = &fa_codegen::render(&plan, &provenance(root(), ""))[0].text;
    let kv_len = 17_000;
    let ids: Vec<i32> = (0..kv_len as i32).map(|row| row / 1000).collect();
    let ids = ints(&[1, kv_len], &ids);
    let dtype = backends.variant.precision.qkv;
    let q = Tensor::zeros(dtype, &[1, 2, 20, 16]);
    let k = Tensor::zeros(dtype, &[1, 2, kv_len, 16]);
    let v = Tensor::zeros(dtype, &[1, 2, kv_len, 1]);
    let mut arguments = Arguments::new(q.view(), k.view(), v.view());
    arguments.captured.push(("ids".to_owned(), ids.view()));
    let finds = |faults: Vec<Fault>| {
        let experiment = Experiment {
            faults,
            observe: true,
            ..Experiment::default()
        };
        report::take_findings();
        let launch = || backends.kernels[1].run(&arguments).map(drop);
        let (outcome, observed) = experiment::run(experiment, launch);
        let mut found = report::take_findings();
        found.retain(|finding| finding.severity == Severity::Error);
        (outcome.is_err() || !found.is_empty(), observed)
    };
    let (wrong, observed) = finds(Vec::new());
    assert!(!wrong, "the kernel as it is");
    let lines: Vec<&str> = kernel.lines().collect();
    let place = |text: &str| lines.iter().position(|line| line.starts_with(text));
    let first = place("class EndFinder").expect("the class") as u32;
    let last = place("// First key row that").expect("what follows") as u32;
    let flags = observed.flags.iter().map(|(set, _)| *set);
    let sets = flags.chain(observed.cross_sets.iter().copied());
    let lost = sets.map(|set| (set, Fault::LostFlag { set, wait: None }));
    let barriers = observed.barriers.iter();
    let barriers = barriers.map(|line| (*line, Fault::LostBarrier { line: *line }));
    let sites = lost
        .chain(barriers)
        .filter(|(line, _)| (first..last).contains(line));
    let sites: BTreeMap<u32, Fault> = sites.collect();
    for (line, fault) in &sites {
        let text = lines[*line as usize - 1].trim();
        assert!(
            finds(vec![fault.clone()]).0,
            "line {line} is not needed: {text}"
        );
    }
    assert_eq!(sites.len(), 10, "{sites:?}");
}
