//! Reproducible random numbers for test inputs: the generator behind dropout, used as a stream.

use fa_dsl::philox::philox4x32_10;

/// A stream of numbers.
#[derive(Clone, Debug)]
pub(super) struct Random {
    key: [u32; 2],
    counter: u64,
}

impl Random {
    /// The stream of a seed.
    pub(super) fn new(seed: u64) -> Random {
        Random {
            key: [seed as u32, (seed >> 32) as u32],
            counter: 0,
        }
    }

    fn words(&mut self) -> [u32; 4] {
        let counter = [self.counter as u32, (self.counter >> 32) as u32, 0, 1];
        self.counter += 1;
        philox4x32_10(counter, self.key)
    }

    /// Uniform in `0..bound`; 0 if that is empty.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        if bound == 0 {
            return 0;
        }
        ((u64::from(self.words()[0]) * bound as u64) >> 32) as usize
    }

    /// Standard normal, by Box and Muller.
    pub(super) fn normal(&mut self) -> f64 {
        let [radius, angle, ..] = self.words();
        let radius = (f64::from(radius) + 1.0) / 4_294_967_297.0;
        let angle = f64::from(angle) / 4_294_967_296.0;
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }
}
