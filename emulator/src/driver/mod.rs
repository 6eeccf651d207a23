//! The `bisheng` driver: hands a kernel source to the host C++ compiler, once per kind of core.

mod args;
mod scan;
mod wrap;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::abi::ABI_VERSION;
use crate::container::Container;
use crate::files::write_atomically;
use crate::headers;

pub use args::ArgsError;
use args::Config;
pub use scan::ScanError;

/// Why a source was not compiled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The command line is not one that the driver knows.
    #[error(transparent)]
    Args(#[from] ArgsError),
    /// The kernels of the source cannot be told.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// A file could not be read or written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// None of the usual compilers is there.
    #[error(
        "no host C++ compiler found: set CXX, or install one of c++, g++, clang++ (the emulated toolkit needs it)"
    )]
    NoCompiler,
    /// The compiler refused the source; the text is its own.
    #[error("{output}")]
    Compiler {
        /// What the compiler wrote, with the file names and lines of the source.
        output: String,
    },
}

/// What this driver is: its version, that of its headers and of the host compiler. Another text may mean other code.
pub fn version() -> String {
    let sources = [
        include_bytes!("mod.rs").as_slice(),
        include_bytes!("wrap.rs"),
        include_bytes!("scan.rs"),
    ];
    let mut hash = Sha256::new();
    headers::HEADERS
        .iter()
        .map(|(_, text)| text.as_bytes())
        .chain(sources)
        .for_each(|part| hash.update(part));
    let digest: String = hash.finalize()[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let compiler = Compiler::find().ok().and_then(|compiler| {
        let answer = Command::new(compiler.program)
            .arg("--version")
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&answer.stdout).into_owned();
        text.lines().next().map(str::to_owned)
    });
    format!(
        "emulated bisheng {}, interface {ABI_VERSION}, sources {digest}, host compiler {}",
        env!("CARGO_PKG_VERSION"),
        compiler.as_deref().unwrap_or("not found")
    )
}

/// Names of the kernels in a compiled file, in the order of the source.
///
/// # Errors
/// The bytes are not what this driver writes.
pub fn kernels(binary: &[u8]) -> Result<Vec<String>, DriverError> {
    let container =
        Container::from_bytes(binary).map_err(|error| std::io::Error::other(error.to_string()))?;
    let kernels = container.header.kernels.into_iter();
    Ok(kernels.map(|kernel| kernel.name).collect())
}

/// Compiles as `bisheng` would be asked to; `args` are the words after the command's name.
///
/// # Errors
/// An unknown option, a missing file or compiler, or a source that does not compile.
pub fn compile(args: &[OsString]) -> Result<(), DriverError> {
    let warnings = compile_with_diagnostics(args)?;
    if !warnings.is_empty() {
        tracing::warn!(target: "fa_emulator::driver", "{warnings}");
    }
    Ok(())
}

/// Like [`compile`], and returns what the compiler wrote although it succeeded.
///
/// # Errors
/// As for [`compile`].
pub fn compile_with_diagnostics(args: &[OsString]) -> Result<String, DriverError> {
    let config = Config::parse(args)?;
    let source = fs_err::read_to_string(&config.source)?;
    let compiler = Compiler::find()?;
    let include = headers::materialise()?;
    let folder = tempfile::tempdir()?;
    let job = Job {
        config: &config,
        compiler: &compiler,
        include: &include,
        folder: folder.path(),
    };
    let scanned = job.preprocess(&wrap::unit(&config.source, &source))?;
    let kernels = scan::kernels(&scanned, &include)?;
    let unit = wrap::unit_with_table(&config.source, &source, &kernels);
    let (cube, vector) = job.both_passes(&unit)?;
    let mut output = config.remarks.clone();
    output.push_str(&vector.1);
    if cube.1 != vector.1 {
        output.push_str(&cube.1);
    }
    let kernels = kernels.into_iter().map(|kernel| kernel.kernel).collect();
    let container = Container::new(
        config.npu_arch.clone(),
        ABI_VERSION,
        kernels,
        cube.0,
        vector.0,
    );
    write_atomically(&config.output, &container.to_bytes())?;
    Ok(output)
}

/// The host's C++ compiler.
struct Compiler {
    program: OsString,
    is_clang: bool,
}

