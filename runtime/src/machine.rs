//! What the machine can do at best: multiply-adds and reads a second, measured on the threads of the current rayon
//! pool; and how much memory there is. Knows no kernel.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// How long one measurement of a rate lasts.
const SPELL: Duration = Duration::from_millis(20);
/// Rounds between two looks at the clock.
const ROUNDS: u32 = 4096;
/// Sums that wait for nothing but themselves: more than latency times units of any core.
const CHAINS: usize = 16;
/// Lanes of the widest register; narrower ones take several.
const LANES: usize = 16;
/// What each thread reads for a bandwidth: beyond its share of any cache.
const BUFFER_BYTES: usize = 128 << 20;
/// Parts of a buffer that are read in turn: memory gives more to several streams.
const STREAMS: usize = 4;

/// A measured rate of multiply-adds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FmaPeak {
    /// What multiplies: the widest instructions of this processor that emitted kernels have a level for.
    pub path: &'static str,
    /// Operations a second of all threads together, two per multiply-add.
    pub flops: f64,
}

/// Measures fp32 multiply-adds of all threads at once, in registers. 16-bit kernels widen their operands and
/// multiply at this rate too.
pub fn fma_peak() -> FmaPeak {
    let (path, run) = path();
    let rates = rayon::broadcast(|_| {
        rate(|| {
            run(ROUNDS);
            f64::from(ROUNDS) * (2 * CHAINS * LANES) as f64
        })
    });
    FmaPeak {
        path,
        flops: rates.iter().sum(),
    }
}

/// Work a second, over one spell.
fn rate(mut work: impl FnMut() -> f64) -> f64 {
    let (start, mut done) = (Instant::now(), 0.0);
    loop {
        done += work();
        let elapsed = start.elapsed();
        if elapsed >= SPELL {
            return done / elapsed.as_secs_f64();
        }
    }
}

type Run = fn(u32);

