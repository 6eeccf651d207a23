//! The driver's command line: documented options, and an error that names any other.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::options;

/// What the command line asks for.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) source: PathBuf,
    pub(crate) output: PathBuf,
    pub(crate) npu_arch: String,
    pub(crate) arch_number: u32,
    /// Options that the host compiler understands as they are.
    pub(crate) passed_on: Vec<OsString>,
    pub(crate) has_standard: bool,
    pub(crate) no_reserved_ub: bool,
    /// Options that were taken and change nothing that one would expect, a line each.
    pub(crate) remarks: String,
}

/// Why a command line was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArgsError {
    /// An option that the emulated driver does not know.
    #[error("emulated bisheng: unknown option `{option}`")]
    Unknown {
        /// The option as written.
        option: String,
    },
    /// An option of another chip's compiler.
    #[error("emulated bisheng: `{option}` is for NPU 3510, the emulated chip is NPU {number}")]
    OtherChip {
        /// The option as written.
        option: String,
        /// The emulated chip's architecture number.
        number: u32,
    },
    /// An option without its value.
    #[error("emulated bisheng: option `{option}` needs a value")]
    MissingValue {
        /// The option as written.
        option: String,
    },
    /// Neither `-x asc` nor the suffix says that the source is Ascend C.
    #[error("emulated bisheng: `{file}` is not Ascend C: pass `-x asc` or name it `.asc`")]
    Language {
        /// The source file.
        file: String,
    },
    /// A language other than Ascend C.
    #[error("emulated bisheng: language `{language}` is not supported, only `asc`")]
    UnknownLanguage {
        /// The language asked for.
        language: String,
    },
    /// No source, or more than one.
    #[error("emulated bisheng: expected one source file, got {count}")]
    Sources {
        /// How many there are.
        count: usize,
    },
    /// No architecture was named.
    #[error("emulated bisheng: no architecture: pass `--npu-arch={expected}`")]
    NoArch {
        /// The architecture of the emulated chip.
        expected: String,
    },
    /// An architecture that the emulated chip does not have.
    #[error("emulated bisheng: `{arch}` cannot be emulated as {target}, which is `{expected}`")]
    Arch {
        /// The architecture asked for.
        arch: String,
        /// The emulated chip.
        target: String,
        /// Its architecture.
        expected: String,
    },
}

/// Switches that the host compiler takes unchanged.
const PASSED_ON: [&str; 11] = [
    "-O0",
    "-O1",
    "-O2",
    "-O3",
    "-Os",
    "-g",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wpedantic",
    "-w",
];
/// Switches that mean nothing here: the output is always one position-independent container.
const IGNORED: [&str; 12] = [
    "-fPIC",
    "-shared",
    "--shared",
    "-c",
    "-dc",
    "--cce-auto-sync",
    "--cce-auto-sync=on",
    "--cce-auto-sync=off",
    "--cce-auto-infer-kernel-type=false",
    "--cce-auto-infer-kernel-type=true",
    // Every launch is simulated and checked.
    "--run-mode=sim",
    "--sanitizer",
];
/// Switches of chips with register code.
const OTHER_CHIP: [&str; 2] = ["--enable-simt", "--cce-disable-vf-stack-reserved-ubuf"];

#[derive(Default)]
struct Draft {
    sources: Vec<PathBuf>,
    output: Option<PathBuf>,
    arch: Option<String>,
    asc: bool,
    passed_on: Vec<OsString>,
    has_standard: bool,
    no_reserved_ub: bool,
    remarks: String,
}

