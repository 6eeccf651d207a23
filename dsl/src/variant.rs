//! A checked attention variant: typed, complete, hardware-free. Both front doors produce it, every
//! backend and the reference read it. It holds no parser type.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::ir::eval::Value;
use crate::ir::{ExprId, Exprs, ParamId, TensorId, Type};
use crate::span::{Span, Spanned};

/// Storage and compute element types, in the spelling of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// IEEE single precision.
    Fp32,
    /// IEEE half precision.
    Fp16,
    /// bfloat16.
    Bf16,
    /// Signed byte, with scales.
    Int8,
    /// 32-bit int.
    Int32,
    /// One byte, 0 or 1.
    Bool,
}

impl Dtype {
    /// Bytes of one element.
    pub fn bytes(self) -> u32 {
        match self {
            Dtype::Fp32 | Dtype::Int32 => 4,
            Dtype::Fp16 | Dtype::Bf16 => 2,
            Dtype::Int8 | Dtype::Bool => 1,
        }
    }

    /// The spelling in `.fa` files and messages.
    pub fn name(self) -> &'static str {
        match self {
            Dtype::Fp32 => "fp32",
            Dtype::Fp16 => "fp16",
            Dtype::Bf16 => "bf16",
            Dtype::Int8 => "int8",
            Dtype::Int32 => "int32",
            Dtype::Bool => "bool",
        }
    }

    /// The type of an element in an expression.
    pub fn expression_type(self) -> Type {
        match self {
            Dtype::Fp32 | Dtype::Fp16 | Dtype::Bf16 => Type::Float,
            Dtype::Int8 | Dtype::Int32 => Type::Int,
            Dtype::Bool => Type::Bool,
        }
    }
}

/// Element types by role; see the precision table of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Precision {
    /// Q, K and V.
    pub qkv: Dtype,
    /// Scores and probabilities.
    pub softmax: Dtype,
    /// Both products (with `int8`, the first is summed in int32).
    pub accumulate: Dtype,
    /// O.
    pub output: Dtype,
}

impl Precision {
    /// `mixed`: fp16 inputs and output, fp32 softmax and sums.
    pub const MIXED: Precision = Precision {
        qkv: Dtype::Fp16,
        softmax: Dtype::Fp32,
        accumulate: Dtype::Fp32,
        output: Dtype::Fp16,
    };
    /// `mixed_bf16`: bf16 inputs and output, fp32 softmax and sums.
    pub const MIXED_BF16: Precision = Precision {
        qkv: Dtype::Bf16,
        softmax: Dtype::Fp32,
        accumulate: Dtype::Fp32,
        output: Dtype::Bf16,
    };
    /// `fp32` throughout.
    pub const FP32: Precision = Precision {
        qkv: Dtype::Fp32,
        softmax: Dtype::Fp32,
        accumulate: Dtype::Fp32,
        output: Dtype::Fp32,
    };
    /// `fp16`: scores and probabilities rounded to fp16, sums in fp32.
    pub const FP16: Precision = Precision {
        qkv: Dtype::Fp16,
        softmax: Dtype::Fp16,
        accumulate: Dtype::Fp32,
        output: Dtype::Fp16,
    };
    /// `bf16`: scores and probabilities rounded to bf16, sums in fp32.
    pub const BF16: Precision = Precision {
        qkv: Dtype::Bf16,
        softmax: Dtype::Bf16,
        accumulate: Dtype::Fp32,
        output: Dtype::Bf16,
    };
    /// `int8` with scales, fp32 softmax, fp16 output.
    pub const INT8: Precision = Precision {
        qkv: Dtype::Int8,
        softmax: Dtype::Fp32,
        accumulate: Dtype::Fp32,
        output: Dtype::Fp16,
    };

    /// The name of the table's row, if these are the types of one.
    pub fn name(self) -> Option<&'static str> {
        [
            (Precision::FP32, "fp32"),
            (Precision::MIXED, "mixed"),
            (Precision::MIXED_BF16, "mixed_bf16"),
            (Precision::FP16, "fp16"),
            (Precision::BF16, "bf16"),
            (Precision::INT8, "int8"),
        ]
        .into_iter()
        .find_map(|(row, name)| (row == self).then_some(name))
    }
}

/// Order of the axes in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// `[b, h, n, d]`.
    Bnsd,
    /// `[b, n, h, d]`.
    Bsnd,
    /// `[b, n, h*d]`.
    Bsh,
    /// `[n, b, h*d]`.
    Sbh,
    /// `[total, h, d]`, packed variable length.
    Tnd,
}

impl Layout {
    /// The spelling in `.fa` files.
    pub fn name(self) -> &'static str {
        match self {
            Layout::Bnsd => "bnsd",
            Layout::Bsnd => "bsnd",
            Layout::Bsh => "bsh",
            Layout::Sbh => "sbh",
            Layout::Tnd => "tnd",
        }
    }
}

/// Which corner query positions are counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Align {
    /// `q_pos = q_idx + (kv_len - q_len)`.
    BottomRight,
    /// `q_pos = q_idx`.
    TopLeft,
}

