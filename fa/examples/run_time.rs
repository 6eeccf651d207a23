//! A variant that is known only at run time, and what is said about one with a mistake.
//!
//! `cargo run --release --example run_time -p fa`

use std::io::Write;

use fa::{Dtype, Kernel, Tensor};

const VARIANT: &str =
    "attention capped { head_dim = 64; mask = causal; score = softcap(score, 30.0); }";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut console = std::io::stdout();
    let kernel = Kernel::from_source("capped.fa", VARIANT)?;
    let values: Vec<f64> = (0..2 * 300 * 64)
        .map(|at| f64::from(at % 29) / 29.0)
        .collect();
    let q = Tensor::from_f64(Dtype::Fp16, &[1, 2, 300, 64], &values);
    let results = kernel.call(&q, &q, &q).run()?;
    writeln!(
        console,
        "`{}` on {} took {:?}",
        kernel.variant().name.value,
        kernel.backend().name(),
        results.report.host_time
    )?;

    let mistaken = VARIANT.replace("causal", "causl");
    if let Err(error) = Kernel::from_source("capped.fa", &mistaken) {
        writeln!(console, "{error}")?;
    }
    Ok(())
}
