//! Run-time scalars: by name, typed by their declaration.

use fa_dsl::check::nearest;
use fa_dsl::codes::LAUNCH_INPUTS;
use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::ir::Type;
use fa_dsl::ir::eval::Value;
use fa_dsl::variant::Variant;

/// Reads the text of a scalar as its declaration says.
///
/// # Errors
/// An unknown name, or text that is not of the declared type.
pub fn parse_param(
    variant: &Variant,
    name: &str,
    text: &str,
) -> Result<(String, Value<f32>), Box<Diagnostic>> {
    let Some(param) = variant.params.iter().find(|param| param.name == name) else {
        return Err(Box::new(unknown(variant, name)));
    };
    let value = match param.ty {
        Type::Int => text.parse().ok().map(Value::Int),
        Type::Float => text.parse().ok().map(Value::Float),
        Type::Bool => text.parse().ok().map(Value::Bool),
    };
    match value {
        Some(value) => Ok((name.to_owned(), value)),
        None => {
            let ty = type_name(param.ty);
            let message = format!("parameter `{name}` is of type {ty}, which `{text}` is not");
            let help = format!("write `{name}={}`", example(param.ty));
            let refused = Diagnostic::error(LAUNCH_INPUTS, message, help);
            Err(Box::new(refused.at(param.span, "declared here")))
        }
    }
}

/// The values in declaration order, defaults filled in.
pub(super) fn resolve(
    variant: &Variant,
    given: &[(String, Value<f32>)],
    faults: &mut Vec<Diagnostic>,
) -> Vec<Value<f32>> {
    for (at, (name, _)) in given.iter().enumerate() {
        if !variant.params.iter().any(|param| param.name == *name) {
            faults.push(unknown(variant, name));
        }
        if given[..at].iter().any(|(before, _)| before == name) {
            let message = format!("parameter `{name}` is passed twice");
            faults.push(Diagnostic::error(LAUNCH_INPUTS, message, "pass it once"));
        }
    }
    let mut values = Vec::with_capacity(variant.params.len());
    for param in &variant.params {
        let found = given
            .iter()
            .rev()
            .find_map(|(name, value)| (*name == param.name).then_some(*value));
        let Some(value) = found.or(param.default) else {
            faults.push(
                Diagnostic::error(
                    LAUNCH_INPUTS,
                    format!("parameter `{}` has no value", param.name),
                    format!(
                        "pass it at launch: `--param {0}={1}` on the command line, `.param(\"{0}\", {1})` in Rust; or declare a default",
                        param.name,
                        example(param.ty)
                    ),
                )
                .at(param.span, "declared without a default"),
            );
            continue;
        };
        if type_of(value) == param.ty {
            values.push(value);
        } else {
            faults.push(
                Diagnostic::error(
                    LAUNCH_INPUTS,
                    format!(
                        "parameter `{}` is of type {}, the launch passes type {}",
                        param.name,
                        type_name(param.ty),
                        type_name(type_of(value))
                    ),
                    format!("pass a value of type {}", type_name(param.ty)),
                )
                .at(param.span, "declared here"),
            );
        }
    }
    values
}

fn unknown(variant: &Variant, name: &str) -> Diagnostic {
    let known: Vec<&str> = variant.params.iter().map(|p| p.name.as_str()).collect();
    let help = match (nearest(name, known.iter().copied()), known.as_slice()) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, []) => format!("`{}` declares no parameters", variant.name.value),
        (None, known) => format!("the parameters are {}", known.join(", ")),
    };
    Diagnostic::error(
        LAUNCH_INPUTS,
        format!("there is no parameter `{name}`"),
        help,
    )
}

fn type_of(value: Value<f32>) -> Type {
    match value {
        Value::Int(_) => Type::Int,
        Value::Float(_) => Type::Float,
        Value::Bool(_) => Type::Bool,
    }
}

fn type_name(ty: Type) -> &'static str {
    match ty {
        Type::Int => "int",
        Type::Float => "float",
        Type::Bool => "bool",
    }
}

fn example(ty: Type) -> &'static str {
    match ty {
        Type::Int => "1",
        Type::Float => "1.0",
        Type::Bool => "true",
    }
}
