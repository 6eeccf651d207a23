//! What each operator of the IR becomes on the vector unit.

use fa_dsl::ir::{Binary, ExprId, Type, Unary};
use fa_dsl::variant::Dtype;

use super::describe::describe;
use super::loads::{LoadKind, LoadPlan, is_wide};
use super::program::{Arg, Copy, Op, Space};
use super::scalar::float_literal;
use super::windows::Window;
use super::{Lowering, Table, TaskOffset, Value, table_step};

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
            value @ Value::Vector(..) => match self.arg(space, value) {
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
            // By way of an int, in which NaN is 0 as everywhere.
            Unary::ToInt => {
                let whole = self.apply(space, Op::Round("CAST_TRUNC"), vec![a]);
                let bits = self.apply(space, Op::ToBits, vec![whole]);
                self.apply(space, Op::FromInt, vec![bits])
            }
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
        let both_wide = [a, b]
            .into_iter()
            .all(|id| self.loads.contains_key(&id) && self.is_wide(id));
        if let (Binary::Eq | Binary::Ne, true) = (op, both_wide) {
            return self.compare_wide(space, op, a, b);
        }
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

impl Lowering<'_> {
    fn is_wide(&self, id: ExprId) -> bool {
        is_wide(self.exprs, self.variant, id)
    }

    /// Two int elements of any size are equal where their wrapping difference is 0; that survives the rounding to
    /// fp32 that the elements themselves would not.
    fn compare_wide(&mut self, space: Space, op: Binary, a: ExprId, b: ExprId) -> Arg {
        let mut raw = |id| {
            self.value(id);
            self.raw[&id].clone()
        };
        let (a, b) = (raw(a), raw(b));
        let (a, b) = (self.arg(space, a), self.arg(space, b));
        let difference = self.apply(space, Op::IntSub, vec![a, b]);
        let difference = self.apply(space, Op::FromInt, vec![difference]);
        let size = self.apply(space, Op::Unary("Abs"), vec![difference]);
        let differs = self.with_scalar(space, "Mins", size, 1.0);
        if op == Binary::Ne {
            differs
        } else {
            self.complement(space, differs)
        }
    }

    /// An element that changes within the tile: copied or looked up, then converted to fp32.
    pub(super) fn load(&mut self, space: Space, id: ExprId) -> Arg {
        let plan = self.loads[&id].clone();
        let declared = self.variant.tensor(plan.tensor);
        let (dtype, note) = (declared.dtype, declared.name.clone());
        let tensor = self.names.captured(plan.tensor).to_owned();
        let stride = |dim: usize| format!("launch_.tiling.{tensor}Stride[{dim}]");
        let offset = self.offset(&plan, &note);
        let (helper, strides) = match plan.kind {
            LoadKind::Rows { dim } => ("LoadRows", vec![stride(dim)]),
            LoadKind::Columns { dim } => ("LoadColumns", vec![stride(dim)]),
            LoadKind::Pairs { row_dim, col_dim } => {
                ("LoadPairs", vec![stride(row_dim), stride(col_dim)])
            }
            LoadKind::Table {
                dim,
                len,
                index,
                spread,
            } => {
                let table = Table {
                    tensor: tensor.clone(),
                    dtype,
                    len,
                    offset,
                    stride: stride(dim),
                    spread,
                    note,
                };
                return self.lookup(space, table, index);
            }
            LoadKind::Window {
                dim,
                index,
                plan,
                spread,
            } => {
                let window = Window {
                    tensor: tensor.clone(),
                    dtype,
                    offset,
                    stride: stride(dim),
                    spread,
                    first: plan.first,
                    last: plan.last,
                    factors: plan.factors,
                    note: describe(self.variant, self.exprs, id),
                };
                return self.lookup_in_window(window, index);
            }
        };
        let copy = Copy {
            helper,
            tensor,
            cpp_type: cpp_type(dtype),
            offset,
            strides,
        };
        let raw = self.apply(space, Op::Load(copy), Vec::new());
        if dtype == Dtype::Int32 {
            self.raw.insert(id, Value::Vector(space, raw.clone()));
        }
        match dtype {
            Dtype::Fp32 => raw,
            Dtype::Int32 => self.apply(space, Op::FromInt, vec![raw]),
            Dtype::Fp16 | Dtype::Bf16 => {
                self.apply(space, Op::FromHalf(cpp_type(dtype)), vec![raw])
            }
            Dtype::Bool | Dtype::Int8 => {
                let half = self.apply(space, Op::FromByte, vec![raw]);
                let number = self.apply(space, Op::FromHalf("half"), vec![half]);
                // Any byte but 0 is true.
                self.with_scalar(space, "Mins", number, 1.0)
            }
        }
    }

    /// The member that holds where the tensor starts for a task.
    fn offset(&mut self, plan: &LoadPlan, note: &str) -> String {
        let starts: Vec<String> = plan
            .starts
            .iter()
            .map(|start| self.scalars.print(*start))
            .collect();
        let terms = self.names.offset_terms(plan.tensor, &starts);
        let text = if terms.is_empty() {
            "0".to_owned()
        } else {
            terms.join(" +\n        ")
        };
        let offsets = &mut self.lowered.task_offsets;
        let known = offsets
            .iter()
            .position(|offset| offset.text == text && offset.note == note);
        let at = known.unwrap_or_else(|| {
            offsets.push(TaskOffset {
                text,
                note: note.to_owned(),
            });
            offsets.len() - 1
        });
        format!("offset{at}_")
    }

    /// A gather from a table in UB; indices of pairs that are no pairs are kept inside.
    fn lookup(&mut self, space: Space, table: Table, index: ExprId) -> Arg {
        let last = (table.len - 1) as f32;
        let step = table_step(table.spread) as f32;
        let tables = &mut self.lowered.tables;
        let known = tables.iter().position(|other| *other == table);
        let at = known.unwrap_or_else(|| {
            tables.push(table);
            tables.len() - 1
        });
        let index = self.value(index);
        let index = self.arg(space, index);
        let index = self.with_scalar(space, "Maxs", index, 0.0);
        let index = self.with_scalar(space, "Mins", index, last);
        let bytes = self.with_scalar(space, "Muls", index, step);
        let bytes = self.apply(space, Op::ToBits, vec![bytes]);
        let at = u32::try_from(at).expect("few tables");
        self.apply(space, Op::Gather(at), vec![bytes])
    }
}

