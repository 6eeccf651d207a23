//! The error type of this crate. What a person reads about their program is a
//! [`fa_dsl::diagnostic::Diagnostic`] inside; the rest is what the machine around it answered.

use std::io;
use std::path::PathBuf;

use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::reference::ProblemError;
use fa_dsl::variant::Dtype;

use crate::view::span_elems;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why something could not be compiled, loaded or launched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The backend cannot do this variant on this target.
    #[error("no plan: {}", list(.0))]
    Plan(Vec<Diagnostic>),
    /// The launch is refused before any kernel code runs.
    #[error("launch refused: {}", list(.0))]
    Launch(Vec<Diagnostic>),
    /// Strict mode finds values in the results that are hardly ever meant; they have been written.
    #[error("results refused: {}", list(.0))]
    Results(Vec<Diagnostic>),
    /// A view that does not fit its storage.
    #[error(
        "no {} view of shape {shape:?} and strides {strides:?}: {}",
        dtype.name(),
        view_fault(*dtype, shape, strides, *bytes)
    )]
    View {
        /// Element type.
        dtype: Dtype,
        /// Its shape.
        shape: Vec<usize>,
        /// Its strides, elements.
        strides: Vec<i64>,
        /// Bytes of the storage.
        bytes: usize,
    },
    /// A file operation.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A `.npy` file of a kind that is not read.
    #[error("{}: {reason}", path.display())]
    Npy {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A program that is needed is not installed.
    #[error("`{program}` was not found; set {variable} to its path or add it to PATH")]
    MissingProgram {
        /// Its name.
        program: &'static str,
        /// The variable that may hold its path.
        variable: &'static str,
    },
    /// The compiler refused emitted code, which is a fault of the generator.
    #[error("{compiler} refused the emitted code ({status}):\n{output}")]
    Compiler {
        /// Which compiler.
        compiler: String,
        /// How it ended.
        status: String,
        /// What it said.
        output: String,
    },
    /// `FA_CPU_LEVEL` names no level of instruction sets.
    #[error(
        "{} is `{name}`, which is no level of instruction sets; set it to {}, or to nothing for the best",
        crate::cpu::LEVEL_VARIABLE,
        fa_codegen::CPU_LEVELS.join(", ")
    )]
    Level {
        /// What it is set to.
        name: String,
    },
    /// Two kernels of one translation unit have the same name.
    #[error("two kernels export `{0}`; compile them apart")]
    DuplicateSymbol(String),
    /// A compiled kernel could not be opened, or lacks its entry.
    #[error("cannot load {}", path.display())]
    Load {
        /// The library.
        path: PathBuf,
        /// What the loader says.
        #[source]
        source: libloading::Error,
    },
    /// A runtime library has no such function.
    #[error(
        "{} has no function `{symbol}`: it belongs to another version of the toolkit, or to another library",
        path.display()
    )]
    Symbol {
        /// The library.
        path: PathBuf,
        /// The function.
        symbol: &'static str,
        /// What the loader says.
        #[source]
        source: libloading::Error,
    },
    /// No folder for the cache is known.
    #[error("no cache folder: set FA_GEN_CACHE_DIR")]
    NoCacheFolder(#[source] etcetera::HomeDirError),
    /// An Ascend runtime call failed.
    #[error("{call} failed with {code}: {text}")]
    Acl {
        /// The call.
        call: &'static str,
        /// Its return value.
        code: i32,
        /// What `aclGetRecentErrMsg` says.
        text: String,
    },
    /// A kernel returned something other than 0.
    #[error("kernel `{symbol}` returned {code}")]
    Kernel {
        /// Its symbol.
        symbol: String,
        /// Its return value.
        code: i32,
    },
    /// The reference was given sizes that do not fit together.
    #[error(transparent)]
    Reference(#[from] ProblemError),
}

fn list(diagnostics: &[Diagnostic]) -> String {
    let lines: Vec<String> = diagnostics
        .iter()
        .map(|found| format!("{}: {} (help: {})", found.code, found.message, found.help))
        .collect();
    lines.join("; ")
}

/// What is wrong with shape and strides beside so many bytes.
fn view_fault(dtype: Dtype, shape: &[usize], strides: &[i64], bytes: usize) -> String {
    if shape.len() != strides.len() {
        let (axes, given) = (shape.len(), strides.len());
        return format!("there are {axes} dimensions and {given} strides");
    }
    let mut steps = strides.iter().zip(shape);
    if let Some(axis) = steps.position(|(stride, size)| *stride < 0 && *size > 1) {
        return format!("the stride of dimension {axis} is negative; copy what runs backwards");
    }
    let elem_bytes = dtype.bytes() as usize;
    let needed = span_elems(shape, strides).and_then(|elems| elems.checked_mul(elem_bytes));
    match needed {
        Some(needed) if needed <= bytes => {
            format!("its first element is not at a multiple of {elem_bytes} bytes")
        }
        Some(needed) => format!(
            "it reaches over {} elements, there are {}; pass as many as the shape has, or a smaller shape",
            needed / elem_bytes,
            bytes / elem_bytes
        ),
        None => format!(
            "it reaches beyond all memory, there are {} elements",
            bytes / elem_bytes
        ),
    }
}
