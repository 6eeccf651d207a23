//! Modelled times of emitted kernels: the same with data and without, beside an estimate from the same costs; and what
//! emulation costs.

#![allow(
    clippy::print_stdout,
    reason = "the tables are what these tests are for"
)]

use std::time::Instant;

use fa_dsl::variant::Variant;
use fa_emulator::experiment::{self, Experiment};
use fa_emulator::timeline::{self, Detail, Timeline};
use fa_runtime::verify::{Case, Shape};
use fa_runtime::{Arguments, Effort, Kernel, Runtime, Tensor};
use fa_targets::Target;
use fa_tests::{plan, target, variants};

/// Attention with nothing added, of the size that is published most.
fn whole(tile: &str) -> Variant {
    let text = format!("attention whole {{ head_dim = 128; precision = mixed; tile {tile} }}");
    variants("whole.fa", &text).remove(0)
}

/// What is printed for people takes kernels that are worth optimising.
fn compiled(variant: &Variant, chip: &Target) -> Kernel {
    let asked = ["FA_TABLE", "FA_TIME"]
        .iter()
        .any(|name| std::env::var_os(name).is_some());
    let effort = if asked {
        Effort::Speed
    } else {
        Effort::Compile
    };
    let runtime = Runtime::from_env().expect("a cache").for_effort(effort);
    runtime.compile(variant, chip).expect("a kernel")
}

/// The timeline of one launch.
fn timed(kernel: &Kernel, arguments: &Arguments<'_>, data: bool, warm: bool) -> Timeline {
    let plan = Experiment {
        data,
        warm,
        hazards: false,
        timeline: Some(Detail::Totals),
        ..Experiment::default()
    };
    timeline::take();
    let (outcome, _) = experiment::run(plan, || kernel.run(arguments).map(drop));
    outcome.expect("a clean launch");
    timeline::take().remove(0)
}

/// One sequence of that many heads and rows, without data.
fn timed_square(kernel: &Kernel, heads: usize, len: usize, warm: bool) -> Timeline {
    let variant = kernel.variant();
    let shape = [1, heads, len, variant.head_dim as usize];
    let zeros = Tensor::zeros(variant.precision.qkv, &shape);
    let arguments = Arguments::new(zeros.view(), zeros.view(), zeros.view());
    timed(kernel, &arguments, false, warm)
}

#[test]
fn times_are_the_same_without_data() {
    let text = "attention gqa { heads = 4; kv_heads = 2; head_dim = 64; precision = mixed; mask = causal; }";
    let variant = variants("gqa.fa", text).remove(0);
    let mut chip = target("ascend910b");
    chip.chip.as_mut().expect("a chip").cube_cores = 2;
    let kernel = compiled(&variant, &chip);
    for (batch, q_len, kv_len) in [(1, 300, 1300), (2, 1, 530), (1, 600, 140)] {
        let shape = Shape {
            batch,
            heads: 4,
            kv_heads: 2,
            q_len,
            kv_len,
        };
        let case = Case::random(&variant, shape, 1, false);
        let full = timed(&kernel, &case.arguments(), true, false);
        let quick = timed(&kernel, &case.arguments(), false, false);
        assert_eq!(full, quick);
    }
}

/// A tile of the exchange: query rows, key rows, columns of a head, bytes of a score.
#[derive(Clone, Copy)]
struct Tile {
    rows: f64,
    keys: f64,
    width: f64,
    score: f64,
}

/// Cycles of one hand-off between the cores, of a launch, and of what goes before and after the tiles of a block.
const HAND_OFF: f64 = 400.0;
const LAUNCH: f64 = 10_905.0;
const AROUND: f64 = 500.0;
/// Blocks of 128 x 128 are what one Fixpipe moves.
const BLOCK: f64 = 128.0;

