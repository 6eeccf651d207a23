//! The module that a variant becomes: its kernels, its budget, and the functions that launch it.

use fa_codegen::Plan;
use fa_codegen::cpu::Tasks;
use fa_dsl::check::Define;
use fa_dsl::ir::Type;
use fa_dsl::span::Span as Place;
use fa_dsl::variant::{Dtype, Layout, Variant};
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::quote;
use syn::Error;

use crate::front::{Built, Emitted};
use crate::input::{Door, Form, INLINE_NAME, Read};
use crate::{budget, docs, kernel};

/// Where the Rust of the CPU kernel stands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KernelSource<'a> {
    /// In the module.
    Inline,
    /// In a file of this absolute path.
    File(&'a str),
}

/// All that a module is made of, beside the plans.
#[derive(Clone, Debug)]
pub(crate) struct Frame<'a> {
    /// Path of the facade crate.
    pub(crate) facade: TokenStream,
    /// The module's name.
    pub(crate) name: Ident,
    /// Its documentation.
    pub(crate) docs: String,
    /// An expression that gives the text.
    pub(crate) source: TokenStream,
    /// Constants that were set from outside, and their values.
    pub(crate) defines: Vec<Define>,
    /// The text is the fields of one variant.
    pub(crate) fields: bool,
    /// Where the kernel stands.
    pub(crate) kernel: KernelSource<'a>,
    /// The spans of names of the variant's inputs, in order of declaration: tensors, then parameters.
    pub(crate) input_spans: Vec<Span>,
}

