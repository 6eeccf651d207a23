//! Constructors of nodes: they fold constants and the identities that hold for every value.

use super::eval::{self, Value};
use super::{Binary, ExprId, Exprs, FloatBits, Node, ParamId, TensorId, Type, Unary, Var};

impl Exprs {
    /// An int constant.
    pub fn int(&mut self, value: i32) -> ExprId {
        self.intern(Node::Int(value), Type::Int)
    }

    /// A float constant.
    pub fn float(&mut self, value: f32) -> ExprId {
        self.intern(Node::Float(FloatBits::new(value)), Type::Float)
    }

    /// A bool constant.
    pub fn bool(&mut self, value: bool) -> ExprId {
        self.intern(Node::Bool(value), Type::Bool)
    }

    /// A constant of any type.
    pub fn constant(&mut self, value: Value<f32>) -> ExprId {
        match value {
            Value::Int(value) => self.int(value),
            Value::Float(value) => self.float(value),
            Value::Bool(value) => self.bool(value),
        }
    }

    /// A name given by position, launch or product.
    pub fn var(&mut self, var: Var) -> ExprId {
        self.intern(Node::Var(var), var.ty())
    }

    /// A run-time scalar.
    pub fn param(&mut self, param: ParamId, ty: Type) -> ExprId {
        self.intern(Node::Param(param, ty), ty)
    }

    /// An element of a captured tensor.
    pub fn load(&mut self, tensor: TensorId, index: Vec<ExprId>, ty: Type) -> ExprId {
        self.intern(Node::Load(tensor, index, ty), ty)
    }

    /// The constant that a node is, if it is one.
    pub fn as_constant(&self, id: ExprId) -> Option<Value<f32>> {
        match self.node(id) {
            Node::Int(value) => Some(Value::Int(*value)),
            Node::Float(bits) => Some(Value::Float(bits.get())),
            Node::Bool(value) => Some(Value::Bool(*value)),
            _ => None,
        }
    }

    /// One operand; the caller has checked its type.
    pub fn unary(&mut self, op: Unary, a: ExprId) -> ExprId {
        if let Some(a) = self.as_constant(a) {
            return self.constant(eval::unary(op, a));
        }
        if let (Unary::Not | Unary::Neg, Node::Unary(inner, b)) = (op, self.node(a))
            && *inner == op
        {
            return *b;
        }
        if let (Unary::Not, &Node::Binary(comparison, b, c)) = (op, self.node(a))
            && self.ty(b) == Type::Int
            && let Some((comparison, swapped)) = opposite(comparison)
        {
            let (b, c) = if swapped { (c, b) } else { (b, c) };
            return self.binary(comparison, b, c);
        }
        let ty = match op {
            Unary::Not => Type::Bool,
            Unary::Neg | Unary::Abs => self.ty(a),
            Unary::ToInt => Type::Int,
            _ => Type::Float,
        };
        self.intern(Node::Unary(op, a), ty)
    }

    /// Two operands; the caller has checked that their types are equal and fit the operator.
    pub fn binary(&mut self, op: Binary, a: ExprId, b: ExprId) -> ExprId {
        let (left, right) = (self.as_constant(a), self.as_constant(b));
        if let (Some(left), Some(right)) = (left, right)
            && let Some(folded) = eval::binary(op, left, right)
        {
            return self.constant(folded);
        }
        if let Some(simpler) = self.identity(op, a, b, left, right) {
            return simpler;
        }
        let ty = if op.is_comparison() {
            Type::Bool
        } else {
            self.ty(a)
        };
        self.intern(Node::Binary(op, a, b), ty)
    }

    /// `if cond { then } else { other }`; the caller has checked the types.
    pub fn select(&mut self, cond: ExprId, then: ExprId, other: ExprId) -> ExprId {
        match self.as_constant(cond) {
            Some(Value::Bool(true)) => then,
            Some(Value::Bool(false)) => other,
            _ if then == other => then,
            _ => {
                let ty = self.ty(then);
                self.intern(Node::Select(cond, then, other), ty)
            }
        }
    }

    /// `a && b`.
    pub fn and(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(Binary::And, a, b)
    }

    /// `a || b`.
    pub fn or(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(Binary::Or, a, b)
    }

    /// `!a`.
    pub fn not(&mut self, a: ExprId) -> ExprId {
        self.unary(Unary::Not, a)
    }

    /// Identities that hold for every value, NaN, infinities and wrapped ints included.
    fn identity(
        &mut self,
        op: Binary,
        a: ExprId,
        b: ExprId,
        left: Option<Value<f32>>,
        right: Option<Value<f32>>,
    ) -> Option<ExprId> {
        use Value::{Bool, Float, Int};
        match (op, left, right) {
            (Binary::And, Some(Bool(true)), _) | (Binary::Or, Some(Bool(false)), _) => Some(b),
            (Binary::And, _, Some(Bool(true))) | (Binary::Or, _, Some(Bool(false))) => Some(a),
            (Binary::And, Some(Bool(false)), _) => Some(a),
            (Binary::And, _, Some(Bool(false))) => Some(b),
            (Binary::Or, Some(Bool(true)), _) => Some(a),
            (Binary::Or, _, Some(Bool(true))) => Some(b),
            (Binary::And | Binary::Or | Binary::Min | Binary::Max, ..) if a == b => Some(a),
            (Binary::Add, Some(Int(0)), _) | (Binary::Mul, Some(Int(1)), _) => Some(b),
            (Binary::Add | Binary::Sub, _, Some(Int(0)))
            | (Binary::Mul | Binary::Div, _, Some(Int(1))) => Some(a),
            (Binary::Mul, Some(Int(0)), _) => Some(a),
            (Binary::Mul, _, Some(Int(0))) => Some(b),
            (Binary::Mul, Some(Float(1.0)), _) => Some(b),
            (Binary::Mul | Binary::Div, _, Some(Float(1.0))) => Some(a),
            (Binary::Sub, _, Some(Float(zero))) if zero.to_bits() == 0 => Some(a),
            (Binary::Sub, ..) if a == b && self.ty(a) == Type::Int => Some(self.int(0)),
            (Binary::Eq | Binary::Le, ..) if a == b && self.ty(a) != Type::Float => {
                Some(self.bool(true))
            }
            (Binary::Ne | Binary::Lt, ..) if a == b => {
                (self.ty(a) != Type::Float).then(|| self.bool(false))
            }
            _ => None,
        }
    }
}

/// The comparison of ints that holds where this one does not, and whether its operands are swapped. (Floats have
/// no such: with NaN neither holds.)
fn opposite(op: Binary) -> Option<(Binary, bool)> {
    match op {
        Binary::Le => Some((Binary::Lt, true)),
        Binary::Lt => Some((Binary::Le, true)),
        Binary::Eq => Some((Binary::Ne, false)),
        Binary::Ne => Some((Binary::Eq, false)),
        _ => None,
    }
}
