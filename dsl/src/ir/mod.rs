//! The one expression IR of `mask`, `score` and `sink`: typed nodes in an arena, shared where equal,
//! constants folded as they are built.
//!
//! Consumers: the interpreter ([`eval`]), interval analysis ([`crate::tiles`]), and the lowerings of the
//! backends. The IR knows neither source text nor hardware. Children always have smaller ids than their
//! parents, so ids in ascending order are an evaluation order.

mod build;
pub mod eval;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

/// Type of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Type {
    /// 32-bit wrapping integer.
    Int,
    /// IEEE single precision.
    Float,
    /// True or false.
    Bool,
}

/// A node of an [`Exprs`] arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct ExprId(u32);

/// Index into the variant's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct ParamId(pub u32);

/// Index into the variant's captured tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct TensorId(pub u32);

/// A single-precision constant compared by its bits, so that NaN equals itself and -0 differs from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct FloatBits(u32);

impl FloatBits {
    /// From a value.
    pub fn new(value: f32) -> FloatBits {
        FloatBits(value.to_bits())
    }

    /// The value.
    pub fn get(self) -> f32 {
        f32::from_bits(self.0)
    }
}

/// Names whose value the position, the launch or the matrix product gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum Var {
    /// Batch index.
    B,
    /// Query head.
    H,
    /// Key/value head of `h`.
    KvH,
    /// Query row.
    QIdx,
    /// Key row; also its position.
    KvIdx,
    /// Query row after `align`.
    QPos,
    /// Query length.
    QLen,
    /// Key length.
    KvLen,
    /// The product `q . k`, unscaled (float).
    Dot,
    /// `dot * scale` (float).
    Score,
    /// First query row of a tile; only in what interval analysis derives.
    QFirst,
    /// Last query row of a tile, inclusive; only in what interval analysis derives.
    QLast,
    /// First key row of a tile; only in what interval analysis derives.
    KvFirst,
    /// Last key row of a tile, inclusive; only in what interval analysis derives.
    KvLast,
}

impl Var {
    /// Its type.
    pub fn ty(self) -> Type {
        match self {
            Var::Dot | Var::Score => Type::Float,
            _ => Type::Int,
        }
    }
}

/// Operators of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum Unary {
    /// Negation; wraps on ints.
    Neg,
    /// Logical not.
    Not,
    /// Absolute value; wraps on ints.
    Abs,
    /// e to the x.
    Exp,
    /// Natural logarithm.
    Log,
    /// Square root.
    Sqrt,
    /// One over the square root.
    Rsqrt,
    /// Hyperbolic tangent.
    Tanh,
    /// `1 / (1 + exp(-x))`.
    Sigmoid,
    /// Largest integer not above, as a float.
    Floor,
    /// Int to float, to nearest even.
    ToFloat,
    /// Float to int, towards zero; saturates, NaN gives 0.
    ToInt,
}

/// Operators of two operands of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum Binary {
    /// Sum; wraps on ints.
    Add,
    /// Difference; wraps on ints.
    Sub,
    /// Product; wraps on ints.
    Mul,
    /// Quotient; on ints rounded down.
    Div,
    /// Remainder of the rounded-down int quotient; has the divisor's sign.
    Rem,
    /// The smaller.
    Min,
    /// The larger.
    Max,
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Both.
    And,
    /// Either.
    Or,
}

impl Binary {
    /// Whether the result is a bool whatever the operands are.
    pub fn is_comparison(self) -> bool {
        matches!(self, Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le)
    }
}

/// One expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum Node {
    /// Int constant.
    Int(i32),
    /// Float constant.
    Float(FloatBits),
    /// Bool constant.
    Bool(bool),
    /// A name given by position, launch or product.
    Var(Var),
    /// A run-time scalar of this type.
    Param(ParamId, Type),
    /// An element of a captured tensor; the type is that of the element as an expression.
    Load(TensorId, Vec<ExprId>, Type),
    /// One operand.
    Unary(Unary, ExprId),
    /// Two operands.
    Binary(Binary, ExprId, ExprId),
    /// `if cond { then } else { other }`; both arms are evaluated.
    Select(ExprId, ExprId, ExprId),
}

/// What a value changes with inside one tile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Dependence {
    /// It changes with the query row.
    pub row: bool,
    /// It changes with the key row.
    pub col: bool,
}

