//! The C surface of `libascendcl`, over the emulated device.
//!
//! Names, arguments and units are those of the public headers; work runs at once and its errors appear where a
//! device would report them, at synchronisation. Every function may be called from Rust as well.

mod args;
mod binary;
mod code;
mod event;
mod launch;
mod memory;
mod process;
mod stream;

pub use args::*;
pub use binary::*;
pub use code::*;
pub use event::*;
pub use launch::*;
pub use memory::*;
pub use process::*;
pub use stream::*;
