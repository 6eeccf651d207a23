//! `fa-gen fmt`: files in canonical form.

use anyhow::Context;
use fa_dsl::span::SourceMap;
use fa_dsl::{parse, print};
use serde_json::json;

use crate::args::FmtArgs;
use crate::session::{Outcome, Session, Usage};

/// Formats files in place, or with `--check` names those that are not in canonical form.
pub(crate) fn run(args: &FmtArgs, session: &mut Session) -> anyhow::Result<Outcome> {
    session.set_format(args.format);
    let mut changed = Vec::new();
    for path in &args.files {
        let text = fs_err::read_to_string(path).map_err(|error| Usage(error.to_string()))?;
        let name = path.display().to_string();
        let mut sources = SourceMap::new();
        let file = sources.add(name.as_str(), text.as_str());
        let (tree, faults) = parse::parse(&sources, file);
        if !faults.is_empty() {
            session.next_file();
            session.report(&sources, faults)?;
            continue;
        }
        let formatted = print::print(&tree, Some(&text));
        if formatted == text {
            continue;
        }
        if args.check {
            session.say(format!("{name} is not formatted"))?;
        } else {
            fa_runtime::write_atomically(path, formatted.as_bytes())
                .with_context(|| format!("cannot write {name}"))?;
            session.say(&name)?;
        }
        changed.push(name);
    }
    let refused = args.check && !changed.is_empty();
    let outcome = session.finish(json!({ "changed": changed }))?;
    Ok(if refused { Outcome::Failed } else { outcome })
}
