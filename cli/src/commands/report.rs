//! `fa-gen report`: one page about every variant of a file and every target.

use std::path::Path;

use anyhow::Context;
use fa_runtime::Error;
use serde_json::json;

use crate::args::ReportArgs;
use crate::front::{self, Loaded};
use crate::report::{Page, Section, Study, render};
use crate::session::{Outcome, Session, Usage};
use crate::targets::{self, Job};

/// Targets of the page where nothing names any.
const BOTH: [&str; 2] = ["ascend910b", "cpu"];

/// Writes the page of a file.
pub(crate) fn run(args: &ReportArgs, session: &mut Session) -> anyhow::Result<Outcome> {
    session.configure(&args.source);
    let name = args.name.as_deref();
    let loaded = front::load(&args.file, &args.source, name, session)?;
    let named = loaded
        .variants
        .iter()
        .any(|variant| !variant.targets.is_empty());
    let both = BOTH.map(str::to_owned);
    let texts = if args.target.is_empty() && !named {
        both.as_slice()
    } else {
        &args.target
    };
    let given = targets::parse_all(texts, session)?;
    let variants = match loaded.filtered(name) {
        Err(_) if session.failed() => Vec::new(),
        found => found?,
    };
    let jobs = targets::plan_all(&loaded, &variants, &given, session)?;
    let mut sections = Vec::new();
    for job in &jobs {
        sections.extend(section(job, args, &loaded, session)?);
    }
    if sections.is_empty() {
        session.finish(json!({ "report": null, "sections": [] }))?;
        return Ok(Outcome::Failed);
    }
    let page = page(&loaded, sections);
    write(&args.output, &render(&page))?;
    session.say(args.output.display())?;
    Ok(session.finish(json!({
        "report": args.output.display().to_string(),
        "sections": page.sections,
    }))?)
}

/// The section of a job; a launch that is refused is reported, and has none.
fn section(
    job: &Job<'_>,
    args: &ReportArgs,
    loaded: &Loaded,
    session: &mut Session,
) -> anyhow::Result<Option<Section>> {
    let shape = args.shape.choice().shape(job.variant, &job.target);
    let (own, name) = (job.variant.head_dim, &job.variant.name.value);
    if let Some(asked) = args.shape.shape.and_then(|shape| shape.head_dim)
        && asked != own
    {
        return Err(Usage(format!(
            "`--shape` says a head_dim of {asked} and `{name}` has {own}: leave it out, or set it with -D"
        ))
        .into());
    }
    let head = format!("{} for {}", job.variant.name.value, job.target.name);
    let progress = session.progress(head.clone());
    let studied = Study::new((job.variant, &job.target, &job.plan), shape, |doing| {
        progress.set_message(format!("{head}: {doing}"));
    });
    progress.finish_and_clear();
    match studied {
        Ok(study) => Ok(Some(study.section())),
        Err(Error::Launch(faults)) => {
            session.report(&loaded.sources, faults)?;
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn page(loaded: &Loaded, sections: Vec<Section>) -> Page {
    let provenance = &loaded.provenance;
    let sha256 = &provenance.source_sha256;
    Page {
        title: provenance.source_name.clone(),
        provenance: format!(
            "fa-gen {}, source sha256 {}",
            fa_codegen::GENERATOR_VERSION,
            sha256.get(..16).unwrap_or(sha256)
        ),
        label: "What the planner decided, what a model of the chip says about time, and how far results are from an f64 \
                reference. Times of NPUs are modelled and emulated; none was measured on hardware."
            .to_owned(),
        sections,
    }
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        fs_err::create_dir_all(folder)?;
    }
    fa_runtime::write_atomically(path, text.as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))
}
