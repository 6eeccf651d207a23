//! The mask's tiles as squares: full, partial, empty, with their counts.

use fa_codegen::Tile;

use super::page::{Figure, Grid, Key, Prose};
use super::pairs::Pairs;
use super::shapes::Outline;
use super::text;
use crate::commands::mask::MaskTiles;

/// The picture.
pub(crate) fn figure(id: &str, tile: Tile, tiles: &MaskTiles, pairs: &Pairs) -> Figure {
    let every = (tiles.full + tiles.partial + tiles.empty).max(1);
    let share = |count: usize| text::percent(count as f64 / every as f64);
    let about = if pairs.estimated { "about " } else { "" };
    let counts = format!(
        "{} full, {} partial, {} empty",
        tiles.full, tiles.partial, tiles.empty
    );
    let mut notes: Vec<Prose> = tiles
        .remark
        .iter()
        .map(|remark| Prose::new(remark))
        .collect();
    if tiles.picture.is_empty() {
        notes.push(Prose::new(
            "Too many tiles to draw; choose shorter lengths.",
        ));
    }
    Figure {
        id: format!("{id}-tiles"),
        title: "Mask tiles".to_owned(),
        origin: "from the plan".to_owned(),
        caption: format!(
            "{} × {} rows in tiles of {} × {}: {counts}. Empty tiles are never issued; full ones run no mask code. {about}{} of \
             all pairs are attended to, and {} of the pairs that tiles compute.",
            text::grouped(i64::from(tiles.q_len)),
            text::grouped(i64::from(tiles.kv_len)),
            tile.block_q,
            tile.block_kv,
            text::percent(pairs.attended / pairs.all.max(1.0)),
            text::percent(pairs.attended / pairs.computed.max(1.0))
        ),
        alternative: format!("{counts} tiles."),
        legend: vec![
            Key::new(
                "tile-full",
                format!("full: {} ({})", tiles.full, share(tiles.full)),
            ),
            Key::new(
                "tile-partial",
                format!("partial: {} ({})", tiles.partial, share(tiles.partial)),
            ),
            Key::new(
                "tile-empty",
                format!("empty: {} ({})", tiles.empty, share(tiles.empty)),
            ),
        ],
        grid: grid(tiles),
        notes,
        ..Figure::default()
    }
}

fn grid(tiles: &MaskTiles) -> Option<Grid> {
    let columns = tiles.picture.first()?.chars().count();
    let mut outline = Outline::default();
    for (row, line) in tiles.picture.iter().enumerate() {
        for (column, letter) in line.chars().enumerate() {
            let class = match letter {
                '#' => "tile-full",
                '+' => "tile-partial",
                _ => "tile-empty",
            };
            let (x, y) = (column as f64 * 10.0 + 0.5, row as f64 * 10.0 + 0.5);
            outline.rect(class, (x, y), (9.0, 9.0));
            if letter == '+' {
                // A stroke from corner to corner, for eyes that do not tell the colours apart.
                outline.add("tile-stroke", &format!("M{} {}l9 -9", x, y + 9.0));
            }
        }
    }
    Some(Grid {
        columns: columns * 10,
        rows: tiles.picture.len() * 10,
        shapes: outline.shapes(),
        x_title: "keys".to_owned(),
        y_title: "queries".to_owned(),
    })
}
