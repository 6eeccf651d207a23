//! What a launch says when no core can run, or when counts are left over.

use crate::instruction::Loc;
use crate::launch::{Flags, Shared, State, Status, Wait, letters, words};
use crate::report::{Finding, Severity};

impl Shared {
    pub(super) fn deadlock(&self, state: &mut State) {
        let mut lines = Vec::new();
        let mut place = None;
        for (index, status) in state.status.iter().enumerate() {
            let Status::Waiting(wait) = status else {
                continue;
            };
            let (what, loc) = self.describe(state, index, wait);
            place.get_or_insert((self.cores[index].name(), loc));
            lines.push(format!(
                "{} waits for {what} at {}:{}",
                self.cores[index].name(),
                loc.file(),
                loc.line()
            ));
        }
        let Some((core, loc)) = place else { return };
        let unstarted = state
            .status
            .iter()
            .filter(|status| matches!(status, Status::Unstarted))
            .count();
        if unstarted > 0 {
            lines.push(format!(
                "{} block(s) wait for a free core",
                unstarted / self.per_block
            ));
        }
        state.errors += 1;
        state.findings.push(Finding {
            kind: "deadlock",
            severity: Severity::Error,
            core,
            pipe: "S",
            message: format!("no core can run: {}", lines.join("; ")),
            help: "set every flag as often as it is waited for, on all cores that take part"
                .to_owned(),
            file: loc.file(),
            line: loc.line(),
            other: None,
        });
    }

    pub(super) fn describe(&self, state: &State, index: usize, wait: &Wait) -> (String, Loc) {
        match wait {
            Wait::Flag { flag, loc, pipes } => {
                let me = self.cores[index];
                let partial: Vec<String> = self
                    .select(|core| core.block == me.block)
                    .into_iter()
                    .filter(|&core| !state.flags[core].pending[2][usize::from(*flag)].is_empty())
                    .map(|core| self.cores[core].name())
                    .collect();
                let partial = if partial.is_empty() {
                    String::new()
                } else {
                    format!(" (set so far by {})", partial.join(", "))
                };
                let pipes = if pipes.is_empty() {
                    String::new()
                } else {
                    format!(" ({pipes})")
                };
                (format!("cross-core flag {flag}{partial}{pipes}"), *loc)
            }
            Wait::Barrier { aiv_only, loc, .. } => {
                let kind = if *aiv_only {
                    "all vector cores"
                } else {
                    "all cores"
                };
                let arrived = state.barriers[usize::from(!aiv_only)].0;
                (format!("SyncAll of {kind} ({arrived} arrived)"), *loc)
            }
            Wait::Word {
                address,
                until,
                loc,
            } => (words::describe(state, *address, *until), *loc),
            Wait::Letter { from, loc } => (letters::describe(*from), *loc),
        }
    }

    /// Counts that nobody waited for.
    pub(super) fn leftovers(&self, state: &State) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (index, flags) in state.flags.iter().enumerate() {
            for flag in 0..16 {
                let count = flags.counter[flag].len();
                let pending: usize = flags.pending.iter().map(|mode| mode[flag].len()).sum();
                if count == 0 && pending == 0 {
                    continue;
                }
                let message = if count > 0 {
                    format!("cross-core flag {flag} still counts {count} when the kernel ends")
                } else {
                    format!(
                        "{pending} set(s) of cross-core flag {flag} found no partner when the kernel ends"
                    )
                };
                findings.push(self.leftover(state, index, flags, message));
            }
        }
        for (_, loc) in state.words.values() {
            findings.push(Finding {
                kind: "leftover-word",
                severity: Severity::Error,
                core: String::new(),
                pipe: "S",
                message: "the word of this IBSet is still up when the kernel ends".to_owned(),
                help: "give every IBSet an IBWait; a word left up breaks the next kernel"
                    .to_owned(),
                file: loc.file(),
                line: loc.line(),
                other: None,
            });
        }
        findings
    }

    pub(super) fn leftover(
        &self,
        state: &State,
        index: usize,
        flags: &Flags,
        message: String,
    ) -> Finding {
        let me = self.cores[index];
        let setter = flags.last_set.clone().or_else(|| {
            let others = self.select(|core| core.block == me.block);
            others
                .into_iter()
                .find_map(|core| state.flags[core].last_set.clone())
        });
        let (file, line) = setter.unwrap_or_default();
        Finding {
            kind: "leftover-cross-core-flag",
            severity: Severity::Error,
            core: me.name(),
            pipe: "S",
            message,
            help: "wait for every set before the kernel ends; a left-over count breaks the next kernel".to_owned(),
            file,
            line,
            other: None,
        }
    }
}
