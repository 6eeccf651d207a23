//! A compiled kernel with its buffers, and launches of it.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use fa_emulator::experiment::{self, Experiment};
use fa_emulator::report::{Finding, Severity};
use fa_emulator::timeline::{self, Detail, Timeline};
use fa_emulator::{Options, driver};

use crate::LaunchArgs;
use crate::device::{self, Kernel, Memory};
use crate::environment::write_atomically;
use crate::values::{self, Array, Value};

/// Elements of a buffer that `run` shows.
const SHOWN: usize = 8;

/// A kernel that is ready to be launched.
pub(crate) struct Session {
    name: String,
    kernel: Kernel,
    blocks: u32,
    args: Vec<Vec<u8>>,
    buffers: Vec<(Array, Memory)>,
    /// Keeps the compiled file as long as the kernel.
    _folder: tempfile::TempDir,
}

/// What launches came to.
pub(crate) struct Outcome {
    pub(crate) findings: Vec<Finding>,
}

impl Outcome {
    pub(crate) fn ok(&self) -> bool {
        self.findings
            .iter()
            .all(|finding| finding.severity < Severity::Error)
    }
}

impl Session {
    pub(crate) fn open(launch: &LaunchArgs) -> anyhow::Result<Session> {
        let values = launch.args.iter().enumerate();
        let values: Vec<Value> = values
            .map(|(position, word)| {
                values::parse(word, position).with_context(|| format!("argument {}", position + 1))
            })
            .collect::<anyhow::Result<_>>()?;
        let mut options = Options::for_target(&launch.target)?;
        options.auto_sync |= launch.auto_sync;
        fa_emulator::set_options(options);
        let folder = tempfile::tempdir()?;
        let binary = compiled(&launch.source, folder.path())?;
        let name = pick(
            &driver::kernels(&fs_err::read(&binary)?)?,
            launch.kernel.as_deref(),
        )?;
        device::open()?;
        let kernel = Kernel::load(&binary, &name)?;
        let mut session = Session {
            name,
            kernel,
            blocks: launch.blocks,
            args: Vec::new(),
            buffers: Vec::new(),
            _folder: folder,
        };
        for value in values {
            session.add(value)?;
        }
        Ok(session)
    }

    fn add(&mut self, value: Value) -> anyhow::Result<()> {
        let bytes = match value {
            Value::Plain(bytes) => bytes,
            Value::Sync => device::sync_address()?.to_le_bytes().to_vec(),
            Value::Buffer(array) => {
                let memory = Memory::new(array.len())?;
                let address = memory.address().to_le_bytes().to_vec();
                let known = self
                    .buffers
                    .iter()
                    .any(|(other, _)| other.name == array.name);
                ensure!(!known, "two buffers have the name `{}`", array.name);
                self.buffers.push((array, memory));
                address
            }
        };
        self.args.push(bytes);
        Ok(())
    }

    pub(crate) fn kernel(&self) -> &str {
        &self.name
    }

    /// Puts the contents that the command line gave back into the buffers.
    fn refill(&self) -> anyhow::Result<()> {
        for (array, memory) in &self.buffers {
            if let Some(bytes) = &array.bytes {
                memory.write(bytes)?;
            }
        }
        Ok(())
    }

    pub(crate) fn launch(&mut self) -> anyhow::Result<Outcome> {
        self.refill()?;
        let findings = self.kernel.launch(self.blocks, &self.args)?;
        Ok(Outcome { findings })
    }

    /// The plain launch and `seeds` random orders; findings of all, each once.
    pub(crate) fn check(&mut self, seeds: u64) -> anyhow::Result<Outcome> {
        let mut outcome = self.launch()?;
        if !outcome.ok() {
            return Ok(outcome);
        }
        let plain = self.contents();
        for seed in 1..=seeds {
            let plan = Experiment {
                seed: Some(seed),
                ..Experiment::default()
            };
            let (found, _) = experiment::run(plan, || self.launch());
            for finding in found?.findings {
                if !outcome.findings.contains(&finding) {
                    outcome.findings.push(finding);
                }
            }
            if !outcome.ok() {
                return Ok(outcome);
            }
            for ((array, _), (before, after)) in
                self.buffers.iter().zip(plain.iter().zip(self.contents()))
            {
                if *before != after {
                    bail!(
                        "{}: buffer `{}` differs in order of completion {seed}: atomic sums of floats do, nothing else may (emulated)",
                        self.name,
                        array.name
                    );
                }
            }
        }
        Ok(outcome)
    }

