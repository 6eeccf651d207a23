//! Emitted CPU kernels: compiled, launched and compared; and their text.

mod cases;
mod faults;
mod kernels;
mod math;
mod support;
mod text;
