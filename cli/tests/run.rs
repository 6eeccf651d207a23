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
fn fp64_files_are_rounded_and_what_that_loses_is_said() {
    let text = "attention half { head_dim = 64; precision = mixed; }\n";
    let folder = folder("half.fa", text);
    let mut values = vec![0.25; 2 * 30 * 64];
    values[5] = 1e5;
    values[9] = f64::INFINITY;
    folder.write("v.npy", fp64(&[1, 2, 30, 64], &values));
    folder.write("k.npy", fp64(&[1, 2, 30, 64], &[0.5; 2 * 30 * 64]));
    let run = folder.run(&arguments("half.fa", &["--backend", "reference"]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    for said in [
        "note: `k` is fp64 in k.npy, read as fp16",
        "warning[FA307]: `v` is fp64 in v.npy, read as fp16: 1 finite elements become infinite",
    ] {
        assert!(run.stderr.contains(said), "{}", run.stderr);
    }
    let strict = ["--backend", "reference", "--strict"];
    assert_eq!(folder.run(&arguments("half.fa", &strict)).code, 1);
}

/// A file of doubles as NumPy writes it.
fn fp64(shape: &[usize], values: &[f64]) -> Vec<u8> {
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    let head = format!(
        "{{'descr': '<f8', 'fortran_order': False, 'shape': ({}), }}",
        sizes.join(", ")
    );
    let padded = format!("{head:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((padded.len() as u16).to_le_bytes());
    bytes.extend(padded.as_bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    bytes
}

#[test]
fn messages_of_launches_say_what_to_type() {
    let folder = folder(
        "local.fa",
        "attention local { head_dim = 64; precision = fp32; param radius: int = 1;
             tensor slopes: fp32[h]; mask = window(radius, 0); score = score * slopes[h]; }\n",
    );
    save(&folder, "slopes.npy", &ramp(&[4]));
    for (more, said) in [
        (
            &[][..],
            "help: pass it at launch: `--in slopes=FILE.npy` on the command line",
        ),
        (
            &["--in", "slope=slopes.npy"],
            "help: did you mean `slopes`?",
        ),
        (
            &["--in", "slopes=slopes.npy", "--param", "raduis=1"],
            "help: did you mean `radius`?",
        ),
        (
            &["--in", "slopes=slopes.npy", "--param", "radius=-1"],
            "(`radius` is -1)",
        ),
        (
            &[
                "--in",
                "slopes=slopes.npy",
                "--param",
                "radius=1",
                "--param",
                "radius=2",
            ],
            "parameter `radius` is passed twice",
        ),
        (
            &["--in", "slopes=slopes.npy", "-D", "n=1", "-D", "n=2"],
            "is set already, by `-D n=1`",
        ),
        (&["--target", "cpuu"], "help: did you mean `cpu`?"),
    ] {
        let run = folder.run(&arguments("local.fa", more));
        assert_eq!(run.code, 1, "{more:?}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{more:?}: {}", run.stderr);
    }
    let mut lost = arguments("local.fa", &["--in", "slopes=slopes.npy"]);
    let at = lost
        .iter()
        .position(|one| *one == "o.npy")
        .expect("an output");
    lost[at] = "absent/o.npy";
    let run = folder.run(&lost);
    assert_eq!(run.code, 2);
    assert_eq!(
        run.stderr,
        "error: cannot write absent/o.npy: there is no folder `absent`\n"
    );
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

#[test]
fn packed_sequences_take_cumulative_lengths() {
    let text = "attention packed { head_dim = 16; v_head_dim = 1; layout = tnd; precision = fp32; allow = [FA103]; }\n";
    let folder = Folder::with("packed.fa", text);
    save(&folder, "q.npy", &Tensor::zeros(Dtype::Fp32, &[2, 1, 16]));
    save(&folder, "k.npy", &Tensor::zeros(Dtype::Fp32, &[8, 1, 16]));
    let values: Vec<f64> = (0..8).map(f64::from).collect();
    save(
        &folder,
        "v.npy",
        &Tensor::from_f64(Dtype::Fp32, &[8, 1, 1], &values),
    );
    let lengths = |name: &str, cumulative: &[f64]| {
        let tensor = Tensor::from_f64(Dtype::Int32, &[cumulative.len()], cumulative);
        save(&folder, name, &tensor);
    };
    lengths("cu_q.npy", &[0.0, 0.0, 1.0, 1.0, 2.0]);
    lengths("cu_kv.npy", &[0.0, 0.0, 3.0, 3.0, 8.0]);
    let packed = ["--cu-q", "cu_q.npy", "--cu-kv", "cu_kv.npy"];
    let more = [&packed[..], &["--backend", "reference", "--lse", "lse.npy"]].concat();
    let run = folder.run(&arguments("packed.fa", &more));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let out = npy::read(&folder.path().join("o.npy")).expect("it was written");
    assert_eq!(
        (out.shape(), out.to_f64()),
        (&[2, 1, 1][..], vec![1.0, 5.0])
    );
    let lse = npy::read(&folder.path().join("lse.npy")).expect("it was written");
    assert_eq!(lse.shape(), [1, 2]);
    lengths("cu_kv.npy", &[0.0, 0.0, 3.0, 3.0, 7.0]);
    let refused = folder.run(&arguments("packed.fa", &more));
    assert_eq!(refused.code, 1);
    let first = refused.stderr.lines().next().unwrap_or_default();
    assert!(
        first.contains("cu_kv") && first.contains('7') && first.contains('8'),
        "{first}"
    );
}
