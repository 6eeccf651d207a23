//! What a backend does not have, in one list: each refused before anything is rendered, by a message that names the
//! feature, at the place that asks for it, with a help line that leads to a variant that plans. Everything else that the
//! language says of the forward pass is launched by the tests of this crate.

use fa_codegen::plan;
use fa_dsl::diagnostic::Diagnostic;
use fa_tests::{target, variants};

/// A feature on a backend.
struct Refusal {
    target: &'static str,
    code: u16,
    /// Fields of a variant that asks for it.
    fields: &'static str,
    /// The part of the message that names it.
    says: &'static str,
    /// The text that the diagnostic points at.
    at: &'static str,
    /// The same variant as the help repairs it.
    repaired: &'static str,
}

const fn refusal(
    target: &'static str,
    code: u16,
    [fields, says, at, repaired]: [&'static str; 4],
) -> Refusal {
    Refusal {
        target,
        code,
        fields,
        says,
        at,
        repaired,
    }
}

const REFUSALS: [Refusal; 19] = [
    refusal(
        "cpu",
        201,
        [
            "paged { page_size = 128; }",
            "a paged key/value cache",
            "paged { page_size = 128; }",
            "",
        ],
    ),
    refusal(
        "cpu",
        201,
        [
            "backward = recompute;",
            "a backward kernel",
            "recompute",
            "backward = none;",
        ],
    ),
    refusal(
        "cpu",
        201,
        [
            "backward = checkpoint(0.5);",
            "a backward kernel",
            "checkpoint(0.5)",
            "backward = none;",
        ],
    ),
    refusal(
        "cpu",
        201,
        [
            "precision = int8;",
            "qkv in int8",
            "int8",
            "precision = mixed;",
        ],
    ),
    refusal(
        "cpu",
        201,
        [
            "tensor t: fp32[b, h, q_len, kv_len, 1]; score = score + t[b, h, q_idx, kv_idx, 0];",
            "a captured tensor of 5 dimensions",
            "tensor t: fp32[b, h, q_len, kv_len, 1];",
            "tensor t: fp32[b, h, q_len, kv_len]; score = score + t[b, h, q_idx, kv_idx];",
        ],
    ),
    refusal(
        "ascend910b",
        201,
        [
            "tensor t: fp32[b, h, q_len, kv_len, 1]; score = score + t[b, h, q_idx, kv_idx, 0];",
            "a captured tensor of 5 dimensions",
            "tensor t: fp32[b, h, q_len, kv_len, 1];",
            "tensor t: fp32[b, h, q_len, kv_len]; score = score + t[b, h, q_idx, kv_idx];",
        ],
    ),
    refusal(
        "ascend910b",
        201,
        [
            "paged { page_size = 128; }",
            "`paged`",
            "paged { page_size = 128; }",
            "",
        ],
    ),
    refusal(
        "ascend910b",
        201,
        ["split_kv = 4;", "`split_kv = 4`", "4", "split_kv = auto;"],
    ),
    refusal(
        "ascend910b",
        201,
        [
            "backward = recompute;",
            "`backward`",
            "recompute",
            "backward = none;",
        ],
    ),
    refusal(
        "ascend910b",
        201,
        [
            "precision = int8;",
            "`precision = int8`",
            "int8",
            "precision = mixed;",
        ],
    ),
    refusal(
        "ascend910b",
        201,
        [
            "precision { accumulate = fp16; } allow = [FA102];",
            "this precision block",
            "precision { accumulate = fp16; }",
            "precision { accumulate = fp32; }",
        ],
    ),
    refusal(
        "ascend910b",
        201,
        [
            "sink = exp(float(h));",
            "functions such as `exp` in `sink`",
            "exp(float(h))",
            "tensor sinks: fp32[h]; sink = sinks[h];",
        ],
    ),
    refusal(
        "ascend910b",
        201,
        [
            "tensor t: fp32[kv_len, h]; score = score + t[kv_idx / 2, h];",
            "along a dimension that is not its last",
            "tensor t: fp32[kv_len, h];",
            "tensor t: fp32[h, kv_len]; score = score + t[h, kv_idx];",
        ],
    ),
    refusal(
        "ascend910b",
        201,
        [
            "tensor t: fp32[kv_len, kv_len]; score = score + t[kv_idx, 0] + t[0, kv_idx];",
            "whose keys lie along another dimension where it is read before",
            "tensor t: fp32[kv_len, kv_len];",
            "tensor t: fp32[kv_len, kv_len]; tensor u: fp32[kv_len, kv_len]; score = score + t[kv_idx, 0] + u[0, kv_idx];",
        ],
    ),
    refusal(
        "ascend910b",
        201,
        [
            "tensor t: bool[64, 64]; mask = t[clamp(q_idx / 64, 0, 63), clamp(kv_idx / 64, 0, 63)];",
            "that is looked up along two dimensions at once",
            "tensor t: bool[64, 64];",
            "tensor t: bool[4096]; mask = t[clamp(q_idx / 64, 0, 63) * 64 + clamp(kv_idx / 64, 0, 63)];",
        ],
    ),
    refusal(
        "ascend910b",
        201,
        [
            "tensor t: fp32[q_len + kv_len]; score = score + t[(q_idx + kv_idx) / 2];",
            "by an index that is no sum of positions",
            "tensor t: fp32[q_len + kv_len];",
            "tensor t: fp32[q_len + kv_len]; score = score + t[q_idx + kv_idx];",
        ],
    ),
    refusal(
        "ascend910b",
        203,
        [
            "mask = (q_pos * 7919 + kv_pos * 104729) % 13 != 0;",
            "can pass 2^24 = 16777216",
            "kv_pos * 104729",
            "mask = (q_pos % 64 * 79 + kv_pos % 64 * 104) % 13 != 0;",
        ],
    ),
    refusal(
        "ascend910b",
        203,
        [
            "param n: int = 1; mask = (kv_pos + n) % 3 == 0;",
            "can pass 2^24",
            "(kv_pos + n)",
            "param n: int = 1; mask = (kv_pos + clamp(n, 0, 65536)) % 3 == 0;",
        ],
    ),
    refusal(
        "ascend910b",
        203,
        [
            "mask = kv_pos < int(exp(float(q_pos)));",
            "can pass 2^24",
            "int(exp(float(q_pos)))",
            "mask = kv_pos < int(clamp(exp(float(q_pos)), 0.0, 65536.0));",
        ],
    ),
];

fn planned(fields: &str, name: &str) -> Result<(), (String, Vec<Diagnostic>)> {
    let text = format!("attention t {{ head_dim = 64; {fields} }}");
    let variant = variants("t.fa", &text).remove(0);
    match plan(&variant, &target(name)) {
        Ok(_) => Ok(()),
        Err(errors) => Err((text, errors)),
    }
}

#[test]
fn what_a_backend_lacks_is_refused_by_name() {
    for Refusal {
        target,
        code,
        fields,
        says,
        at,
        repaired,
    } in REFUSALS
    {
        let Err((text, errors)) = planned(fields, target) else {
            panic!("{target} has a plan for {fields}");
        };
        assert_eq!(errors.len(), 1, "{errors:#?}");
        let error = &errors[0];
        assert_eq!(error.code.0, code, "{error:#?}");
        assert!(error.message.contains(says), "{fields}: {}", error.message);
        assert!(
            error.message.contains(target) || code == 203,
            "{}",
            error.message
        );
        assert!(!error.help.is_empty());
        let span = error.span().expect("a place");
        let marked = &text[span.start as usize..span.end as usize];
        assert!(
            at.starts_with(marked) || marked.contains(at),
            "{fields}: {marked}"
        );
        if let Err((text, errors)) = planned(repaired, target) {
            panic!("{text}\n{errors:#?}");
        }
    }
}

/// Several at once are said at once.
#[test]
fn all_refusals_of_a_variant_come_together() {
    let fields = "backward = recompute; split_kv = 2; paged { page_size = 64; } precision = int8;";
    for (name, count) in [("cpu", 3), ("ascend910b", 4)] {
        let (_, errors) = planned(fields, name).expect_err("nothing of it");
        assert_eq!(errors.len(), count, "{errors:#?}");
    }
}
