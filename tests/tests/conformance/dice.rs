//! Choices that look random and are the same everywhere.

/// A stream of choices.
pub(crate) struct Dice(u64);

impl Dice {
    /// The stream of a seed.
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// Uniform in `0..sides`, by SplitMix64.
    pub(crate) fn below(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^= word >> 31;
        usize::try_from((u128::from(word) * sides as u128) >> 64).expect("less than the sides")
    }

    /// True that many times in a hundred.
    pub(crate) fn percent(&mut self, share: usize) -> bool {
        self.below(100) < share
    }

    /// One of a list.
    pub(crate) fn pick<'l, T: ?Sized>(&mut self, list: &[&'l T]) -> &'l T {
        list[self.below(list.len())]
    }

    /// One of a list of numbers.
    pub(crate) fn number(&mut self, list: &[u32]) -> u32 {
        list[self.below(list.len())]
    }
}
