//! Programs to kernels, launches, and errors against the reference.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use fa_dsl::check::check;
use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::span::SourceMap;
use fa_dsl::variant::Variant;
use fa_runtime::verify::{Case, Row, Shape, compare};
use fa_runtime::{Error, Kernel};
use fa_targets::Target;
use fa_tests::harness::runtime;

use crate::program::Program;

/// Threads that measure.
const THREADS: usize = 2;
/// Batch, query rows and key rows of launches: single rows, tails of every tile, more queries than keys, no keys.
const LENGTHS: [(usize, usize, usize); 14] = [
    (1, 1, 1),
    (2, 17, 33),
    (1, 129, 257),
    (2, 5, 70),
    (1, 130, 130),
    (1, 70, 33),
    (2, 1, 129),
    (1, 64, 200),
    (1, 33, 16),
    (2, 48, 48),
    (1, 3, 0),
    (1, 2, 300),
    (1, 100, 101),
    (3, 16, 31),
];
/// Launches of a variant; successive variants begin at successive shapes.
const LAUNCHES: usize = 3;
/// Query and key/value heads where the file leaves them open.
const HEADS: [(usize, usize); 5] = [(1, 1), (2, 1), (2, 2), (3, 1), (4, 2)];

/// A program that the checker accepts, and the targets that plan it.
pub(crate) struct Candidate {
    pub(crate) seed: u64,
    pub(crate) program: Program,
    pub(crate) variant: Variant,
    pub(crate) targets: Vec<Target>,
}

/// A program that a backend gets wrong.
pub(crate) struct Failure {
    pub(crate) seed: u64,
    pub(crate) program: Program,
    pub(crate) target: String,
    pub(crate) verdict: Verdict,
}

/// What a backend did wrong.
#[derive(Clone, Debug)]
pub(crate) enum Verdict {
    /// The emitted code did not compile.
    Uncompiled(String),
    /// A launch failed or its error is too large.
    Wrong(Box<Row>),
}

/// Reads a program.
pub(crate) fn checked(program: &Program) -> Result<Variant, Vec<Diagnostic>> {
    let mut sources = SourceMap::new();
    let file = sources.add("conformance.fa", program.text());
    let mut checked = check(&sources, file, &[]);
    checked.diagnostics.retain(Diagnostic::is_error);
    match (checked.variants.pop(), checked.diagnostics) {
        (Some(variant), errors) if errors.is_empty() => Ok(variant),
        (_, errors) => Err(errors),
    }
}

/// Compiles and measures all candidates, each target's in units of several; failures in order of their seeds.
pub(crate) fn all(candidates: &[Candidate], unit: usize) -> Vec<Failure> {
    let failures = Mutex::new(Vec::new());
    let kernels = compile_all(candidates, unit, &failures);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(candidate) = candidates.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let own = kernels
                        .iter()
                        .filter(|(seed, _, _)| *seed == candidate.seed);
                    let own: Vec<(&str, &Kernel)> = own
                        .map(|(_, target, kernel)| (target.as_str(), kernel))
                        .collect();
                    let found = measure(candidate, &own);
                    failures.lock().expect("no thread panicked").extend(found);
                }
            });
        }
    });
    let mut failures = failures.into_inner().expect("no thread panicked");
    failures.sort_by_key(|failure| failure.seed);
    failures
}

type Compiled = (u64, String, Kernel);

/// Kernels of all candidates, the backends at the same time.
fn compile_all(
    candidates: &[Candidate],
    unit: usize,
    failures: &Mutex<Vec<Failure>>,
) -> Vec<Compiled> {
    let compiled = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for name in crate::TARGETS {
            let compiled = &compiled;
            scope.spawn(move || {
                let planned: Vec<&Candidate> = candidates
                    .iter()
                    .filter(|candidate| candidate.targets.iter().any(|target| target.name == name))
                    .collect();
                for unit in planned.chunks(unit) {
                    let (kernels, faults) = compile_unit(unit, name);
                    compiled.lock().expect("no thread panicked").extend(kernels);
                    failures.lock().expect("no thread panicked").extend(faults);
                }
            });
        }
    });
    compiled.into_inner().expect("no thread panicked")
}

