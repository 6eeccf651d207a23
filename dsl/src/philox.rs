//! Philox4x32-10, the counter-based generator behind dropout: whether a pair is kept is a pure function of
//! its position, so every backend, tile size and pass draws the same numbers.

/// Multipliers and key increments of Philox4x32.
const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const KEY_STEPS: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
const ROUNDS: usize = 10;

/// Numbers that one counter gives: eight neighbouring keys share a counter.
pub const DRAWS_PER_COUNTER: u32 = 8;

/// What a training launch adds to the position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seed {
    /// The key of the generator.
    pub seed: u64,
    /// The last word of the counter.
    pub offset: u32,
}

/// The four words of one counter.
pub fn philox4x32_10(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let mut words = counter;
    let mut key = key;
    for round in 0..ROUNDS {
        if round > 0 {
            key = [
                key[0].wrapping_add(KEY_STEPS[0]),
                key[1].wrapping_add(KEY_STEPS[1]),
            ];
        }
        let first = u64::from(MULTIPLIERS[0]) * u64::from(words[0]);
        let second = u64::from(MULTIPLIERS[1]) * u64::from(words[2]);
        words = [
            high(second) ^ words[1] ^ key[0],
            low(second),
            high(first) ^ words[3] ^ key[1],
            low(first),
        ];
    }
    words
}

fn low(value: u64) -> u32 {
    (value & u64::from(u32::MAX)) as u32
}

fn high(value: u64) -> u32 {
    (value >> 32) as u32
}

/// The eight numbers of keys `8 * kv_group ..`, in key order; `plane` is `b * heads + h`.
pub fn draws(seed: Seed, plane: u32, q_idx: u32, kv_group: u32) -> [u16; 8] {
    let key = [low(seed.seed), high(seed.seed)];
    let words = philox4x32_10([kv_group, q_idx, plane, seed.offset], key);
    std::array::from_fn(|i| (words[i / 2] >> (16 * (i % 2))) as u16)
}

/// The number of one pair; `plane` is `b * heads + h`.
pub fn draw(seed: Seed, plane: u32, q_idx: u32, kv_idx: u32) -> u16 {
    draws(seed, plane, q_idx, kv_idx / DRAWS_PER_COUNTER)[(kv_idx % DRAWS_PER_COUNTER) as usize]
}

/// What a kept probability is multiplied by; `threshold` is below 65536.
pub fn rescale(threshold: u32) -> f64 {
    65536.0 / f64::from(65536 - threshold)
}

/// What the probability of a pair is multiplied by: 0 if its number is below the threshold, else [`rescale`].
pub fn keep_factor(threshold: u32, draw: u16) -> f64 {
    if u32::from(draw) < threshold {
        0.0
    } else {
        rescale(threshold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED_42: Seed = Seed {
        seed: 42,
        offset: 0,
    };

    #[test]
    fn words_of_counter_zero() {
        assert_eq!(
            philox4x32_10([0; 4], [42, 0]),
            [0x9cea_f053, 0x77f5_493b, 0x12bf_50ad, 0x5742_b3d7]
        );
    }

    #[test]
    fn the_first_nine_keys() {
        let drawn: Vec<u16> = (0..9).map(|kv_idx| draw(SEED_42, 0, 0, kv_idx)).collect();
        assert_eq!(
            drawn,
            [61523, 40170, 18747, 30709, 20653, 4799, 46039, 22338, 8487]
        );
        let dropped: Vec<usize> = (0..9)
            .filter(|i| keep_factor(6554, drawn[*i]) == 0.0)
            .collect();
        assert_eq!(dropped, [5]);
    }

    #[test]
    fn every_part_of_the_position_counts() {
        assert_eq!(draw(SEED_42, 1, 0, 0), 14185);
        assert_eq!(draw(SEED_42, 2, 5, 13), 53580);
        let later = Seed {
            offset: 7,
            ..SEED_42
        };
        assert_eq!(draw(later, 3, 1023, 4095), 30211);
        let high_half = Seed {
            seed: (1 << 32) + 42,
            offset: 0,
        };
        assert_eq!(draw(high_half, 0, 0, 0), 33422);
    }

    #[test]
    fn keep_rate_is_within_three_sigma() {
        let cells = 1_000_000_u32;
        let threshold = 6554;
        let dropped = (0..cells)
            .filter(|i| keep_factor(threshold, draw(SEED_42, 0, i / 1000, i % 1000)) == 0.0)
            .count() as f64;
        let rate = f64::from(threshold) / 65536.0;
        let sigma = (f64::from(cells) * rate * (1.0 - rate)).sqrt();
        assert!((dropped - rate * f64::from(cells)).abs() < 3.0 * sigma);
    }
}
