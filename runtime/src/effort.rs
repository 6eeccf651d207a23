//! What kernels are compiled for.

/// What kernels are compiled for; their results are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// Quick launches.
    #[default]
    Speed,
    /// Quick compilation, for many kernels of which each is launched on a few small problems. An installed toolkit
    /// compiles for speed all the same.
    Compile,
}
