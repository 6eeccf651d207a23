//! The tiles of a mask at given lengths: counts and a picture.

use fa_codegen::Tile;
use fa_dsl::ir::eval::{Inputs, Program, Value};
use fa_dsl::ir::{ParamId, TensorId, Type, Var};
use fa_dsl::tiles::{self, TileKind};
use fa_dsl::variant::{Align, Variant};
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

/// One tile's bounds, and the launch around it.
struct TileInputs<'v> {
    variant: &'v Variant,
    q_len: i32,
    kv_len: i32,
    q: (i32, i32),
    kv: (i32, i32),
}

impl Inputs<f32> for TileInputs<'_> {
    fn var(&self, var: Var) -> Value<f32> {
        let shift = match self.variant.align {
            Align::BottomRight => self.kv_len - self.q_len,
            Align::TopLeft => 0,
        };
        Value::Int(match var {
            Var::B | Var::H | Var::KvH => 0,
            Var::QIdx | Var::QFirst => self.q.0,
            Var::QLast => self.q.1,
            Var::KvIdx | Var::KvFirst => self.kv.0,
            Var::KvLast => self.kv.1,
            Var::QPos => self.q.0 + shift,
            Var::QLen => self.q_len,
            Var::KvLen => self.kv_len,
            Var::Dot | Var::Score => return Value::Float(0.0),
        })
    }

    fn param(&self, param: ParamId) -> Value<f32> {
        let param = self.variant.param(param);
        param.default.unwrap_or(match param.ty {
            Type::Int => Value::Int(0),
            Type::Float => Value::Float(0.0),
            Type::Bool => Value::Bool(false),
        })
    }

    fn load(&self, tensor: TensorId, _index: &[i32]) -> Value<f32> {
        match self.variant.tensor(tensor).dtype.expression_type() {
            Type::Int => Value::Int(0),
            Type::Float => Value::Float(0.0),
            Type::Bool => Value::Bool(false),
        }
    }
}

/// Classifies all tiles of batch 0 and head 0.
pub(crate) fn classify(variant: &Variant, tile: Tile, q_len: u32, kv_len: u32) -> MaskTiles {
    let mut exprs = variant.exprs.clone();
    let analysis = tiles::analyse(&mut exprs, variant.mask, variant.align);
    let roots = [
        analysis.kv_begin,
        analysis.kv_end,
        analysis.empty,
        analysis.full,
    ];
    let programs = roots.map(|root| Program::new(&exprs, root));
    let mut found = MaskTiles {
        q_len,
        kv_len,
        full: 0,
        partial: 0,
        empty: 0,
        picture: Vec::new(),
        remark: remark(variant, !exprs.tensors_read(&roots).is_empty()),
        full_pairs: 0,
        cut: Vec::new(),
    };
    let drawn = q_len.div_ceil(tile.block_q) as usize <= PICTURE_TILES
        && kv_len.div_ceil(tile.block_kv) as usize <= PICTURE_TILES;
    let mut slots = Vec::new();
    for q in blocks(q_len, tile.block_q) {
        let mut line = String::new();
        for kv in blocks(kv_len, tile.block_kv) {
            let inputs = TileInputs {
                variant,
                q_len: q_len as i32,
                kv_len: kv_len as i32,
                q,
                kv,
            };
            let kind = kind_of(&programs, &inputs, &mut slots);
            match kind {
                TileKind::Full => found.full_pairs += rows(q) * rows(kv),
                TileKind::Partial => found.cut.push([q, kv]),
                TileKind::Empty => {}
            }
            line.push(match kind {
                TileKind::Full => '#',
                TileKind::Partial => '+',
                TileKind::Empty => '.',
            });
            *match kind {
                TileKind::Full => &mut found.full,
                TileKind::Partial => &mut found.partial,
                TileKind::Empty => &mut found.empty,
            } += 1;
        }
        if drawn {
            found.picture.push(line);
        }
    }
    found
}

fn kind_of(
    [kv_begin, kv_end, empty, full]: &[Program<'_>; 4],
    inputs: &TileInputs<'_>,
    slots: &mut Vec<Value<f32>>,
) -> TileKind {
    let begin = kv_begin.run(inputs, slots);
    let end = kv_end.run(inputs, slots);
    let outside = match (begin, end) {
        (Value::Int(begin), Value::Int(end)) => inputs.kv.1 < begin || inputs.kv.0 >= end,
        _ => false,
    };
    if outside || empty.run(inputs, slots) == Value::Bool(true) {
        TileKind::Empty
    } else if full.run(inputs, slots) == Value::Bool(true) {
        TileKind::Full
    } else {
        TileKind::Partial
    }
}

/// Rows from the first to the last.
pub(crate) fn rows((first, last): (i32, i32)) -> u64 {
    u64::try_from(last - first + 1).unwrap_or(0)
}

/// First and last row of each block.
fn blocks(len: u32, block: u32) -> impl Iterator<Item = (i32, i32)> {
    (0..len.div_ceil(block)).map(move |i| {
        let first = i * block;
        (first as i32, (first + block).min(len) as i32 - 1)
    })
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
