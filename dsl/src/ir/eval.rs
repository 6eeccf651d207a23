//! What the operators mean, and an interpreter over any float width.
//!
//! Masks are interpreted in `f32`, as every backend evaluates them, so that a comparison decides the same
//! everywhere; scores in `f64`, where the reference wants the exact value.

use super::{Binary, ExprId, Exprs, Node, ParamId, TensorId, Unary, Var};

/// A value of any of the three types.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<F> {
    /// 32-bit int.
    Int(i32),
    /// Float of the interpreter's width.
    Float(F),
    /// Bool.
    Bool(bool),
}

/// A float width to interpret in.
pub trait Real: Copy + PartialOrd {
    /// From a constant, an element or another width.
    fn from_f64(value: f64) -> Self;
    /// Exact for both widths.
    fn to_f64(self) -> f64;
    /// One operand, float to float.
    fn unary(op: Unary, a: Self) -> Self;
    /// Two operands, float to float.
    fn binary(op: Binary, a: Self, b: Self) -> Self;
}

macro_rules! real {
    ($float:ty) => {
        impl Real for $float {
            fn from_f64(value: f64) -> Self {
                value as $float
            }

            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            fn unary(op: Unary, a: Self) -> Self {
                match op {
                    Unary::Neg => -a,
                    Unary::Abs => a.abs(),
                    Unary::Exp => a.exp(),
                    Unary::Log => a.ln(),
                    Unary::Sqrt => a.sqrt(),
                    Unary::Rsqrt => 1.0 / a.sqrt(),
                    Unary::Tanh => a.tanh(),
                    Unary::Sigmoid => 1.0 / (1.0 + (-a).exp()),
                    Unary::Floor => a.floor(),
                    Unary::Not | Unary::ToFloat | Unary::ToInt => {
                        unreachable!("not float to float")
                    }
                }
            }

            fn binary(op: Binary, a: Self, b: Self) -> Self {
                match op {
                    Binary::Add => a + b,
                    Binary::Sub => a - b,
                    Binary::Mul => a * b,
                    Binary::Div => a / b,
                    Binary::Min => a.min(b),
                    Binary::Max => a.max(b),
                    Binary::Rem
                    | Binary::Eq
                    | Binary::Ne
                    | Binary::Lt
                    | Binary::Le
                    | Binary::And
                    | Binary::Or => unreachable!("not float to float"),
                }
            }
        }
    };
}
real!(f32);
real!(f64);

/// Applies an operator of one operand; the type was checked when the node was built.
pub fn unary<F: Real>(op: Unary, a: Value<F>) -> Value<F> {
    match (op, a) {
        (Unary::Not, Value::Bool(a)) => Value::Bool(!a),
        (Unary::Neg, Value::Int(a)) => Value::Int(a.wrapping_neg()),
        (Unary::Abs, Value::Int(a)) => Value::Int(a.wrapping_abs()),
        (Unary::ToFloat, Value::Int(a)) => Value::Float(F::from_f64(f64::from(a))),
        (Unary::ToInt, Value::Float(a)) => Value::Int(a.to_f64() as i32),
        (_, Value::Float(a)) => Value::Float(F::unary(op, a)),
        _ => unreachable!("operand types are checked when a node is built"),
    }
}

/// Applies an operator of two operands, or `None` for an int division by zero.
pub fn binary<F: Real>(op: Binary, a: Value<F>, b: Value<F>) -> Option<Value<F>> {
    Some(match (a, b) {
        (Value::Int(a), Value::Int(b)) => return int_binary(op, a, b),
        (Value::Bool(a), Value::Bool(b)) => Value::Bool(match op {
            Binary::And => a && b,
            Binary::Or => a || b,
            Binary::Eq => a == b,
            Binary::Ne => a != b,
            _ => unreachable!("operand types are checked when a node is built"),
        }),
        (Value::Float(a), Value::Float(b)) => match op {
            Binary::Eq => Value::Bool(a == b),
            Binary::Ne => Value::Bool(a != b),
            Binary::Lt => Value::Bool(a < b),
            Binary::Le => Value::Bool(a <= b),
            _ => Value::Float(F::binary(op, a, b)),
        },
        _ => unreachable!("operand types are checked when a node is built"),
    })
}

