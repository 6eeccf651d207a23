//! Programs that must compile and run, each a module and a test. Those that are about the crate around them are
//! crates of their own: `no_prelude`, `renamed`, `shadowed` and `strict_lints`.

use std::process::{ExitCode, Termination};

macro_rules! programs {
    ($($program:ident,)*) => {
        $(
            mod $program;

            #[test]
            fn $program() {
                succeeds($program::main());
            }
        )*
    };
}

fn succeeds(end: impl Termination) {
    let [end, success] = [end.report(), ExitCode::SUCCESS].map(|code| format!("{code:?}"));
    assert_eq!(end, success);
}

programs! {
    budget,
    captured,
    defaults,
    fields,
    fields_captured,
    file,
    inside_functions,
    items,
    keywords,
    outputs,
    packed,
    refused,
    same_name,
    targets,
    through_macro,
    training,
}
