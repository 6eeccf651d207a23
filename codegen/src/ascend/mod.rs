//! The backend for split-core Ascend chips.