fn int_binary<F>(op: Binary, a: i32, b: i32) -> Option<Value<F>> {
    Some(match op {
        Binary::Add => Value::Int(a.wrapping_add(b)),
        Binary::Sub => Value::Int(a.wrapping_sub(b)),
        Binary::Mul => Value::Int(a.wrapping_mul(b)),
        Binary::Div => Value::Int(floor_div(a, b)?),
        Binary::Rem => Value::Int(a.wrapping_sub(floor_div(a, b)?.wrapping_mul(b))),
        Binary::Min => Value::Int(a.min(b)),
        Binary::Max => Value::Int(a.max(b)),
        Binary::Eq => Value::Bool(a == b),
        Binary::Ne => Value::Bool(a != b),
        Binary::Lt => Value::Bool(a < b),
        Binary::Le => Value::Bool(a <= b),
        Binary::And | Binary::Or => unreachable!("operand types are checked when a node is built"),
    })
}

/// The quotient rounded down, as in Python; `None` for a zero divisor. The one overflow wraps.
pub fn floor_div(a: i32, b: i32) -> Option<i32> {
    if b == 0 {
        return None;
    }
    let quotient = a.wrapping_div(b);
    let inexact = a.wrapping_rem(b) != 0;
    Some(if inexact && (a < 0) != (b < 0) {
        quotient - 1
    } else {
        quotient
    })
}

/// Where the interpreter finds what an expression reads.
pub trait Inputs<F> {
    /// Value of a name.
    fn var(&self, var: Var) -> Value<F>;
    /// Value of a run-time scalar.
    fn param(&self, param: ParamId) -> Value<F>;
    /// Element of a captured tensor.
    fn load(&self, tensor: TensorId, index: &[i32]) -> Value<F>;
}

/// An expression with its evaluation order fixed, for repeated interpretation.
#[derive(Clone, Debug)]
pub struct Program<'e> {
    exprs: &'e Exprs,
    order: Vec<ExprId>,
    root: ExprId,
}

impl<'e> Program<'e> {
    /// Fixes the order of evaluation of one root.
    pub fn new(exprs: &'e Exprs, root: ExprId) -> Program<'e> {
        Program {
            exprs,
            order: exprs.reachable(&[root]),
            root,
        }
    }

    /// The value for these inputs; `slots` is scratch that may be reused between calls. An int division by
    /// zero, which the checker excludes, gives 0.
    pub fn run<F: Real>(&self, inputs: &impl Inputs<F>, slots: &mut Vec<Value<F>>) -> Value<F> {
        slots.resize(self.exprs.len(), Value::Int(0));
        for id in &self.order {
            slots[id.index()] = match self.exprs.node(*id) {
                Node::Int(value) => Value::Int(*value),
                Node::Float(bits) => Value::Float(F::from_f64(f64::from(bits.get()))),
                Node::Bool(value) => Value::Bool(*value),
                Node::Var(var) => inputs.var(*var),
                Node::Param(param, _) => inputs.param(*param),
                Node::Load(tensor, index, _) => {
                    let index: Vec<i32> = index.iter().map(|i| int(slots[i.index()])).collect();
                    inputs.load(*tensor, &index)
                }
                Node::Unary(op, a) => unary(*op, slots[a.index()]),
                Node::Binary(op, a, b) => {
                    binary(*op, slots[a.index()], slots[b.index()]).unwrap_or(Value::Int(0))
                }
                Node::Select(cond, then, other) => match slots[cond.index()] {
                    Value::Bool(true) => slots[then.index()],
                    _ => slots[other.index()],
                },
            };
        }
        slots[self.root.index()]
    }
}

fn int<F>(value: Value<F>) -> i32 {
    match value {
        Value::Int(value) => value,
        Value::Float(_) | Value::Bool(_) => unreachable!("indices are checked to be ints"),
    }
}
