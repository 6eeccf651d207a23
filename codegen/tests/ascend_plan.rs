//! What every Ascend plan must be: within the memories, without overlaps, and explained where it cannot be.

use fa_codegen::ascend::plan_merge;
use fa_codegen::budget::Budget;
use fa_codegen::{Plan, plan};
use fa_dsl::check::check;
use fa_dsl::diagnostic::{Code, Diagnostic};
use fa_dsl::span::SourceMap;
use fa_dsl::variant::Variant;
use fa_targets::Target;
use proptest::prelude::*;

fn variant(text: &str) -> Variant {
    let mut sources = SourceMap::new();
    let file = sources.add("test.fa", text);
    let mut checked = check(&sources, file, &[]);
    let errors: Vec<&Diagnostic> = checked
        .diagnostics
        .iter()
        .filter(|found| found.is_error())
        .collect();
    assert!(errors.is_empty(), "{text}: {errors:?}");
    checked.variants.remove(0)
}

fn chip(name: &str) -> Target {
    Target::built_in(name).expect("built in")
}

fn plan_text(text: &str) -> Result<Plan, Vec<Diagnostic>> {
    plan(&variant(text), &chip("ascend910b")).map(|planned| planned.plan)
}

/// Buffers of a memory live for the whole kernel: none may overlap another, and all must fit.
fn assert_sound(budget: &Budget) {
    for memory in &budget.memories {
        assert!(
            memory.used_bytes() <= memory.capacity_bytes,
            "{} overflows",
            memory.memory
        );
        for (a, b) in memory.buffers.iter().zip(memory.buffers.iter().skip(1)) {
            assert!(
                a.end_bytes() <= b.offset_bytes,
                "{} overlaps {}",
                a.name,
                b.name
            );
        }
        for buffer in &memory.buffers {
            let needed =
                u64::from(buffer.rows) * u64::from(buffer.cols) * u64::from(buffer.elem_bytes);
            assert!(
                buffer.copy_bytes >= needed,
                "{} is too small for its shape",
                buffer.name
            );
        }
    }
}

const BODIES: [&str; 8] = [
    "",
    "mask = causal;",
    "mask = causal && window(100, 0) || prefix(30);",
    "mask = (q_pos + kv_pos) % 3 != 1; score = softcap(score, 30.0);",
    "tensor slopes: fp32[h]; mask = causal; score = score - slopes[h] * float(q_pos - kv_pos);",
    "precision = fp32; mask = causal;",
    "precision = fp32; dropout = 0.1;",
    "dropout = 0.5; tensor t: fp16[q_len + kv_len]; score = score + t[q_pos - kv_pos + q_len];",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// A plan, where there is one, is sound; where there is none, FA101 proposes a tile that has one.
    #[test]
    fn plans_are_sound_and_proposals_hold(
        head_dim in 1..=512u32,
        v_head_dim in 1..=512u32,
        block_q in 1..=40u32,
        block_kv in 1..=640u32,
        stages in 1..=8u32,
        body in 0..BODIES.len(),
        chip_idx in 0..2usize,
    ) {
        let (block_q, block_kv) = (16 * block_q, 16 * block_kv);
        let target = chip(["ascend910b", "ascend910_93"][chip_idx]);
        let text = |block_q: u32, block_kv: u32, stages: u32| format!(
            "attention t {{ head_dim = {head_dim}; v_head_dim = {v_head_dim}; {} \
             tile {{ block_q = {block_q}; block_kv = {block_kv}; stages = {stages}; }} }}",
            BODIES[body]
        );
        match plan(&variant(&text(block_q, block_kv, stages)), &target) {
            Ok(planned) => {
                assert_sound(planned.plan.budget());
                let tile = planned.plan.tile();
                prop_assert_eq!((tile.block_q, tile.block_kv, tile.stages), (block_q, block_kv, stages));
            }
            Err(errors) => {
                prop_assert_eq!(errors.len(), 1);
                prop_assert_eq!(errors[0].code, Code(101));
                let number = |field: &str, default: u32| {
                    let after = errors[0].help.split(&format!("{field} = ")).nth(1);
                    after.map_or(default, |rest| {
                        rest.split(';').next().expect("a field ends").parse().expect("a number")
                    })
                };
                if errors[0].help.contains("nearest") {
                    let proposed = text(
                        number("block_q", block_q), number("block_kv", block_kv), number("stages", stages),
                    );
                    prop_assert!(plan(&variant(&proposed), &target).is_ok(), "{proposed}");
                }
            }
        }
    }

    #[test]
    fn auto_finds_a_tile_for_every_width(head_dim in 1..=512u32, v_head_dim in 1..=512u32, body in 0..BODIES.len()) {
        let text = format!("attention t {{ head_dim = {head_dim}; v_head_dim = {v_head_dim}; {} }}", BODIES[body]);
        assert_sound(plan_text(&text).expect("auto is legal").budget());
    }
}

