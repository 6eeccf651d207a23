//! The model's times against published figures; nothing is tuned per case.

#![allow(
    clippy::print_stdout,
    reason = "the table of figures is what these tests are for"
)]

mod common;

use common::{Arg, Buffer, Module, scalar, sync_address};
use fa_emulator::experiment::{self, Experiment};
use fa_emulator::timeline::{self, Detail, Timeline};

/// Times of one launch, without data.
fn time(module: &Module, kernel: &str, blocks: u32, args: &[Arg<'_>]) -> Timeline {
    time_from(module, kernel, blocks, args, false)
}

fn time_from(module: &Module, kernel: &str, blocks: u32, args: &[Arg<'_>], warm: bool) -> Timeline {
    let plan = Experiment {
        data: false,
        hazards: false,
        warm,
        timeline: Some(Detail::Totals),
        ..Experiment::default()
    };
    timeline::take();
    let (outcome, _) = experiment::run(plan, || module.launch(kernel, blocks, args));
    outcome.ok();
    timeline::take().remove(0)
}

fn busy(timeline: &Timeline, core: usize, pipe: &str) -> u64 {
    let pipes = timeline.cores[core].pipes.iter();
    let found = pipes.filter(|used| used.pipe == pipe).map(|used| used.busy);
    found.sum()
}

fn within(what: &str, value: f64, low: f64, high: f64) {
    println!("{what}: modelled {value:.1}, published {low:.1} to {high:.1}");
    assert!(
        (low..=high).contains(&value),
        "{what}: {value} is not in {low}..{high}"
    );
}

const CUBES: u32 = 24;

#[test]
fn single_instructions() {
    let module = Module::compile("time.cpp");
    let gm = Buffer::new(4096);
    let run = |kernel: &str, which: i32, pipe: &str| {
        let timeline = time(&module, kernel, 1, &[Arg::Buffer(&gm), scalar(which)]);
        busy(&timeline, 0, pipe) as f64
    };
    within("Add of 64 repeats", run("time_add", 0, "V"), 86.0, 86.0);
    within(
        "the same, bank conflict",
        run("time_add", 1, "V"),
        150.0,
        150.0,
    );
    within(
        "Mmad 128 x 128 x 128",
        run("time_cube", 2, "M"),
        533.0,
        533.0,
    );
    within("32 KiB to L0B", run("time_cube", 1, "MTE1"), 284.0, 284.0);
    within("32 KiB to L0A", run("time_cube", 0, "MTE1"), 156.0, 156.0);
}

#[test]
fn copies() {
    let module = Module::compile("time.cpp");
    let tiles = 20;
    let gm = Buffer::new(CUBES as usize * tiles as usize * 32768);
    let timeline = time(
        &module,
        "time_nd2nz",
        CUBES,
        &[Arg::Buffer(&gm), scalar(tiles)],
    );
    for core in 0..CUBES as usize {
        let each = busy(&timeline, core, "MTE2") as f64 / f64::from(tiles);
        within(
            "ND to NZ of 64 x 512 bytes",
            each,
            1034.0 * 0.95,
            1034.0 * 1.05,
        );
    }
    let count = 1000;
    let timeline = time(
        &module,
        "time_small_copies",
        1,
        &[Arg::Buffer(&gm), scalar(count)],
    );
    let each = busy(&timeline, 0, "MTE2") as f64 / f64::from(count);
    within("a copy of 128 bytes", each, 20.0, 21.0);
}

#[test]
fn streams() {
    let module = Module::compile("time.cpp");
    let cores = 2 * CUBES;
    let (pieces, piece) = (40, 32768.0);
    let gm = Buffer::new(cores as usize * pieces as usize * 3 * 32768);
    let rate = |rounds: i32, stores: i32, bytes: f64| {
        let args = [
            Arg::Buffer(&gm),
            scalar(pieces),
            scalar(rounds),
            scalar(stores),
        ];
        let timeline = time(&module, "time_stream", cores, &args);
        (
            bytes * piece * f64::from(pieces * cores as i32),
            timeline.core_micros(),
        )
    };
    let (bytes, first) = rate(1, 0, 2.0);
    within("reads from HBM, TB/s", bytes / first / 1e6, 1.3, 1.5);
    // Further rounds find everything in L2.
    let (_, sixth) = rate(6, 0, 2.0);
    within(
        "reads from L2, TB/s",
        5.0 * bytes / (sixth - first) / 1e6,
        5.0,
        6.1,
    );
}

#[test]
fn a_launch_finds_in_l2_what_the_one_before_left() {
    let module = Module::compile("time.cpp");
    let (cores, pieces) = (2 * CUBES, 40);
    let gm = Buffer::new(cores as usize * pieces as usize * 3 * 32768);
    let args = [Arg::Buffer(&gm), scalar(pieces), scalar(1), scalar(0)];
    let twice = |keeps_l2: bool| {
        let plan = Experiment {
            data: false,
            hazards: false,
            keeps_l2,
            timeline: Some(Detail::Totals),
            ..Experiment::default()
        };
        timeline::take();
        experiment::run(plan, || {
            module.launch("time_stream", cores, &args).ok();
            module.launch("time_stream", cores, &args).ok();
        });
        let times = timeline::take();
        times[1].core_micros() / times[0].core_micros()
    };
    within("second launch over first, cold", twice(false), 1.0, 1.0);
    within("second launch over first", twice(true), 0.2, 0.4);
}

#[test]
fn matmul() {
    let module = Module::compile("time.cpp");
    let (size, blocks) = (8192, 84);
    let gm = Buffer::new(size * size * 8);
    let args = [Arg::Buffer(&gm), scalar(size as i32), scalar(blocks)];
    let timeline = time(&module, "time_matmul", CUBES, &args);
    let macs = f64::from(blocks) * 128.0 * 256.0 * size as f64;
    let cycles = (timeline.cycles - timeline.launch_cycles) as f64;
    println!("{}", timeline.summary());
    within(
        "8192 x 8192 x 8192, % of peak",
        100.0 * macs / 4096.0 / cycles,
        82.0,
        90.0,
    );
}

/// A block of 128 rows against `tiles` tiles of `cols` columns each, `blocks` of them.
#[derive(Clone, Copy)]
struct Exchange {
    cols: i32,
    tiles: i32,
    blocks: i32,
    lead: i32,
    group: i32,
    half_width: i32,
}

fn exchange(module: &Module, shape: Exchange) -> Timeline {
    let cubes = CUBES.min(shape.blocks as u32);
    let slots = ((shape.lead + 1) * shape.group) as usize;
    let ring = slots * 128 * (shape.cols as usize * 6 + 128 * 4);
    let data = Buffer::new((16 << 20) + (shape.tiles * shape.cols) as usize * 256);
    let ring = Buffer::new(cubes as usize * ring);
    let Exchange {
        cols,
        tiles,
        blocks,
        lead,
        group,
        half_width,
    } = shape;
    let args = [
        sync_address(),
        Arg::Buffer(&data),
        Arg::Buffer(&ring),
        scalar([cols, tiles, blocks, lead, group, half_width]),
    ];
    // The figures come from launches that were repeated.
    time_from(module, "exchange", cubes, &args, true)
}

const LONG: Exchange = Exchange {
    cols: 256,
    tiles: 32,
    blocks: 64,
    lead: 4,
    group: 1,
    half_width: 0,
};

#[test]
fn exchanges() {
    let module = Module::compile("exchange.cpp");
    // Whole launches, tile 128 x 256, against an estimate from the same costs and the best open kernel's time.
    for (len, estimate, published, band) in [
        (1024, 15.7, 21.0, 0.35),
        (2048, 22.7, 32.5, 0.35),
        (4096, 82.4, 88.9, 0.10),
        (8192, 228.4, 239.0, 0.10),
    ] {
        let shape = Exchange {
            tiles: len / 256,
            blocks: len / 128,
            ..LONG
        };
        let timeline = exchange(&module, shape);
        let micros = timeline.micros();
        println!("{len}: estimate {estimate} us, measured {published} us, modelled {micros:.1} us");
        let (low, high) = (estimate * (1.0 - band), estimate * (1.0 + band));
        within(&format!("{len} rows and columns, us"), micros, low, high);
    }
    let alone = |tiles: i32, lead: i32| {
        let shape = Exchange {
            tiles,
            blocks: 1,
            lead,
            ..LONG
        };
        let timeline = exchange(&module, shape);
        println!("{}", timeline.summary());
        timeline.cycles as f64
    };
    let marginal = (alone(32, 4) - alone(16, 4)) / 16.0;
    within("one core, a further tile, cycles", marginal, 3100.0, 3500.0);
    let ahead = (alone(32, 2) - alone(16, 2)) / 16.0;
    let serial = (alone(32, 0) - alone(16, 0)) / 16.0;
    within("serial over two tiles ahead", serial / ahead, 1.6, 9.0);
    let narrow = |group: i32| {
        let shape = Exchange {
            cols: 128,
            tiles: 64,
            blocks: 48,
            lead: 2,
            group,
            half_width: 1,
        };
        let timeline = exchange(&module, shape);
        println!("{}", timeline.summary());
        let flops = 4.0 * f64::from(shape.blocks * shape.tiles) * 128.0 * 128.0 * 128.0;
        flops / timeline.core_micros() / 1e6
    };
    let (every, second) = (narrow(1), narrow(2));
    within("fp16 exchange of 128 x 128, TFLOPS", second, 130.0, 190.0);
    within(
        "gain of every second synchronisation, %",
        100.0 * (second / every - 1.0),
        10.0,
        30.0,
    );
}
