//! The `fa-gen` command; everything is in the library.

fn main() -> std::process::ExitCode {
    fa_gen::main()
}
