//! Emitted files on their way to a folder: collected first, so that all of them are written or none.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use fa_codegen::GeneratedFile;

use crate::session::{Session, Usage};

/// Files by path, in the order in which they are written and listed.
#[derive(Debug, Default)]
pub(crate) struct Emitted(BTreeMap<String, String>);

impl Emitted {
    /// Adds a file. Files that belong to a target rather than a variant come with each of its kernels and are
    /// kept once.
    ///
    /// # Errors
    /// Another text has that path.
    pub(crate) fn add(&mut self, file: GeneratedFile) -> Result<(), Usage> {
        match self.0.get(&file.path) {
            Some(text) if *text == file.text => Ok(()),
            Some(_) => Err(Usage(format!(
                "two inputs emit different files `{}`; generate them into different folders",
                file.path
            ))),
            None => {
                self.0.insert(file.path, file.text);
                Ok(())
            }
        }
    }

    /// Writes all files into a folder and names each.
    pub(crate) fn write(
        &self,
        folder: &Path,
        session: &mut Session,
    ) -> anyhow::Result<Vec<String>> {
        fs_err::create_dir_all(folder)?;
        let mut written = Vec::with_capacity(self.0.len());
        for (path, text) in &self.0 {
            let path = folder.join(path);
            write(&path, text)?;
            session.say(path.display())?;
            written.push(path.display().to_string());
        }
        Ok(written)
    }
}

/// Writes a file unless it has that text already, so that builds downstream stay fresh.
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    if fs_err::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs_err::create_dir_all(folder)?;
    }
    fa_runtime::write_atomically(path, text.as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))
}
