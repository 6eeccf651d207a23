//! Fills the templates.

use tera::{Context, Tera};

use super::view::{UnfusedView, View};

/// The parts of an emitted file; `kernel.rs.tera` puts them in order, `unfused.rs.tera` those of unfused steps.
const TEMPLATES: [(&str, &str); 13] = [
    (
        "kernel.rs.tera",
        include_str!("../../../templates/rust/kernel.rs.tera"),
    ),
    (
        "head.tera",
        include_str!("../../../templates/rust/head.tera"),
    ),
    (
        "launch.tera",
        include_str!("../../../templates/rust/launch.tera"),
    ),
    (
        "tensors.tera",
        include_str!("../../../templates/rust/tensors.tera"),
    ),
    (
        "scratch.tera",
        include_str!("../../../templates/rust/scratch.tera"),
    ),
    (
        "math.tera",
        include_str!("../../../templates/rust/math.tera"),
    ),
    (
        "levels.tera",
        include_str!("../../../templates/rust/levels.tera"),
    ),
    (
        "steps.tera",
        include_str!("../../../templates/rust/steps.tera"),
    ),
    (
        "parts.tera",
        include_str!("../../../templates/rust/parts.tera"),
    ),
    (
        "entry.tera",
        include_str!("../../../templates/rust/entry.tera"),
    ),
    (
        "unfused.rs.tera",
        include_str!("../../../templates/rust/unfused.rs.tera"),
    ),
    (
        "unfused_steps.tera",
        include_str!("../../../templates/rust/unfused_steps.tera"),
    ),
    (
        "unfused_entry.tera",
        include_str!("../../../templates/rust/unfused_entry.tera"),
    ),
];

/// The text of the emitted file.
pub(super) fn kernel(view: &View) -> String {
    let context = Context::from_serialize(view).expect("a view is plain data");
    fill("kernel.rs.tera", &context)
}

/// The text of the file of unfused steps.
pub(super) fn unfused(view: &View, steps: &UnfusedView) -> String {
    let mut context = Context::from_serialize(view).expect("a view is plain data");
    context.insert("unfused", steps);
    fill("unfused.rs.tera", &context)
}

fn fill(template: &str, context: &Context) -> String {
    let mut tera = Tera::default();
    tera.autoescape_on(Vec::<&str>::new());
    tera.add_raw_templates(TEMPLATES)
        .expect("the templates are part of the program and are tested");
    tera.render(template, context)
        .expect("the templates read only what a view has, which is tested")
}
