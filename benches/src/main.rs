//! A child process that times emitted CPU kernels on request: one line in, one line out.
//!
//! `version`, `prepare B Hq Hkv Nq Nkv D VARIANT WINDOW DTYPE MODE THREADS DIR`, `run`, `output PATH`; the
//! answers are `ok …`, `ms …`, `unsupported WHY` or `error WHY`. Compiling happens in `prepare`.

mod case;

use std::io::{self, BufRead, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use case::{Case, Unsupported};
use fa_dsl::check::check;
use fa_dsl::span::SourceMap;
use fa_dsl::variant::{Dtype, Variant};
use fa_runtime::{Arguments, Kernel, Outputs, Runtime, Tensor};
use fa_targets::Target;

fn main() -> Result<()> {
    let mut prepared = None;
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = match answer(&words, &mut prepared) {
            Ok(answer) => answer,
            Err(error) if error.is::<Unsupported>() => format!("unsupported {error}"),
            Err(error) => format!("error {error:#}").replace('\n', " "),
        };
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

fn answer(words: &[&str], prepared: &mut Option<Prepared>) -> Result<String> {
    match words {
        ["version"] => Ok(format!("ok fa-gen {}", env!("CARGO_PKG_VERSION"))),
        ["prepare", rest @ ..] => {
            *prepared = Some(Prepared::new(Case::parse(rest)?)?);
            Ok("ok".to_owned())
        }
        ["run"] => {
            let prepared = prepared.as_mut().context("nothing is prepared")?;
            Ok(format!("ms {:.6}", prepared.run()?))
        }
        ["output", path] => {
            let prepared = prepared.as_ref().context("nothing is prepared")?;
            let out = prepared.out.convert(Dtype::Fp32);
            fs_err::write(path, out.bytes())?;
            Ok("ok".to_owned())
        }
        _ => bail!("unknown request"),
    }
}

/// A compiled kernel with its tensors.
struct Prepared {
    kernel: Kernel,
    inputs: [Tensor; 3],
    slopes: Option<Tensor>,
    out: Tensor,
    lse: Tensor,
}

impl Prepared {
    fn new(case: Case) -> Result<Prepared> {
        let variant = variant(&case.source()?)?;
        let target = Target::built_in("cpu").context("the cpu target is built in")?;
        let kernel = Runtime::from_env()?.compile(&variant, &target)?;
        let read = |name: &str, shape: &[usize]| -> Result<Tensor> {
            let bytes = fs_err::read(Path::new(&case.folder).join(format!("{name}.bin")))?;
            Ok(Tensor::from_bytes(case.dtype, shape, &bytes))
        };
        let slopes = case.slopes();
        Ok(Prepared {
            kernel,
            inputs: [
                read("q", &case.q_shape())?,
                read("k", &case.kv_shape())?,
                read("v", &case.kv_shape())?,
            ],
            slopes: slopes.map(|slopes| Tensor::from_f32(&[case.heads], &slopes)),
            out: Tensor::zeros(case.dtype, &case.q_shape()),
            lse: Tensor::zeros(Dtype::Fp32, &case.q_shape()[..3]),
        })
    }

    /// Milliseconds of one call.
    fn run(&mut self) -> Result<f64> {
        let [q, k, v] = &self.inputs;
        let mut arguments = Arguments::new(q.view(), k.view(), v.view());
        if let Some(slopes) = &self.slopes {
            arguments = arguments.with("slopes", slopes.view());
        }
        let mut outputs = Outputs {
            out: self.out.view_mut(),
            lse: self.lse.view_mut(),
        };
        let start = Instant::now();
        self.kernel.launch(&arguments, &mut outputs)?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }
}

fn variant(text: &str) -> Result<Variant> {
    let mut sources = SourceMap::new();
    let file = sources.add("bench.fa", text);
    let checked = check(&sources, file, &[]);
    let mut errors = checked.diagnostics.iter().filter(|found| found.is_error());
    if let Some(error) = errors.next() {
        bail!("{}", error.message);
    }
    checked
        .variants
        .into_iter()
        .next()
        .context("the text has a variant")
}