#[cfg(target_arch = "x86_64")]
fn path() -> (&'static str, Run) {
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: the feature was just detected.
        ("fp32, AVX-512", |rounds| unsafe { x86::avx512(rounds) })
    } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: the features were just detected.
        ("fp32, AVX2", |rounds| unsafe { x86::avx2(rounds) })
    } else {
        ("fp32, portable", portable)
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn path() -> (&'static str, Run) {
    ("fp32, portable", portable)
}

/// What the compiler makes of it; where there is no fused instruction, a product and a sum.
fn portable(rounds: u32) {
    let factor = black_box(0.5_f32);
    let mut sums = [[1.0_f32; LANES]; CHAINS];
    for _ in 0..rounds {
        for sum in sums.iter_mut().flatten() {
            *sum = if cfg!(target_arch = "aarch64") {
                sum.mul_add(factor, 1.0)
            } else {
                *sum * factor + 1.0
            };
        }
    }
    black_box(sums);
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256, _mm256_fmadd_ps, _mm256_set1_ps, _mm512_fmadd_ps, _mm512_set1_ps,
    };
    use std::hint::black_box;

    use super::CHAINS;

    #[target_feature(enable = "avx512f")]
    pub(super) fn avx512(rounds: u32) {
        let (factor, one) = (_mm512_set1_ps(black_box(0.5)), _mm512_set1_ps(1.0));
        let mut sums = [one; CHAINS];
        for _ in 0..rounds {
            for sum in &mut sums {
                *sum = _mm512_fmadd_ps(*sum, factor, one);
            }
        }
        black_box(sums);
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn avx2(rounds: u32) {
        // Sixteen registers hold twelve sums and both operands; two passes of eight make the same count.
        let (factor, one) = (_mm256_set1_ps(black_box(0.5)), _mm256_set1_ps(1.0));
        for _ in 0..4 {
            let mut sums: [__m256; CHAINS / 2] = [one; CHAINS / 2];
            for _ in 0..rounds {
                for sum in &mut sums {
                    *sum = _mm256_fmadd_ps(*sum, factor, one);
                }
            }
            black_box(sums);
        }
    }
}

/// Bytes a second that all threads together read, each from memory of its own in several streams; of three tries
/// the best. `None` where there is no memory for it.
pub fn read_bandwidth() -> Option<f64> {
    let needed = (BUFFER_BYTES * rayon::current_num_threads()) as u64;
    if available_bytes().is_some_and(|available| available < 2 * needed) {
        return None;
    }
    let rates = rayon::broadcast(|_| {
        let buffer = vec![1_u64; BUFFER_BYTES / 8];
        let pass = || {
            black_box(sum(&buffer));
            BUFFER_BYTES as f64
        };
        (0..3).map(|_| rate(pass)).fold(0.0, f64::max)
    });
    Some(rates.iter().sum())
}

fn sum(words: &[u64]) -> u64 {
    let stream = words.len() / STREAMS;
    let (first, rest) = words.split_at(stream);
    let (second, rest) = rest.split_at(stream);
    let (third, fourth) = rest.split_at(stream);
    let mut sums = [0_u64; LANES];
    let chunks = |words: &'_ [u64]| words.as_chunks::<LANES>().0.len();
    let [a, b, c, d] = [first, second, third, fourth].map(|part| part.as_chunks::<LANES>().0);
    for at in 0..chunks(first) {
        for lane in 0..LANES {
            sums[lane] = sums[lane]
                .wrapping_add(a[at][lane])
                .wrapping_add(b[at][lane])
                .wrapping_add(c[at][lane])
                .wrapping_add(d[at][lane]);
        }
    }
    sums.iter().fold(0, |sum, lane| sum.wrapping_add(*lane))
}

/// Memory that programs may still take, bytes; `None` where the system does not say.
pub fn available_bytes() -> Option<u64> {
    field("/proc/meminfo", "MemAvailable:")
}

/// The processor's name; `None` where the system does not say.
pub fn processor() -> Option<String> {
    let text = fs_err::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Instruction sets of this processor that matter to kernels.
pub fn features() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    {
        [
            ("avx2", is_x86_feature_detected!("avx2")),
            ("avx512f", is_x86_feature_detected!("avx512f")),
            ("avx512_bf16", is_x86_feature_detected!("avx512bf16")),
            ("avx512_fp16", is_x86_feature_detected!("avx512fp16")),
        ]
        .into_iter()
        .filter_map(|(name, found)| found.then_some(name))
        .collect()
    }
    #[cfg(not(target_arch = "x86_64"))]
    Vec::new()
}

/// What some work takes of memory at its peak, beyond what the process holds before; `None` where the system does
/// not say.
pub fn peak_of<T>(work: impl FnOnce() -> T) -> (T, Option<u64>) {
    const STATUS: &str = "/proc/self/status";
    // The peak starts again from here.
    let reset = fs_err::write("/proc/self/clear_refs", "5").is_ok();
    let before = field(STATUS, "VmRSS:");
    let result = work();
    let peak = field(STATUS, "VmHWM:");
    let more = before.zip(peak).filter(|_| reset);
    (
        result,
        more.map(|(before, peak)| peak.saturating_sub(before)),
    )
}

/// A field of kibibytes in a file of the system, as bytes.
fn field(path: &str, name: &str) -> Option<u64> {
    let text = fs_err::read_to_string(path).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = value.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number() {
        let peak = fma_peak();
        assert!(peak.flops.is_finite() && peak.flops > 0.0, "{peak:?}");
        assert_eq!(sum(&[3; 4 * LANES * 2]), 3 * 4 * LANES as u64 * 2);
    }

    #[test]
    fn memory_that_is_written_shows() {
        let (held, peak) = peak_of(|| black_box(vec![1_u8; 64 << 20]).len());
        assert_eq!(held, 64 << 20);
        if let Some(peak) = peak {
            assert!(peak >= 60 << 20, "{peak}");
        }
    }
}