impl Tile {
    /// Cycles that each resource needs for a tile when `cores` are at work: the exchange's public estimate.
    fn costs(self, cores: f64, gigahertz: f64) -> [(&'static str, f64); 7] {
        let Tile {
            rows,
            keys,
            width,
            score,
        } = self;
        let (own_rows, group) = (rows / 2.0, keys / 64.0);
        let repeats = own_rows * group;
        let blocks = rows * keys / (BLOCK * BLOCK);
        let pieces = own_rows * keys * 4.0 / 32_768.0;
        let instructions = 14.0 + 2.0 * group.log2();
        let vector = 4.0 * repeats
            + 2.0 * (1.0 - 1.0 / group) * repeats
            + 2.0 * own_rows
            + 2.0 * own_rows * width / 64.0
            + 25.0 * pieces * instructions
            + 100.0;
        let l2 =
            2.0 * score * rows * keys + 4.0 * rows * keys + 4.0 * keys * width + 8.0 * rows * width;
        [
            ("cube", 2.0 * rows * keys * width / 4096.0),
            (
                "fixpipe",
                (rows * keys * score + rows * width * 4.0) / 64.0 + 20.0 * (blocks + 1.0),
            ),
            ("mte1", blocks * (4.0 * width + 128.0 + 84.0)),
            (
                "mte2 of the cube core",
                (4.0 * keys * width + 2.0 * rows * keys) / 113.0,
            ),
            ("vector", vector),
            (
                "mte2 of a vector core",
                own_rows * (keys * score + width * 4.0) / 67.8,
            ),
            ("l2", l2 * cores / 7000.0 * gigahertz),
        ]
    }

    /// Microseconds of a launch of one head of `len` rows and keys: blocks of rows dealt to `cores`.
    fn micros(self, len: f64, cores: f64, gigahertz: f64) -> f64 {
        let blocks = (len / self.rows).ceil();
        let busy = blocks.min(cores);
        let costs = self.costs(busy, gigahertz);
        let bound = costs.iter().map(|cost| cost.1).fold(0.0, f64::max);
        let chain = costs[0].1.max(costs[1].1) + costs[4].1 + 4.0 * HAND_OFF;
        let tiles = (len / self.keys).ceil();
        let block = tiles * bound + chain - bound + AROUND;
        (LAUNCH + (blocks / cores).ceil() * block) / gigahertz / 1000.0
    }
}

/// The estimate of that tile as it is published, microseconds for 1024, 2048, 4096 and 8192 rows.
#[test]
fn the_estimate_is_the_published_one() {
    let tile = |keys: f64| Tile {
        rows: 128.0,
        keys,
        width: 128.0,
        score: 4.0,
    };
    for (keys, published) in [
        (256.0, [15.7, 22.7, 82.4, 228.4]),
        (512.0, [16.2, 22.2, 76.8, 209.3]),
    ] {
        for (len, published) in [1024.0, 2048.0, 4096.0, 8192.0].into_iter().zip(published) {
            let estimate = tile(keys).micros(len, 24.0, 1.8);
            assert!(
                (estimate - published).abs() < 0.1,
                "{len} rows, {keys} keys: {estimate} for {published}"
            );
        }
    }
}

const AUTO: &str = "= auto;";
/// The tile of the published figures.
const PUBLISHED: &str = "{ block_q = 128; block_kv = 256; stages = 3; }";

/// Rows of the sequence; microseconds of the best open kernel with the tile of the figures, and of the vendor's kernel.
const MEASURED: [(usize, f64, &str); 6] = [
    (1024, 21.0, "58.5 / 54"),
    (2048, 32.5, "70.8 / 73"),
    (4096, 88.9, "118.3 / 139"),
    (8192, 239.0, "353.1 / 291"),
    (16_384, 909.1, "1118.5 / 985"),
    (32_768, 3262.6, "3646.2 / 3184"),
];

/// A row of the table: rows of the sequence; microseconds of the emitted kernel, of the estimate, of others on silicon.
struct Compared {
    len: usize,
    /// Whether tasks have as many rows as the tile: fewer leave no core idle, but are not what others measured.
    is_whole: bool,
    modelled: f64,
    estimate: f64,
    open: f64,
}

/// Our own kernel beside the estimate for its tile; both know the same costs, the estimate nothing of order.
fn compare(tile: &str) -> Vec<Compared> {
    let variant = whole(tile);
    let chip = target("ascend910b");
    let facts = chip.chip.as_ref().expect("a chip");
    let (cores, gigahertz) = (
        f64::from(facts.cube_cores),
        f64::from(facts.clock_mhz) / 1000.0,
    );
    let fa_codegen::Plan::Ascend(plan) = plan(&variant, &chip) else {
        panic!("a plan for another backend")
    };
    let kernel = compiled(&variant, &chip);
    println!(
        "tile {} x {}, us: modelled, estimated for as many rows a task, and measured by others",
        plan.tile().block_q,
        plan.tile().block_kv
    );
    println!(
        "| rows | of a task | emitted kernel | estimate | ratio | best open kernel | vendor's kernel |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let most = if std::env::var_os("FA_TABLE").is_some() {
        6
    } else {
        4
    };
    let row = |&(len, open, vendor): &(usize, f64, &str)| {
        let modelled = timed_square(&kernel, 1, len, true).micros();
        let rows = plan.task_rows(1, len as u64, facts.cube_cores);
        let tile = Tile {
            rows: rows.into(),
            keys: plan.tile().block_kv.into(),
            width: variant.head_dim.into(),
            score: 4.0,
        };
        let estimate = tile.micros(len as f64, cores, gigahertz);
        let ratio = modelled / estimate;
        println!(
            "| {len} | {rows} | {modelled:.1} | {estimate:.1} | {ratio:.2} | {open} | {vendor} |"
        );
        Compared {
            len,
            is_whole: rows == plan.tile().block_q,
            modelled,
            estimate,
            open,
        }
    };
    MEASURED[..most].iter().map(row).collect()
}

fn within(what: &str, modelled: f64, expected: f64, band: f64) {
    assert!(
        (modelled / expected - 1.0).abs() <= band,
        "{what}: {modelled:.1} us for {expected:.1} us"
    );
}

/// With the tile of the published figures. Where tasks are whole tiles, near the estimate and near what the best open
/// kernel took; where they are cut to the number of cores, between the two, for the estimate knows nothing of order (for
/// short sequences it is a quarter below silicon). `FA_TABLE=1` goes up to 32768 rows.
#[test]
fn launches_with_the_published_tile() {
    let rows = compare(PUBLISHED);
    assert!(rows.iter().any(|row| row.is_whole) && rows.iter().any(|row| !row.is_whole));
    for row in rows {
        let what = format!("{} rows", row.len);
        if row.is_whole {
            within(&what, row.modelled, row.open, 0.10);
            within(&what, row.modelled, row.estimate, 0.10);
        } else {
            assert!(
                row.estimate < row.modelled && row.modelled < row.open,
                "{what}: {} us",
                row.modelled
            );
        }
    }
}

/// With the tile that the planner takes, where cores have several tasks each: with one task, what the estimate leaves out
/// shows (a task passes its first two tiles through the vector unit twice).
#[test]
fn launches_with_the_planned_tile() {
    for row in compare(AUTO) {
        if row.len >= 8192 {
            let what = format!("{} rows", row.len);
            within(&what, row.modelled, row.estimate, 0.12);
        }
    }
}

/// `FA_TIME=32x8192` takes what the proof takes: heads and length.
#[test]
fn long_launches_are_timed_without_data() {
    let text = std::env::var("FA_TIME").unwrap_or_else(|_| "2x1024".to_owned());
    let (heads, len) = text.split_once('x').expect("heads x length");
    let number = |text: &str| text.parse::<usize>().expect("a number");
    let kernel = compiled(&whole(AUTO), &target("ascend910b"));
    let start = Instant::now();
    let timeline = timed_square(&kernel, number(heads), number(len), false);
    let seconds = start.elapsed().as_secs_f64();
    let [heads, len] = [heads, len].map(|text| number(text) as f64);
    let flops = 4.0 * heads * len * len * f64::from(kernel.variant().head_dim);
    println!("{}", timeline.summary());
    println!(
        "{:.0} TFLOPS (modelled), predicted in {seconds:.1} s",
        flops / timeline.micros() / 1e6
    );
    assert!(timeline.cycles > timeline.launch_cycles);
}

/// What emulation costs, with the checks of order and without. `FA_TABLE=1` prints the table.
#[test]
fn emulation_finds_nothing_at_any_size() {
    let variant = whole(AUTO);
    let kernel = compiled(&variant, &target("ascend910b"));
    let seconds = |len: usize, hazards: bool, runs: usize| {
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
        (0..runs).map(once).fold(f64::INFINITY, f64::min)
    };
    let (lens, runs) = match std::env::var_os("FA_TABLE") {
        Some(_) => (&[256, 512, 1024, 2048][..], 3),
        None => (&[512][..], 1),
    };
    println!("| queries x keys | without checks of order, s | with them, s |");
    println!("| --- | --- | --- |");
    for &len in lens {
        let (plain, checked) = (seconds(len, false, runs), seconds(len, true, runs));
        println!("| {len} x {len} | {plain:.2} | {checked:.2} |");
    }
}
