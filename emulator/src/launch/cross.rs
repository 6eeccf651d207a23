//! Cross-core flags: who is raised by whom, and the limit of a counter.

use crate::instruction::Loc;
use crate::launch::{CoreInfo, CoreKind, Shared, State};
use crate::order::Token;
use crate::report::Refusal;

impl Shared {
    /// Executes a cross-core set.
    pub(crate) fn cross_set(
        &self,
        index: usize,
        mode: u8,
        flag: u8,
        loc: Loc,
        token: Token,
    ) -> Result<(), Refusal> {
        let most = self.counter_max();
        let mut state = self.lock();
        state.flags[index].last_set = Some((loc.file(), loc.line()));
        let me = self.cores[index];
        let same_block = |core: &CoreInfo| core.block == me.block;
        if mode == 2 && me.kind == CoreKind::Aic {
            let targets = self.select(|core| same_block(core) && core.kind == CoreKind::Aiv);
            return raise(&mut state, &targets, flag, most, &token, self);
        }
        let pending = &mut state.flags[index].pending[usize::from(mode)][usize::from(flag)];
        if pending.len() >= most as usize {
            return Err(counter_full(flag, most, &me.name()));
        }
        pending.push_back(token);
        let partners = self.select(|core| match mode {
            0 => core.kind == me.kind,
            _ => same_block(core) && core.kind == CoreKind::Aiv,
        });
        let slot = |state: &State, core: usize| {
            !state.flags[core].pending[usize::from(mode)][usize::from(flag)].is_empty()
        };
        if !partners.iter().all(|&core| slot(&state, core)) {
            return Ok(());
        }
        let mut token = Token::default();
        for &core in &partners {
            let pending = &mut state.flags[core].pending[usize::from(mode)][usize::from(flag)];
            token.join(&pending.pop_front().expect("every partner has set"));
        }
        let targets = match mode {
            2 => self.select(|core| same_block(core) && core.kind == CoreKind::Aic),
            _ => partners,
        };
        raise(&mut state, &targets, flag, most, &token, self)
    }

    /// The cube core's answer to one of its vector cores.
    pub(crate) fn answer(
        &self,
        index: usize,
        sub: usize,
        flag: u8,
        loc: Loc,
        token: Token,
    ) -> Result<(), Refusal> {
        let most = self.counter_max();
        let block = self.cores[index].block;
        let mut state = self.lock();
        state.flags[index].last_set = Some((loc.file(), loc.line()));
        let targets = self
            .select(|core| core.block == block && core.kind == CoreKind::Aiv && core.sub == sub);
        raise(&mut state, &targets, flag, most, &token, self)
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
    token: &Token,
    shared: &Shared,
) -> Result<(), Refusal> {
    for &target in targets {
        let counter = &mut state.flags[target].counter[usize::from(flag)];
        if counter.len() >= most as usize {
            return Err(counter_full(flag, most, &shared.cores[target].name()));
        }
        counter.push_back(token.clone());
    }
    Ok(())
}
