//! Tensors, the compile cache, loading, launching and verifying generated kernels.
//!
//! [`Runtime::compile`] turns a checked variant into a [`Kernel`]; [`Kernel::launch`] checks every argument and
//! runs it. Backends are the f64 reference, emitted Rust on the CPU, and emitted Ascend C on an NPU or, where no
//! toolkit is installed, on the emulator, which every result then says. This crate imports the generator but
//! decides nothing that a plan decides.

pub mod abi;
mod ascend;
pub mod cache;
mod cpu;
mod effort;
mod element;
mod error;
mod files;
mod kernel;
mod launch;
pub mod machine;
mod merge;
mod modelled;
pub mod npy;
mod program;
mod reference;
mod sample;
mod tensor;
mod tuned;
mod unfused;
pub mod verify;
mod view;

pub use ascend::ASCEND_HOME_VARIABLE;
pub use cpu::RUSTC_VARIABLE;
pub use effort::Effort;
pub use error::{Error, Result};
pub use fa_codegen::cpu::Tasks;
pub use files::write_atomically;
pub use kernel::{Backend, Kernel, LinkedCode, Report, Results, Runtime};
pub use launch::{
    Arguments, Checked, LaunchSizes, Outputs, PackedLengths, lse_shape, output_shape, parse_param,
};
pub use merge::{Merged, Partial, merge};
pub use modelled::{ModelledTime, modelled, modelled_with};
pub use sample::{SampledRow, sample_rows, sampled_error};
pub use tensor::{ALIGN_BYTES, Tensor};
pub use tuned::Tuned;
pub use unfused::{Scores, Unfused};
pub use view::{TensorView, TensorViewMut, contiguous_strides};
