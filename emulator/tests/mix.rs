//! A mixed kernel with cross-core flags and a workspace.

mod common;

use common::{Arg, Buffer, Module, numbers, scalar, sync_address};
use half::f16;

fn softmax_reference(a: &[f32], b: &[f32], (rows, cols, depth): (usize, usize, usize)) -> Vec<f32> {
    let mut out = vec![0f32; rows * cols];
    for row in 0..rows {
        let scores: Vec<f64> = (0..cols)
            .map(|col| {
                (0..depth)
                    .map(|k| f64::from(a[row * depth + k]) * f64::from(b[col * depth + k]))
                    .sum()
            })
            .collect();
        let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = scores.iter().map(|score| (score - max).exp()).sum();
        for (col, score) in scores.iter().enumerate() {
            out[row * cols + col] = ((score - max).exp() / total) as f32;
        }
    }
    out
}

#[test]
fn cube_and_vectors_meet_in_a_workspace() {
    let module = Module::compile("mix.cpp");
    for (rows, cols, depth, tiles, blocks) in
        [(16, 48, 64, 1, 1), (13, 64, 40, 3, 2), (1, 16, 16, 2, 1)]
    {
        let halves = |seed: u32, count: usize| -> Vec<f16> {
            numbers(count, seed)
                .into_iter()
                .map(f16::from_f32)
                .collect()
        };
        let (a, b) = (halves(1, rows * depth), halves(2, cols * depth));
        let (a_gm, b_gm) = (Buffer::from(&a), Buffer::from(&b));
        let stride = cols.next_multiple_of(16);
        let workspace = Buffer::new(blocks * rows * stride * 4);
        let out = Buffer::new(blocks * rows * cols * 4);
        let tiling = [rows as u32, cols as u32, depth as u32, tiles];
        let args = [
            sync_address(),
            Arg::Buffer(&a_gm),
            Arg::Buffer(&b_gm),
            Arg::Buffer(&workspace),
            Arg::Buffer(&out),
            scalar(tiling),
        ];
        module.launch("mix_softmax", blocks as u32, &args).ok();
        let floats =
            |values: &[f16]| -> Vec<f32> { values.iter().map(|value| value.to_f32()).collect() };
        let expected = softmax_reference(&floats(&a), &floats(&b), (rows, cols, depth));
        for (index, value) in out.read::<f32>().into_iter().enumerate() {
            let want = expected[index % expected.len()];
            assert!(
                (value - want).abs() < 1e-5,
                "{rows}x{cols}x{depth} [{index}]: {value} for {want}"
            );
        }
    }
}