/// One module per variant; an expression for the expression form.
pub(crate) fn modules(facade: &TokenStream, read: &Read, built: &[Built]) -> TokenStream {
    let modules = built.iter().map(|built| match frame(facade, read, built) {
        Ok(frame) => module(&frame, built),
        Err(error) => error.into_compile_error(),
    });
    match read.form {
        Form::Items => modules.collect(),
        Form::Fields => {
            let name = Ident::new(INLINE_NAME, Span::call_site());
            quote!({ #(#modules)* #name::Compiled })
        }
    }
}

fn frame<'a>(facade: &TokenStream, read: &Read, built: &Built) -> Result<Frame<'a>, Error> {
    let variant = &built.variant;
    let spot = |place: Place| read.tokens_at(place).0;
    let name = match read.form {
        Form::Items => rust_name(&variant.name.value, spot(variant.name.span))?,
        Form::Fields => Ident::new(INLINE_NAME, Span::call_site()),
    };
    let source = match &read.door {
        Door::Tokens(_) => raw_literal(read.text()),
        Door::File { path, .. } => {
            let path = path.display().to_string();
            quote!(::core::include_str!(#path))
        }
    };
    let places = variant.tensors.iter().map(|tensor| tensor.span);
    let places = places.chain(variant.params.iter().map(|param| param.span));
    Ok(Frame {
        facade: facade.clone(),
        name,
        docs: docs::module(read, built),
        source,
        defines: read.defines.clone(),
        fields: read.form == Form::Fields,
        kernel: KernelSource::Inline,
        input_spans: places.map(spot).collect(),
    })
}

/// A name of the language as one of Rust.
///
/// # Errors
/// Rust has no way to write it.
pub(crate) fn rust_name(name: &str, span: Span) -> Result<Ident, Error> {
    if syn::parse_str::<Ident>(name).is_ok() {
        return Ok(Ident::new(name, span));
    }
    if ["self", "Self", "super", "crate"].contains(&name) {
        let message = format!(
            "FA009: Rust reserves `{name}`, so nothing can be called that in a macro\n\
             help: choose another name"
        );
        return Err(Error::new(span, message));
    }
    Ok(Ident::new_raw(name, span))
}

/// Text as a literal that reads as it is.
pub(crate) fn raw_literal(text: &str) -> TokenStream {
    let mut fence = "#".to_owned();
    while text.contains(&format!("\"{fence}")) {
        fence.push('#');
    }
    let literal = format!("r{fence}\"{text}\"{fence}").parse::<Literal>();
    literal.map_or_else(|_| quote!(#text), |literal| quote!(#literal))
}

/// The module of one variant.
pub(crate) fn module(frame: &Frame<'_>, built: &Built) -> TokenStream {
    let Frame {
        facade,
        name,
        docs,
        source,
        ..
    } = frame;
    let inputs = match inputs(frame, &built.variant) {
        Ok(inputs) => inputs,
        Err(error) => return error.into_compile_error(),
    };
    let ascend = built.ascend.as_ref().map(ascend);
    let budgets = budgets(facade, built);
    let structure = inputs.structure();
    let launch = launch(frame, built, &inputs);
    let kernel = kernel_module(frame, &built.cpu);
    quote! {
        #[doc = #docs]
        pub mod #name {
            /// The variant as it is written.
            pub const SOURCE: &str = #source;
            #structure
            #launch
            #budgets
            #ascend
            #kernel
        }
    }
}

/// The Ascend C of a variant.
fn ascend(emitted: &Emitted) -> TokenStream {
    let target = &emitted.plan.budget().target;
    let docs = docs::attribute(&format!("The Ascend C kernel for `{target}`."));
    let (first, rest) = emitted.files.split_first().expect("a kernel is rendered");
    let text = raw_literal(&first.text);
    let path = &first.path;
    let rest = rest.iter().map(|file| {
        let (path, text) = (&file.path, raw_literal(&file.text));
        quote!((#path, #text))
    });
    quote! {
        #[doc = #docs]
        pub const ASCEND_C: &str = #text;
        /// Names and texts of all files that belong to the Ascend C kernel, the kernel first.
        pub const ASCEND_FILES: &[(&str, &str)] = &[(#path, ASCEND_C), #(#rest),*];
    }
}

fn budgets(facade: &TokenStream, built: &Built) -> TokenStream {
    let mut named = vec![(quote!(CPU_BUDGET), &built.cpu)];
    named.extend(built.ascend.iter().map(|ascend| (quote!(BUDGET), ascend)));
    let constants = named.into_iter().map(|(name, emitted)| {
        let budget = emitted.plan.budget();
        let docs = format!(
            " Memories of `{}` and what the kernel places in them.",
            budget.target
        );
        let value = budget::constant(facade, budget);
        let assertions = budget::assertions(budget, &name);
        quote! {
            #[doc = #docs]
            pub const #name: #facade::Budget = #value;
            #assertions
        }
    });
    quote!(#(#constants)*)
}

/// A captured tensor, a parameter, or the lengths of packed sequences.
struct Input {
    name: Ident,
    text: String,
    ty: TokenStream,
    docs: String,
    /// The method of `Call` that takes it; the lengths have no name there.
    setter: Ident,
    named: bool,
}

struct Inputs(Vec<Input>);

fn inputs(frame: &Frame<'_>, variant: &Variant) -> Result<Inputs, Error> {
    let facade = &frame.facade;
    let mut spans = frame
        .input_spans
        .iter()
        .copied()
        .chain(std::iter::repeat(Span::call_site()));
    let mut next_span = || spans.next().expect("the chain does not end");
    let method = |name| Ident::new(name, Span::call_site());
    let mut inputs = Vec::new();
    for tensor in &variant.tensors {
        let element = element(facade, tensor.dtype);
        inputs.push(Input {
            name: rust_name(&tensor.name, next_span())?,
            text: tensor.name.clone(),
            ty: quote!(#facade::View<'a, #element>),
            docs: docs::attribute(&docs::tensor(tensor)),
            setter: method("tensor"),
            named: true,
        });
    }
    for param in &variant.params {
        let scalar = scalar(param.ty);
        let optional = param.default.is_some();
        inputs.push(Input {
            name: rust_name(&param.name, next_span())?,
            text: param.name.clone(),
            ty: if optional {
                quote!(::core::option::Option<#scalar>)
            } else {
                scalar
            },
            docs: docs::attribute(&docs::param(param)),
            setter: method(if optional { "optional_param" } else { "param" }),
            named: true,
        });
    }
    if variant.layout == Layout::Tnd {
        inputs.push(Input {
            name: method("packed"),
            text: String::new(),
            ty: quote!(#facade::PackedLengths),
            docs: " Prefix sums of the lengths of the packed sequences.".to_owned(),
            setter: method("packed"),
            named: false,
        });
    }
    Ok(Inputs(inputs))
}

fn element(facade: &TokenStream, dtype: Dtype) -> TokenStream {
    match dtype {
        Dtype::Fp32 => quote!(f32),
        Dtype::Fp16 => quote!(#facade::f16),
        Dtype::Bf16 => quote!(#facade::bf16),
        Dtype::Int8 => quote!(i8),
        Dtype::Int32 => quote!(i32),
        Dtype::Bool => quote!(bool),
    }
}

fn scalar(ty: Type) -> TokenStream {
    match ty {
        Type::Int => quote!(i32),
        Type::Float => quote!(f32),
        Type::Bool => quote!(bool),
    }
}

impl Inputs {
    /// The struct that holds them; nothing where there are none.
    fn structure(&self) -> Option<TokenStream> {
        if self.0.is_empty() {
            return None;
        }
        let fields = self.0.iter().map(|Input { name, ty, docs, .. }| {
            quote! {
                #[doc = #docs]
                pub #name: #ty
            }
        });
        let lifetime = self.lifetime();
        let default = self
            .0
            .iter()
            .all(|input| input.setter == "optional_param")
            .then(|| {
                let names = self.0.iter().map(|input| &input.name);
                quote! {
                    impl ::core::default::Default for Inputs {
                        fn default() -> Self {
                            Inputs { #(#names: ::core::option::Option::None),* }
                        }
                    }
                }
            });
        Some(quote! {
            /// What the variant takes beside Q, K and V.
            #[derive(::core::clone::Clone, ::core::fmt::Debug)]
            pub struct Inputs #lifetime {
                #(#fields),*
            }
            #default
        })
    }

    /// Tensors are borrowed.
    fn lifetime(&self) -> Option<TokenStream> {
        let borrows = self.0.iter().any(|input| input.setter == "tensor");
        borrows.then(|| quote!(<'a>))
    }

    /// The parameter list of a launch, beside Q, K and V.
    fn argument(&self) -> Option<TokenStream> {
        if self.0.is_empty() {
            return None;
        }
        let lifetime = self.lifetime();
        Some(quote!(inputs: Inputs #lifetime))
    }

    /// The same one by one.
    fn arguments(&self) -> Vec<TokenStream> {
        let each = self
            .0
            .iter()
            .map(|Input { name, ty, .. }| quote!(#name: #ty));
        each.collect()
    }

    /// Calls that hand them over.
    fn setters(&self) -> Vec<TokenStream> {
        let each = self.0.iter().map(|input| {
            let Input {
                name, text, setter, ..
            } = input;
            let label = input.named.then(|| quote!(#text,));
            quote!(.#setter(#label inputs.#name))
        });
        each.collect()
    }
}

/// The functions of a module.
fn launch(frame: &Frame<'_>, built: &Built, inputs: &Inputs) -> TokenStream {
    let facade = &frame.facade;
    let entry = entry(frame, built);
    let argument = inputs.argument();
    let setters = inputs.setters();
    let pass = argument.is_some().then(|| quote!(inputs));
    let handle = frame.fields.then(|| handle(frame, built, inputs));
    quote! {
        #entry

        /// The output of attention, in the variant's layout and type.
        ///
        /// # Errors
        /// The arguments do not fit the variant or each other.
        pub fn forward<'a>(
            q: &'a (impl #facade::AsView + ?::core::marker::Sized),
            k: &'a (impl #facade::AsView + ?::core::marker::Sized),
            v: &'a (impl #facade::AsView + ?::core::marker::Sized),
            #argument
        ) -> #facade::Result<#facade::Tensor> {
            call(q, k, v, #pass).forward()
        }

        /// A launch that can still be changed: for LSE, for outputs of one's own, for training.
        pub fn call<'a>(
            q: &'a (impl #facade::AsView + ?::core::marker::Sized),
            k: &'a (impl #facade::AsView + ?::core::marker::Sized),
            v: &'a (impl #facade::AsView + ?::core::marker::Sized),
            #argument
        ) -> #facade::Call<'a> {
            ATTENTION.call(q, k, v) #(#setters)*
        }

        #handle
    }
}

/// The variant as a value of the program, and the entry of its kernel.
fn entry(frame: &Frame<'_>, built: &Built) -> TokenStream {
    let Frame { facade, fields, .. } = frame;
    let plan = &built.cpu.plan;
    let symbol = Ident::new(plan.symbol(), Span::call_site());
    let name = &built.variant.name.value;
    let tasks = tasks(facade, plan);
    let max_len = Literal::u32_unsuffixed(plan.limits().max_len);
    let defines = frame
        .defines
        .iter()
        .map(|Define { name, value_text }| quote!((#name, #value_text)));
    quote! {
        /// The variant, compiled into this program.
        pub static ATTENTION: #facade::Attention = {
            unsafe extern "C" fn entry(
                launch: *const #facade::__private::Launch,
                pointers: *const *mut ::core::ffi::c_void,
                first_task: i64,
                last_task: i64,
            ) -> i32 {
                unsafe { kernel::#symbol(launch.cast(), pointers, first_task, last_task) }
            }
            let spec = #facade::__private::Spec {
                name: #name,
                source: SOURCE,
                defines: &[#(#defines),*],
                fields: #fields,
                tasks: #tasks,
                max_len: #max_len,
                entry,
            };
            unsafe { #facade::__private::attention(spec) }
        };
    }
}

/// How launches of a plan fall into tasks.
fn tasks(facade: &TokenStream, plan: &Plan) -> TokenStream {
    let Plan::Cpu(plan) = plan else {
        unreachable!("the kernel of a program is one for its processor")
    };
    let Tasks {
        block_q,
        block_kv,
        v_cols,
        split_kv,
    } = plan.tasks();
    let [block_q, block_kv, v_cols] = [block_q, block_kv, v_cols].map(Literal::u32_unsuffixed);
    let split_kv = match split_kv.map(Literal::u32_unsuffixed) {
        Some(parts) => quote!(::core::option::Option::Some(#parts)),
        None => quote!(::core::option::Option::None),
    };
    quote! {
        #facade::__private::Tasks {
            block_q: #block_q,
            block_kv: #block_kv,
            v_cols: #v_cols,
            split_kv: #split_kv,
        }
    }
}

/// What an expression gives: the functions of the module as methods, since nobody can name the module.
fn handle(frame: &Frame<'_>, built: &Built, inputs: &Inputs) -> TokenStream {
    let facade = &frame.facade;
    let arguments = inputs.arguments();
    let names = inputs.0.iter().map(|input| &input.name);
    let pass = (!arguments.is_empty()).then(|| quote!(Inputs { #(#names),* }));
    let ascend = built.ascend.is_some().then(|| {
        quote! {
            /// The Ascend C kernel.
            pub const fn ascend_c(self) -> &'static str {
                ASCEND_C
            }

            /// Memories of the chip and what the kernel places in them.
            pub const fn budget(self) -> #facade::Budget {
                BUDGET
            }
        }
    });
    let [q, k, v] = ["q", "k", "v"].map(|name| Ident::new(name, Span::mixed_site()));
    quote! {
        /// The variant of this expression.
        #[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
        pub struct Compiled;

        impl Compiled {
            /// The output of attention, in the variant's layout and type.
            ///
            /// # Errors
            /// The arguments do not fit the variant or each other.
            pub fn forward<'a>(
                self,
                #q: &'a (impl #facade::AsView + ?::core::marker::Sized),
                #k: &'a (impl #facade::AsView + ?::core::marker::Sized),
                #v: &'a (impl #facade::AsView + ?::core::marker::Sized),
                #(#arguments),*
            ) -> #facade::Result<#facade::Tensor> {
                forward(#q, #k, #v, #pass)
            }

            /// A launch that can still be changed: for LSE, for outputs of one's own, for training.
            pub fn call<'a>(
                self,
                #q: &'a (impl #facade::AsView + ?::core::marker::Sized),
                #k: &'a (impl #facade::AsView + ?::core::marker::Sized),
                #v: &'a (impl #facade::AsView + ?::core::marker::Sized),
                #(#arguments),*
            ) -> #facade::Call<'a> {
                call(#q, #k, #v, #pass)
            }

            /// The variant, compiled into this program.
            pub fn attention(self) -> &'static #facade::Attention {
                &ATTENTION
            }

            #ascend
        }
    }
}

fn kernel_module(frame: &Frame<'_>, cpu: &Emitted) -> TokenStream {
    let text = &cpu.files.first().expect("a kernel is rendered").text;
    match frame.kernel {
        KernelSource::Inline => {
            let tokens = kernel::tokens(text);
            quote! {
                mod kernel {
                    #tokens
                }
            }
        }
        KernelSource::File(path) => quote! {
            #[path = #path]
            #[allow(unreachable_pub, unsafe_code, reason = "the kernel calls intrinsics and exports a C entry")]
            mod kernel;
        },
    }
}
