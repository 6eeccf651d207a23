//! The whole forward language on every backend: random variants, compiled many at a time, launched on sizes with
//! tails, and compared with the f64 reference. `FA_CONFORMANCE=n` sets their number, `FA_CONFORMANCE_SEED=s` the
//! first of them. A failure is printed as the smallest `.fa` file that still fails.

mod dice;
mod generate;
mod masks;
mod measure;
mod program;
mod scores;
mod shrink;

use std::collections::BTreeMap;
use std::io::Write;

use fa_dsl::span::Spanned;
use fa_dsl::variant::Variant;
use fa_runtime::Kernel;
use fa_targets::Target;
use fa_tests::target;

use measure::{Candidate, Failure};
use program::Program;

/// Variants of a run where the environment does not say: enough for 150 on every backend.
const VARIANTS: u64 = 160;
/// Variants that are planned and not compiled, beside those.
const PLANNED: u64 = 1000;
/// Variants among which a planted fault is looked for.
const PLANTED: u64 = 24;
/// Variants of one translation unit.
const UNIT: usize = 16;
/// The targets that stand for the backends.
const TARGETS: [&str; 2] = ["cpu", "ascend910b"];
/// Failures that are made small; the rest are counted.
const SHOWN: usize = 3;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().expect("a number"))
}

/// What became of the variants on one backend.
#[derive(Default)]
struct Tally {
    launched: usize,
    refused: BTreeMap<String, usize>,
}

#[test]
fn random_variants_agree_with_the_reference() {
    let first = number("FA_CONFORMANCE_SEED", 1);
    let count = number("FA_CONFORMANCE", VARIANTS);
    let mut tallies: Vec<Tally> = TARGETS.iter().map(|_| Tally::default()).collect();
    let mut candidates = Vec::new();
    for seed in first..first + count {
        let program = generate::program(seed);
        let variant = measure::checked(&program)
            .unwrap_or_else(|errors| panic!("{}\n{errors:#?}", program.text()));
        let targets = accepted(&program, &variant, &mut tallies);
        candidates.push(Candidate {
            seed,
            program,
            variant,
            targets,
        });
    }
    let failures = measure::all(&candidates, UNIT);
    for (name, tally) in TARGETS.iter().zip(&tallies) {
        say(&format!(
            "conformance: {name} ran {} of {count} variants",
            tally.launched
        ));
        for (reason, times) in &tally.refused {
            say(&format!("    {times} refused: {reason}"));
        }
    }
    for failure in &failures {
        let Failure {
            program,
            target,
            verdict,
            ..
        } = failure;
        say(&format!(
            "{} on {target}: {}",
            program.name,
            shrink::describe(verdict)
        ));
    }
    let shown: Vec<String> = failures.iter().take(SHOWN).map(shrink::report).collect();
    assert!(
        failures.is_empty(),
        "{} of {count} variants fail\n\n{}",
        failures.len(),
        shown.join("\n\n")
    );
}

/// The targets that plan a variant. Nothing of what is composed here is beyond a backend but ints that vector code
/// cannot hold, and tiles that the file asks for and the chip has no room for: both are counted.
fn accepted(program: &Program, variant: &Variant, tallies: &mut [Tally]) -> Vec<Target> {
    let mut targets = Vec::new();
    for (name, tally) in TARGETS.iter().zip(tallies) {
        let target = target(name);
        match fa_codegen::plan(variant, &target) {
            Ok(_) => {
                tally.launched += 1;
                targets.push(target);
            }
            Err(faults) => {
                let tiled = program
                    .items
                    .iter()
                    .any(|item| item.text.starts_with("tile"));
                for fault in &faults {
                    let legal = fault.code.0 == 203 || (fault.code.0 == 101 && tiled);
                    assert!(legal, "{name} refuses {}\n{fault:#?}", program.text());
                }
                let reason = faults.first().map_or(String::new(), reason);
                *tally.refused.entry(reason).or_default() += 1;
            }
        }
    }
    targets
}

