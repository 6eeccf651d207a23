//! `fa-gen run` and `verify` on real tensors.

mod common;

use common::{Folder, LOCAL, TWO};
use fa_dsl::variant::Dtype;
use fa_runtime::{Tensor, npy};

fn ramp(shape: &[usize]) -> Tensor {
    let count: usize = shape.iter().product();
    let values: Vec<f64> = (0..count)
        .map(|i| (i * 37 % 101) as f64 / 50.0 - 1.0)
        .collect();
    Tensor::from_f64(Dtype::Fp32, shape, &values)
}

fn save(folder: &Folder, name: &str, tensor: &Tensor) {
    npy::write(&folder.path().join(name), tensor).expect("the folder can be written");
}

/// A folder with a file and q, k, v of 4 and 2 heads.
fn folder(name: &str, text: &str) -> Folder {
    let folder = Folder::with(name, text);
    save(&folder, "q.npy", &ramp(&[1, 4, 20, 64]));
    save(&folder, "k.npy", &ramp(&[1, 2, 30, 64]));
    save(&folder, "v.npy", &ramp(&[1, 2, 30, 64]));
    folder
}

const QKV: [&str; 8] = [
    "--q", "q.npy", "--k", "k.npy", "--v", "v.npy", "-o", "o.npy",
];

fn arguments<'a>(file: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["run", file][..], &QKV, more].concat()
}

#[test]
fn the_reference_runs_and_writes_both_results() {
    let folder = folder("local.fa", LOCAL);
    save(&folder, "slopes.npy", &ramp(&[4]));
    let more = [
        "--backend",
        "reference",
        "--in",
        "slopes=slopes.npy",
        "--lse",
        "lse.npy",
        "--param",
        "temperature=0.5",
        "--format",
        "json",
    ];
    let run = folder.run(&arguments("local.fa", &more));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let json = run.json();
    assert_eq!(json["report"]["backend"], "reference");
    assert_eq!(json["report"]["emulated"], false);
    let out = npy::read(&folder.path().join("o.npy")).expect("it was written");
    assert_eq!(
        (out.dtype(), out.shape()),
        (Dtype::Fp32, &[1, 4, 20, 64][..])
    );
    let lse = npy::read(&folder.path().join("lse.npy")).expect("it was written");
    assert_eq!(lse.shape(), [1, 4, 20]);
}

#[test]
fn fp32_files_are_converted_to_the_precision() {
    let text = "attention half { head_dim = 64; precision = mixed_bf16; }\n";
    let folder = folder("half.fa", text);
    let run = folder.run(&arguments("half.fa", &["--backend", "reference"]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let out = npy::read(&folder.path().join("o.npy")).expect("it was written");
    assert_eq!(out.dtype(), Dtype::Bf16);
}

#[test]
fn refused_launches_are_1_and_write_nothing() {
    let folder = folder("local.fa", LOCAL);
    let reference = ["--backend", "reference"];
    let run = folder.run(&arguments("local.fa", &reference));
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("FA304"), "{}", run.stderr);
    save(&folder, "k.npy", &ramp(&[1, 3, 30, 64]));
    save(&folder, "v.npy", &ramp(&[1, 3, 30, 64]));
    save(&folder, "slopes.npy", &ramp(&[4]));
    let run = folder.run(&arguments(
        "local.fa",
        &[&reference[..], &["--in", "slopes=slopes.npy"]].concat(),
    ));
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("FA305"), "{}", run.stderr);
    assert!(!folder.files().contains(&"o.npy".to_owned()));
}