/// One translation unit; where it does not compile, each of its variants alone.
fn compile_unit(unit: &[&Candidate], name: &str) -> (Vec<Compiled>, Vec<Failure>) {
    let variants: Vec<&Variant> = unit.iter().map(|candidate| &candidate.variant).collect();
    let target = fa_tests::with_cores(name, 1);
    match (runtime().compile_many(&variants, &target), unit) {
        (Ok(kernels), _) => {
            let named = unit.iter().zip(kernels);
            let kernels =
                named.map(|(candidate, kernel)| (candidate.seed, name.to_owned(), kernel));
            (kernels.collect(), Vec::new())
        }
        (Err(error), [only]) => {
            let failure = Failure {
                seed: only.seed,
                program: only.program.clone(),
                target: name.to_owned(),
                verdict: Verdict::Uncompiled(error.to_string()),
            };
            (Vec::new(), vec![failure])
        }
        (Err(_), several) => {
            let alone = several.iter().map(|one| compile_unit(&[*one], name));
            let (kernels, faults): (Vec<_>, Vec<_>) = alone.unzip();
            (kernels.concat(), faults.into_iter().flatten().collect())
        }
    }
}

/// Launches a variant's kernels; at most one failure for each.
fn measure(candidate: &Candidate, kernels: &[(&str, &Kernel)]) -> Vec<Failure> {
    let only: Vec<&Kernel> = kernels.iter().map(|(_, kernel)| *kernel).collect();
    let rows = launch_all(&candidate.variant, &only, candidate.seed);
    let wrong = kernels.iter().zip(rows).filter_map(|((target, _), rows)| {
        let row = rows.into_iter().find(|row| !row.pass)?;
        Some(Failure {
            seed: candidate.seed,
            program: candidate.program.clone(),
            target: (*target).to_owned(),
            verdict: Verdict::Wrong(Box::new(row)),
        })
    });
    wrong.collect()
}

/// For each kernel the rows of all launches.
fn launch_all(variant: &Variant, kernels: &[&Kernel], seed: u64) -> Vec<Vec<Row>> {
    let mut rows: Vec<Vec<Row>> = kernels.iter().map(|_| Vec::new()).collect();
    for (index, shape) in shapes(variant, seed).into_iter().enumerate() {
        let launched = launch(variant, kernels, shape, seed * 16 + index as u64);
        for (rows, row) in rows.iter_mut().zip(launched) {
            rows.push(row);
        }
    }
    rows
}

/// One row per kernel; none where the variant forbids the lengths, as `same` does.
fn launch(variant: &Variant, kernels: &[&Kernel], shape: Shape, seed: u64) -> Vec<Row> {
    let training = variant.dropout.is_some() && seed % 4 != 3;
    let case = Case::random(variant, shape, seed, training);
    match compare(variant, kernels, &case) {
        Ok(rows) => rows,
        Err(Error::Launch(_)) => Vec::new(),
        Err(error) => panic!("{}: {error}", variant.name.value),
    }
}

/// What one backend does with a program, alone; `None` where all is well or the program is not legal there.
pub(crate) fn verdict(program: &Program, target: &Target, seed: u64) -> Option<Verdict> {
    let variant = checked(program).ok()?;
    fa_codegen::plan(&variant, target).ok()?;
    let kernel = match runtime().compile(&variant, target) {
        Ok(kernel) => kernel,
        Err(error) => return Some(Verdict::Uncompiled(error.to_string())),
    };
    wrong(&variant, &kernel, seed)
}

/// What a kernel gets wrong of a variant.
pub(crate) fn wrong(variant: &Variant, kernel: &Kernel, seed: u64) -> Option<Verdict> {
    let rows = launch_all(variant, &[kernel], seed).into_iter().flatten();
    let wrong = rows.into_iter().find(|row| !row.pass);
    wrong.map(|row| Verdict::Wrong(Box::new(row)))
}

/// The launches of a variant.
fn shapes(variant: &Variant, seed: u64) -> Vec<Shape> {
    let at = usize::try_from(seed).expect("a seed in the address space");
    (0..LAUNCHES)
        .map(|launch| {
            let (batch, q_len, kv_len) = LENGTHS[(at + launch * 5) % LENGTHS.len()];
            let (open_heads, open_kv_heads) = HEADS[(at / 2 + launch) % HEADS.len()];
            let kv_heads = variant.kv_heads.map(|heads| heads as usize);
            let heads = variant.heads.map(|heads| heads as usize);
            let (heads, kv_heads) = match (heads, kv_heads) {
                (Some(heads), Some(kv_heads)) => (heads, kv_heads),
                (Some(heads), None) => (heads, heads),
                (None, Some(kv_heads)) => (kv_heads * (open_heads / open_kv_heads), kv_heads),
                (None, None) => (open_heads, open_kv_heads),
            };
            Shape {
                batch,
                heads,
                kv_heads,
                q_len,
                kv_len,
            }
        })
        .collect()
}
