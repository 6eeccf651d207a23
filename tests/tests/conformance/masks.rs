//! Random masks: every word of the language, user predicates, and their compositions.

use crate::dice::Dice;
use crate::generate::Declarations;
use crate::program::Term;

/// Predicates over positions, rows, heads, batches and lengths.
const PREDICATES: [&str; 18] = [
    "(q_pos * 3 + kv_pos) % 7 < 4",
    "q_pos / 16 == kv_pos / 16",
    "kv_idx % 2 == 0",
    "(q_idx + kv_idx) % 3 != 1",
    "(q_pos - kv_pos) % 5 == 0",
    "q_pos / 24 - kv_pos / 24 <= 1",
    "h % 2 == 0",
    "kv_pos % (h + 2) != 0",
    "b % 2 == 1",
    "kv_h * 8 <= kv_pos",
    "abs(q_pos - kv_pos) < 40",
    "q_pos >= kv_pos - 5",
    "max(q_pos, kv_pos) < 100",
    "min(q_idx, kv_idx) >= 2",
    "kv_pos < kv_len / 2",
    "q_len - q_idx > 3",
    "kv_idx + q_idx < q_len",
    "clamp(q_pos, 3, 60) > kv_pos / 2",
];

/// A mask; up to seven words.
pub(crate) fn mask(dice: &mut Dice, declared: &mut Declarations, depth: usize) -> Term {
    if depth == 0 || dice.percent(40) {
        return atom(dice, declared);
    }
    let left = mask(dice, declared, depth - 1);
    match dice.below(5) {
        0 => Term::around(format!("!({})", left.text), &[&left]),
        choice => {
            let right = mask(dice, declared, depth - 1);
            let operator = if choice < 3 { "&&" } else { "||" };
            let text = format!("({}) {operator} ({})", left.text, right.text);
            Term::around(text, &[&left, &right])
        }
    }
}

fn atom(dice: &mut Dice, declared: &mut Declarations) -> Term {
    let text = match dice.below(20) {
        0..=4 => "causal".to_owned(),
        5..=7 => window(dice),
        8 => format!("prefix({})", dice.number(&[0, 1, 7, 64, 200])),
        9 => {
            let prefix = declared.tensor("prefix_len", "int32[b]");
            format!("prefix({prefix}[b])")
        }
        10 => format!("padding({})", declared.tensor("lens", "int32[b]")),
        11 => format!("same({})", declared.tensor("ids", "int32[b, kv_len]")),
        12 => dense(dice, declared),
        13 => rows_and_keys(dice, declared),
        14 => {
            let reach = declared.param("reach", "int = 19");
            format!("q_pos - kv_pos < {reach}")
        }
        _ => dice.pick(&PREDICATES).to_owned(),
    };
    Term::atom(text)
}

fn window(dice: &mut Dice) -> String {
    let mut side = |open: usize| {
        if dice.percent(open) {
            "unbounded".to_owned()
        } else {
            dice.number(&[0, 1, 3, 15, 63, 128]).to_string()
        }
    };
    format!("window({}, {})", side(15), side(30))
}

fn dense(dice: &mut Dice, declared: &mut Declarations) -> String {
    let dims = dice.pick(&["q_len, kv_len", "b, q_len, kv_len", "b, h, q_len, kv_len"]);
    format!(
        "dense({})",
        declared.tensor("allowed", &format!("bool[{dims}]"))
    )
}

fn rows_and_keys(dice: &mut Dice, declared: &mut Declarations) -> String {
    match dice.below(8) {
        0 => format!("{}[kv_idx]", declared.tensor("key_on", "bool[kv_len]")),
        1 => format!(
            "{}[b, kv_idx]",
            declared.tensor("keys_on", "bool[b, kv_len]")
        ),
        2 => format!("{}[q_idx]", declared.tensor("row_on", "bool[q_len]")),
        3 => format!(
            "{}[kv_idx, h]",
            declared.tensor("head_keys_on", "bool[kv_len, h]")
        ),
        4 => format!(
            "{}[kv_idx, q_idx]",
            declared.tensor("turned", "bool[kv_len, q_len]")
        ),
        5 => format!(
            "{}[clamp(q_idx / 32, 0, 7) * 8 + clamp(kv_idx / 32, 0, 7)]",
            declared.tensor("blocks", "bool[64]")
        ),
        6 => format!(
            "{}[h, q_idx + kv_idx]",
            declared.tensor("sums_on", "bool[h, q_len + kv_len]")
        ),
        _ => format!(
            "{}[q_idx] >= kv_idx",
            declared.tensor("last_key", "int32[q_len]")
        ),
    }
}