impl Config {
    pub(crate) fn parse(args: &[OsString]) -> Result<Config, ArgsError> {
        let mut draft = Draft::default();
        let mut words = args.iter();
        while let Some(word) = words.next() {
            let text = word.to_string_lossy().into_owned();
            let mut value = || {
                words
                    .next()
                    .cloned()
                    .ok_or_else(|| ArgsError::MissingValue {
                        option: text.clone(),
                    })
            };
            match text.as_str() {
                "-x" => draft.language(&value()?.to_string_lossy())?,
                "-o" => draft.output = Some(PathBuf::from(value()?)),
                "-I" | "-D" | "-isystem" | "-include" => {
                    let value = value()?;
                    draft.passed_on.extend([word.clone(), value]);
                }
                "-L" | "-l" => drop(value()?),
                "--cce-disable-asc-reserved-ubuf" => draft.no_reserved_ub = true,
                _ => draft.option(word, &text)?,
            }
        }
        draft.finish()
    }
}

impl Draft {
    fn language(&mut self, language: &str) -> Result<(), ArgsError> {
        if language != "asc" {
            return Err(ArgsError::UnknownLanguage {
                language: language.to_owned(),
            });
        }
        self.asc = true;
        Ok(())
    }

    fn option(&mut self, word: &OsString, text: &str) -> Result<(), ArgsError> {
        if let Some(language) = text.strip_prefix("-x") {
            return self.language(language);
        }
        if let Some(arch) = text.strip_prefix("--npu-arch=") {
            self.arch = Some(arch.to_owned());
        } else if let Some(soc) = text.strip_prefix("--npu-soc=") {
            self.arch = Some(arch_of_soc(soc));
        } else if PASSED_ON.contains(&text) {
            self.passed_on.push(word.clone());
        } else if text.starts_with("-std=") {
            self.has_standard = true;
            self.passed_on.push(word.clone());
        } else if text.starts_with("-I") || text.starts_with("-D") || text.starts_with("-U") {
            self.passed_on.push(word.clone());
        } else if IGNORED.contains(&text) || text.starts_with("-l") || text.starts_with("-L") {
            // Libraries of a real toolkit have no counterpart in a container.
        } else if text.starts_with("-Wl,") {
            // A container is not linked with anything.
        } else if text.starts_with("--cce-auto-sync-log=") {
            self.remarks.push_str(&format!(
                "emulated bisheng: `{text}`: no synchronisation is inserted, no report is written\n"
            ));
        } else if OTHER_CHIP.contains(&text) {
            let target = options::current().target;
            return Err(ArgsError::OtherChip {
                option: text.to_owned(),
                number: target.chip.map_or(0, |chip| chip.npu_arch),
            });
        } else if text.starts_with('-') {
            return Err(ArgsError::Unknown {
                option: text.to_owned(),
            });
        } else {
            self.sources.push(PathBuf::from(word));
        }
        Ok(())
    }

    fn finish(self) -> Result<Config, ArgsError> {
        let count = self.sources.len();
        let [source] =
            <[PathBuf; 1]>::try_from(self.sources).map_err(|_| ArgsError::Sources { count })?;
        if !self.asc && source.extension().is_none_or(|suffix| suffix != "asc") {
            return Err(ArgsError::Language {
                file: source.display().to_string(),
            });
        }
        let target = options::current().target;
        let chip = target.chip.expect("split-core targets have a chip");
        let arch = self.arch.ok_or_else(|| ArgsError::NoArch {
            expected: chip.compiler_arch.clone(),
        })?;
        if arch != chip.compiler_arch {
            return Err(ArgsError::Arch {
                arch,
                target: target.name,
                expected: chip.compiler_arch,
            });
        }
        Ok(Config {
            output: self.output.unwrap_or_else(|| source.with_extension("o")),
            source,
            npu_arch: arch,
            arch_number: chip.npu_arch,
            passed_on: self.passed_on,
            has_standard: self.has_standard,
            no_reserved_ub: self.no_reserved_ub,
            remarks: self.remarks,
        })
    }
}

/// The architecture of a product, or the product's own name so that the error can show it.
fn arch_of_soc(soc: &str) -> String {
    let target = options::current().target;
    match target.chip {
        Some(chip) if chip.soc_versions.iter().any(|known| known == soc) => chip.compiler_arch,
        _ => soc.to_owned(),
    }
}
