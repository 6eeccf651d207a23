//! The toolkit: an installed CANN where `ASCEND_HOME_PATH` names one, else the emulator.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use fa_codegen::GeneratedFile;
use fa_targets::Target;

use super::acl::AclApi;
use crate::cache::{Artifact, Cache, Key, KeyParts};
use crate::effort::Effort;
use crate::error::{Error, Result};
use crate::program;

/// Names an installed toolkit.
pub const ASCEND_HOME_VARIABLE: &str = "ASCEND_HOME_PATH";

/// A compiler and a runtime for Ascend kernels.
#[derive(Debug)]
pub(crate) struct Toolkit {
    kind: Kind,
    version: String,
    pub(crate) api: AclApi,
}

#[derive(Debug)]
enum Kind {
    /// An installed toolkit and its compiler driver.
    Installed { bisheng: PathBuf, home: PathBuf },
    /// The emulator of this workspace.
    Emulated,
}

impl Toolkit {
    /// The toolkit of this process, opened once.
    pub(crate) fn get() -> Result<&'static Toolkit> {
        static TOOLKIT: OnceLock<Toolkit> = OnceLock::new();
        if let Some(toolkit) = TOOLKIT.get() {
            return Ok(toolkit);
        }
        let toolkit = match std::env::var_os(ASCEND_HOME_VARIABLE) {
            Some(home) if !home.is_empty() => Toolkit::installed(PathBuf::from(home))?,
            _ => Toolkit::emulator(),
        };
        let toolkit = TOOLKIT.get_or_init(|| toolkit);
        // SAFETY: a null configuration asks for the defaults. A second call in one process is refused with a
        // code that changes nothing, so the result is of no interest: later calls report what is missing.
        let _ = unsafe { (toolkit.api.aclInit)(std::ptr::null()) };
        Ok(toolkit)
    }

    fn installed(home: PathBuf) -> Result<Toolkit> {
        let candidates = ["bin/bisheng", "compiler/ccec_compiler/bin/bisheng"];
        let bisheng = match candidates
            .map(|path| home.join(path))
            .into_iter()
            .find(|p| p.is_file())
        {
            Some(path) => path,
            None => program::find("bisheng", "BISHENG")?,
        };
        let version = installed_version(&bisheng)?;
        let library = home.join("lib64").join("libascendcl.so");
        let api = AclApi::open(&library)?;
        Ok(Toolkit {
            kind: Kind::Installed { bisheng, home },
            version,
            api,
        })
    }

    fn emulator() -> Toolkit {
        Toolkit {
            kind: Kind::Emulated,
            version: fa_emulator::driver::version(),
            api: AclApi::emulated(),
        }
    }

    /// Of its compiler.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// Whether results come from the emulator, which may also be laid out as an installed toolkit.
    pub(crate) fn is_emulated(&self) -> bool {
        match &self.kind {
            Kind::Emulated => true,
            Kind::Installed { home, .. } => home.join("include").join("fa_emu").is_dir(),
        }
    }

    /// Makes the emulator, if this is it, behave as that chip from here on.
    pub(crate) fn emulate(&self, target: &Target) {
        if matches!(self.kind, Kind::Emulated) {
            fa_emulator::set_options(fa_emulator::Options {
                target: target.clone(),
                ..fa_emulator::Options::default()
            });
        }
    }

    /// What the emulator, if this is it, remarked on the calls of this thread.
    pub(crate) fn remarks(&self) -> Vec<String> {
        if matches!(self.kind, Kind::Installed { .. }) {
            return Vec::new();
        }
        let findings = fa_emulator::report::take_findings();
        findings.iter().map(ToString::to_string).collect()
    }

    /// Compiles kernels into one device binary, or finds it in the cache.
    pub(crate) fn compile(
        &self,
        cache: &Cache,
        effort: Effort,
        target: &Target,
        sources: &[GeneratedFile],
    ) -> Result<Artifact> {
        self.emulate(target);
        let effort = match self.kind {
            Kind::Installed { .. } => Effort::Speed,
            Kind::Emulated => effort,
        };
        let flags = flags(target, effort);
        let key = key(&self.version, &flags, sources);
        let span = tracing::info_span!(
            "compile",
            target = target.name,
            cache_hit = tracing::field::Empty
        )
        .entered();
        let artifact = cache.get_or_build(&key, |folder| self.build(&flags, sources, folder))?;
        span.record("cache_hit", artifact.hit);
        Ok(artifact)
    }

    fn build(&self, flags: &[String], sources: &[GeneratedFile], folder: &Path) -> Result<PathBuf> {
        for file in sources {
            let path = folder.join(&file.path);
            if let Some(parent) = path.parent() {
                fs_err::create_dir_all(parent)?;
            }
            fs_err::write(path, &file.text)?;
        }
        let binary = folder.join("kernels.o");
        let mut arguments: Vec<OsString> = flags.iter().map(OsString::from).collect();
        if let Kind::Installed { home, .. } = &self.kind {
            arguments.push("-I".into());
            arguments.push(home.join("include").into());
        }
        arguments.push(folder.join(&sources[0].path).into());
        arguments.push("-o".into());
        arguments.push(binary.clone().into());
        match &self.kind {
            Kind::Installed { bisheng, .. } => {
                program::run("bisheng", Command::new(bisheng).args(&arguments))?;
            }
            Kind::Emulated => {
                fa_emulator::driver::compile(&arguments).map_err(|error| Error::Compiler {
                    compiler: "the emulator's compiler".to_owned(),
                    status: "error".to_owned(),
                    output: error.to_string(),
                })?;
            }
        }
        Ok(binary)
    }
}

/// A binary of another toolkit is another binary.
fn key(version: &str, flags: &[String], sources: &[GeneratedFile]) -> Key {
    Key::new(&KeyParts {
        generator_version: fa_codegen::GENERATOR_VERSION,
        compiler_version: version,
        flags,
        sources,
    })
}

/// What a compiler driver says of itself, and which file it is.
fn installed_version(bisheng: &Path) -> Result<String> {
    let metadata = fs_err::metadata(bisheng)?;
    let answer = program::version("bisheng", bisheng.as_os_str(), "--version");
    Ok(format!(
        "{} {:?} {}",
        metadata.len(),
        metadata.modified().ok(),
        answer.unwrap_or_default()
    ))
}

fn flags(target: &Target, effort: Effort) -> Vec<String> {
    let level = match effort {
        Effort::Speed => "-O2",
        Effort::Compile => "-O0",
    };
    let arch = target
        .chip
        .as_ref()
        .map_or("", |chip| chip.compiler_arch.as_str());
    vec![
        "-x".to_owned(),
        "asc".to_owned(),
        format!("--npu-arch={arch}"),
        level.to_owned(),
        "-std=c++17".to_owned(),
        "-fPIC".to_owned(),
        "-shared".to_owned(),
    ]
}
