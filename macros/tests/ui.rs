//! Programs that must not compile, with the messages that their authors read. They are compiled as far as checking
//! goes; programs that must run are tests of their own, in `ui/pass`.

/// The messages are those of the pinned compiler without its sources; after a change, look at each one and bless
/// them with `TRYBUILD=overwrite`.
#[test]
fn failing_programs() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/fail/*.rs");
}
