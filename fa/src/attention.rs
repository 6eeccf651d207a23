//! A variant that was compiled into the program, and how it is launched.

use std::sync::OnceLock;

use fa_dsl::check::{self, Define};
use fa_dsl::ir::eval::Value;
use fa_dsl::span::SourceMap;
use fa_dsl::variant::Variant;
use fa_runtime::abi::CpuEntry;
use fa_runtime::{
    Arguments, Kernel, LinkedCode, Outputs, PackedLengths, Report, Results, Tasks, Tensor,
    TensorView, TensorViewMut,
};

use crate::error::{Error, Result};
use crate::view::{AsView, View};

pub use fa_dsl::philox::Seed;

/// What the macro writes about a variant.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The variant's name.
    pub name: &'static str,
    /// The text it stands in.
    pub source: &'static str,
    /// Constants set from outside.
    pub defines: &'static [(&'static str, &'static str)],
    /// The text is the fields of one variant.
    pub fields: bool,
    /// How launches fall into tasks.
    pub tasks: Tasks,
    /// The longest sequences.
    pub max_len: u32,
    /// The kernel.
    pub entry: CpuEntry,
}

/// A variant and its CPU kernel, compiled into the program.
#[derive(Debug)]
pub struct Attention {
    spec: Spec,
    kernel: OnceLock<Kernel>,
}

/// A variant of the macro.
///
/// # Safety
/// `entry` is the kernel that was rendered for this text, and the numbers are those of its plan.
pub const unsafe fn attention(spec: Spec) -> Attention {
    Attention {
        spec,
        kernel: OnceLock::new(),
    }
}

impl Spec {
    /// The variant, by the front end that the macro has checked this text with.
    fn variant(&self) -> Variant {
        let mut sources = SourceMap::new();
        let file = sources.add("attention!", self.source);
        let checked = if self.fields {
            check::check_inline(&sources, file, self.name)
        } else {
            let defines = self.defines.iter().map(|(name, value)| Define {
                name: (*name).to_owned(),
                value_text: (*value).to_owned(),
            });
            check::check(&sources, file, &defines.collect::<Vec<_>>())
        };
        let mut variants = checked.variants.into_iter();
        variants
            .find(|variant| variant.name.value == self.name)
            .expect("the macro has checked this text with the same front end")
    }
}

impl Attention {
    /// The variant's name.
    pub fn name(&self) -> &'static str {
        self.spec.name
    }

    /// The variant as it is written.
    pub fn source(&self) -> &'static str {
        self.spec.source
    }

    /// The checked variant.
    pub fn variant(&self) -> &Variant {
        self.kernel().variant()
    }

    /// The kernel. The first call parses the text, which takes well under a millisecond.
    pub(crate) fn kernel(&self) -> &Kernel {
        self.kernel.get_or_init(|| {
            let code = LinkedCode {
                symbol: self.spec.name,
                entry: self.spec.entry,
                tasks: self.spec.tasks,
                max_len: self.spec.max_len,
            };
            // SAFETY: whoever wrote the specification vouched for it.
            unsafe { Kernel::linked(self.spec.variant(), code) }
        })
    }

    /// A launch without captured inputs.
    pub fn call<'a>(
        &'static self,
        q: &'a (impl AsView + ?Sized),
        k: &'a (impl AsView + ?Sized),
        v: &'a (impl AsView + ?Sized),
    ) -> Call<'a> {
        Call::new(self.kernel(), [q.as_view(), k.as_view(), v.as_view()])
    }

    /// Checks everything, computes over the current rayon pool, and writes the results.
    ///
    /// # Errors
    /// A fault of the arguments, before any kernel code runs; in strict mode also one of the results.
    pub fn launch(&self, arguments: &Arguments<'_>, outputs: &mut Outputs<'_>) -> Result<Report> {
        let kernel = self.kernel();
        kernel.launch(arguments, outputs).map_err(Error::of(kernel))
    }

    /// The same into new tensors.
    ///
    /// # Errors
    /// As [`Attention::launch`].
    pub fn run(&self, arguments: &Arguments<'_>) -> Result<Results> {
        let kernel = self.kernel();
        kernel.run(arguments).map_err(Error::of(kernel))
    }
}

