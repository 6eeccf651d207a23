//! Writes the kernels of `variants/local.fa` to the output folder of this package.

fn main() -> Result<(), fa::Error> {
    fa::Build::new()
        .file("variants/local.fa")
        .target("ascend910b")
        .target("cpu")
        .define("radius", 40)
        .compile()?;
    Ok(())
}