/// Dropout of probabilities in training launches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Dropout {
    /// As written, in `(0, 1)`.
    pub rate: f64,
    /// `round_half_even(rate * 65536)`, in `1..=65535`: a pair is dropped when its 16-bit number is below.
    pub threshold: u32,
    /// Where the field stands.
    pub span: Span,
}

/// How gradients are computed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum Backward {
    /// No backward kernel.
    None,
    /// Probabilities are recomputed.
    Recompute,
    /// This share of the blocks is stored.
    Checkpoint(f64),
}

/// A run-time scalar.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Param {
    /// Name at launch.
    pub name: String,
    /// `int`, `float` or `bool`.
    pub ty: Type,
    /// Value where the launch gives none.
    #[serde(skip)]
    pub default: Option<Value<f32>>,
    /// Where it is declared.
    pub span: Span,
}

/// A launch-time size that a captured tensor's dimension may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Size {
    /// Batch.
    B,
    /// Query heads.
    H,
    /// Key/value heads.
    KvH,
    /// Query length.
    QLen,
    /// Key length.
    KvLen,
}

/// A dimension: a sum of launch-time sizes and a constant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Dim {
    /// Sizes, in ascending order; one may occur several times.
    pub sizes: Vec<Size>,
    /// The constant part.
    pub constant: i64,
}

impl Size {
    /// The spelling in `.fa` files.
    pub fn name(self) -> &'static str {
        match self {
            Size::B => "b",
            Size::H => "h",
            Size::KvH => "kv_h",
            Size::QLen => "q_len",
            Size::KvLen => "kv_len",
        }
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.sizes.iter().map(|size| size.name()).collect();
        match (names.is_empty(), self.constant) {
            (true, constant) => write!(f, "{constant}"),
            (false, 0) => f.write_str(&names.join(" + ")),
            (false, constant) if constant < 0 => {
                write!(f, "{} - {}", names.join(" + "), constant.unsigned_abs())
            }
            (false, constant) => write!(f, "{} + {constant}", names.join(" + ")),
        }
    }
}

/// A captured input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tensor {
    /// Name at launch.
    pub name: String,
    /// Element type.
    pub dtype: Dtype,
    /// Dimensions, outermost first. A dimension of launch-time size 1 broadcasts.
    pub dims: Vec<Dim>,
    /// Whether its gradient is asked for.
    pub grad: bool,
    /// Where it is declared.
    pub span: Span,
}

/// Where a captured tensor has the packed axis: `b` and a length that follows it, one axis in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedAxis {
    /// The declared dimension `b`.
    pub batch: usize,
    /// The declared dimension of rows, counted within their sequence.
    pub rows: usize,
    /// What the rows are: `QLen` or `KvLen`.
    pub size: Size,
}

impl Tensor {
    /// The packed axis under `tnd`; `None` for other layouts and for tensors without rows.
    pub fn packed_axis(&self, layout: Layout) -> Option<PackedAxis> {
        if layout != Layout::Tnd {
            return None;
        }
        let is = |dim: &Dim, size: Size| dim.sizes == [size] && dim.constant == 0;
        (1..self.dims.len()).find_map(|rows| {
            let size = [Size::QLen, Size::KvLen]
                .into_iter()
                .find(|size| is(&self.dims[rows], *size))?;
            let batch = rows - 1;
            is(&self.dims[batch], Size::B).then_some(PackedAxis { batch, rows, size })
        })
    }
}

/// The `tile` block, as far as it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TileSpec {
    /// Query rows of a tile, a multiple of 16.
    pub block_q: Option<Spanned<u32>>,
    /// Key rows of a tile, a multiple of 16.
    pub block_kv: Option<Spanned<u32>>,
    /// Tiles in flight, 1 to 8.
    pub stages: Option<Spanned<u32>>,
    /// The last `tile` field or block that had a say, for messages.
    pub span: Option<Span>,
}

/// Flash-decoding splits of the key axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum SplitKv {
    /// The planner or launcher decides.
    #[default]
    Auto,
    /// This many.
    Fixed(Spanned<u32>),
}

/// A paged key/value cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Paged {
    /// Rows of a page.
    pub page_size: u32,
    /// Where the block stands.
    pub span: Span,
}

/// What is decided per target and never changes meaning.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Schedule {
    /// Tile sizes.
    pub tile: TileSpec,
    /// Splits of the key axis.
    pub split_kv: SplitKv,
    /// Warning codes to silence.
    pub allow: Vec<u16>,
}

/// The schedule that holds for one named target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TargetSchedule {
    /// The target's name.
    pub target: Spanned<String>,
    /// Everything that holds for it, inheritance and overrides applied.
    pub schedule: Schedule,
}

/// A condition that every launch must meet, because the meaning of the variant rests on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Requirement {
    /// Bool over `QLen`, `KvLen` and parameters; in `tnd` it holds for each sequence.
    pub condition: ExprId,
    /// What is required, as a phrase: "`q_len` at most `kv_len`, because of `same`".
    pub message: String,
    /// What asks for it.
    pub span: Span,
}