    fn contents(&self) -> Vec<Option<Vec<u8>>> {
        self.buffers
            .iter()
            .map(|(_, memory)| memory.read().ok())
            .collect()
    }

    pub(crate) fn time(&mut self, data: bool, warm: bool) -> anyhow::Result<(Outcome, Timeline)> {
        let plan = Experiment {
            data,
            warm,
            hazards: data,
            timeline: Some(Detail::Spans),
            ..Experiment::default()
        };
        timeline::take();
        let (outcome, _) = experiment::run(plan, || self.launch());
        let outcome = outcome?;
        let timeline = timeline::take()
            .pop()
            .context("the launch left no timeline")?;
        Ok((outcome, timeline))
    }

    /// A line for each buffer: its type, its shape, its first elements.
    pub(crate) fn buffers(&self) -> Vec<String> {
        let line = |(array, memory): &(Array, Memory)| {
            let sizes: Vec<String> = array.shape.iter().map(usize::to_string).collect();
            let head = format!(
                "{} {}[{}]",
                array.name,
                array.element.name(),
                sizes.join("x")
            );
            match memory.read() {
                Ok(bytes) => {
                    let elements = bytes.chunks_exact(array.element.bytes());
                    let more = if elements.len() > SHOWN { " ..." } else { "" };
                    let shown: Vec<String> = elements
                        .take(SHOWN)
                        .map(|bytes| array.element.show(bytes))
                        .collect();
                    format!("{head}: {}{more} (emulated)", shown.join(" "))
                }
                Err(findings) => {
                    let why: Vec<String> =
                        findings.iter().map(|found| found.message.clone()).collect();
                    format!("{head}: undefined: {}", why.join("; "))
                }
            }
        };
        self.buffers.iter().map(line).collect()
    }

    pub(crate) fn save(&self, name: &str, path: &Path) -> anyhow::Result<()> {
        let names: Vec<&str> = self
            .buffers
            .iter()
            .map(|(array, _)| array.name.as_str())
            .collect();
        let found = self.buffers.iter().find(|(array, _)| array.name == name);
        let (array, memory) = found.with_context(|| {
            format!(
                "no buffer is called `{name}`; there are {}",
                names.join(", ")
            )
        })?;
        match memory.read() {
            Ok(bytes) => write_atomically(path, &values::npy(array, &bytes)?),
            Err(findings) => {
                let why = findings
                    .first()
                    .map_or("", |finding| finding.message.as_str());
                bail!("buffer `{name}` is not saved: {why}")
            }
        }
    }
}

/// The source's binary in `folder`, or the file itself where it is one.
fn compiled(source: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    if driver::kernels(&fs_err::read(source)?).is_ok() {
        return Ok(source.to_owned());
    }
    let binary = folder.join("kernel.o");
    let mut words: Vec<OsString> = [
        "-x",
        "asc",
        "--npu-arch=dav-2201",
        "-O2",
        "-std=c++17",
        "-fPIC",
        "-shared",
        "-Wall",
    ]
    .map(OsString::from)
    .to_vec();
    words.extend([source.into(), "-o".into(), binary.clone().into()]);
    let warnings = driver::compile_with_diagnostics(&words)?;
    // A closed stderr leaves nothing to tell anybody.
    let _ = write!(std::io::stderr(), "{warnings}");
    Ok(binary)
}

/// The kernel that is asked for, or the only one.
fn pick(kernels: &[String], asked: Option<&str>) -> anyhow::Result<String> {
    match (asked, kernels) {
        (Some(name), _) if kernels.iter().any(|kernel| kernel == name) => Ok(name.to_owned()),
        (None, [only]) => Ok(only.clone()),
        (Some(name), _) => bail!(
            "the source has no kernel `{name}`; there are {}",
            kernels.join(", ")
        ),
        (None, _) => bail!(
            "the source has several kernels, pick one with --kernel: {}",
            kernels.join(", ")
        ),
    }
}
