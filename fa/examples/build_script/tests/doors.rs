//! One variant through all doors gives the same bits.

use fa::{Dtype, Kernel, Tensor, View};
use fa_example_build_script::local;

mod by_path {
    fa::attention!("../variants/local.fa", radius = 40);
}

mod by_tokens {
    fa::attention! {
        attention local {
            head_dim = 32;
            tensor slopes: fp32[h];
            param temperature: float = 1.0;
            mask = causal && window(40, 0);
            score = score / temperature - slopes[h] * float(q_pos - kv_pos);
        }
    }
}

const SLOPES: [f32; 2] = [0.5, 0.25];

fn tensor(shape: &[usize], seed: u32) -> Tensor {
    let mut state = seed;
    let values = (0..shape.iter().product()).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1 << 23) - 1.0
    });
    let values: Vec<f64> = values.collect();
    Tensor::from_f64(Dtype::Fp16, shape, &values)
}

/// O and LSE of a module, which has the same functions through every door.
macro_rules! through {
    ($module:path, $q:expr, $k:expr, $v:expr) => {{
        use $module as module;
        let inputs = module::Inputs {
            slopes: View::new(&SLOPES, &[2]).expect("two heads"),
            temperature: Some(0.7),
        };
        let results = module::call($q, $k, $v, inputs).run();
        let results = results.expect("a legal launch");
        (results.out.bytes().to_vec(), results.lse.bytes().to_vec())
    }};
}

#[test]
fn every_door_gives_the_same_bits() {
    let q = tensor(&[2, 2, 131, 32], 1);
    let k = tensor(&[2, 1, 257, 32], 2);
    let v = tensor(&[2, 1, 257, 32], 3);
    let script = through!(local, &q, &k, &v);
    assert_eq!(script, through!(by_path::local, &q, &k, &v));
    assert_eq!(script, through!(by_tokens::local, &q, &k, &v));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/variants/local.fa");
    let kernel = Kernel::options().define("radius", 40).load(path);
    let kernel = kernel.expect("the variant compiles");
    let slopes = Tensor::from_f32(&[2], &SLOPES);
    let arguments = fa::Arguments::new(q.view(), k.view(), v.view())
        .with("slopes", slopes.view())
        .with_param("temperature", fa::Scalar::value(0.7_f32));
    let results = kernel.run(&arguments).expect("a legal launch");
    assert_eq!(script.0, results.out.bytes());
    assert_eq!(script.1, results.lse.bytes());
}

#[test]
fn the_files_of_a_chip_are_written() {
    assert!(fa_example_build_script::ASCEND_C.contains("fa_local_forward"));
    let out = fa_example_build_script::attend(
        &tensor(&[1, 2, 9, 32], 4),
        &tensor(&[1, 2, 9, 32], 5),
        &tensor(&[1, 2, 9, 32], 6),
        &SLOPES,
    );
    assert_eq!(out.expect("a legal launch").shape(), [1, 2, 9, 32]);
}
