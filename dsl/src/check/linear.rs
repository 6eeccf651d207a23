//! Linear forms over indices and sizes, and what can be proved of them for every launch.

use crate::ir::Var;
use crate::variant::{Dim, Size};

/// What a linear form may mention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Atom {
    QIdx,
    KvIdx,
    B,
    H,
    KvH,
    QLen,
    KvLen,
    Batches,
    Heads,
    KvHeads,
}

/// Number of atoms.
const ATOMS: usize = 10;

/// What the checker proves of indices holds while each launch-time size (`b h kv_h q_len kv_len`) is at most
/// this: a launch must refuse more.
pub const SIZE_LIMIT: i64 = 1 << 29;

/// A sum of atoms, each times a whole number, and a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Linear {
    coefficients: [i64; ATOMS],
    constant: i64,
}

/// What is known of the sizes besides that each is at least 1 where an element is read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Facts {
    /// Query heads, where the file fixes them.
    pub(super) heads: Option<u32>,
    /// Key/value heads, where the file fixes them.
    pub(super) kv_heads: Option<u32>,
    /// The launch makes sure of `q_len <= kv_len`.
    pub(super) covered: bool,
}

impl Linear {
    pub(super) fn constant(constant: i64) -> Linear {
        Linear {
            coefficients: [0; ATOMS],
            constant,
        }
    }

    pub(super) fn atom(atom: Atom) -> Linear {
        let mut form = Linear::constant(0);
        form.coefficients[atom as usize] = 1;
        form
    }

    pub(super) fn add(self, other: Linear) -> Linear {
        self.plus(other, 1)
    }

    pub(super) fn sub(self, other: Linear) -> Linear {
        self.plus(other, -1)
    }

    /// `self + factor * other`.
    fn plus(mut self, other: Linear, factor: i64) -> Linear {
        for (mine, theirs) in self.coefficients.iter_mut().zip(other.coefficients) {
            *mine = mine.saturating_add(theirs.saturating_mul(factor));
        }
        let constant = other.constant.saturating_mul(factor);
        self.constant = self.constant.saturating_add(constant);
        self
    }

    pub(super) fn scale(self, factor: i64) -> Linear {
        Linear::constant(0).plus(self, factor)
    }

    pub(super) fn as_constant(self) -> Option<i64> {
        (self.coefficients == [0; ATOMS]).then_some(self.constant)
    }

    /// Whether the form stays below 2^31 for all sizes that launches have.
    pub(super) fn fits_above(self) -> bool {
        let greatest = self.greatest();
        let most = greatest
            .coefficients
            .iter()
            .map(|coefficient| (*coefficient).max(0).saturating_mul(SIZE_LIMIT))
            .fold(greatest.constant, i64::saturating_add);
        most <= i64::from(i32::MAX)
    }

    /// Whether the form stays at or above -2^31 for all sizes that launches have.
    pub(super) fn fits_below(self) -> bool {
        self.scale(-1).sub(Linear::constant(1)).fits_above()
    }

    /// The form of a dimension.
    pub(super) fn dim(dim: &Dim) -> Linear {
        dim.sizes
            .iter()
            .fold(Linear::constant(dim.constant), |sum, size| {
                sum.add(Linear::atom(size_atom(*size)))
            })
    }

    fn of(&self, atom: Atom) -> i64 {
        self.coefficients[atom as usize]
    }

    /// Replaces an atom by a form.
    fn replace(&mut self, atom: Atom, by: Linear) {
        let factor = self.of(atom);
        self.coefficients[atom as usize] = 0;
        *self = self.plus(by, factor);
    }

    /// Lowers the form by using that `large >= small`, as far as the two stand against each other.
    fn cancel(&mut self, large: Atom, small: Atom) {
        let paired = self.of(large).min(-self.of(small));
        if paired > 0 {
            self.coefficients[large as usize] -= paired;
            self.coefficients[small as usize] += paired;
        }
    }

    /// The least value over all indices, as a form over sizes alone.
    pub(super) fn least(mut self) -> Linear {
        // `h - kv_h` grows with `h`: from 0 to `heads - kv_heads`.
        self.cancel(Atom::H, Atom::KvH);
        let paired = self.of(Atom::KvH).min(-self.of(Atom::H));
        if paired > 0 {
            let span = Linear::atom(Atom::Heads).sub(Linear::atom(Atom::KvHeads));
            self.coefficients[Atom::KvH as usize] -= paired;
            self.coefficients[Atom::H as usize] += paired;
            self = self.plus(span, -paired);
        }
        // The least value of `index` is 0, that of `-index` is `1 - size`.
        for (index, size) in [
            (Atom::QIdx, Atom::QLen),
            (Atom::KvIdx, Atom::KvLen),
            (Atom::B, Atom::Batches),
            (Atom::H, Atom::Heads),
            (Atom::KvH, Atom::KvHeads),
        ] {
            let least = if self.of(index) < 0 {
                Linear::atom(size).sub(Linear::constant(1))
            } else {
                Linear::constant(0)
            };
            self.replace(index, least);
        }
        self
    }

    /// The greatest value over all indices, as a form over sizes alone.
    pub(super) fn greatest(self) -> Linear {
        self.scale(-1).least().scale(-1)
    }

    /// Whether the form is at least zero in every launch that these facts allow.
    pub(super) fn never_negative(self, facts: Facts) -> bool {
        self.least().sizes_never_negative(facts)
    }

    /// The same for a form without indices.
    fn sizes_never_negative(mut self, facts: Facts) -> bool {
        for (size, fixed) in [(Atom::Heads, facts.heads), (Atom::KvHeads, facts.kv_heads)] {
            if let Some(fixed) = fixed {
                self.replace(size, Linear::constant(i64::from(fixed)));
            }
        }
        self.cancel(Atom::Heads, Atom::KvHeads);
        if facts.covered {
            self.cancel(Atom::KvLen, Atom::QLen);
        }
        // What is left are sizes of at least 1, without an upper limit.
        let mut least = self.constant;
        for coefficient in self.coefficients {
            if coefficient < 0 {
                return false;
            }
            least = least.saturating_add(coefficient);
        }
        least >= 0
    }
}

/// The atom of a launch-time size.
fn size_atom(size: Size) -> Atom {
    match size {
        Size::B => Atom::Batches,
        Size::H => Atom::Heads,
        Size::KvH => Atom::KvHeads,
        Size::QLen => Atom::QLen,
        Size::KvLen => Atom::KvLen,
    }
}

/// The linear form of a name, if it has one.
pub(super) fn of_var(var: Var, top_left: bool) -> Option<Linear> {
    Some(match var {
        Var::B => Linear::atom(Atom::B),
        Var::H => Linear::atom(Atom::H),
        Var::KvH => Linear::atom(Atom::KvH),
        Var::QIdx => Linear::atom(Atom::QIdx),
        Var::KvIdx => Linear::atom(Atom::KvIdx),
        Var::QLen => Linear::atom(Atom::QLen),
        Var::KvLen => Linear::atom(Atom::KvLen),
        Var::QPos if top_left => Linear::atom(Atom::QIdx),
        Var::QPos => Linear::atom(Atom::QIdx)
            .add(Linear::atom(Atom::KvLen))
            .sub(Linear::atom(Atom::QLen)),
        Var::Dot | Var::Score | Var::QFirst | Var::QLast | Var::KvFirst | Var::KvLast => {
            return None;
        }
    })
}
