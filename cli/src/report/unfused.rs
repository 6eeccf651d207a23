//! Attention in three unfused kernels, for the curves over the length: those that are generated for the variant, launched
//! on the emulator without data; or, where there are none, three kernels on paper.

use fa_dsl::variant::{Dtype, Variant};
use fa_runtime::verify::Shape;
use fa_runtime::{
    Error, LaunchSizes, Outputs, Runtime, Tensor, lse_shape, machine, modelled, output_shape,
};
use fa_targets::Target;

use super::lengths::{Analytic, Unfused};
use super::timing::with_inputs;

/// Pairs of all heads of a launch that is emulated at most.
const EMULATED_PAIRS: f64 = 1.1e8;
/// Bytes of the host for each byte of the device: the emulator keeps note of what is defined, and some are left free.
const HOST_BYTES: f64 = 3.0;

/// Emitted kernels.
pub(crate) struct Emitted<'v> {
    variant: &'v Variant,
    kernels: fa_runtime::Unfused,
}

impl<'v> Emitted<'v> {
    /// Those of a variant; `None` where unfused kernels cannot do it, or do not run on the emulator.
    ///
    /// # Errors
    /// They do not compile.
    pub(crate) fn of(
        runtime: &Runtime,
        variant: &'v Variant,
        target: &Target,
    ) -> Result<Option<Emitted<'v>>, Error> {
        match runtime.compile_unfused(variant, target) {
            Ok(kernels) if kernels.is_emulated() => Ok(Some(Emitted { variant, kernels })),
            Ok(_) | Err(Error::Plan(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Unfused for Emitted<'_> {
    fn micros(&self, shape: Shape) -> Result<Option<f64>, Error> {
        let free = machine::available_bytes().unwrap_or(0) as f64;
        if Analytic::pairs(shape) > EMULATED_PAIRS || self.bytes(shape) * HOST_BYTES > free {
            return Ok(None);
        }
        with_inputs(self.variant, shape, |arguments| {
            let sizes = arguments.check(self.variant)?.sizes;
            let out_shape = output_shape(self.variant, arguments.q.shape());
            let mut out = Tensor::zeros(self.variant.precision.output, &out_shape);
            let mut lse = Tensor::zeros(Dtype::Fp32, &lse_shape(self.variant, sizes));
            let mut outputs = Outputs {
                out: out.view_mut(),
                lse: lse.view_mut(),
            };
            let mut scores = self.kernels.scores(arguments)?;
            let launch = || self.kernels.launch(arguments, &mut outputs, &mut scores);
            let (outcome, times) = modelled(launch);
            outcome?;
            Ok(Some(times.iter().map(|time| time.micros).sum()))
        })
    }

    fn bytes(&self, shape: Shape) -> f64 {
        self.kernels.workspace_bytes(LaunchSizes {
            batch: shape.batch,
            heads: shape.heads,
            kv_heads: shape.kv_heads,
            q_len: shape.q_len,
            kv_len: shape.kv_len,
        }) as f64
    }

    fn word(&self) -> &'static str {
        "emulated"
    }

    fn origin(&self) -> &'static str {
        "modelled, emulated: three generated kernels of the same variant, launched one after the other"
    }
}
