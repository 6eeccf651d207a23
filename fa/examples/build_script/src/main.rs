//! One launch of a variant that came through the build script.

use std::io::Write;

use fa::{Dtype, Tensor};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let shape = [1, 2, 300, 32];
    let count: u32 = 2 * 300 * 32;
    let values: Vec<f64> = (0..count)
        .map(|index| f64::from(index % 17) / 17.0)
        .collect();
    let q = Tensor::from_f64(Dtype::Fp16, &shape, &values);
    let out = fa_example_build_script::attend(&q, &q, &q, &[0.5, 0.25])?;
    writeln!(std::io::stdout(), "O has shape {:?}", out.shape())?;
    Ok(())
}
