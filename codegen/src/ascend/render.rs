//! Prints the Ascend files from their view.

use tera::{Context, Tera};

use super::merge::MergeView;
use super::unfused::UnfusedView;
use super::view::Kernel;
use crate::GeneratedFile;

const TEMPLATES: [(&str, &str); 7] = [
    (
        "dropout.cpp",
        include_str!("../../../templates/ascendc/dropout.cpp.tera"),
    ),
    (
        "runs.cpp",
        include_str!("../../../templates/ascendc/runs.cpp.tera"),
    ),
    (
        "ends.cpp",
        include_str!("../../../templates/ascendc/ends.cpp.tera"),
    ),
    (
        "kernel.cpp",
        include_str!("../../../templates/ascendc/kernel.cpp.tera"),
    ),
    (
        "tiling.h",
        include_str!("../../../templates/ascendc/tiling.h.tera"),
    ),
    (
        "launch.h",
        include_str!("../../../templates/ascendc/launch.h.tera"),
    ),
    (
        "CMakeLists.txt",
        include_str!("../../../templates/project/CMakeLists.txt.tera"),
    ),
];

/// The kernel first, then what stands beside it, all in one folder: two targets of one variant differ in every file.
pub(super) fn files(kernel: &Kernel) -> Vec<GeneratedFile> {
    let mut tera = Tera::default();
    tera.autoescape_on(Vec::<&str>::new());
    tera.add_raw_templates(TEMPLATES)
        .expect("the templates parse");
    let context = Context::from_serialize(kernel).expect("views are plain structs");
    let file = |template: &str, name: &str| GeneratedFile {
        path: format!("{}/{name}", kernel.folder),
        text: tera
            .render(template, &context)
            .expect("the view has every field"),
    };
    vec![
        file("kernel.cpp", &kernel.kernel_file),
        file("tiling.h", &kernel.tiling_file),
        file("launch.h", &kernel.launch_file),
        file("CMakeLists.txt", "CMakeLists.txt"),
    ]
}

/// The unfused kernels, and the tiling header that they share with the fused one.
pub(super) fn unfused(kernel: &Kernel, view: &UnfusedView) -> Vec<GeneratedFile> {
    let mut tera = Tera::default();
    tera.autoescape_on(Vec::<&str>::new());
    tera.add_raw_templates(TEMPLATES)
        .expect("the templates parse");
    tera.add_raw_template(
        UNFUSED,
        include_str!("../../../templates/ascendc/unfused.cpp.tera"),
    )
    .expect("the template parses");
    let mut context = Context::from_serialize(kernel).expect("views are plain structs");
    context.insert("unfused", view);
    let file = |template: &str, name: &str| GeneratedFile {
        path: format!("{}/{name}", kernel.folder),
        text: tera
            .render(template, &context)
            .expect("the view has every field"),
    };
    vec![
        file(UNFUSED, view.file()),
        file("tiling.h", &kernel.tiling_file),
    ]
}

const UNFUSED: &str = "unfused.cpp";

/// The kernel that merges partial results.
pub(super) fn merge(view: &MergeView) -> GeneratedFile {
    let mut tera = Tera::default();
    tera.autoescape_on(Vec::<&str>::new());
    tera.add_raw_template(
        MERGE,
        include_str!("../../../templates/ascendc/merge.cpp.tera"),
    )
    .expect("the template parses");
    let context = Context::from_serialize(view).expect("views are plain structs");
    GeneratedFile {
        path: view.path(),
        text: tera
            .render(MERGE, &context)
            .expect("the view has every field"),
    }
}

const MERGE: &str = "merge.cpp";
