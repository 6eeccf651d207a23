//! The parts of an emitted CPU kernel, one by one, on the best level of this processor: the micro-kernels of both
//! products, the softmax of a row, packing of keys, and a whole task. The kernel is `generated/src/plain_cpu.rs`.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kernel::{Piece, Workload};

/// The kernel, and a door to its private parts.
mod kernel {
    #![allow(
        dead_code,
        unreachable_pub,
        reason = "the emitted file is a whole library"
    )]

    include!(concat!(env!("OUT_DIR"), "/plain_cpu.rs"));

    /// Key rows of a whole task.
    const TASK_KEYS: usize = 2048;

    /// What is timed.
    #[derive(Clone, Copy, Debug)]
    pub(super) enum Piece {
        /// Q K^T of a group of rows with a panel of keys.
        Scores,
        /// Maximum, exponentials and their sum, of one row of a tile.
        Softmax,
        /// P V of a group of rows with a tile of values.
        Values,
        /// Key rows to columns, one vector of them.
        Packing,
        /// A block of queries with all keys.
        Task,
    }

    impl Piece {
        pub(super) const ALL: [Piece; 5] = [
            Piece::Scores,
            Piece::Softmax,
            Piece::Values,
            Piece::Packing,
            Piece::Task,
        ];

        /// Operations of products, or elements elsewhere.
        pub(super) fn work(self) -> u64 {
            let work = match self {
                Piece::Scores => 2 * ROWS * PANEL * HEAD_DIM,
                Piece::Softmax => BLOCK_KV,
                Piece::Values => 2 * ROWS * BLOCK_KV * V_COLS,
                Piece::Packing => LANES * HEAD_DIM,
                Piece::Task => 4 * BLOCK_Q * TASK_KEYS * HEAD_DIM,
            };
            work as u64
        }
    }

    /// Operands of all parts.
    pub(super) struct Workload {
        scratch: Box<Scratch>,
        queries: Vec<u16>,
        keys: Vec<u16>,
        output: Vec<u16>,
    }

    impl Workload {
        pub(super) fn new() -> Workload {
            let mut scratch = Scratch::new();
            let number = |place: usize| (place * 37 % 101) as f32 / 101.0 - 0.5;
            let fill = |values: &mut [f32]| {
                values
                    .iter_mut()
                    .enumerate()
                    .for_each(|(place, value)| *value = number(place));
            };
            fill(scratch.q_tile.as_flattened_mut());
            fill(scratch.key_rows.as_flattened_mut());
            fill(scratch.value_tile.as_flattened_mut());
            fill(scratch.s_tile.as_flattened_mut());
            fill(scratch.key_tile.as_flattened_mut().as_flattened_mut());
            let halves = |count: usize| (0..count).map(|place| Fp16::rounded(number(place)).0);
            Workload {
                scratch,
                queries: halves(BLOCK_Q * HEAD_DIM).collect(),
                keys: halves(TASK_KEYS * HEAD_DIM).collect(),
                output: vec![0; BLOCK_Q * V_HEAD_DIM],
            }
        }

        /// Does a part once.
        pub(super) fn run(&mut self, part: Piece) {
            if let Piece::Task = part {
                return self.task();
            }
            #[cfg(target_arch = "x86_64")]
            {
                if is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                {
                    // SAFETY: the features were just detected.
                    return unsafe { part_avx512(part, &mut self.scratch) };
                }
                if is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("f16c")
                {
                    // SAFETY: the features were just detected.
                    return unsafe { part_avx2(part, &mut self.scratch) };
                }
            }
            run_part::<Portable>(part, &mut self.scratch);
        }

        fn task(&mut self) {
            let stride = |rows: usize| {
                [
                    (rows * HEAD_DIM) as i64,
                    (rows * HEAD_DIM) as i64,
                    HEAD_DIM as i64,
                    1,
                ]
            };
            let launch = FaLaunch {
                batch: 1,
                heads: 1,
                kv_heads: 1,
                q_len: BLOCK_Q as i64,
                kv_len: TASK_KEYS as i64,
                q_stride: stride(BLOCK_Q),
                k_stride: stride(TASK_KEYS),
                v_stride: stride(TASK_KEYS),
                out_stride: stride(BLOCK_Q),
                lse_stride: [0; 3],
                seed: 0,
                offset: 0,
                training: 0,
            };
            let pointers: [*mut c_void; POINTERS + 1] = [
                self.queries.as_mut_ptr().cast(),
                self.keys.as_mut_ptr().cast(),
                self.keys.as_mut_ptr().cast(),
                self.output.as_mut_ptr().cast(),
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            ];
            // SAFETY: sizes and strides are those of the vectors; there is one task.
            let code = unsafe { fa_plain_forward(&launch, pointers.as_ptr(), 0, 1) };
            assert_eq!(code, 0, "the kernel takes the launch");
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn part_avx512(part: Piece, scratch: &mut Scratch) {
        run_part::<Avx512>(part, scratch);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,f16c")]
    fn part_avx2(part: Piece, scratch: &mut Scratch) {
        run_part::<Avx2>(part, scratch);
    }

    #[inline(always)]
    fn run_part<L: Level>(part: Piece, scratch: &mut Scratch) {
        let queries = &scratch.q_tile.as_chunks().0[0];
        let scores = &mut scratch.s_tile.as_chunks_mut().0[0];
        match part {
            Piece::Scores => L::score_block(queries, &scratch.key_tile[0], 0, scores),
            Piece::Softmax => {
                let (max, sum) = (&mut scratch.row_max[0], &mut scratch.row_sum[0]);
                update_softmax::<L, false>(scores[0].as_chunks_mut().0, max, sum);
            }
            Piece::Values => {
                let outputs = &mut scratch.o_acc.as_chunks_mut().0[0];
                L::value_block(
                    scores,
                    &(0..BLOCK_KV),
                    &scratch.value_tile,
                    &[1.0; ROWS],
                    outputs,
                );
            }
            Piece::Packing => L::pack_columns(&scratch.key_rows, 0, &mut scratch.key_tile[0]),
            Piece::Task => unreachable!("a task goes through the exported function"),
        }
    }
}

fn parts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("cpu_parts");
    let mut work = Workload::new();
    for part in Piece::ALL {
        group.throughput(Throughput::Elements(part.work()));
        group.bench_function(format!("{part:?}"), |bencher| {
            bencher.iter(|| work.run(part));
        });
    }
    group.finish();
}

criterion_group!(benches, parts);
criterion_main!(benches);
