//! What all cores share: the L2 cache with its bandwidth, and the memory behind it.

use std::collections::HashMap;
use std::num::NonZeroU64;

use fa_targets::{Chip, Timing};

use crate::time::Traffic;

/// Granularity at which the cache remembers what it holds, bytes.
const PAGE_BYTES: usize = 512;
/// Pages that are looked up together: a megabyte of addresses.
const CHUNK_PAGES: usize = 2048;
/// Width of a slot of the bandwidth calendars, cycles.
const SLOT_CYCLES: u64 = 64;

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

/// What L2 holds.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// Per page, how much had been brought in when it was last used, in chunks of neighbours.
    pages: HashMap<usize, Box<[Option<NonZeroU64>]>>,
    brought_in: u64,
}

/// Bandwidth and cache of the device during a launch.
#[derive(Debug)]
pub(crate) struct Shared {
    l2: Calendar,
    hbm: Calendar,
    contents: Contents,
    capacity: u64,
    /// What has not been used yet counts as held, up to the capacity.
    warm: bool,
    pub(crate) traffic: Traffic,
}

/// One transfer between a core and global memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    /// Equal pieces at regular distances from an address, bytes.
    pub(crate) start: usize,
    pub(crate) pieces: usize,
    pub(crate) len: usize,
    pub(crate) step: usize,
    pub(crate) write: bool,
    /// Bytes per cycle from L2 and from the memory behind it.
    pub(crate) hit_rate: f64,
    pub(crate) miss_rate: f64,
}

impl Transfer {
    /// Bytes that move.
    pub(crate) fn bytes(&self) -> usize {
        self.pieces * self.len
    }
}

/// When a transfer ends, and whether it came from L2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Booked {
    pub(crate) end: u64,
    pub(crate) hit: bool,
}

impl Shared {
    pub(crate) fn new(chip: &Chip, timing: &Timing, warm: bool) -> Shared {
        Shared {
            l2: Calendar::new(timing.l2_gbps.value, chip.clock_mhz),
            hbm: Calendar::new(timing.hbm_gbps.value, chip.clock_mhz),
            contents: Contents::default(),
            capacity: chip.l2_bytes,
            warm,
            traffic: Traffic::default(),
        }
    }

    /// The device after an earlier launch.
    pub(crate) fn after(mut self, contents: Contents) -> Shared {
        self.contents = contents;
        self.warm = false;
        self
    }

    /// What the next launch finds.
    pub(crate) fn take_contents(&mut self) -> Contents {
        std::mem::take(&mut self.contents)
    }

    /// Books a transfer that starts at `from`.
    pub(crate) fn book(&mut self, from: u64, transfer: &Transfer) -> Booked {
        let bytes = transfer.bytes() as f64;
        let missing = self.touch(transfer);
        self.traffic.l2_bytes += bytes;
        let (hit_rate, miss_rate) = (transfer.hit_rate, transfer.miss_rate);
        if transfer.write {
            // Stores end in L2; once it is full they push out what then goes to memory.
            let mut end = self.l2.book(from, bytes, hit_rate);
            if missing > 0.0 && self.contents.brought_in > self.capacity {
                self.traffic.hbm_bytes += bytes * missing;
                end = end.max(self.hbm.book(from, bytes * missing, hit_rate));
            }
            return Booked { end, hit: true };
        }
        let rate = 1.0 / ((1.0 - missing) / hit_rate + missing / miss_rate);
        let mut end = self.l2.book(from, bytes, rate);
        if missing > 0.0 {
            self.traffic.hbm_bytes += bytes * missing;
            end = end.max(self.hbm.book(from, bytes * missing, rate));
        }
        Booked {
            end,
            hit: missing < 0.5,
        }
    }

    /// Marks the pages of a transfer as used; returns the share that L2 did not hold.
    fn touch(&mut self, transfer: &Transfer) -> f64 {
        let (mut pieces, mut len) = (transfer.pieces, transfer.len);
        if transfer.step == transfer.len {
            (pieces, len) = (1, transfer.bytes());
        }
        let (mut missing, mut count) = (0, 0);
        for piece in 0..pieces {
            let start = transfer.start + piece * transfer.step;
            let (first, last) = (start / PAGE_BYTES, (start + len - 1) / PAGE_BYTES);
            count += last - first + 1;
            let mut page = first;
            while page <= last {
                let end = last.min(page / CHUNK_PAGES * CHUNK_PAGES + CHUNK_PAGES - 1);
                missing += self.use_pages(page, end);
                page = end + 1;
            }
        }
        missing as f64 / count as f64
    }

    /// Marks pages of one chunk as used; returns how many of them L2 did not hold.
    fn use_pages(&mut self, first: usize, last: usize) -> usize {
        let Contents { pages, brought_in } = &mut self.contents;
        let chunk = pages
            .entry(first / CHUNK_PAGES)
            .or_insert_with(|| vec![None; CHUNK_PAGES].into_boxed_slice());
        let mut missing = 0;
        for used in &mut chunk[first % CHUNK_PAGES..=last % CHUNK_PAGES] {
            let first_use = self.warm && *brought_in <= self.capacity;
            let held = used.map_or(first_use, |then| *brought_in - then.get() <= self.capacity);
            if !held || used.is_none() {
                *brought_in += PAGE_BYTES as u64;
            }
            *used = NonZeroU64::new(*brought_in);
            missing += usize::from(!held);
        }
        missing
    }
}
