//! Attention variants in Rust programs.
//!
//! A variant is written in the `.fa` language and comes in through one of three doors:
//!
//! * [`attention!`] compiles it into the program: the CPU kernel ahead of time, the Ascend C beside it as text,
//!   and the on-chip budget checked by the compiler;
//! * [`Kernel::load`] compiles it while the program runs;
//! * `Build`, behind the feature `build`, writes the files from a build script.
//!
//! Tensors are slices, `ndarray` arrays (feature `ndarray`) or tensors of `candle` (feature `candle`).
//!
//! ```
//! fa::attention! {
//!     attention local { head_dim = 16; precision = fp32; target = cpu; mask = causal; }
//! }
//!
//! let ones = vec![1.0_f32; 2 * 8 * 16];
//! let q = fa::View::new(&ones, &[1, 2, 8, 16])?;
//! let out = local::forward(&q, &q, &q)?;
//! assert_eq!(out.shape(), [1, 2, 8, 16]);
//! assert!(out.to_f64().iter().all(|value| *value == 1.0));
//! # Ok::<(), fa::Error>(())
//! ```

/// The programs of the pages are tests.
#[cfg(all(doctest, feature = "build"))]
#[doc = include_str!("../../README.md")]
#[doc = include_str!("../../docs/rust.md")]
struct Pages;

#[cfg(feature = "ndarray")]
mod arrays;
mod attention;
mod budget;
#[cfg(feature = "build")]
mod build;
#[cfg(feature = "candle")]
pub mod candle;
mod error;
mod kernel;
mod view;

#[cfg(feature = "ndarray")]
pub use arrays::array_mut;
pub use attention::{Attention, Call, Scalar, Seed};
pub use budget::{Budget, BudgetBuffer, BudgetMemory};
#[cfg(feature = "build")]
pub use build::Build;
pub use error::{Error, Finding, Result};
pub use fa_dsl::variant::Dtype;
pub use fa_runtime::{
    Arguments, Outputs, PackedLengths, Report, Results, Tensor, TensorView, TensorViewMut,
};
pub use half::{bf16, f16};
pub use kernel::{Kernel, Options};
pub use view::{AsView, Element, View, view_mut};

/// What the expansion of [`attention!`] needs; not for use by hand.
#[doc(hidden)]
pub mod __private {
    pub use crate::attention::{Spec, attention};
    pub use fa_macros::attention as expand;
    pub use fa_runtime::Tasks;
    pub use fa_runtime::abi::Launch;
}

/// Compiles attention variants into the program.
///
/// There are three forms, and each takes the language as it stands in `.fa` files.
///
/// **Items** become one module per variant, named after it:
///
/// ```
/// fa::attention! {
///     const radius: int = 64;
///
///     /// Sees what lies close.
///     attention local { head_dim = 32; mask = causal && window(radius, 0); }
///
///     attention local_capped : local { score = softcap(score, 30.0); }
/// }
///
/// assert!(local::ASCEND_C.contains("__aicore__"));
/// let ub = local_capped::BUDGET.memory("UB").expect("every chip has one");
/// assert!(ub.used_bytes <= ub.capacity_bytes);
/// ```
///
/// **Fields** between `<` and `>`, separated by commas, the keys of `tile` among them, are an expression:
///
/// ```
/// let attn = fa::attention!(< head_dim = 64, mask = causal && window(255, 0), block_q = 64 >);
/// assert_eq!(attn.budget().target, "ascend910b");
/// ```
///
/// **A path** names a file, beside the source file or below the folder of `Cargo.toml`; editing it rebuilds the
/// crate. Its constants can be set: `attention!("variants/local.fa", radius = 128)`.
///
/// # The module
///
/// * `forward(&q, &k, &v)` gives O; `call(&q, &k, &v)` gives a [`Call`], for LSE, outputs of one's own, training.
/// * A variant that captures tensors or has parameters takes them as a struct `Inputs`, whose fields have their
///   types, so that a missing one does not compile. (As an expression it takes them one by one, in order of
///   declaration.) A parameter with a default is an `Option`.
/// * `SOURCE`, `ASCEND_C`, `ASCEND_FILES`, `BUDGET`, `CPU_BUDGET` are constants; `ATTENTION` is the variant as a
///   value.
///
/// The Ascend C is for the first chip that the variant names, and for `ascend910b` where it names no target; a
/// variant that names only `cpu` has none.
///
/// # What does not compile
///
/// Every fault that `fa-gen check` finds is a compile error on the tokens that it is about, with its code and its
/// help. Warnings stand in the documentation of the module, since a macro of stable Rust cannot warn.
///
/// ```compile_fail
/// fa::attention! { attention local { head_dim = 64; mask = causl; } }
/// ```
///
/// ```compile_fail
/// # fa::attention! { attention alibi { head_dim = 64; tensor slopes: fp32[h]; score = score - slopes[h]; } }
/// # let q = fa::Tensor::zeros(fa::Dtype::Fp16, &[1, 1, 1, 64]);
/// let out = alibi::forward(&q, &q, &q, alibi::Inputs {});
/// ```
#[macro_export]
macro_rules! attention {
    ($($input:tt)*) => {
        $crate::__private::expand! { $crate; $($input)* }
    };
}

/// Includes the module of a variant that a build script wrote by `fa::Build`: `include_attention!("local")` gives the
/// module `local`, as [`attention!`] would.
#[macro_export]
macro_rules! include_attention {
    ($name:literal) => {
        ::core::include!(::core::concat!(::core::env!("OUT_DIR"), "/", $name, ".rs"));
    };
}
