//! Repository chores: `cargo run -p xtask -- CHORE`.

mod user_crate;

use anyhow::{Result, bail};

fn main() -> Result<()> {
    let chore = std::env::args().nth(1);
    match chore.as_deref() {
        Some("user-crate") => user_crate::run(),
        _ => bail!(
            "no such chore; there is `user-crate`: what `attention!` adds to builds of a crate outside"
        ),
    }
}
