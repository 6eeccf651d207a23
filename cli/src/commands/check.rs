//! `fa-gen check`: diagnostics only. Errors of one variant hide none of another's.

use fa_dsl::diagnostic::Severity;
use serde_json::json;

use crate::args::CheckArgs;
use crate::front;
use crate::session::{Outcome, Session};
use crate::targets;

/// Checks a file and plans its variants, and writes nothing.
pub(crate) fn run(args: &CheckArgs, session: &mut Session) -> anyhow::Result<Outcome> {
    session.configure(&args.source);
    let loaded = front::load(&args.file, &args.source, None, session)?;
    let given = targets::parse_all(&args.target, session)?;
    let variants: Vec<_> = loaded.variants.iter().collect();
    targets::plan_all(&loaded, &variants, &given, session)?;
    let (errors, warnings) = (
        session.count(Severity::Error),
        session.count(Severity::Warning),
    );
    let names: Vec<&str> = loaded
        .variants
        .iter()
        .map(|variant| variant.name.value.as_str())
        .collect();
    session.say(format!(
        "{}: {}, {}, {}",
        args.file.display(),
        counted(names.len(), "variant"),
        counted(errors, "error"),
        counted(warnings, "warning")
    ))?;
    Ok(session.finish(json!({ "variants": names, "errors": errors, "warnings": warnings }))?)
}

fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}
