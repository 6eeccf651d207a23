//! Programs that use the macro: those that must not compile, with the messages that their authors read, and those
//! that must run.

/// The messages are those of the pinned compiler without its sources; after a change, look at each one and bless
/// them with `TRYBUILD=overwrite`.
#[test]
fn programs() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/fail/*.rs");
    cases.pass("tests/ui/pass/*.rs");
}