/// A code and its message: whole where it names a feature, without the variant's own formulas elsewhere.
fn reason(fault: &fa_dsl::diagnostic::Diagnostic) -> String {
    let message = if fault.code.0 == 201 {
        fault.message.clone()
    } else {
        let general: Vec<&str> = fault.message.split('`').step_by(2).collect();
        general.join("...")
    };
    format!("{}: {message}", fault.code)
}

/// Prints past the capture of the test harness.
fn say(line: &str) {
    writeln!(std::io::stderr(), "{line}").expect("a standard error stream");
}

/// A backend that reads `causal` as if the next key were visible: what is left of each program that shows it is the
/// word and the width.
#[test]
fn a_planted_fault_is_made_small() {
    let judge = |program: &Program, seed: u64| {
        let variant = measure::checked(program).ok()?;
        let mut wrong = program.clone();
        for item in &mut wrong.items {
            item.text = item.text.replace("causal", "(kv_pos <= q_pos + 1)");
        }
        let kernel = Kernel::reference(&measure::checked(&wrong).ok()?);
        measure::wrong(&variant, &kernel, seed)
    };
    let mut shown = 0;
    for seed in 1..=PLANTED {
        let program = generate::program(seed);
        let Some(verdict) = judge(&program, seed) else {
            continue;
        };
        let (small, _) = shrink::smallest(&program, &verdict, |program| judge(program, seed));
        let texts: Vec<&str> = small.items.iter().map(|item| item.text.as_str()).collect();
        let mut named = texts.iter().filter(|text| text.contains("causal"));
        assert!(named.next().is_some(), "{}", small.text());
        assert!(texts.len() <= 4, "{}", small.text());
        shown += usize::from(texts.len() == 2 && texts[1] == "mask = causal;");
    }
    assert!(
        shown >= 3,
        "{shown} programs were left with the fault alone"
    );
}

#[test]
fn programs_depend_on_their_seed_alone() {
    assert_eq!(generate::program(7), generate::program(7));
    assert_ne!(generate::program(7).items, generate::program(8).items);
}

/// Every memory holds what the plan puts there, and the tile is what the file says of it.
fn assert_is_legal(program: &Program, variant: &Variant, target: &Target) {
    let Ok(planned) = fa_codegen::plan(variant, target) else {
        return;
    };
    let (text, tile) = (program.text(), planned.plan.tile());
    for memory in &planned.plan.budget().memories {
        let (used, capacity) = (memory.used_bytes(), memory.capacity_bytes);
        assert!(
            used <= capacity,
            "{text}\n{}: {used} bytes of {capacity}",
            memory.memory
        );
    }
    let written = variant.schedule_for(&target.name).tile;
    let is_kept = |written: Option<Spanned<u32>>, found: u32| {
        written.is_none_or(|written| written.value == found)
    };
    assert!(is_kept(written.block_q, tile.block_q), "{text}\n{tile:?}");
    assert!(is_kept(written.block_kv, tile.block_kv), "{text}\n{tile:?}");
    assert!(
        tile.block_q % 16 == 0 && tile.block_kv % 16 == 0,
        "{text}\n{tile:?}"
    );
}

#[test]
fn every_program_is_legal_and_planned_or_refused_by_name() {
    let mut tallies: Vec<Tally> = TARGETS.iter().map(|_| Tally::default()).collect();
    let targets = ["cpu", "ascend910b", "ascend910_93"].map(target);
    for seed in 10_000..10_000 + PLANNED {
        let program = generate::program(seed);
        let variant = measure::checked(&program)
            .unwrap_or_else(|errors| panic!("{}\n{errors:#?}", program.text()));
        accepted(&program, &variant, &mut tallies);
        for target in &targets {
            assert_is_legal(&program, &variant, target);
        }
    }
    // A backend that refuses much of the language would pass the comparison by launching next to nothing.
    for tally in tallies {
        say(&format!(
            "conformance: {} of {PLANNED} planned, {:?}",
            tally.launched, tally.refused
        ));
        assert!(
            tally.launched as u64 * 10 > PLANNED * 8,
            "{:?}",
            tally.refused
        );
    }
}
