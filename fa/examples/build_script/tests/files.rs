//! What the build script wrote, and the program around it.

use std::process::Command;

use fa::{Dtype, Tensor};

#[test]
fn the_files_of_a_chip_are_written() {
    assert!(fa_example_build_script::ASCEND_C.contains("fa_local_forward"));
    let q = Tensor::from_f64(Dtype::Fp16, &[1, 2, 9, 32], &[0.5; 2 * 9 * 32]);
    let out = fa_example_build_script::attend(&q, &q, &q, &[0.5, 0.25]);
    let out = out.expect("a legal launch");
    assert!(out.to_f64().iter().all(|value| *value == 0.5));
}

#[test]
fn the_program_runs() {
    let run = Command::new(env!("CARGO_BIN_EXE_fa-example-build-script")).output();
    let run = run.expect("the program starts");
    assert_eq!(
        String::from_utf8_lossy(&run.stdout),
        "O has shape [1, 2, 300, 32]\n"
    );
    assert!(run.status.success());
}
