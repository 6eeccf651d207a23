//! Times the attention of the `candle` example beside `candle`'s own, in rounds that take turns, and prints medians
//! and ratios. An argument sets the number of rounds. It is a program of `fa/examples/frameworks/candle`.

use std::io::Write;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use candle_core::{DType, Device, Tensor};
use candle_nn::attention::{AttnMask, flash_attn};
use fa::candle::Op;
use fa_example_candle::{causal, unfused};

/// Sequences, rows, query heads, key/value heads; 64 columns, causal, fp32.
const SHAPES: [[usize; 4]; 4] = [
    [1, 512, 8, 8],
    [1, 2048, 8, 8],
    [4, 512, 8, 2],
    [1, 4096, 16, 16],
];

fn main() -> Result<()> {
    let rounds = match std::env::args().nth(1) {
        Some(rounds) => rounds.parse().context("the number of rounds")?,
        None => 7,
    };
    let mut console = std::io::stdout();
    let threads = rayon::current_num_threads();
    writeln!(
        console,
        "causal, fp32, head_dim 64, {threads} threads, medians of {rounds} rounds, ms"
    )?;
    writeln!(
        console,
        "{:>18} {:>9} {:>16} {:>16}",
        "B x N x H / KV", "fa", "candle unfused", "candle flash"
    )?;
    for shape in SHAPES {
        let [fa, unfused, flash] = time(shape, rounds)?;
        let [batch, rows, heads, kv_heads] = shape;
        writeln!(
            console,
            "{:>18} {fa:>9.2} {unfused:>8.2} ({:.1}x) {flash:>8.2} ({:.1}x)",
            format!("{batch} x {rows} x {heads} / {kv_heads}"),
            unfused / fa,
            flash / fa
        )?;
    }
    Ok(())
}

/// Medians, milliseconds: `fa`, `candle` from its parts, `candle`'s fused attention.
fn time([batch, rows, heads, kv_heads]: [usize; 4], rounds: usize) -> Result<[f64; 3]> {
    let random = |heads| Tensor::randn(0_f32, 1.0, (batch, rows, heads, 64), &Device::Cpu);
    let (q, k, v) = (random(heads)?, random(kv_heads)?, random(kv_heads)?);
    let op = Op::new(&causal::ATTENTION);
    let fused = || flash_attn::<f32>(&q, &k, &v, 0.125, AttnMask::causal(), None, None);
    let ways: [&dyn Fn() -> candle_core::Result<Tensor>; 3] = [
        &|| op.forward(&q, &k, &v),
        &|| unfused(&q, &k, &v)?.contiguous(),
        &|| fused()?.transpose(1, 2)?.contiguous(),
    ];
    // The first round warms up, and compares.
    let first = ways.map(|way| way());
    let [expected, others @ ..] = first;
    let expected = expected?;
    for other in others {
        let difference = (&expected - other?)?.abs()?.to_dtype(DType::F64)?;
        let difference = difference.flatten_all()?.max(0)?.to_scalar::<f64>()?;
        if difference > 1e-4 {
            bail!("outputs differ by {difference}");
        }
    }
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..rounds.max(1) {
        for (way, times) in ways.iter().zip(&mut times) {
            let start = Instant::now();
            way()?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    Ok(times.map(median))
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
