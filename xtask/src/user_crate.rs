//! What one `attention!` adds to builds of a crate outside the workspace, measured with the installed toolchain in the
//! release profile; and that editing a `.fa` file builds again. Takes some minutes, most of them for dependencies.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

/// Rounds of each step; the median counts.
const ROUNDS: usize = 3;

const VARIANT: &str = "attention local {
    head_dim = 64;
    tensor slopes: fp32[h];
    mask = causal && window(255, 0);
    score = score - slopes[h] * float(q_pos - kv_pos);
}
";

/// Where the variant stands in the crate.
#[derive(Clone, Copy)]
enum Crate {
    /// Nowhere: the crate uses tensors and has no kernel.
    Without,
    /// In a module of its own, by tokens.
    Module,
    /// In a module of its own, by a file.
    File,
    /// Beside the code that is edited.
    Beside,
}

/// Seconds: by the clock, and of processors.
#[derive(Clone, Copy)]
struct Seconds {
    clock: f64,
    processors: f64,
}

/// Builds the crates and prints a table.
pub(crate) fn run() -> Result<()> {
    let folder = std::env::temp_dir().join("fa-user-crate");
    fs_err::create_dir_all(folder.join("src"))?;
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let repository = fs_err::canonicalize(repository)?;
    let outside = Outside { folder };
    outside.write_manifest(&repository)?;
    let mut console = std::io::stdout();
    outside.write(Crate::Without, 0)?;
    let dependencies = outside.build(false)?;
    let load = fs_err::read_to_string("/proc/loadavg").unwrap_or_default();
    writeln!(console, "load {}", load.trim())?;
    writeln!(console, "seconds by the clock (of processors)")?;
    writeln!(
        console,
        "dependencies, what was not built yet: {dependencies}"
    )?;
    writeln!(
        console,
        "{:<34} {:>15} {:>22} {:>22}",
        "crate", "cold", "edit, incremental off", "edit, incremental on"
    )?;
    for (what, name) in [
        (Crate::Without, "without a kernel"),
        (Crate::Module, "`attention!` in a module"),
        (Crate::File, "`attention!` of a file"),
        (Crate::Beside, "`attention!` beside edited code"),
    ] {
        let [cold, edited] = outside.measure(what, false)?;
        let [_, incremental] = outside.measure(what, true)?;
        writeln!(
            console,
            "{name:<34} {:>15} {:>22} {:>22}",
            cold.to_string(),
            edited.to_string(),
            incremental.to_string()
        )?;
    }
    outside.check_file_is_tracked()?;
    writeln!(console, "an edited `.fa` file was built again")?;
    Ok(())
}

/// The crate outside.
struct Outside {
    folder: PathBuf,
}

impl Outside {
    fn write_manifest(&self, repository: &Path) -> Result<()> {
        let manifest = format!(
            "[workspace]\n\n[package]\nname = \"user\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
             [dependencies]\nfa = {{ path = {:?} }}\n",
            repository.join("fa")
        );
        fs_err::write(self.folder.join("Cargo.toml"), manifest)?;
        fs_err::copy(
            repository.join("Cargo.lock"),
            self.folder.join("Cargo.lock"),
        )?;
        Ok(())
    }

    /// Writes the crate, with a function that `edit` changes.
    fn write(&self, what: Crate, edit: usize) -> Result<()> {
        let source = self.folder.join("src");
        let import = "fn main() {\n    println!(\"{} {}\", edited(), SOURCE);\n}\n";
        let edited = format!(
            "fn edited() -> usize {{\n    let padding = [0_u8; {}];\n    padding.len()\n}}\n",
            10_usize.pow(u32::try_from(edit)?)
        );
        let kernel = match what {
            Crate::Without => {
                "use fa::Tensor;\nconst SOURCE: usize = size_of::<Tensor>();\n".to_owned()
            }
            Crate::Module | Crate::File => {
                let input = match what {
                    Crate::File => "\"local.fa\"",
                    _ => VARIANT,
                };
                fs_err::write(source.join("local.fa"), VARIANT)?;
                fs_err::write(source.join("variants.rs"), attention(input))?;
                "mod variants;\nuse variants::{SOURCE, forward as _};\n".to_owned()
            }
            Crate::Beside => attention(VARIANT),
        };
        fs_err::write(source.join("main.rs"), format!("{kernel}{import}{edited}"))?;
        Ok(())
    }

    fn cargo(&self, subcommand: &[&str], incremental: bool) -> Result<()> {
        let output = Command::new(env!("CARGO"))
            .args(subcommand)
            .args(["--release", "--quiet"])
            .env("CARGO_INCREMENTAL", if incremental { "1" } else { "0" })
            .env_remove("CARGO_TARGET_DIR")
            .current_dir(&self.folder)
            .output()
            .context("cargo does not run")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "cargo {subcommand:?}:\n{errors}");
        Ok(())
    }

    fn build(&self, incremental: bool) -> Result<Seconds> {
        let (start, before) = (Instant::now(), processor_seconds()?);
        self.cargo(&["build"], incremental)?;
        Ok(Seconds {
            clock: start.elapsed().as_secs_f64(),
            processors: processor_seconds()? - before,
        })
    }

    /// Of the crate alone: from nothing, and after an edit.
    fn measure(&self, what: Crate, incremental: bool) -> Result<[Seconds; 2]> {
        let (mut cold, mut edited) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            self.cargo(&["clean", "--package", "user"], incremental)?;
            self.write(what, 0)?;
            cold.push(self.build(incremental)?);
            self.write(what, 3)?;
            edited.push(self.build(incremental)?);
        }
        Ok([median(cold), median(edited)])
    }

    /// The program prints the length of the text that it was built from.
    fn check_file_is_tracked(&self) -> Result<()> {
        self.write(Crate::File, 0)?;
        self.build(false)?;
        let program = self.folder.join("target/release/user");
        for text in [VARIANT.to_owned(), VARIANT.replace("255", "31")] {
            fs_err::write(self.folder.join("src/local.fa"), &text)?;
            self.build(false)?;
            let output = Command::new(&program).output()?;
            let printed = String::from_utf8(output.stdout)?;
            let expected = format!("1 {}\n", text.len());
            ensure!(printed == expected, "{printed:?} instead of {expected:?}");
        }
        Ok(())
    }
}

/// A module's content: the variant, and what of it the program uses.
fn attention(input: &str) -> String {
    format!(
        "fa::attention! {{ {input} }}\n\
         pub const SOURCE: usize = local::SOURCE.len();\n\
         pub fn forward(q: &fa::Tensor, slopes: fa::View<'_, f32>) -> fa::Result<fa::Tensor> {{\n    \
             local::forward(q, q, q, local::Inputs {{ slopes }})\n\
         }}\n"
    )
}

/// Seconds that processes which have ended have taken, in user and system mode.
fn processor_seconds() -> Result<f64> {
    let stat = fs_err::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(')').context("the name of the program")?;
    let mut ticks = 0.0;
    // `cutime` and `cstime` are the 16th and 17th fields; the name is the second.
    for field in fields.split_whitespace().skip(13).take(2) {
        ticks += field.parse::<f64>()?;
    }
    Ok(ticks / 100.0)
}

fn median(mut seconds: Vec<Seconds>) -> Seconds {
    seconds.sort_by(|a, b| a.clock.total_cmp(&b.clock));
    seconds[seconds.len() / 2]
}

impl std::fmt::Display for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2} ({:.2})", self.clock, self.processors)
    }
}
