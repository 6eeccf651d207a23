//! The tiles of a mask at given lengths: counts and a picture.

use fa_codegen::Tile;
use fa_dsl::tiles::{TileClasses, TileKind};
use fa_dsl::variant::Variant;
use serde::Serialize;

/// Pictures wider or higher than this are left out.
const PICTURE_TILES: usize = 96;

/// Tiles of a mask, by row of tiles.
#[derive(Debug, Serialize)]
pub(crate) struct MaskTiles {
    /// Query rows.
    pub(crate) q_len: u32,
    /// Key rows.
    pub(crate) kv_len: u32,
    /// Tiles with every pair attended: no mask code runs.
    pub(crate) full: usize,
    /// Tiles that need mask code, or of which nothing is known before launch.
    pub(crate) partial: usize,
    /// Tiles that are skipped.
    pub(crate) empty: usize,
    /// One character per tile: `#` full, `+` partial, `.` empty.
    pub(crate) picture: Vec<String>,
    /// Why the real numbers may be better, where they depend on the launch.
    pub(crate) remark: Option<String>,
    /// Pairs in full tiles.
    #[serde(skip)]
    pub(crate) full_pairs: u64,
    /// First and last query row, first and last key row of each partial tile.
    #[serde(skip)]
    pub(crate) cut: Vec<[(i32, i32); 2]>,
}

/// Classifies all tiles of batch 0 and head 0.
pub(crate) fn classify(variant: &Variant, tile: Tile, q_len: u32, kv_len: u32) -> MaskTiles {
    let classes = TileClasses::new(variant);
    let mut found = MaskTiles {
        q_len,
        kv_len,
        full: 0,
        partial: 0,
        empty: 0,
        picture: Vec::new(),
        remark: remark(variant, classes.read_tensors()),
        full_pairs: 0,
        cut: Vec::new(),
    };
    let drawn = q_len.div_ceil(tile.block_q) as usize <= PICTURE_TILES
        && kv_len.div_ceil(tile.block_kv) as usize <= PICTURE_TILES;
    let mut row = None;
    let tile = (tile.block_q, tile.block_kv);
    classes.each(tile, (q_len, kv_len), |q, kv, kind| {
        let (mark, count) = match kind {
            TileKind::Full => ('#', &mut found.full),
            TileKind::Partial => ('+', &mut found.partial),
            TileKind::Empty => ('.', &mut found.empty),
        };
        *count += 1;
        match kind {
            TileKind::Full => found.full_pairs += rows(q) * rows(kv),
            TileKind::Partial => found.cut.push([q, kv]),
            TileKind::Empty => {}
        }
        if drawn {
            if row.replace(q) != Some(q) {
                found.picture.push(String::new());
            }
            if let Some(line) = found.picture.last_mut() {
                line.push(mark);
            }
        }
    });
    found
}

/// Rows from the first to the last.
pub(crate) fn rows((first, last): (i32, i32)) -> u64 {
    u64::try_from(last - first + 1).unwrap_or(0)
}

fn remark(variant: &Variant, limits_read_tensors: bool) -> Option<String> {
    let reads = variant.exprs.tensors_read(&[variant.mask]);
    let names: Vec<&str> = reads
        .into_iter()
        .map(|tensor| variant.tensor(tensor).name.as_str())
        .collect();
    if names.is_empty() && !limits_read_tensors {
        return None;
    }
    Some(format!(
        "the mask reads {}: which tiles are skipped is known at launch",
        names.join(", ")
    ))
}
