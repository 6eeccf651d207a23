//! What each operator of the IR becomes on the vector unit.

use fa_dsl::ir::{Binary, ExprId, Type, Unary};

use super::program::{Arg, Op, Space};
use super::scalar::float_literal;
use super::{Lowering, Value};

/// Twice this factor takes any positive fp32 number, denormals included, to 2 or more.
const TO_ABOVE_ONE: f32 = 3.777_893_2e22; // 2^75

/// Down and up again by this, only the sign bit of an fp32 number remains.
const SIGN_SHIFT: u32 = 31;

impl Lowering<'_> {
    /// The value as an operand of an instruction of that space.
    fn arg(&mut self, space: Space, value: Value) -> Arg {
        match value {
            Value::Vector(own, arg) if own == space => arg,
            Value::Vector(outer, Arg::Own(register)) => Arg::Outer(outer, register),
            Value::Vector(_, arg) => arg,
            Value::Scalar(text) => {
                let filled = self
                    .program(Space::Uniform)
                    .push(Op::Fill(text), Vec::new());
                self.arg(space, Value::Vector(Space::Uniform, filled))
            }
        }
    }

    /// The value repeated over the tile.
    pub(super) fn spread(&mut self, value: Value) -> Arg {
        self.spread_over(Space::Tile, value)
    }

    fn spread_over(&mut self, space: Space, value: Value) -> Arg {
        match value {
            Value::Scalar(text) => self.program(space).push(Op::Fill(text), Vec::new()),
            value => match self.arg(space, value) {
                outer @ Arg::Outer(..) => self.program(space).push(Op::Spread, vec![outer]),
                own => own,
            },
        }
    }

    fn apply(&mut self, space: Space, op: Op, args: Vec<Arg>) -> Arg {
        self.program(space).push(op, args)
    }

    /// An instruction with a scalar operand.
    fn with_scalar(&mut self, space: Space, name: &'static str, a: Arg, scalar: f32) -> Arg {
        self.apply(space, Op::Scalar(name, float_literal(scalar)), vec![a])
    }

    /// `1 - a`.
    fn complement(&mut self, space: Space, a: Arg) -> Arg {
        let negative = self.with_scalar(space, "Muls", a, -1.0);
        self.with_scalar(space, "Adds", negative, 1.0)
    }

    pub(super) fn unary(&mut self, space: Space, op: Unary, a: ExprId) -> Arg {
        let value = self.value(a);
        let is_int = self.exprs.ty(a) == Type::Int;
        let a = self.arg(space, value);
        match op {
            Unary::Neg => self.with_scalar(space, "Muls", a, -1.0),
            Unary::Not => self.complement(space, a),
            Unary::Abs => self.apply(space, Op::Unary("Abs"), vec![a]),
            Unary::Exp => self.apply(space, Op::Unary("Exp"), vec![a]),
            Unary::Log => self.apply(space, Op::Unary("Ln"), vec![a]),
            Unary::Sqrt => self.apply(space, Op::Unary("Sqrt"), vec![a]),
            // Rsqrt of the unit is an approximation.
            Unary::Rsqrt => {
                let root = self.apply(space, Op::Unary("Sqrt"), vec![a]);
                self.one_over(space, root)
            }
            Unary::Tanh => self.tanh(space, a),
            Unary::Sigmoid => {
                let negative = self.with_scalar(space, "Muls", a, -1.0);
                let power = self.apply(space, Op::Unary("Exp"), vec![negative]);
                let sum = self.with_scalar(space, "Adds", power, 1.0);
                self.one_over(space, sum)
            }
            Unary::Floor => self.apply(space, Op::Round("CAST_FLOOR"), vec![a]),
            Unary::ToInt => self.apply(space, Op::Round("CAST_TRUNC"), vec![a]),
            // Ints are fp32 numbers here; a copy would be wasted, so the value is the same.
            Unary::ToFloat => {
                debug_assert!(is_int);
                a
            }
        }
    }

    fn one_over(&mut self, space: Space, a: Arg) -> Arg {
        let one = self.arg(space, Value::Scalar(float_literal(1.0)));
        self.apply(space, Op::Binary("Div"), vec![one, a])
    }

    /// `(1 - t) / (1 + t)` with `t = exp(-2|x|)`, and the sign of x. Nothing overflows, NaN stays NaN, and the
    /// absolute error is that of fp32 below 1: near 0 the shorter `1 - 2 / (exp(2x) + 1)` loses four times as much,
    /// which a softcap multiplies by its cap.
    fn tanh(&mut self, space: Space, x: Arg) -> Arg {
        let size = self.apply(space, Op::Unary("Abs"), vec![x.clone()]);
        let exponent = self.with_scalar(space, "Muls", size, -2.0);
        let power = self.apply(space, Op::Unary("Exp"), vec![exponent]);
        let below = self.complement(space, power.clone());
        let above = self.with_scalar(space, "Adds", power, 1.0);
        let quotient = self.apply(space, Op::Binary("Div"), vec![below, above]);
        let sign = self.apply(space, Op::ShiftRight(SIGN_SHIFT), vec![x]);
        let sign = self.apply(space, Op::ShiftLeft(SIGN_SHIFT), vec![sign]);
        self.apply(space, Op::BitBinary("Or"), vec![quotient, sign])
    }

    pub(super) fn binary(&mut self, space: Space, op: Binary, a: ExprId, b: ExprId) -> Arg {
        let ty = self.exprs.ty(a);
        let (a, b) = (self.value(a), self.value(b));
        match (op, ty) {
            (Binary::Add, _) => self.commutative(space, "Add", "Adds", a, b),
            (Binary::Mul, _) | (Binary::And, _) => self.commutative(space, "Mul", "Muls", a, b),
            (Binary::Max, _) | (Binary::Or, _) => self.commutative(space, "Max", "Maxs", a, b),
            (Binary::Min, _) => self.commutative(space, "Min", "Mins", a, b),
            (Binary::Sub, _) => self.difference(space, a, b),
            (Binary::Div, Type::Int) => self.floor_quotient(space, a, b),
            (Binary::Div, _) => self.two(space, "Div", a, b),
            (Binary::Rem, _) => {
                let quotient = self.floor_quotient(space, a.clone(), b.clone());
                let multiple =
                    self.commutative(space, "Mul", "Muls", Value::Vector(space, quotient), b);
                self.difference(space, a, Value::Vector(space, multiple))
            }
            (Binary::Eq, _) => {
                let differs = self.differs(space, ty, a, b);
                self.complement(space, differs)
            }
            (Binary::Ne, _) => self.differs(space, ty, a, b),
            (Binary::Lt, _) => self.less(space, ty, a, b),
            (Binary::Le, Type::Int) => {
                let ahead = self.difference(space, b, a);
                let ahead = self.with_scalar(space, "Adds", ahead, 1.0);
                self.zero_or_one(space, ahead)
            }
            (Binary::Le, _) => {
                let greater = self.less(space, ty, b, a);
                self.complement(space, greater)
            }
        }
    }

    fn two(&mut self, space: Space, name: &'static str, a: Value, b: Value) -> Arg {
        let (a, b) = (self.arg(space, a), self.arg(space, b));
        self.apply(space, Op::Binary(name), vec![a, b])
    }

    fn commutative(
        &mut self,
        space: Space,
        name: &'static str,
        with_scalar: &'static str,
        a: Value,
        b: Value,
    ) -> Arg {
        match (a, b) {
            (Value::Scalar(scalar), other) | (other, Value::Scalar(scalar)) => {
                let other = self.arg(space, other);
                self.apply(space, Op::Scalar(with_scalar, scalar), vec![other])
            }
            (a, b) => self.two(space, name, a, b),
        }
    }

    fn difference(&mut self, space: Space, a: Value, b: Value) -> Arg {
        match (a, b) {
            (a, Value::Scalar(zero)) if zero == "0.0f" => self.arg(space, a),
            (a, Value::Scalar(scalar)) => {
                let a = self.arg(space, a);
                self.apply(space, Op::Scalar("Adds", negated(&scalar)), vec![a])
            }
            (Value::Scalar(scalar), b) => {
                let b = self.arg(space, b);
                let negative = self.with_scalar(space, "Muls", b, -1.0);
                self.apply(space, Op::Scalar("Adds", scalar), vec![negative])
            }
            (a, b) => self.two(space, "Sub", a, b),
        }
    }

    /// Exact below 2^24: a true quotient that is no whole number stays clear of the next one by more than half a
    /// unit in the last place.
    fn floor_quotient(&mut self, space: Space, a: Value, b: Value) -> Arg {
        let quotient = self.two(space, "Div", a, b);
        self.apply(space, Op::Round("CAST_FLOOR"), vec![quotient])
    }

    /// 1 where `a < b`, else 0.
    fn less(&mut self, space: Space, ty: Type, a: Value, b: Value) -> Arg {
        let ahead = self.difference(space, b, a);
        let ahead = self.magnified(space, ty, ahead);
        self.zero_or_one(space, ahead)
    }

    /// 1 where `a != b`, else 0.
    fn differs(&mut self, space: Space, ty: Type, a: Value, b: Value) -> Arg {
        let difference = self.difference(space, a, b);
        let size = self.apply(space, Op::Unary("Abs"), vec![difference]);
        let size = self.magnified(space, ty, size);
        self.with_scalar(space, "Mins", size, 1.0)
    }

    /// A float difference blown up so that the smallest one passes 1; int differences are whole already.
    fn magnified(&mut self, space: Space, ty: Type, a: Arg) -> Arg {
        if ty != Type::Float {
            return a;
        }
        let larger = self.with_scalar(space, "Muls", a, TO_ABOVE_ONE);
        self.with_scalar(space, "Muls", larger, TO_ABOVE_ONE)
    }

    fn zero_or_one(&mut self, space: Space, a: Arg) -> Arg {
        let at_least = self.with_scalar(space, "Maxs", a, 0.0);
        self.with_scalar(space, "Mins", at_least, 1.0)
    }

    /// By bits, so that the arm not taken may be NaN or infinite.
    pub(super) fn select(
        &mut self,
        space: Space,
        cond: ExprId,
        then: ExprId,
        other: ExprId,
    ) -> Arg {
        let (cond, then, other) = (self.value(cond), self.value(then), self.value(other));
        let cond = self.spread_over(space, cond);
        let (then, other) = (
            self.spread_over(space, then),
            self.spread_over(space, other),
        );
        let negative = self.with_scalar(space, "Muls", cond, -1.0);
        let bits = self.apply(space, Op::ToBits, vec![negative]);
        let taken = self.apply(space, Op::BitBinary("And"), vec![then, bits.clone()]);
        let not = self.apply(space, Op::BitNot, vec![bits]);
        let left = self.apply(space, Op::BitBinary("And"), vec![other, not]);
        self.apply(space, Op::BitBinary("Or"), vec![taken, left])
    }
}

/// The negative of a C++ scalar.
fn negated(scalar: &str) -> String {
    match scalar.strip_prefix('-') {
        Some(positive) => positive.to_owned(),
        None => format!("-{scalar}"),
    }
}
