//! What all cores share: the L2 cache with its bandwidth, and the memory behind it.

use std::collections::HashMap;

use fa_targets::{Chip, Timing};

/// Granularity at which the cache remembers what it holds, bytes.
const PAGE_BYTES: usize = 4096;
/// Width of a slot of the bandwidth calendars, cycles.
const SLOT_CYCLES: u64 = 64;
/// Pages of one access that are looked at; longer accesses are sampled.
const MOST_PAGES: usize = 64;

/// Bytes that a device-wide resource has given away, slot by slot.
#[derive(Debug)]
struct Calendar {
    used: Vec<f32>,
    per_slot: f64,
}

impl Calendar {
    fn new(gbps: f64, clock_mhz: u32) -> Calendar {
        let bytes_per_cycle = gbps * 1e3 / f64::from(clock_mhz);
        Calendar {
            used: Vec::new(),
            per_slot: bytes_per_cycle * SLOT_CYCLES as f64,
        }
    }

    /// Books `bytes` from `start` on, at most `rate` of them a cycle; returns when the last one has passed.
    fn book(&mut self, start: u64, bytes: f64, rate: f64) -> u64 {
        let mut left = bytes;
        let mut now = start as f64;
        let mut slot = (start / SLOT_CYCLES) as usize;
        loop {
            if self.used.len() <= slot {
                self.used.resize((slot + 1).next_power_of_two(), 0.0);
            }
            let end = (slot as u64 + 1) * SLOT_CYCLES;
            let room = (self.per_slot - f64::from(self.used[slot])).max(0.0);
            let take = left.min(room).min(rate * (end as f64 - now));
            self.used[slot] += take as f32;
            left -= take;
            if left < 0.5 {
                return (now + take / rate).ceil() as u64;
            }
            now = end as f64;
            slot += 1;
        }
    }
}

/// Bandwidth and cache of the device during a launch.
#[derive(Debug)]
pub(crate) struct Shared {
    l2: Calendar,
    hbm: Calendar,
    /// Per page, how much had been brought in when it was last used.
    pages: HashMap<usize, u64>,
    brought_in: u64,
    capacity: u64,
}

/// One transfer between a core and global memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) bytes: usize,
    pub(crate) write: bool,
    /// Bytes per cycle from L2 and from the memory behind it.
    pub(crate) hit_rate: f64,
    pub(crate) miss_rate: f64,
}

/// When a transfer ends, and whether it came from L2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Booked {
    pub(crate) end: u64,
    pub(crate) hit: bool,
}

impl Shared {
    pub(crate) fn new(chip: &Chip, timing: &Timing) -> Shared {
        Shared {
            l2: Calendar::new(timing.l2_gbps.value, chip.clock_mhz),
            hbm: Calendar::new(timing.hbm_gbps.value, chip.clock_mhz),
            pages: HashMap::new(),
            brought_in: 0,
            capacity: chip.l2_bytes,
        }
    }

    /// Books a transfer that starts at `from`.
    pub(crate) fn book(&mut self, from: u64, transfer: &Transfer) -> Booked {
        let bytes = transfer.bytes as f64;
        let missing = self.touch(transfer);
        let (hit_rate, miss_rate) = (transfer.hit_rate, transfer.miss_rate);
        if transfer.write {
            // Stores end in L2; once it is full they push out what then goes to memory.
            let mut end = self.l2.book(from, bytes, hit_rate);
            if missing > 0.0 && self.brought_in > self.capacity {
                end = end.max(self.hbm.book(from, bytes * missing, hit_rate));
            }
            return Booked { end, hit: true };
        }
        let rate = 1.0 / ((1.0 - missing) / hit_rate + missing / miss_rate);
        let mut end = self.l2.book(from, bytes, rate);
        if missing > 0.0 {
            end = end.max(self.hbm.book(from, bytes * missing, rate));
        }
        Booked {
            end,
            hit: missing < 0.5,
        }
    }

    /// Marks the pages of a transfer as used; returns the share that L2 did not hold.
    fn touch(&mut self, transfer: &Transfer) -> f64 {
        let first = transfer.start / PAGE_BYTES;
        let count = (transfer.end - 1) / PAGE_BYTES - first + 1;
        let step = count.div_ceil(MOST_PAGES);
        let pages = count.div_ceil(step);
        let mut missing = 0;
        for page in (first..first + count).step_by(step) {
            let last = self.pages.get(&page).copied();
            let held = last.is_some_and(|then| self.brought_in - then <= self.capacity);
            if !held {
                missing += 1;
                self.brought_in += (transfer.bytes / pages) as u64;
            }
            self.pages.insert(page, self.brought_in);
        }
        f64::from(missing) / pages as f64
    }
}
