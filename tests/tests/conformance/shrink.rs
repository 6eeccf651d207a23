//! A failure made small: what can be left out while the backend still gets it wrong is left out.

use std::time::{Duration, Instant};

use fa_tests::with_cores;

use crate::measure::{Failure, Verdict, verdict};
use crate::program::Program;

/// Time for one failure; each smaller program is compiled alone.
const BUDGET: Duration = Duration::from_secs(90);

/// The smallest program found that fails on that backend, with what it did.
pub(crate) fn report(failure: &Failure) -> String {
    let target = with_cores(&failure.target, 1);
    let (program, worst) = smallest(&failure.program, &failure.verdict, |candidate| {
        verdict(candidate, &target, failure.seed)
    });
    format!(
        "{} on {}: {}\n\n{}",
        failure.program.name,
        failure.target,
        describe(&worst),
        program.text()
    )
}

/// The smallest program found that still fails, and what it does.
pub(crate) fn smallest(
    program: &Program,
    verdict: &Verdict,
    judge: impl Fn(&Program) -> Option<Verdict>,
) -> (Program, Verdict) {
    let (mut program, mut worst) = (program.clone(), verdict.clone());
    let start = Instant::now();
    'smaller: loop {
        for candidate in program.smaller() {
            if start.elapsed() > BUDGET {
                break 'smaller;
            }
            if let Some(found) = judge(&candidate)
                && same_kind(&found, &worst)
            {
                (program, worst) = (candidate, found);
                continue 'smaller;
            }
        }
        break;
    }
    (program, worst)
}

/// A smaller program must fail in the same manner, or another fault would take the place of this one.
fn same_kind(found: &Verdict, wanted: &Verdict) -> bool {
    match (found, wanted) {
        (Verdict::Uncompiled(_), Verdict::Uncompiled(_)) => true,
        (Verdict::Wrong(found), Verdict::Wrong(wanted)) => {
            found.failure.is_some() == wanted.failure.is_some()
        }
        _ => false,
    }
}

/// One line about what a backend did.
pub(crate) fn describe(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Uncompiled(error) => error.clone(),
        Verdict::Wrong(row) => format!(
            "{:?}, {}; error of O {:.3e} (allowed {:.3e}), of LSE {:.3e} (allowed {:.3e}){}",
            row.shape,
            if row.training {
                "training"
            } else {
                "inference"
            },
            row.out_error,
            row.out_allowed,
            row.lse_error,
            row.lse_allowed,
            row.failure
                .as_ref()
                .map_or(String::new(), |failure| format!("; {failure}"))
        ),
    }
}