impl Compiler {
    fn find() -> Result<Compiler, DriverError> {
        let named = std::env::var_os("CXX").filter(|name| !name.is_empty());
        let candidates: Vec<OsString> = match named {
            Some(name) => vec![name],
            None => ["c++", "g++", "clang++"].map(OsString::from).to_vec(),
        };
        for program in candidates {
            if let Ok(answer) = Command::new(&program).arg("--version").output() {
                let text = String::from_utf8_lossy(&answer.stdout).to_lowercase();
                return Ok(Compiler {
                    program,
                    is_clang: text.contains("clang"),
                });
            }
        }
        Err(DriverError::NoCompiler)
    }
}

/// The two passes of one kind each.
#[derive(Clone, Copy)]
enum Pass {
    Cube,
    Vector,
}

impl Pass {
    fn macro_name(self) -> &'static str {
        match self {
            Pass::Cube => "SPLIT_CORE_CUBE",
            Pass::Vector => "SPLIT_CORE_VEC",
        }
    }

    /// The macro of older toolkits for the same pass.
    fn old_macro_name(self) -> &'static str {
        match self {
            Pass::Cube => "__DAV_C220_CUBE__",
            Pass::Vector => "__DAV_C220_VEC__",
        }
    }

    fn file(self) -> &'static str {
        match self {
            Pass::Cube => "cube",
            Pass::Vector => "vector",
        }
    }
}

struct Job<'j> {
    config: &'j Config,
    compiler: &'j Compiler,
    include: &'j Path,
    folder: &'j Path,
}

/// A pass's shared object and what the compiler wrote.
type Built = (Vec<u8>, String);

impl Job<'_> {
    fn command(&self, pass: Pass) -> Command {
        let mut command = Command::new(&self.compiler.program);
        // Kernels reinterpret scalars in place, which the device compiler allows.
        command.args(["-x", "c++", "-fno-strict-aliasing"]);
        command.args(&self.config.passed_on);
        if !self.config.has_standard {
            command.arg("-std=c++17");
        }
        for name in [pass.macro_name(), pass.old_macro_name()] {
            command.arg(format!("-D{name}=1"));
        }
        command.arg(format!("-D__NPU_ARCH__={}", self.config.arch_number));
        if !self.compiler.is_clang {
            // A kernel is one translation unit: what its classes are made of may be local to it.
            command.arg("-Wno-subobject-linkage");
        }
        if self.config.no_reserved_ub {
            command.arg("-DFA_EMU_NO_RESERVED_UB=1");
        }
        command.arg("-isystem").arg(self.include);
        command
            .arg("-iquote")
            .arg(source_folder(&self.config.source));
        command
    }

    fn preprocess(&self, unit: &str) -> Result<String, DriverError> {
        let path = self.write(unit, "scan.cpp")?;
        let mut command = self.command(Pass::Vector);
        command.args(["-DFA_EMU_SCAN=1", "-E"]).arg(&path);
        let answer = command.output()?;
        if !answer.status.success() {
            return Err(DriverError::Compiler {
                output: text(&answer.stderr),
            });
        }
        Ok(text(&answer.stdout))
    }

    fn both_passes(&self, unit: &str) -> Result<(Built, Built), DriverError> {
        let path = self.write(unit, "unit.cpp")?;
        let (cube, vector) = std::thread::scope(|scope| {
            let cube = scope.spawn(|| self.build(&path, Pass::Cube));
            let vector = self.build(&path, Pass::Vector);
            (cube.join().expect("a pass does not panic"), vector)
        });
        match (cube, vector) {
            (Ok(cube), Ok(vector)) => Ok((cube, vector)),
            (_, Err(error)) | (Err(error), _) => Err(error),
        }
    }

    fn build(&self, path: &Path, pass: Pass) -> Result<Built, DriverError> {
        let object = self.folder.join(pass.file()).with_extension("so");
        let mut command = self.command(pass);
        command.args([
            "-fPIC",
            "-shared",
            "-fvisibility=hidden",
            "-fexceptions",
            "-ffp-contract=off",
        ]);
        if !self.compiler.is_clang {
            command.arg("-fno-gnu-unique");
        }
        if cfg!(target_os = "linux") {
            command.arg("-Wl,-Bsymbolic");
        }
        command.arg("-o").arg(&object).arg(path);
        let answer = command.output()?;
        let output = text(&answer.stderr);
        if !answer.status.success() {
            return Err(DriverError::Compiler { output });
        }
        Ok((fs_err::read(&object)?, output))
    }

    fn write(&self, unit: &str, name: &str) -> std::io::Result<PathBuf> {
        let path = self.folder.join(name);
        fs_err::write(&path, unit)?;
        Ok(path)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn source_folder(source: &Path) -> &Path {
    match source.parent() {
        Some(folder) if folder.as_os_str() != OsStr::new("") => folder,
        _ => Path::new("."),
    }
}
