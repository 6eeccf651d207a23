//! What a mask costs in memory at a length of 131072: nothing. A CPU launch adds its results and the scratch of its
//! threads to a process; an emulated device lends a launch its tensors and the workspace, and not one byte more. Each
//! measurement is a process of its own, which this test starts again as.

#![cfg(target_os = "linux")]

use std::process::Command;

use fa_codegen::Plan;
use fa_codegen::ascend::LaunchShape;
use fa_dsl::variant::{Dtype, Variant};
use fa_runtime::{Arguments, Effort, Kernel, Tensor};
use fa_tests::harness::{Backends, Noise, compile_with, runtime};
use fa_tests::{plan, target, variants};

/// Rows of queries and of keys.
const LENGTH: usize = 131_072;
const HEAD_DIM: usize = 16;
const DOCUMENTS: usize = 32;
/// What is measured, for the process that measures.
const ORDER: &str = "FA_TEST_MEMORY";
/// Memory of the emulated device, bytes.
const DEVICE_BYTES: &str = "FA_EMU_DEVICE_BYTES";

const TEXT: &str = "attention full { head_dim = 16; target ascend910b { tile { block_q = 256; block_kv = 512; } } }
     attention window : full { mask = causal && window(255, 0); }
     attention documents : full { tensor ids: int32[b, kv_len]; mask = same(ids); }";
const MASKS: [&str; 3] = ["full", "window", "documents"];

/// Starts this test again to measure one launch; what it says.
fn measured(backend: &str, mask: &str, q_len: usize, kv_len: usize, device_bytes: u64) -> String {
    let output = Command::new(std::env::current_exe().expect("this test has a path"))
        .args(["--exact", "measure", "--nocapture", "--test-threads=1"])
        .env(ORDER, format!("{backend} {mask} {q_len} {kv_len}"))
        .env(DEVICE_BYTES, device_bytes.to_string())
        // Large blocks go back to the system when they are freed: none of them takes in what the launch adds.
        .env("MALLOC_MMAP_THRESHOLD_", "65536")
        .output()
        .expect("it starts again");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let found = said.lines().find_map(|line| line.split_once("measured: "));
    found
        .unwrap_or_else(|| panic!("{said}\n{output:?}"))
        .1
        .to_owned()
}

/// The launch of a measuring process; nothing where this is the test itself.
#[test]
fn measure() {
    let Ok(order) = std::env::var(ORDER) else {
        return;
    };
    let words: Vec<&str> = order.split(' ').collect();
    let [backend, mask, q_len, kv_len] = words[..] else {
        panic!("{order}");
    };
    let lengths = [q_len, kv_len].map(|rows| rows.parse().expect("a number of rows"));
    let kernel = match backend {
        "cpu" => &compiled_for_the_cpu(),
        _ => &compile_with(&runtime(), TEXT, &[backend]),
    };
    let kernel = &Backends::named(kernel, mask).kernels[1];
    let said = launch(kernel, lengths);
    // The harness writes the name of the test before it.
    writeln(&format!("\nmeasured: {said}"));
}

fn writeln(line: &str) {
    use std::io::Write;
    writeln!(std::io::stdout(), "{line}").expect("a standard output");
}

fn compiled_for_the_cpu() -> Vec<Backends> {
    compile_with(&runtime().for_effort(Effort::Speed), TEXT, &["cpu"])
}

/// What a launch adds to this process in KiB, or why it is refused.
fn launch(kernel: &Kernel, [q_len, kv_len]: [usize; 2]) -> String {
    let mut noise = Noise::new(7);
    let mut tensor = |rows| noise.tensor(Dtype::Fp16, &[1, 1, rows, HEAD_DIM], 1.0);
    let (q, kv) = (tensor(q_len), tensor(kv_len));
    let ids: Vec<f64> = (0..kv_len)
        .map(|key| (key * DOCUMENTS / kv_len) as f64)
        .collect();
    let ids = Tensor::from_f64(Dtype::Int32, &[1, kv_len], &ids);
    let mut arguments = Arguments::new(q.view(), kv.view(), kv.view());
    if !kernel.variant().tensors.is_empty() {
        arguments = arguments.with("ids", ids.view());
    }
    fs_err::write("/proc/self/clear_refs", "5").expect("Linux forgets the peak");
    let before = status("VmRSS:");
    match kernel.run(&arguments) {
        Ok(_) => (status("VmHWM:") - before).to_string(),
        Err(error) => error.to_string().lines().collect::<Vec<_>>().join(" "),
    }
}

/// A line of this process's status, KiB.
fn status(name: &str) -> u64 {
    let status = fs_err::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.expect("the line").trim().trim_end_matches("kB").trim();
    kib.parse().expect("a number")
}

