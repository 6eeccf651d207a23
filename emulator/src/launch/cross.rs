//! Cross-core flags: who is raised by whom, and the limit of a counter.

use crate::instruction::Loc;
use crate::launch::{CoreInfo, CoreKind, Shared, State};
use crate::report::Refusal;

impl Shared {
    /// Executes a cross-core set.
    pub(crate) fn cross_set(
        &self,
        index: usize,
        mode: u8,
        flag: u8,
        loc: Loc,
    ) -> Result<(), Refusal> {
        let most = self.counter_max();
        let mut state = self.lock();
        state.flags[index].last_set = Some((loc.file(), loc.line()));
        let me = self.cores[index];
        let same_block = |core: &CoreInfo| core.block == me.block;
        if mode == 2 && me.kind == CoreKind::Aic {
            let targets = self.select(|core| same_block(core) && core.kind == CoreKind::Aiv);
            return raise(&mut state, &targets, flag, most, self);
        }
        let pending = &mut state.flags[index].pending[usize::from(mode)][usize::from(flag)];
        if *pending >= most {
            return Err(counter_full(flag, most, &me.name()));
        }
        *pending += 1;
        let partners = self.select(|core| match mode {
            0 => core.kind == me.kind,
            _ => same_block(core) && core.kind == CoreKind::Aiv,
        });
        let slot = |state: &State, core: usize| {
            state.flags[core].pending[usize::from(mode)][usize::from(flag)]
        };
        if !partners.iter().all(|&core| slot(&state, core) > 0) {
            return Ok(());
        }
        for &core in &partners {
            state.flags[core].pending[usize::from(mode)][usize::from(flag)] -= 1;
        }
        let targets = match mode {
            2 => self.select(|core| same_block(core) && core.kind == CoreKind::Aic),
            _ => partners,
        };
        raise(&mut state, &targets, flag, most, self)
    }
}

fn counter_full(flag: u8, most: u32, core: &str) -> Refusal {
    Refusal::new(
        "cross-core-counter",
        format!("cross-core flag {flag} of {core} already counts {most}, the most it can"),
        "let the other side answer with a flag of its own before setting again",
    )
}

fn raise(
    state: &mut State,
    targets: &[usize],
    flag: u8,
    most: u32,
    shared: &Shared,
) -> Result<(), Refusal> {
    for &target in targets {
        let counter = &mut state.flags[target].counter[usize::from(flag)];
        if *counter >= most {
            return Err(counter_full(flag, most, &shared.cores[target].name()));
        }
        *counter += 1;
    }
    Ok(())
}