#[test]
fn head_dim_192_with_values_of_128_is_legal_on_every_target() {
    for name in Target::built_in_names() {
        let variant = variant("attention t { head_dim = 192; v_head_dim = 128; mask = causal; }");
        assert!(plan(&variant, &chip(name)).is_ok(), "{name}");
    }
}

#[test]
fn a_tile_that_overflows_names_memory_buffer_bytes_and_a_tile_that_fits() {
    let text = "attention big { head_dim = 128; tile { block_q = 128; block_kv = 8192; } }";
    let errors = plan_text(text).expect_err("8192 rows of keys pass L1");
    assert_eq!(errors[0].code, Code(101));
    let message = &errors[0].message;
    assert!(
        message.contains("L1 needs") && message.contains("`ascend910b` has 511.75 KiB"),
        "{message}"
    );
    assert!(
        errors[0].labels[0]
            .text
            .contains("`v_tile` alone takes 2048 KiB of L1"),
        "{:?}",
        errors[0].labels
    );
    assert!(
        errors[0].notes[0].contains("available 524032"),
        "{:?}",
        errors[0].notes
    );
    let patch = errors[0].patch.as_ref().expect("one number to change");
    let (start, end) = (patch.span.start as usize, patch.span.end as usize);
    let repaired = format!("{}{}{}", &text[..start], patch.replacement, &text[end..]);
    assert!(plan_text(&repaired).is_ok(), "{repaired}");
}

#[test]
fn what_the_backend_lacks_is_refused_by_name() {
    for (body, feature) in [
        ("backward = recompute;", "`backward`"),
        ("paged { page_size = 128; }", "`paged`"),
        ("split_kv = 4;", "`split_kv = 4`"),
        (
            "tensor t: fp32[q_len + kv_len]; score = score + t[(q_idx + kv_idx) / 2];",
            "captured tensor looked up along a dimension",
        ),
        (
            "tensor t: fp32[q_len + kv_len, h]; score = score + t[(q_idx + kv_idx) / 2, h];",
            "along a dimension that is not its last",
        ),
        (
            "tensor t: bool[8, 8]; mask = t[clamp(q_idx / 64, 0, 7), clamp(kv_idx / 64, 0, 7)];",
            "looked up along two dimensions at once",
        ),
    ] {
        let errors =
            plan_text(&format!("attention t {{ head_dim = 64; {body} }}")).expect_err(body);
        assert_eq!(errors[0].code, Code(201), "{body}");
        assert!(errors[0].message.contains(feature), "{}", errors[0].message);
        assert!(!errors[0].help.is_empty());
    }
}

#[test]
fn ints_beyond_fp32_are_refused_with_the_expression() {
    let errors = plan_text(
        "attention t { head_dim = 64; mask = (q_pos * 7919 + kv_pos * 104729) % 13 != 0; }",
    );
    let errors = errors.expect_err("1024 * 104729 passes 2^24");
    assert_eq!(errors[0].code, Code(203));
    assert!(
        errors[0].message.contains("kv_pos * 104729"),
        "{}",
        errors[0].message
    );
    assert!(errors[0].help.contains("% 64"), "{}", errors[0].help);
    // The place is that of the expression, and the help fits it.
    let text =
        "attention t { head_dim = 64; param n: int; mask = causal && (kv_pos + n) % 3 == 0; }";
    let errors = plan_text(text).expect_err("n may be anything");
    let at = errors[0].span().expect("a place");
    assert_eq!(&text[at.start as usize..at.end as usize], "(kv_pos + n)");
    let help = &errors[0].help;
    assert!(help.contains("clamp(n, 0, 65536)"), "{help}");
}

#[test]
fn merging_kernels_fit_or_are_refused_with_both_numbers() {
    let target = chip("ascend910b");
    for width in [1, 64, 70, 512, 2040] {
        let plan = plan_merge(width, &target).expect("a row of the chip");
        assert_sound(plan.budget());
        assert!(plan.rows() >= 8);
    }
    let refused = plan_merge(2041, &target).expect_err("strides of rows are bytes");
    assert_eq!(refused.code, Code(201));
    assert!(
        refused.message.contains("2041") && refused.message.contains("2040"),
        "{}",
        refused.message
    );
}

#[test]
fn two_renders_are_equal() {
    let variant =
        variant("attention t { head_dim = 96; mask = causal && (q_pos - kv_pos) % 5 != 2; }");
    let provenance = fa_codegen::Provenance {
        source_name: "t.fa".to_owned(),
        source_sha256: "0".repeat(64),
    };
    let render = || {
        let planned = plan(&variant, &chip("ascend910b")).expect("plans");
        fa_codegen::render(&planned.plan, &provenance)
    };
    assert_eq!(render(), render());
}
