//! One variant through all doors gives the same bits: the build script, the macro by path and by tokens, the
//! run-time kernel, and `fa-gen run`.

mod common;

use common::Folder;
use fa::{Dtype, Kernel, Tensor, View};
use fa_example_build_script::local;
use fa_runtime::npy;

mod by_path {
    fa::attention!(
        "../../fa/examples/build_script/variants/local.fa",
        radius = 40
    );
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
    through_all(&q, &k, &v);
}

#[test]
fn every_door_scales_by_the_declared_width() {
    // Two keys: products of 8 and 0, distances of 1 and 0.
    let q = Tensor::from_f64(Dtype::Fp16, &[1, 2, 1, 32], &[0.5; 64]);
    let keys = [[0.5; 32], [0.0; 32]].concat();
    let k = Tensor::from_f64(Dtype::Fp16, &[1, 1, 2, 32], &keys);
    let (_, lse) = through_all(&q, &k, &k);
    for (found, slope) in lse.chunks_exact(4).zip(SLOPES) {
        let found = f32::from_ne_bytes(found.try_into().expect("four bytes"));
        let near = (8.0 / 32_f64.sqrt() / 0.7 - f64::from(slope)).exp();
        assert!(
            (f64::from(found) - (near + 1.0).ln()).abs() < 1e-5,
            "{found}"
        );
    }
}

/// O and LSE, which all doors agree about.
fn through_all(q: &Tensor, k: &Tensor, v: &Tensor) -> (Vec<u8>, Vec<u8>) {
    let script = through!(local, q, k, v);
    assert_eq!(script, through!(by_path::local, q, k, v));
    assert_eq!(script, through!(by_tokens::local, q, k, v));
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../fa/examples/build_script/variants/local.fa"
    );
    let kernel = Kernel::options().define("radius", 40).load(path);
    let kernel = kernel.expect("the variant compiles");
    let slopes = Tensor::from_f32(&[2], &SLOPES);
    let arguments = fa::Arguments::new(q.view(), k.view(), v.view())
        .with("slopes", slopes.view())
        .with_param("temperature", fa::Scalar::value(0.7_f32));
    let results = kernel.run(&arguments).expect("a legal launch");
    assert_eq!(script.0, results.out.bytes());
    assert_eq!(script.1, results.lse.bytes());
    assert_eq!(script, through_the_command(path, [q, k, v]));
    script
}

/// O and LSE of `fa-gen run`.
fn through_the_command(path: &str, inputs: [&Tensor; 3]) -> (Vec<u8>, Vec<u8>) {
    let folder = Folder::with("local.fa", &fs_err::read_to_string(path).expect("a file"));
    let save = |name: &str, tensor: &Tensor| {
        npy::write(&folder.path().join(name), tensor).expect("the folder can be written");
    };
    for (name, tensor) in ["q.npy", "k.npy", "v.npy"].into_iter().zip(inputs) {
        save(name, tensor);
    }
    save("slopes.npy", &Tensor::from_f32(&[2], &SLOPES));
    let line = "run local.fa -D radius=40 --q q.npy --k k.npy --v v.npy --in slopes=slopes.npy \
                --param temperature=0.7 --backend cpu -o o.npy --lse lse.npy";
    let run = folder.run(&line.split_whitespace().collect::<Vec<_>>());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let read = |name: &str| npy::read(&folder.path().join(name)).expect("it was written");
    (
        read("o.npy").bytes().to_vec(),
        read("lse.npy").bytes().to_vec(),
    )
}
