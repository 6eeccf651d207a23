//! Lets benches look into an emitted kernel: its text without the module head, which an included file may not have.

use std::path::Path;

const KERNEL: &str = "../generated/src/plain_cpu.rs";

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed={KERNEL}");
    let text = std::fs::read_to_string(KERNEL)?;
    let body = text.lines().filter(|line| !line.starts_with("//!"));
    let body: String = body.flat_map(|line| [line, "\n"]).collect();
    let folder = std::env::var_os("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&folder).join("plain_cpu.rs"), body)
}
