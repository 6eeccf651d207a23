//! Which chip is emulated, and how much is reported.

use std::sync::RwLock;

use fa_targets::{Target, TargetError};

/// Settings of the emulated device, read when a launch starts.
#[derive(Clone, Debug)]
pub struct Options {
    /// The chip; only split-core Ascend targets can be emulated.
    pub target: Target,
    /// Errors after which a launch stops looking for more.
    pub max_errors: usize,
    /// Instructions after which a core is taken to run for ever.
    pub max_steps: u64,
    /// Whether accesses that nothing orders are reported (environment: `FA_EMU_HAZARDS=0` turns it off).
    pub hazards: bool,
    /// Whether the compiler is taken to insert the barriers between dependent vector instructions and the events
    /// between scalar and vector unit (environment: `FA_EMU_AUTO_SYNC=1`). Off, as with `--cce-auto-sync=off`.
    pub auto_sync: bool,
    /// Device memory, bytes (environment: `FA_EMU_DEVICE_BYTES`).
    pub device_bytes: u64,
}

/// Why settings were refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// No built-in target has that name and no file could be read there.
    #[error("`{name}` is neither a built-in target nor a readable target file")]
    UnknownTarget {
        /// What was asked for.
        name: String,
    },
    /// The target file is not well formed.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The target is not a split-core Ascend chip.
    #[error("`{name}` is a `{kind}` target; the emulator models `split_core` chips")]
    NotAscend {
        /// The target's name.
        name: String,
        /// Its kind.
        kind: fa_targets::TargetKind,
    },
}

/// Errors kept per launch unless the caller says otherwise.
const DEFAULT_MAX_ERRORS: usize = 20;

/// Instructions of one core: minutes of nothing but flags, hours of work.
const DEFAULT_MAX_STEPS: u64 = 1_000_000_000;

/// Name of the environment variable that picks the chip.
const TARGET_VARIABLE: &str = "FA_EMU_TARGET";

/// Names of the environment variables that turn checks of order off, and that trust the compiler's.
const HAZARDS_VARIABLE: &str = "FA_EMU_HAZARDS";
const AUTO_SYNC_VARIABLE: &str = "FA_EMU_AUTO_SYNC";

/// Name of the environment variable with the device's memory, and what it is without.
const DEVICE_BYTES_VARIABLE: &str = "FA_EMU_DEVICE_BYTES";
const DEFAULT_DEVICE_BYTES: u64 = 64 << 30;

/// A variable that is 0 or something else; `None` when it is not set.
fn switch(name: &str) -> Option<bool> {
    std::env::var(name).ok().map(|value| value != "0")
}

static CURRENT: RwLock<Option<Options>> = RwLock::new(None);

impl Options {
    /// Settings for a built-in target or a target file.
    ///
    /// # Errors
    /// The name is unknown, the file is malformed, or the target is no split-core chip.
    pub fn for_target(name: &str) -> Result<Options, OptionsError> {
        let target = match Target::built_in(name) {
            Some(target) => target,
            None => {
                let text =
                    fs_err::read_to_string(name).map_err(|_| OptionsError::UnknownTarget {
                        name: name.to_owned(),
                    })?;
                Target::parse(name, &text)?
            }
        };
        if target.ascend().is_none() {
            return Err(OptionsError::NotAscend {
                name: target.name,
                kind: target.kind,
            });
        }
        Ok(Options {
            target,
            max_errors: DEFAULT_MAX_ERRORS,
            max_steps: DEFAULT_MAX_STEPS,
            hazards: switch(HAZARDS_VARIABLE).unwrap_or(true),
            auto_sync: switch(AUTO_SYNC_VARIABLE).unwrap_or(false),
            device_bytes: std::env::var(DEVICE_BYTES_VARIABLE)
                .ok()
                .and_then(|bytes| bytes.parse().ok())
                .unwrap_or(DEFAULT_DEVICE_BYTES),
        })
    }
}

impl Default for Options {
    fn default() -> Options {
        Options::for_target("ascend910b").expect("the default target is built in")
    }
}

/// Replaces the settings of the process; launches already running keep theirs.
pub fn set_options(options: Options) {
    *CURRENT
        .write()
        .unwrap_or_else(std::sync::PoisonError::into_inner) = Some(options);
}

/// The settings in force: the last ones set, else the environment's target, else the default chip.
pub(crate) fn current() -> Options {
    let set = CURRENT
        .read()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .clone();
    set.unwrap_or_else(|| {
        std::env::var(TARGET_VARIABLE)
            .ok()
            .and_then(|name| Options::for_target(&name).ok())
            .unwrap_or_default()
    })
}
