//! What only a launch can tell is checked there, with the numbers: lengths that `same` needs, window sides that are
//! parameters.

use fa_dsl::ir::eval::Value;
use fa_dsl::variant::Dtype;
use fa_runtime::{Arguments, Kernel, Tensor};
use fa_tests::variants;

fn tensors(q_len: usize, kv_len: usize) -> [Tensor; 3] {
    [q_len, kv_len, kv_len].map(|len| Tensor::zeros(Dtype::Fp16, &[1, 1, len, 16]))
}

#[test]
fn documents_need_a_key_for_every_query() {
    let text = "attention t { head_dim = 16; tensor ids: int32[b, kv_len]; mask = same(ids); }";
    let kernel = Kernel::reference(&variants("t.fa", text)[0]);
    let run = |q_len, kv_len| {
        let [q, k, v] = tensors(q_len, kv_len);
        let ids = Tensor::zeros(Dtype::Int32, &[1, kv_len]);
        kernel.run(&Arguments::new(q.view(), k.view(), v.view()).with("ids", ids.view()))
    };
    assert!(run(3, 5).is_ok());
    let error = run(5, 3).expect_err("five queries, three keys").to_string();
    assert!(
        error.contains("`q_len` at most `kv_len`") && error.contains("`q_len` is 5, `kv_len` is 3"),
        "{error}"
    );
}

#[test]
fn a_window_side_that_is_a_parameter_may_not_be_negative() {
    let text = "attention t { head_dim = 16; param radius: int = 3; mask = window(radius, 0); }";
    let kernel = Kernel::reference(&variants("t.fa", text)[0]);
    let [q, k, v] = tensors(2, 2);
    let run = |radius| {
        kernel.run(
            &Arguments::new(q.view(), k.view(), v.view()).with_param("radius", Value::Int(radius)),
        )
    };
    assert!(run(0).is_ok());
    let error = run(-1).expect_err("a negative window").to_string();
    assert!(error.contains("radius"), "{error}");
}
