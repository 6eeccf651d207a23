//! Conditions that the meaning of a variant rests on and only a launch can tell: `q_len <= kv_len` for `same`,
//! window sides that are parameters.

use fa_dsl::codes::LAUNCH_ARGUMENT;
use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::ir::eval::{Inputs, Program, Value};
use fa_dsl::ir::{ExprId, ParamId, TensorId, Var};
use fa_dsl::variant::Variant;

use super::{LaunchSizes, PackedLengths};

/// Lengths of one sequence and the scalars of the launch.
struct Scalars<'a> {
    q_len: i64,
    kv_len: i64,
    params: &'a [Value<f32>],
}

impl Inputs<f32> for Scalars<'_> {
    fn var(&self, var: Var) -> Value<f32> {
        let length = |length: i64| Value::Int(i32::try_from(length).unwrap_or(i32::MAX));
        match var {
            Var::QLen => length(self.q_len),
            Var::KvLen => length(self.kv_len),
            _ => unreachable!("requirements read lengths and parameters alone"),
        }
    }

    fn param(&self, param: ParamId) -> Value<f32> {
        self.params[param.0 as usize]
    }

    fn load(&self, _: TensorId, _: &[i32]) -> Value<f32> {
        unreachable!("requirements read lengths and parameters alone")
    }
}

/// What the condition reads, with the values of a launch.
fn values(
    variant: &Variant,
    condition: ExprId,
    (q_len, kv_len): (i64, i64),
    params: &[Value<f32>],
) -> String {
    let read = variant.exprs.params_read(&[condition]);
    let mut parts: Vec<String> = read
        .into_iter()
        .map(|id| {
            let value = match params[id.0 as usize] {
                Value::Int(value) => value.to_string(),
                Value::Float(value) => value.to_string(),
                Value::Bool(value) => value.to_string(),
            };
            format!("`{}` is {value}", variant.param(id).name)
        })
        .collect();
    for (var, name, length) in [(Var::QLen, "q_len", q_len), (Var::KvLen, "kv_len", kv_len)] {
        if variant.exprs.reads(condition, var) {
            parts.push(format!("`{name}` is {length}"));
        }
    }
    parts.join(", ")
}

/// Adds a fault for every requirement that some sequence does not meet.
pub(super) fn check(
    variant: &Variant,
    sizes: LaunchSizes,
    packed: Option<&PackedLengths>,
    params: &[Value<f32>],
    faults: &mut Vec<Diagnostic>,
) {
    for requirement in &variant.requirements {
        let program = Program::new(&variant.exprs, requirement.condition);
        let broken = lengths(sizes, packed).into_iter().find(|(q_len, kv_len)| {
            let scalars = Scalars {
                q_len: *q_len,
                kv_len: *kv_len,
                params,
            };
            program.run(&scalars, &mut Vec::new()) != Value::Bool(true)
        });
        if let Some((q_len, kv_len)) = broken {
            let message = format!(
                "this launch does not meet what `{}` requires: {} ({})",
                variant.name.value,
                requirement.message,
                values(variant, requirement.condition, (q_len, kv_len), params)
            );
            let help = "pass lengths and parameters that meet it, or change the variant";
            faults.push(
                Diagnostic::error(LAUNCH_ARGUMENT, message, help)
                    .at(requirement.span, "required here"),
            );
        }
    }
}

/// `q_len` and `kv_len` of every sequence; one pair where all are equal.
fn lengths(sizes: LaunchSizes, packed: Option<&PackedLengths>) -> Vec<(i64, i64)> {
    let of = |cumulative: &[i64]| -> Vec<i64> {
        cumulative
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .collect()
    };
    match packed {
        Some(packed) => of(&packed.cu_q)
            .into_iter()
            .zip(of(&packed.cu_kv))
            .collect(),
        None => {
            let length = |length: usize| i64::try_from(length).unwrap_or(i64::MAX);
            vec![(length(sizes.q_len), length(sizes.kv_len))]
        }
    }
}