#[test]
fn values_that_a_matrix_unit_would_spread_are_warned_of() {
    let text = "attention half { head_dim = 64; mask = causal; allow = [FA103]; }\n";
    let folder = folder("half.fa", text);
    let mut v = ramp(&[1, 2, 30, 64]);
    v.bytes_mut()[..4].copy_from_slice(&f32::INFINITY.to_ne_bytes());
    save(&folder, "v.npy", &v);
    let run = folder.run(&arguments("half.fa", &["--backend", "ascend"]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let warned = run.stderr.starts_with("warning[FA307]: `v` has 1 elements");
    assert!(warned, "{}", run.stderr);
}

#[test]
fn strict_mode_locates_what_is_not_finite() {
    let text = "attention half { head_dim = 64; mask = causal; allow = [FA103]; }\n";
    let folder = folder("half.fa", text);
    let mut k = ramp(&[1, 2, 30, 64]);
    k.bytes_mut()[4 * 64 * 31..][..4].copy_from_slice(&f32::NAN.to_ne_bytes());
    save(&folder, "k.npy", &k);
    for backend in ["reference", "cpu", "ascend"] {
        let run = folder.run(&arguments("half.fa", &["--backend", backend, "--strict"]));
        assert_eq!(run.code, 1, "{}", run.stderr);
        let message = "error[FA307]: 1 of 3840 elements of `k` are NaN or infinite, the first is NaN at [0, 1, 1, 0]";
        assert!(run.stderr.starts_with(message), "{}", run.stderr);
        assert!(!folder.files().contains(&"o.npy".to_owned()));
    }
}

#[test]
fn a_window_beyond_every_length_is_noted() {
    let text = "attention w { head_dim = 64; mask = causal && window(29, 0); allow = [FA103]; }\n";
    let folder = folder("w.fa", text);
    let reference = ["--backend", "reference", "--strict"];
    let run = folder.run(&arguments("w.fa", &reference));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let expected =
        "note[FA306]: the window reaches 29 rows back, no key of this launch is more than 29 away";
    assert!(run.stderr.starts_with(expected), "{}", run.stderr);
    folder.write("w.fa", text.replace("29", "28"));
    assert_eq!(folder.run(&arguments("w.fa", &reference)).stderr, "");
}

#[test]
fn several_variants_need_a_name() {
    let folder = folder("two.fa", TWO);
    let run = folder.run(&arguments("two.fa", &["--backend", "reference"]));
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("plain, causal"), "{}", run.stderr);
    let more = ["--backend", "reference", "--name", "causal"];
    assert_eq!(folder.run(&arguments("two.fa", &more)).code, 0);
    let more = ["--backend", "ascend", "--target", "cpu", "--name", "plain"];
    assert_eq!(folder.run(&arguments("two.fa", &more)).code, 2);
}

#[test]
fn dropout_acts_in_training_launches_and_depends_on_the_seed() {
    let text = "attention dropped { head_dim = 64; precision = fp32; dropout = 0.5; }\n";
    let folder = folder("dropped.fa", text);
    let out = |more: &[&str]| {
        let more = [&["--backend", "reference"][..], more].concat();
        let run = folder.run(&arguments("dropped.fa", &more));
        assert_eq!(run.code, 0, "{}", run.stderr);
        fs_err::read(folder.path().join("o.npy")).expect("it was written")
    };
    let plain = out(&[]);
    let first = out(&["--seed", "1"]);
    assert_ne!(plain, first);
    assert_eq!(first, out(&["--seed", "1"]));
    assert_ne!(first, out(&["--seed", "2"]));
    assert_ne!(first, out(&["--seed", "1", "--offset", "9"]));
}

#[test]
fn the_cpu_backend_agrees_and_verification_says_so() {
    let folder = folder("two.fa", TWO);
    let more = ["--name", "causal", "--backend"];
    let results = ["cpu", "reference"].map(|backend| {
        let run = folder.run(&arguments("two.fa", &[&more[..], &[backend]].concat()));
        assert_eq!(run.code, 0, "{}", run.stderr);
        npy::read(&folder.path().join("o.npy"))
            .expect("it was written")
            .to_f64()
    });
    let largest = results[0]
        .iter()
        .zip(&results[1])
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max);
    assert!(largest < 1e-5, "{largest}");
    let verify = ["verify", "two.fa", "--target", "cpu", "--name", "causal"];
    let run = folder.run(&[&verify[..], &["-o", "out", "--format", "json"]].concat());
    assert_eq!(run.code, 0, "{}\n{}", run.stdout, run.stderr);
    let json = run.json();
    assert_eq!(json["failed"], 0);
    let rows = json["rows"].as_array().expect("a list");
    assert!(rows.len() >= 10);
    let largest = rows
        .iter()
        .filter_map(|row| row["shape"]["kv_len"].as_u64());
    assert_eq!(largest.max(), Some(1024));
    assert_eq!(folder.files_in("out"), ["causal_cpu.rs"]);
}
