//! `libascendcl.so`: the C functions of [`fa_emulator::acl`] as a shared library.

pub use fa_emulator::acl::*;