/// An arena of expressions.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Exprs {
    nodes: Vec<Node>,
    types: Vec<Type>,
    #[serde(skip)]
    interned: BTreeMap<Node, ExprId>,
}

impl ExprId {
    /// Position in the arena.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Exprs {
    /// An empty arena.
    pub fn new() -> Exprs {
        Exprs::default()
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// All ids, in ascending order.
    pub fn ids(&self) -> impl Iterator<Item = ExprId> + use<> {
        (0..self.nodes.len())
            .map(|index| ExprId(u32::try_from(index).expect("fewer than 2^32 nodes")))
    }

    /// The node at a position of the arena.
    ///
    /// # Panics
    /// If there are not that many nodes.
    pub fn id(&self, index: usize) -> ExprId {
        assert!(index < self.nodes.len(), "no node at {index}");
        ExprId(u32::try_from(index).expect("fewer than 2^32 nodes"))
    }

    /// The node.
    pub fn node(&self, id: ExprId) -> &Node {
        &self.nodes[id.index()]
    }

    /// Its type.
    pub fn ty(&self, id: ExprId) -> Type {
        self.types[id.index()]
    }

    /// Adds a node as it is, or finds the equal one.
    fn intern(&mut self, node: Node, ty: Type) -> ExprId {
        if let Some(id) = self.interned.get(&node) {
            return *id;
        }
        let id = ExprId(u32::try_from(self.nodes.len()).expect("fewer than 2^32 nodes"));
        self.interned.insert(node.clone(), id);
        self.nodes.push(node);
        self.types.push(ty);
        id
    }

    /// The operands of a node, in order.
    pub fn children(&self, id: ExprId) -> Vec<ExprId> {
        match self.node(id) {
            Node::Int(_) | Node::Float(_) | Node::Bool(_) | Node::Var(_) | Node::Param(..) => {
                Vec::new()
            }
            Node::Load(_, index, _) => index.clone(),
            Node::Unary(_, a) => vec![*a],
            Node::Binary(_, a, b) => vec![*a, *b],
            Node::Select(cond, then, other) => vec![*cond, *then, *other],
        }
    }

    /// All nodes that the roots need, the roots included, each after its operands.
    pub fn reachable(&self, roots: &[ExprId]) -> Vec<ExprId> {
        let mut seen = BTreeSet::new();
        let mut pending = roots.to_vec();
        while let Some(id) = pending.pop() {
            if seen.insert(id) {
                pending.extend(self.children(id));
            }
        }
        seen.into_iter().collect()
    }

    /// Whether the expression reads that name.
    pub fn reads(&self, root: ExprId, var: Var) -> bool {
        self.reachable(&[root])
            .into_iter()
            .any(|id| *self.node(id) == Node::Var(var))
    }

    /// The captured tensors that the roots read, in declaration order.
    pub fn tensors_read(&self, roots: &[ExprId]) -> BTreeSet<TensorId> {
        self.reachable(roots)
            .into_iter()
            .filter_map(|id| match self.node(id) {
                Node::Load(tensor, ..) => Some(*tensor),
                _ => None,
            })
            .collect()
    }

    /// The parameters that the roots read, in declaration order.
    pub fn params_read(&self, roots: &[ExprId]) -> BTreeSet<ParamId> {
        self.reachable(roots)
            .into_iter()
            .filter_map(|id| match self.node(id) {
                Node::Param(param, _) => Some(*param),
                _ => None,
            })
            .collect()
    }

    /// What every node of the arena changes with inside one tile, by index.
    pub fn dependences(&self) -> Vec<Dependence> {
        let mut found: Vec<Dependence> = Vec::with_capacity(self.nodes.len());
        for id in self.ids() {
            let own = match self.node(id) {
                Node::Var(Var::QIdx | Var::QPos) => Dependence {
                    row: true,
                    col: false,
                },
                Node::Var(Var::KvIdx) => Dependence {
                    row: false,
                    col: true,
                },
                Node::Var(Var::Dot | Var::Score) => Dependence {
                    row: true,
                    col: true,
                },
                _ => Dependence::default(),
            };
            let joined = self.children(id).into_iter().fold(own, |acc, child| {
                let child = found[child.index()];
                Dependence {
                    row: acc.row || child.row,
                    col: acc.col || child.col,
                }
            });
            found.push(joined);
        }
        found
    }
}
