//! A stand-in CANN toolkit: compiles and runs Ascend C basic-API kernels on any machine.
//!
//! The crate has four faces. [`driver`] is the `bisheng` compiler driver: it hands a kernel source to the host
//! C++ compiler once for the cube core and once for the vector core. [`acl`] is the C surface of
//! `libascendcl`: devices, memory, streams, loading and launching. [`report`] gives a Rust caller what a launch
//! found, as data. [`toolkit`] lays out a folder that looks like an installed toolkit.
//!
//! Behind them sits a model of the split-core chips (NPU 2201): memories with bounds and definedness, one queue
//! per pipe, flags inside a core and between cores. What hardware leaves silent is refused with the kernel's
//! file and line. Capacities and ranges come from `fa-targets`; this crate knows nothing of attention.
//! Every result is *emulated*: numbers and behaviour are those of the model, not of silicon.

mod abi;
pub mod acl;
mod container;
mod core_model;
mod device;
pub mod driver;
mod dtype;
mod exec;
pub mod experiment;
mod files;
mod headers;
mod instruction;
mod launch;
mod loader;
mod local;
mod options;
mod order;
mod plan;
pub mod report;
mod table;
mod time;
pub mod timeline;
pub mod toolkit;

pub use options::{Options, OptionsError, set_options};
