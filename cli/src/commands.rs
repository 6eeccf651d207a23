//! One module per command.

pub(crate) mod check;
pub(crate) mod explain;
pub(crate) mod fmt;
pub(crate) mod generate;
pub(crate) mod mask;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod targets;
pub(crate) mod verify;
