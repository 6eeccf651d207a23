//! Random score expressions: what models do to scores, one step around another. Steps are continuous in the score,
//! so that rounding cannot turn into a jump.

use crate::dice::Dice;
use crate::generate::Declarations;
use crate::program::Term;

/// Steps that need no tensor; `{}` is the score so far.
const STEPS: [&str; 22] = [
    "softcap({}, 2.0)",
    "softcap({}, 30.0)",
    "{} * 1.5",
    "{} / 3 + 0.25",
    "1.0 - {}",
    "-({})",
    "{} + 0.05 * float(kv_pos - q_pos)",
    "{} - 0.125 * float(h + 1) * float(abs(q_pos - kv_pos))",
    "{} * float(kv_idx % 3 + 1)",
    "if causal { {} } else { {} * 0.5 - 1.0 }",
    "if kv_pos % 4 == 0 { {} + 1.0 } else if h > 0 { {} } else { 0.5 }",
    "if {} > 0.0 { {} } else { 0.1 * {} }",
    "min({}, 3.0)",
    "max({}, -1.5)",
    "clamp({}, -2.0, 2.5)",
    "{} * sigmoid({})",
    "tanh({} * 0.5)",
    "exp(min({}, 2.0))",
    "log(1.0 + abs({}))",
    "sqrt({} * {} + 0.25)",
    "{} * rsqrt(1.0 + float(kv_idx))",
    "{} + floor(float(q_pos) / 8.0) * 0.125",
];

/// A score of some steps.
pub(crate) fn score(dice: &mut Dice, declared: &mut Declarations) -> Term {
    let mut term = Term::atom("score");
    for _ in 0..=dice.below(3) {
        let step = if dice.percent(60) {
            dice.pick(&STEPS).to_owned()
        } else {
            with_inputs(dice, declared)
        };
        // Declared parts keep the formula short where the score stands in it several times.
        let inner = if step.matches("{}").count() > 1 && term.text != "score" {
            declared.let_in("x", &term.text)
        } else if term.text == "score" {
            term.text.clone()
        } else {
            format!("({})", term.text)
        };
        // `if c { x }` has braces of its own: the marker alone is replaced.
        term = Term::around(step.replace("{}", &inner), &[&term]);
    }
    term
}

/// A step that reads a captured tensor or a parameter.
fn with_inputs(dice: &mut Dice, declared: &mut Declarations) -> String {
    let float = dice.pick(&["fp32", "fp32", "fp16", "bf16"]);
    let mut tensor = |name: &str, dims: &str| declared.tensor(name, &format!("{float}[{dims}]"));
    match dice.below(14) {
        0 => format!(
            "{{}} - {}[h] * float(q_pos - kv_pos)",
            tensor("slopes", "h")
        ),
        1 => format!("{{}} + {}[kv_h]", tensor("group_bias", "kv_h")),
        2 => format!(
            "{{}} + {}[h, q_idx, kv_idx]",
            tensor("bias", "h, q_len, kv_len")
        ),
        3 => format!(
            "{{}} + {}[b, h, q_idx, kv_idx]",
            tensor("full_bias", "b, h, q_len, kv_len")
        ),
        4 => format!("{{}} * {}[q_idx]", tensor("row_scale", "q_len")),
        5 => format!("{{}} + {}[b, kv_idx]", tensor("key_bias", "b, kv_len")),
        6 => format!("{{}} + 0.5 * {}[kv_idx]", tensor("key_shift", "kv_len")),
        7 => format!(
            "{{}} + {}[clamp(q_pos - kv_pos + 64, 0, 128)]",
            tensor("table", "129")
        ),
        8 => format!(
            "{{}} + {}[q_idx - kv_idx + kv_len]",
            tensor("relative", "q_len + kv_len")
        ),
        9 => format!(
            "{{}} + {}[h, clamp(kv_pos - q_pos, -8, 8) + 8]",
            tensor("head_table", "h, 17")
        ),
        10 => {
            let ids = declared.tensor("kinds", "int32[b, kv_len]");
            format!("if {ids}[b, kv_idx] % 2 == 0 {{ {{}} }} else {{ {{}} - 1.0 }}")
        }
        11 => format!(
            "{{}} + {}[clamp(q_pos - kv_pos, 0, 16), h]",
            tensor("near", "17, h")
        ),
        12 => format!("{{}} / {}", declared.param("temperature", "float = 1.25")),
        _ => {
            let sharp = declared.param("sharp", "bool = true");
            format!("if {sharp} {{ {{}} * 2.0 }} else {{ {{}} }}")
        }
    }
}
