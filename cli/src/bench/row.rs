//! What is known of one kernel on one shape, for people and for machines. The fields that timings of other
//! implementations have too bear the same names.

use fa_runtime::ModelledTime;
use serde::Serialize;
use serde_json::{Value, json};

use super::shape::BenchShape;
use crate::table::Table;

/// The kernel of the variant.
pub(super) const FUSED: &str = "fa-gen";
/// The kernels that keep scores in memory.
pub(super) const UNFUSED: &str = "fa-gen-unfused";

/// One kernel on one shape.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    suite: &'static str,
    shape: String,
    dtype: &'static str,
    variant: String,
    causal: bool,
    mode: &'static str,
    threads: usize,
    target: String,
    pub(super) peer: &'static str,
    version: &'static str,
    case: Value,
    /// Times, or why there are none.
    #[serde(flatten)]
    pub(super) result: Outcome,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Outcome {
    /// It ran.
    Timed(Box<Timed>),
    /// It cannot be had here.
    Unsupported {
        /// Why.
        unsupported: String,
    },
    /// It failed.
    Failed {
        /// How.
        error: String,
    },
}

/// Times of one kernel.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Timed {
    /// Compilation and first launch.
    pub(super) prepare_s: f64,
    pub(super) median_ms: f64,
    pub(super) min_ms: f64,
    /// Between the quartiles, as a share of the median.
    pub(super) spread: f64,
    pub(super) gflops: f64,
    pub(super) gflops_best: f64,
    /// Samples that count.
    pub(super) runs: usize,
    /// Calls of a sample.
    pub(super) inner: usize,
    /// Samples that others disturbed.
    pub(super) disturbed: usize,
    pub(super) all_ms: Vec<f64>,
    /// Share of the processors that others took, by sample.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) foreign: Vec<f64>,
    /// Pairs of query and key that work is counted by, and how they were counted.
    pub(super) pairs: f64,
    pub(super) pairs_counted: String,
    /// Against the f64 reference, in sampled rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_error: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) correct: Option<bool>,
    /// Of the measured peak of multiply-adds, or of the chip's.
    pub(super) peak_share: f64,
    /// Bytes of K and V over the time, where there are few queries; and of the measured bandwidth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kv_gb_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bandwidth_share: Option<f64>,
    /// Peak memory beyond inputs and outputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) extra_mib: Option<f64>,
    /// Of that, scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) scores_mib: Option<f64>,
    /// Median of the unfused kernels over this one's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) speedup: Option<f64>,
    /// Times of a model, not of a machine.
    pub(super) modelled: bool,
    /// The launches that make up the time, where a model tells.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) launches: Vec<Launch>,
}

/// One launch of a kernel, as a model sees it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Launch {
    /// What it computes.
    pub(super) kernel: &'static str,
    #[serde(flatten)]
    pub(super) time: ModelledTime,
}

/// What all kernels of a shape have in common.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) shape: BenchShape,
    pub(super) dtype: &'static str,
    pub(super) variant: String,
    pub(super) causal: bool,
    pub(super) threads: usize,
    pub(super) target: String,
}

impl Subject {
    /// The row of one kernel.
    pub(super) fn row(&self, peer: &'static str, result: Outcome) -> Row {
        let shape = self.shape;
        Row {
            suite: "bench",
            shape: shape.to_string(),
            dtype: self.dtype,
            variant: self.variant.clone(),
            causal: self.causal,
            mode: "fwd",
            threads: self.threads,
            target: self.target.clone(),
            peer,
            version: env!("CARGO_PKG_VERSION"),
            case: json!({
                "batch": shape.batch,
                "heads": shape.heads,
                "kv_heads": shape.kv_heads,
                "q_len": shape.q_len,
                "kv_len": shape.kv_len,
                "dim": shape.head_dim,
            }),
            result,
        }
    }
}

impl Row {
    /// Whether there are times.
    pub(super) fn is_timed(&self) -> bool {
        matches!(self.result, Outcome::Timed(_))
    }

    /// One line as soon as it is known.
    pub(super) fn line(&self) -> String {
        let head = format!("{} {} {}", self.target, self.shape, self.peer);
        match &self.result {
            Outcome::Timed(timed) => format!("{head}: {}", ms(timed.median_ms)),
            Outcome::Unsupported { unsupported } => format!("{head}: not timed: {unsupported}"),
            Outcome::Failed { error } => format!("{head}: failed: {error}"),
        }
    }
}

/// Milliseconds with four digits that count.
fn ms(value: f64) -> String {
    let decimals = match value {
        value if value >= 100.0 => 1,
        value if value >= 1.0 => 3,
        _ => 4,
    };
    format!("{value:.decimals$} ms")
}

/// All rows as a table.
pub(super) fn table(rows: &[Row]) -> String {
    let mut table = Table::new(&[
        "target",
        "shape",
        "kernel",
        ">median",
        ">min",
        ">spread",
        ">GFLOP/s",
        ">of peak",
        ">K, V GB/s",
        ">extra MiB",
        ">error",
        ">speed-up",
    ]);
    let optional = |value: Option<f64>, decimals: usize| {
        value.map_or_else(String::new, |value| format!("{value:.decimals$}"))
    };
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    for row in rows {
        let mut cells = vec![row.target.clone(), row.shape.clone(), row.peer.to_owned()];
        match &row.result {
            Outcome::Timed(timed) => cells.extend([
                ms(timed.median_ms),
                ms(timed.min_ms),
                if timed.modelled {
                    "modelled".to_owned()
                } else {
                    percent(timed.spread)
                },
                format!("{:.1}", timed.gflops),
                if cfg!(debug_assertions) && !timed.modelled {
                    String::new()
                } else {
                    percent(timed.peak_share)
                },
                optional(timed.kv_gb_s, 1),
                optional(timed.extra_mib, 1),
                timed
                    .max_error
                    .map_or_else(String::new, |error| format!("{error:.1e}")),
                timed
                    .speedup
                    .map_or_else(String::new, |times| format!("{times:.2} x")),
            ]),
            Outcome::Unsupported { .. } => cells.push("not timed".to_owned()),
            Outcome::Failed { .. } => cells.push("failed".to_owned()),
        }
        table.row(cells);
    }
    format!("\n{}", table.text())
}