/// A launch that can still be changed.
#[derive(Clone, Debug)]
#[must_use = "a call computes nothing before `run`, `run_into` or `forward`"]
pub struct Call<'a> {
    kernel: &'a Kernel,
    arguments: Arguments<'a>,
}

/// The shapes of O and LSE.
pub(crate) fn output_shapes(
    variant: &Variant,
    arguments: &Arguments<'_>,
) -> Result<(Vec<usize>, Vec<usize>)> {
    let checked = arguments.check(variant)?;
    let out = fa_runtime::output_shape(variant, arguments.q.shape());
    Ok((out, fa_runtime::lse_shape(variant, checked.sizes)))
}

impl<'a> Call<'a> {
    /// Without captured inputs.
    pub(crate) fn new(kernel: &'a Kernel, [q, k, v]: [TensorView<'a>; 3]) -> Call<'a> {
        Call {
            kernel,
            arguments: Arguments::new(q, k, v),
        }
    }

    /// Hands over a captured tensor.
    pub fn tensor<T>(mut self, name: &str, view: View<'a, T>) -> Call<'a>
    where
        T: crate::Element,
    {
        self.arguments = self.arguments.with(name, view.into_untyped());
        self
    }

    /// Sets a run-time scalar.
    pub fn param(mut self, name: &str, value: impl Scalar) -> Call<'a> {
        self.arguments = self.arguments.with_param(name, value.value());
        self
    }

    /// Sets a run-time scalar unless the variant's default is wanted.
    pub fn optional_param(self, name: &str, value: Option<impl Scalar>) -> Call<'a> {
        match value {
            Some(value) => self.param(name, value),
            None => self,
        }
    }

    /// Gives the lengths of packed sequences.
    pub fn packed(mut self, lengths: PackedLengths) -> Call<'a> {
        self.arguments.packed = Some(lengths);
        self
    }

    /// Makes it a training launch: dropout acts.
    pub fn training(mut self, seed: Seed) -> Call<'a> {
        self.arguments = self.arguments.training(seed);
        self
    }

    /// The kernel, and what it is launched with.
    #[cfg(feature = "candle")]
    pub(crate) fn into_parts(self) -> (&'a Kernel, Arguments<'a>) {
        (self.kernel, self.arguments)
    }

    /// Looks at every element: what is hardly ever meant, such as NaN, refuses the launch or its results.
    pub fn strict(mut self) -> Call<'a> {
        self.arguments = self.arguments.strict();
        self
    }

    /// The output alone.
    ///
    /// # Errors
    /// The arguments do not fit the variant or each other.
    pub fn forward(self) -> Result<Tensor> {
        Ok(self.run()?.out)
    }

    /// Output, LSE and what is known about the launch.
    ///
    /// # Errors
    /// The arguments do not fit the variant or each other.
    pub fn run(self) -> Result<Results> {
        self.kernel
            .run(&self.arguments)
            .map_err(Error::of(self.kernel))
    }

    /// The shapes of O and LSE, for [`Call::run_into`].
    ///
    /// # Errors
    /// The arguments do not fit the variant or each other.
    pub fn output_shapes(&self) -> Result<(Vec<usize>, Vec<usize>)> {
        output_shapes(self.kernel.variant(), &self.arguments)
    }

    /// The same into memory of the caller: O in the variant's layout and type, LSE as fp32 `[b, h, q_len]`.
    ///
    /// # Errors
    /// The arguments do not fit the variant or each other.
    pub fn run_into(self, out: TensorViewMut<'_>, lse: TensorViewMut<'_>) -> Result<Report> {
        let mut outputs = Outputs { out, lse };
        self.kernel
            .launch(&self.arguments, &mut outputs)
            .map_err(Error::of(self.kernel))
    }
}

/// Types of run-time scalars.
pub trait Scalar {
    /// As launches take it.
    fn value(self) -> Value<f32>;
}

impl Scalar for i32 {
    fn value(self) -> Value<f32> {
        Value::Int(self)
    }
}

impl Scalar for f32 {
    fn value(self) -> Value<f32> {
        Value::Float(self)
    }
}

impl Scalar for bool {
    fn value(self) -> Value<f32> {
        Value::Bool(self)
    }
}
