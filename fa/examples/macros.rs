//! The macro: a variant as an item and as an expression.
//!
//! `cargo run --release --example macros -p fa`

use std::io::Write;

use fa::{View, f16};

fa::attention! {
    /// Gemma's local layers, smaller.
    attention local {
        head_dim = 64;
        tensor slopes: fp32[h];
        mask = causal && window(63, 0);
        score = softcap(score, 50.0) - slopes[h] * float(q_pos - kv_pos);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut console = std::io::stdout();
    let shape = [1, 8, 320, 64];
    let count: u16 = 1024;
    let row: Vec<f16> = (0..count)
        .map(|at| f16::from_f32(f32::from(at % 13) / 13.0))
        .collect();
    let elements = row.repeat(shape.iter().product::<usize>() / row.len());
    let q = View::new(&elements, &shape)?;

    let slopes: Vec<f32> = (1..=8_u8)
        .map(|head| 0.5_f32.powi(i32::from(head)))
        .collect();
    let slopes = View::new(&slopes, &[8])?;
    let results = local::call(&q, &q, &q, local::Inputs { slopes }).run()?;
    writeln!(
        console,
        "`local` took {:?}; LSE has shape {:?}",
        results.report.host_time,
        results.lse.shape()
    )?;
    for memory in local::BUDGET.memories {
        let (used, usable) = (memory.used_bytes, memory.capacity_bytes);
        writeln!(console, "{}: {used} of {usable} bytes", memory.name)?;
    }

    let attn = fa::attention!(< head_dim = 64, mask = causal, block_q = 64 >);
    let out = attn.forward(&q, &q, &q)?;
    writeln!(console, "the expression gives {:?}", out.shape())?;
    Ok(())
}
