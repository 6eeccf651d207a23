//! Tiles that were found best for launches of about a size, remembered in the user's cache.

use std::path::PathBuf;

use fa_codegen::{GeneratedFile, Tile};
use fa_dsl::variant::Variant;
use fa_targets::{Target, TargetKind};
use serde::{Deserialize, Serialize};

use crate::cache::{Key, KeyParts};
use crate::error::{Error, Result};
use crate::files::write_atomically;
use crate::kernel::{Kernel, Runtime, unsaved};
use crate::launch::LaunchSizes;
use crate::{ascend, cpu};

/// A tile that was found best.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    /// The tile.
    pub tile: Tile,
    /// How long a launch took, microseconds.
    pub micros: f64,
    /// Whether that is the emulator's prediction and not a measurement.
    pub modelled: bool,
}

/// Launches that share a tile: heads of all batches, query heads of a key/value head, query rows and key rows, each
/// rounded up to a power of two.
fn bucket(sizes: LaunchSizes) -> String {
    let group = sizes.heads / sizes.kv_heads.max(1);
    let sizes = [sizes.batch * sizes.heads, group, sizes.q_len, sizes.kv_len];
    sizes
        .map(|size| size.max(1).next_power_of_two().to_string())
        .join("x")
}

impl Runtime {
    /// What is remembered for launches of about these sizes of a variant that leaves its tile open.
    ///
    /// # Errors
    /// No plan, no toolchain, a file that cannot be read. One that holds something else counts as absent.
    pub fn tuned(
        &self,
        variant: &Variant,
        target: &Target,
        sizes: LaunchSizes,
    ) -> Result<Option<Tuned>> {
        if !variant.leaves_tile_open(&target.name) {
            return Ok(None);
        }
        let path = self.tuned_path(variant, target, sizes)?;
        match fs_err::read(path) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::Io(error)),
        }
    }

    /// Remembers a tile for launches of about these sizes; returns the file.
    ///
    /// # Errors
    /// As [`Runtime::tuned`].
    pub fn remember(
        &self,
        variant: &Variant,
        target: &Target,
        sizes: LaunchSizes,
        tuned: &Tuned,
    ) -> Result<PathBuf> {
        let path = self.tuned_path(variant, target, sizes)?;
        if let Some(folder) = path.parent() {
            fs_err::create_dir_all(folder)?;
        }
        let text = serde_json::to_vec_pretty(tuned).expect("numbers have a form in JSON");
        write_atomically(&path, &text)?;
        Ok(path)
    }

    /// [`Runtime::compile`] for launches of about these sizes: with the tile that is remembered for them, if any is.
    ///
    /// # Errors
    /// As [`Runtime::compile`] and [`Runtime::tuned`].
    pub fn compile_for(
        &self,
        variant: &Variant,
        target: &Target,
        sizes: LaunchSizes,
    ) -> Result<Kernel> {
        self.compile(&self.with_tuned_tile(variant, target, sizes)?, target)
    }

    /// The variant with the tile that is remembered for launches of about these sizes, or as it is.
    ///
    /// # Errors
    /// As [`Runtime::tuned`].
    pub fn with_tuned_tile(
        &self,
        variant: &Variant,
        target: &Target,
        sizes: LaunchSizes,
    ) -> Result<Variant> {
        Ok(match self.tuned(variant, target, sizes)? {
            Some(tuned) => variant.with_tile(&target.name, tuned.tile.sizes()),
            None => variant.clone(),
        })
    }

    /// The variant as the planner would have it, the chip, the toolchain and the sizes are what a memory is good for.
    fn tuned_path(
        &self,
        variant: &Variant,
        target: &Target,
        sizes: LaunchSizes,
    ) -> Result<PathBuf> {
        let planned = fa_codegen::plan(variant, target).map_err(Error::Plan)?;
        let sources: Vec<GeneratedFile> = fa_codegen::render(&planned.plan, &unsaved(variant));
        let toolchain = match target.kind {
            TargetKind::Cpu => cpu::toolchain()?,
            TargetKind::SplitCore => ascend::toolchain()?,
        };
        let chip = serde_json::to_string(target).expect("a target has a form in JSON");
        let key = Key::new(&KeyParts {
            generator_version: fa_codegen::GENERATOR_VERSION,
            compiler_version: &toolchain,
            flags: &[bucket(sizes), chip],
            sources: &sources,
        });
        let file = format!("{}.json", key.as_str());
        Ok(self.cache.root().join("tuned").join(file))
    }
}
