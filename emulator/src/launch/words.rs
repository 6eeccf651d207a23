//! Words of global memory by which vector cores wait for each other.

use std::sync::Arc;

use crate::instruction::Loc;
use crate::launch::{Shared, State, Wait};
use crate::order::Token;
use crate::report::Refusal;

/// Whose turn it is, and what the one before left.
#[derive(Clone, Debug, Default)]
pub(super) struct Turn {
    next: usize,
    token: Token,
}

/// What a core waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Until {
    /// The word at an address is down.
    Down,
    /// The word at an address is up.
    Up,
    /// It is the block's turn.
    Turn(usize),
}

impl Shared {
    /// Raises the word when it is down; `None` when the launch stops.
    pub(crate) fn raise_word(
        self: &Arc<Self>,
        index: usize,
        address: usize,
        token: Token,
        loc: Loc,
    ) -> Option<Token> {
        let until = Until::Down;
        let mut state = self.lock();
        state = self.block(
            state,
            index,
            Wait::Word {
                address,
                until,
                loc,
            },
        );
        if state.stop {
            return None;
        }
        state.words.insert(address, (token, loc));
        Some(Token::default())
    }

    /// Takes the word down when it is up; `None` when the launch stops.
    pub(crate) fn take_word(
        self: &Arc<Self>,
        index: usize,
        address: usize,
        loc: Loc,
    ) -> Option<Token> {
        let until = Until::Up;
        let mut state = self.lock();
        state = self.block(
            state,
            index,
            Wait::Word {
                address,
                until,
                loc,
            },
        );
        if state.stop {
            return None;
        }
        state.words.remove(&address).map(|(token, _)| token)
    }

    pub(crate) fn start_turns(&self, address: usize) {
        self.lock().turns.entry(address).or_default();
    }

    pub(crate) fn turns_started(&self, address: usize) -> bool {
        self.lock().turns.contains_key(&address)
    }

    /// Waits for the block's turn; `None` when the launch stops.
    pub(crate) fn take_turn(
        self: &Arc<Self>,
        index: usize,
        address: usize,
        block: usize,
        loc: Loc,
    ) -> Option<Token> {
        let until = Until::Turn(block);
        let mut state = self.lock();
        state = self.block(
            state,
            index,
            Wait::Word {
                address,
                until,
                loc,
            },
        );
        if state.stop {
            return None;
        }
        state.turns.get(&address).map(|turn| turn.token.clone())
    }

    /// Passes the turn on.
    pub(crate) fn end_turn(
        &self,
        address: usize,
        block: usize,
        token: Token,
    ) -> Result<(), Refusal> {
        let blocks = self.blocks;
        let mut state = self.lock();
        let turn = state.turns.entry(address).or_default();
        if turn.next != block {
            return Err(Refusal::new(
                "turn-order",
                format!("block {block} ends the turn of block {}", turn.next),
                "call WaitPreBlock before NotifyNextBlock, once each",
            ));
        }
        *turn = Turn {
            next: (turn.next + 1) % blocks,
            token,
        };
        Ok(())
    }
}

/// Whether the wait is over.
pub(super) fn satisfied(state: &State, address: usize, until: Until) -> bool {
    match until {
        Until::Down => !state.words.contains_key(&address),
        Until::Up => state.words.contains_key(&address),
        Until::Turn(block) => state
            .turns
            .get(&address)
            .is_some_and(|turn| turn.next == block),
    }
}

/// The wait in words.
pub(super) fn describe(state: &State, address: usize, until: Until) -> String {
    match until {
        Until::Down => format!("IBWait to take down the word at {address:#x}"),
        Until::Up => format!("IBSet of the word at {address:#x}"),
        Until::Turn(block) => {
            let next = state.turns.get(&address).map_or(0, |turn| turn.next);
            format!("the turn of block {block} (block {next} has it)")
        }
    }
}
