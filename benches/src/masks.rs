//! What masks over tensors cost: `fa-masks prepare` times the look at a million document ids that comes before the
//! first tile, `fa-masks memory MASK N` prints the peak memory of a process that runs one launch.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use fa_dsl::check::check;
use fa_dsl::span::SourceMap;
use fa_dsl::variant::{Dtype, Variant};
use fa_runtime::{Arguments, Runtime, Tensor};
use fa_targets::Target;

/// Width of heads: small, so that what is measured is not the products.
const HEAD_DIM: usize = 16;
/// Keys of the launch whose preparation is timed.
const KEYS: usize = 1_000_000;
/// Documents of equal length that they lie in.
const DOCUMENTS: usize = 32;
/// Queries of that launch: one task, and more rows than the kernels for few rows take.
const QUERIES: usize = 9;
/// Launches that are timed.
const ROUNDS: usize = 21;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let report = match words.as_slice() {
        ["prepare"] => prepare()?,
        ["memory", mask, length] => memory(mask, length.parse().context("N is a number of rows")?)?,
        _ => bail!("usage: fa-masks prepare | fa-masks memory full|window|documents N"),
    };
    use std::io::Write;
    writeln!(std::io::stdout(), "{report}")?;
    Ok(())
}

/// The variant of a mask.
fn variant(mask: &str) -> Result<Variant> {
    let fields = match mask {
        "full" => "",
        "window" => "mask = causal && window(1023, 0);",
        "documents" => "tensor ids: int32[b, kv_len]; mask = same(ids);",
        _ => bail!("masks are full, window and documents"),
    };
    let mut sources = SourceMap::new();
    let text = format!("attention {mask} {{ head_dim = {HEAD_DIM}; {fields} }}");
    let file = sources.add("masks.fa", text);
    let checked = check(&sources, file, &[]);
    checked.variants.into_iter().next().context("a variant")
}

/// One launch; the time that it took.
fn launch(mask: &str, q_len: usize, kv_len: usize, rounds: usize) -> Result<Vec<Duration>> {
    let variant = variant(mask)?;
    let target = Target::built_in("cpu").context("the cpu target is built in")?;
    let kernel = Runtime::from_env()?.compile(&variant, &target)?;
    let q = Tensor::zeros(Dtype::Fp16, &[1, 1, q_len, HEAD_DIM]);
    let kv = Tensor::zeros(Dtype::Fp16, &[1, 1, kv_len, HEAD_DIM]);
    let ids: Vec<f64> = (0..kv_len)
        .map(|key| (key * DOCUMENTS / kv_len) as f64)
        .collect();
    let ids = Tensor::from_f64(Dtype::Int32, &[1, kv_len], &ids);
    let mut arguments = Arguments::new(q.view(), kv.view(), kv.view());
    if mask == "documents" {
        arguments = arguments.with("ids", ids.view());
    }
    let mut times = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let start = Instant::now();
        kernel.run(&arguments)?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Ok(times)
}

/// A launch of one task reads all ids, judges all tiles by their minima and maxima, and multiplies with the keys of
/// one document: an upper bound of the preparation.
fn prepare() -> Result<String> {
    let all = launch("documents", QUERIES, KEYS, ROUNDS)?;
    let own = launch("full", QUERIES, KEYS / DOCUMENTS, ROUNDS)?;
    let ms = |times: &[Duration]| times[times.len() / 2].as_secs_f64() * 1e3;
    Ok(format!(
        "{QUERIES} queries, {KEYS} keys in {DOCUMENTS} documents: {:.2} ms in all; the same queries and their document alone: {:.2} ms",
        ms(&all),
        ms(&own)
    ))
}

/// Peak memory of this process after one launch of N queries and N keys.
fn memory(mask: &str, length: usize) -> Result<String> {
    let idle = peak_kib()?;
    let times = launch(mask, length, length, 1)?;
    Ok(format!(
        "{mask}, N = {length}: peak {} KiB, before {idle} KiB, {:.1} s",
        peak_kib()?,
        times[0].as_secs_f64()
    ))
}

/// The largest resident size of this process so far, as Linux counts it.
fn peak_kib() -> Result<u64> {
    let status = fs_err::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .context("/proc/self/status has no VmHWM")?;
    let kib = line.trim().trim_end_matches("kB").trim();
    Ok(kib.parse()?)
}
