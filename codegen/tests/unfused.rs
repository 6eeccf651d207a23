//! Plans of unfused kernels: budgets hold for every width, or the width is named.

use fa_codegen::ascend::{UnfusedStep, plan_unfused};
use fa_codegen::{Provenance, cpu};
use fa_dsl::span::{SourceMap, Span};
use fa_dsl::variant::{Precision, Variant};
use fa_targets::Target;

fn variant(head_dim: u32, precision: Precision) -> Variant {
    let mut sources = SourceMap::new();
    let at = Span::new(sources.add("v.fa", ""), 0, 0);
    let mut variant = Variant::with_defaults("wide", head_dim, at);
    variant.precision = precision;
    variant
}

fn provenance() -> Provenance {
    Provenance {
        source_name: "wide.fa".to_owned(),
        source_sha256: "0".repeat(64),
    }
}

#[test]
fn every_width_fits_or_is_named() {
    let target = Target::built_in("ascend910b").expect("a built-in target");
    for precision in [Precision::MIXED, Precision::MIXED_BF16, Precision::FP32] {
        for head_dim in [16, 48, 64, 128, 144, 256, 512] {
            match plan_unfused(&variant(head_dim, precision), &target) {
                Ok(plan) => {
                    for memory in &plan.budget().memories {
                        assert!(
                            memory.used_bytes() <= memory.capacity_bytes,
                            "{head_dim}: {memory:?}"
                        );
                    }
                    assert!(
                        plan.limits().max_len >= 8192,
                        "{head_dim}: {:?}",
                        plan.limits()
                    );
                    let tasks = UnfusedStep::ALL.map(|step| plan.tasks(step, 3, 1000, 1000));
                    assert!(tasks.iter().all(|tasks| *tasks >= 3), "{tasks:?}");
                }
                Err(found) => {
                    assert!(head_dim > 128, "{head_dim} has unfused kernels");
                    assert!(
                        found[0].message.contains(&head_dim.to_string()),
                        "{found:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn steps_are_exported_under_their_names() {
    let target = Target::built_in("cpu").expect("a built-in target");
    let plan = cpu::plan_unfused(&variant(64, Precision::FP32), &target).expect("a plan");
    let file = plan.render(&provenance());
    for symbol in plan.symbols() {
        assert!(file.text.contains(&format!("\"{symbol}\"")), "{symbol}");
    }
    // No step of the fused kernel is left.
    assert!(!file.text.contains("update_softmax") && !file.text.contains("key_limits"));
}
