//! Any text through parse, check, plan and render for every built-in target.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| fa_tests::generate_anything(text));