impl Lowering<'_> {
    /// A gather from the window of the chunk; indices of pairs that are no pairs are kept inside.
    fn lookup_in_window(&mut self, window: Window, index: ExprId) -> Arg {
        let space = Space::Tile;
        let step = table_step(window.spread) as f32;
        let windows = &mut self.lowered.windows;
        let known = windows.iter().position(|other| *other == window);
        let at = known.unwrap_or_else(|| {
            windows.push(window);
            windows.len() - 1
        });
        let at = u32::try_from(at).expect("few windows");
        let index = self.value(index);
        let index = self.arg(space, index);
        let from_first = Op::Scalar("Adds", format!("-windowFirst{at}"));
        let index = self.apply(space, from_first, vec![index]);
        let index = self.with_scalar(space, "Maxs", index, 0.0);
        let last = Op::Scalar("Mins", format!("kWindow{at}Last"));
        let index = self.apply(space, last, vec![index]);
        let bytes = self.with_scalar(space, "Muls", index, step);
        let bytes = self.apply(space, Op::ToBits, vec![bytes]);
        self.apply(space, Op::GatherWindow(at), vec![bytes])
    }
}

/// C++ type of an element in global memory.
pub(crate) fn cpp_type(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::Fp32 => "float",
        Dtype::Fp16 => "half",
        Dtype::Bf16 => "bfloat16_t",
        Dtype::Int8 => "int8_t",
        Dtype::Int32 => "int32_t",
        Dtype::Bool => "uint8_t",
    }
}

/// The negative of a C++ scalar.
fn negated(scalar: &str) -> String {
    match scalar.strip_prefix('-') {
        Some(positive) => positive.to_owned(),
        None => format!("-{scalar}"),
    }
}
