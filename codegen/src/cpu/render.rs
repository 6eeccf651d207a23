//! Fills the templates.

use tera::{Context, Tera};

use super::view::View;

/// The parts of an emitted file; `kernel.rs.tera` puts them in order.
const TEMPLATES: [(&str, &str); 9] = [
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
        "entry.tera",
        include_str!("../../../templates/rust/entry.tera"),
    ),
];

/// The text of the emitted file.
pub(super) fn kernel(view: &View) -> String {
    let mut tera = Tera::default();
    tera.autoescape_on(Vec::<&str>::new());
    tera.add_raw_templates(TEMPLATES)
        .expect("the templates are part of the program and are tested");
    let context = Context::from_serialize(view).expect("a view is plain data");
    tera.render("kernel.rs.tera", &context)
        .expect("the templates read only what a view has, which is tested")
}
