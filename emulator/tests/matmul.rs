//! The Matmul object against plain loops.

mod common;

use common::{Arg, Buffer, Module, numbers, scalar};
use half::f16;

/// Fields of a `TCubeTiling`, by their places in it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Tiling([i32; 50]);

#[test]
fn smoke() {
    let module = Module::compile("matmul.cpp");
    let (m, n, k) = (48, 64, 32);
    let mut t = [0i32; 50];
    for (i, v) in [2, m, n, k, k, 32, 64, k, 16, 32, 16, 2, 2, 1, 1].into_iter().enumerate() {
        t[i] = v;
    }
    t[26] = 1;
    t[27] = 1;
    t[30] = 2;
    t[31] = 2;
    t[32] = 2;
    let half = |seed, count: i32| -> Vec<f16> {
        numbers(count as usize, seed).into_iter().map(f16::from_f32).collect()
    };
    let (a, b) = (half(1, m * k), half(2, n * k));
    let (ga, gb, gc) = (Buffer::from(&a), Buffer::from(&b), Buffer::new((m * n * 4) as usize));
    let bias = Buffer::from(&[0f32; 64]);
    let ws = Buffer::new(16 << 20);
    let args = [Arg::Buffer(&ga), Arg::Buffer(&gb), Arg::Buffer(&bias), Arg::Buffer(&gc), Arg::Buffer(&ws), scalar(Tiling(t)), scalar([0i32; 4])];
    fa_emulator::set_options(fa_emulator::Options::default());
    module.launch_as_set("half_nn", 1, &args).ok();
    let c: Vec<f32> = gc.read();
    for i in 0..m as usize {
        for j in 0..n as usize {
            let want = (0..k as usize).fold(0f32, |s, d| s + a[i * k as usize + d].to_f32() * b[d * n as usize + j].to_f32());
            assert!((c[i * n as usize + j] - want).abs() < 1e-4, "{i} {j}");
        }
    }
}
