//! Messages of Matmul objects on their way from the vector cores of a block to its cube core.

use std::sync::Arc;

use crate::instruction::Loc;
use crate::launch::{CoreKind, Shared, State, Wait};
use crate::order::Token;

/// A message: who sent it, what it promises, and its bytes.
#[derive(Clone, Debug)]
pub(crate) struct Letter {
    pub(crate) from: usize,
    pub(crate) token: Token,
    pub(crate) bytes: Vec<u8>,
}

impl Shared {
    /// Sends a message to the cube core of the sender's block.
    pub(crate) fn post(&self, index: usize, bytes: Vec<u8>, token: Token) {
        let me = self.cores[index];
        let receiver = self.select(|core| core.block == me.block && core.kind == CoreKind::Aic);
        let letter = Letter {
            from: me.sub,
            token,
            bytes,
        };
        for &core in &receiver {
            self.lock().letters[core].push_back(letter.clone());
        }
    }

    /// Waits for a message, of one vector core where the caller wants no other; `None` when the launch stops.
    pub(crate) fn take_letter(
        self: &Arc<Self>,
        index: usize,
        from: Option<usize>,
        loc: Loc,
    ) -> Option<Letter> {
        let mut state = self.lock();
        state = self.block(state, index, Wait::Letter { from, loc });
        if state.stop {
            return None;
        }
        let at = next(&state, index, from)?;
        state.letters[index].remove(at)
    }
}

/// The place of the next message that the wait is about.
pub(super) fn next(state: &State, index: usize, from: Option<usize>) -> Option<usize> {
    state.letters[index]
        .iter()
        .position(|letter| from.is_none_or(|sub| letter.from == sub))
}

/// The wait in words.
pub(super) fn describe(from: Option<usize>) -> String {
    match from {
        Some(sub) => format!("the GetTensorC by which aiv {sub} takes its partial sums"),
        None => "a call of a Matmul object, or the end of its vector cores".to_owned(),
    }
}