/// Of a launch's results, in KiB: O in fp16 and LSE.
fn results(q_len: usize) -> u64 {
    (q_len * (HEAD_DIM * 2 + 4) / 1024) as u64
}

#[test]
fn a_mask_takes_no_memory_on_the_cpu() {
    compiled_for_the_cpu();
    // The scratch of threads, which the target file bounds by a MiB each, and what the allocator keeps.
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let scratch = 1024 * threads + 2048;
    let mut peaks = Vec::new();
    for (mask, q_len, kv_len) in [
        ("full", 768, LENGTH),
        ("full", LENGTH, 256),
        ("window", LENGTH, LENGTH),
        ("documents", LENGTH, LENGTH),
    ] {
        let said = measured("cpu", mask, q_len, kv_len, 0);
        let peak: u64 = said.parse().unwrap_or_else(|_| panic!("{said}"));
        writeln(&format!(
            "{mask} {q_len} x {kv_len}: {peak} KiB beside inputs, {} of them results",
            results(q_len)
        ));
        let beside = peak.checked_sub(results(q_len));
        let beside = beside.unwrap_or_else(|| panic!("{mask}: {peak} KiB do not hold the results"));
        assert!(beside <= scratch, "{mask} {q_len} x {kv_len}: {peak} KiB");
        peaks.push(beside);
    }
    // A bit for each pair of blocks of 64 x 64 would be 512 KiB, for each pair 2 GiB.
    let [few_rows, few_keys, window, documents] = peaks[..] else {
        panic!("{peaks:?}");
    };
    let unmasked = few_rows.max(few_keys);
    assert!(
        window <= unmasked + 256 && documents <= unmasked + 512,
        "{peaks:?}"
    );
}

/// What a device holds during a launch: tensors and workspace, bytes.
struct Device {
    tensors: u64,
    workspace: u64,
}

fn device(variant: &Variant, length: usize) -> Device {
    let chip = target("ascend910b");
    let Plan::Ascend(plan) = plan(variant, &chip) else {
        panic!("an Ascend target has an Ascend plan");
    };
    let ascend = chip.ascend().expect("a chip");
    let rows = length as u64;
    let ids = if variant.tensors.is_empty() {
        0
    } else {
        4 * rows
    };
    let tasks = plan.tasks(1, rows, ascend.chip.cube_cores);
    let shape = LaunchShape {
        batch: 1,
        heads: 1,
        kv_heads: 1,
        q_len: rows,
        kv_len: rows,
    };
    let workspace = plan.workspace_bytes(plan.blocks(tasks, ascend.chip.cube_cores), &shape);
    Device {
        tensors: 4 * rows * HEAD_DIM as u64 * 2 + 4 * rows + ids,
        workspace: workspace + u64::from(ascend.limits.gm_align_bytes),
    }
}

#[test]
fn a_mask_takes_no_memory_on_a_device() {
    compile_with(&runtime(), TEXT, &["ascend910b"]);
    let all = variants("masks.fa", TEXT);
    let named = |mask: &str| {
        all.iter()
            .find(|variant| variant.name.value == mask)
            .expect("a variant")
    };
    // With all the memory that it needs a launch runs, with a byte less it does not.
    for mask in MASKS {
        let Device { tensors, workspace } = device(named(mask), 300);
        let needed = tensors + workspace;
        let said = measured("ascend910b", mask, 300, 300, needed);
        assert!(said.parse::<u64>().is_ok(), "{mask}: {said}");
        let said = measured("ascend910b", mask, 300, 300, needed - 1);
        assert!(
            said.contains("bytes of device memory are free"),
            "{mask}: {said}"
        );
    }
    // At full length the last thing asked for is the workspace, and nothing before it but tensors.
    for mask in MASKS {
        let Device { tensors, workspace } = device(named(mask), LENGTH);
        let said = measured("ascend910b", mask, LENGTH, LENGTH, tensors + workspace - 1);
        let refused = format!(
            "aclrtMalloc of {workspace} bytes: {} of {} bytes of device memory are free",
            workspace - 1,
            tensors + workspace - 1
        );
        writeln(&format!(
            "{mask} {LENGTH} x {LENGTH}: {} bytes on the device, {workspace} of them workspace",
            tensors + workspace
        ));
        assert!(said.contains(&refused), "{mask}: {said}\nnot {refused}");
    }
    let [full, window, documents] = MASKS.map(|mask| device(named(mask), LENGTH));
    assert_eq!(full.workspace, window.workspace);
    // The least and the greatest element of runs of ids.
    let ends = documents.workspace - full.workspace;
    assert!((1..=LENGTH as u64 / 8).contains(&ends), "{ends} bytes");
    assert_eq!(full.tensors, window.tensors);
    assert_eq!(full.tensors + 4 * LENGTH as u64, documents.tensors);
}
