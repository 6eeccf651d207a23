//! A variant with the width of heads that a shape asks for.

use fa_dsl::check::{self, Define};
use fa_dsl::span::SourceMap;
use fa_dsl::variant::Variant;

use crate::front::Loaded;
use crate::session::Session;

/// The variant of another width: a child that sets `head_dim`, as the language has it, so that everything that
/// follows from the width does.
///
/// # Errors
/// Output streams that fail. `None` where the child has errors, which are reported.
pub(super) fn of_width(
    loaded: &Loaded,
    defines: &[(String, String)],
    variant: &Variant,
    head_dim: u32,
    session: &mut Session,
) -> anyhow::Result<Option<Variant>> {
    if variant.head_dim == head_dim {
        return Ok(Some(variant.clone()));
    }
    let parent = &variant.name.value;
    let name = format!("{parent}_d{head_dim}");
    let text = loaded.sources.text(loaded.file);
    let text = format!("{text}\nattention {name} : {parent} {{ head_dim = {head_dim}; }}\n");
    let mut sources = SourceMap::new();
    let file = sources.add(loaded.sources.name(loaded.file), text);
    let defines: Vec<Define> = defines
        .iter()
        .map(|(name, value_text)| Define {
            name: name.clone(),
            value_text: value_text.clone(),
        })
        .collect();
    let checked = check::check(&sources, file, &defines);
    let found = checked
        .variants
        .into_iter()
        .find(|variant| variant.name.value == name);
    if found.is_none() {
        let errors = checked
            .diagnostics
            .into_iter()
            .filter(|found| found.is_error());
        session.report(&sources, errors)?;
    }
    Ok(found)
}