/// A typed, complete, hardware-free attention variant.
#[derive(Clone, Debug, Serialize)]
pub struct Variant {
    /// Its name.
    pub name: Spanned<String>,
    /// Width of Q and K rows, 1..=512.
    pub head_dim: u32,
    /// Width of V and O rows, 1..=512.
    pub v_head_dim: u32,
    /// Query heads, or `None`: read at launch.
    pub heads: Option<u32>,
    /// Key/value heads, or `None`: read at launch.
    pub kv_heads: Option<u32>,
    /// Element types.
    pub precision: Precision,
    /// Where `precision` is written, if it is.
    pub precision_span: Option<Span>,
    /// Order of the axes.
    pub layout: Layout,
    /// Where `layout` is written, if it is.
    pub layout_span: Option<Span>,
    /// Where query positions are counted from.
    pub align: Align,
    /// `score = dot * scale`.
    pub scale: f64,
    /// All expressions of the variant.
    pub exprs: Exprs,
    /// Where each of them is written, the first place where there are several.
    #[serde(skip)]
    pub places: BTreeMap<ExprId, Span>,
    /// Bool: attend where true.
    pub mask: ExprId,
    /// Where `mask` is written, if it is.
    pub mask_span: Option<Span>,
    /// Float: the score after the user's changes; `Var::Score` if there are none.
    pub score: ExprId,
    /// Where `score` is written, if it is.
    pub score_span: Option<Span>,
    /// Float of `b`, `h`, `kv_h`: an extra logit without a value row.
    pub sink: Option<Spanned<ExprId>>,
    /// Dropout, where the rate is not 0.
    pub dropout: Option<Dropout>,
    /// How gradients are computed.
    pub backward: Spanned<Backward>,
    /// Run-time scalars, in declaration order.
    pub params: Vec<Param>,
    /// Captured inputs, in declaration order.
    pub tensors: Vec<Tensor>,
    /// Paged key/value cache.
    pub paged: Option<Paged>,
    /// What every launch must meet.
    pub requirements: Vec<Requirement>,
    /// The schedule that holds where no target block says otherwise.
    pub schedule: Schedule,
    /// The targets that the variant names, in order, each with its schedule.
    pub targets: Vec<TargetSchedule>,
}

impl Variant {
    /// A variant with every field at its default, for tests and as a starting point; `at` stands in for all
    /// places in source text.
    pub fn with_defaults(name: &str, head_dim: u32, at: Span) -> Variant {
        let mut exprs = Exprs::new();
        let mask = exprs.bool(true);
        let score = exprs.var(crate::ir::Var::Score);
        Variant {
            name: Spanned {
                value: name.to_owned(),
                span: at,
            },
            head_dim,
            v_head_dim: head_dim,
            heads: None,
            kv_heads: None,
            precision: Precision::MIXED,
            precision_span: None,
            layout: Layout::Bnsd,
            layout_span: None,
            align: Align::BottomRight,
            scale: 1.0 / f64::from(head_dim).sqrt(),
            exprs,
            places: BTreeMap::new(),
            mask,
            mask_span: None,
            score,
            score_span: None,
            sink: None,
            dropout: None,
            backward: Spanned {
                value: Backward::None,
                span: at,
            },
            params: Vec::new(),
            tensors: Vec::new(),
            paged: None,
            requirements: Vec::new(),
            schedule: Schedule::default(),
            targets: Vec::new(),
        }
    }

    /// The schedule that holds for a target.
    pub fn schedule_for(&self, target: &str) -> &Schedule {
        self.targets
            .iter()
            .find(|named| named.target.value == target)
            .map_or(&self.schedule, |named| &named.schedule)
    }

    /// The variant with this tile on one target, for those who try tiles: query rows, key rows, tiles in flight. Messages
    /// about it point at the variant's name.
    #[must_use]
    pub fn with_tile(&self, target: &str, [block_q, block_kv, stages]: [u32; 3]) -> Variant {
        let span = self.name.span;
        let written = |value| Some(Spanned { value, span });
        let schedule = Schedule {
            tile: TileSpec {
                block_q: written(block_q),
                block_kv: written(block_kv),
                stages: written(stages),
                span: Some(span),
            },
            ..self.schedule_for(target).clone()
        };
        let mut variant = self.clone();
        variant.targets.retain(|named| named.target.value != target);
        variant.targets.push(TargetSchedule {
            target: Spanned {
                value: target.to_owned(),
                span,
            },
            schedule,
        });
        variant
    }

    /// Whether nothing of the tile is written for a target.
    pub fn leaves_tile_open(&self, target: &str) -> bool {
        let tile = self.schedule_for(target).tile;
        tile.block_q.is_none() && tile.block_kv.is_none() && tile.stages.is_none()
    }

    /// The parameter.
    pub fn param(&self, id: ParamId) -> &Param {
        &self.params[id.0 as usize]
    }

    /// The captured tensor.
    pub fn tensor(&self, id: TensorId) -> &Tensor {
        &self.tensors[id.0 as usize]
    }
}
