//! A point in time together with how it came about: what the longest chain of causes up to it consists of.

/// What a stretch of the critical path is spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    /// A pipe at work, by its index.
    Pipe(usize),
    Flag,
    CrossCore,
    Latency,
    Bandwidth,
    Launch,
}

/// Kinds of shares.
pub(crate) const SHARES: usize = 12;

/// Names of the shares, in the order of a moment's path.
pub(crate) const SHARE_NAMES: [&str; SHARES] = [
    "scalar",
    "vector",
    "cube",
    "MTE1",
    "MTE2",
    "MTE3",
    "Fixpipe",
    "flags",
    "cross-core hand-off",
    "memory latency",
    "shared L2 or HBM",
    "launch",
];

impl Share {
    fn index(self) -> usize {
        match self {
            Share::Pipe(pipe) => pipe,
            Share::Flag => 7,
            Share::CrossCore => 8,
            Share::Latency => 9,
            Share::Bandwidth => 10,
            Share::Launch => 11,
        }
    }
}

/// A time in cycles, and the cycles of each share on the chain of causes that ends there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) at: u64,
    pub(crate) path: [u32; SHARES],
}

impl Moment {
    /// `cycles` later, spent on `share`.
    pub(crate) fn after(mut self, cycles: u64, share: Share) -> Moment {
        self.at += cycles;
        self.path[share.index()] += u32::try_from(cycles).unwrap_or(u32::MAX);
        self
    }

    /// The later of the two.
    pub(crate) fn max(self, other: Moment) -> Moment {
        if other.at > self.at { other } else { self }
    }
}
