//! Random variants from the grammar's pieces.

use crate::dice::Dice;
use crate::masks;
use crate::program::{Item, Program, Term};
use crate::scores;

/// Widths of heads: tails, multiples of 16, and one beyond a tile.
const WIDTHS: [u32; 12] = [8, 16, 16, 24, 32, 32, 40, 48, 64, 72, 96, 129];

/// What masks and scores declare as they are made.
#[derive(Debug, Default)]
pub(crate) struct Declarations {
    items: Vec<Item>,
    names: Vec<(String, String)>,
    lets: usize,
}

impl Declarations {
    /// Declares a captured tensor, or another one if the name is taken by one of another kind.
    pub(crate) fn tensor(&mut self, name: &str, kind: &str) -> String {
        self.declare("tensor", name, kind)
    }

    /// Declares a run-time scalar.
    pub(crate) fn param(&mut self, name: &str, kind: &str) -> String {
        self.declare("param", name, kind)
    }

    /// Names an expression.
    pub(crate) fn let_in(&mut self, name: &str, expression: &str) -> String {
        self.lets += 1;
        let name = format!("{name}{}", self.lets);
        self.items
            .push(Item::new(format!("let {name} = {expression};")));
        name
    }

    fn declare(&mut self, keyword: &str, name: &str, kind: &str) -> String {
        let mut unique = name.to_owned();
        let mut number = 1;
        while let Some((_, known)) = self.names.iter().find(|(taken, _)| *taken == unique) {
            if known == kind {
                return unique;
            }
            number += 1;
            unique = format!("{name}_{number}");
        }
        self.names.push((unique.clone(), kind.to_owned()));
        self.items
            .push(Item::new(format!("{keyword} {unique}: {kind};")));
        unique
    }
}

/// The variant of a seed.
pub(crate) fn program(seed: u64) -> Program {
    let mut dice = Dice::new(seed);
    let dice = &mut dice;
    let mut declared = Declarations::default();
    let mut items = vec![Item::new("allow = [FA102, FA103, FA105];")];
    items.push(Item::new(format!("head_dim = {};", dice.number(&WIDTHS))));
    if dice.percent(25) {
        items.push(Item::new(format!("v_head_dim = {};", dice.number(&WIDTHS))));
    }
    items.extend(heads(dice));
    items.extend(types_and_layout(dice));
    if dice.percent(85) {
        let depth = dice.below(4);
        items.push(Item::field(
            "mask",
            &masks::mask(dice, &mut declared, depth),
        ));
    }
    if dice.percent(65) {
        items.push(Item::field("score", &scores::score(dice, &mut declared)));
    }
    if dice.percent(20) {
        items.push(Item::field("sink", &sink(dice, &mut declared)));
    }
    if dice.percent(15) {
        let rate = dice.pick(&["0.1", "0.5", "0.875"]);
        items.push(Item::new(format!("dropout = {rate};")));
    }
    items.extend(tile(dice));
    if declared.names.iter().any(|(_, kind)| !packs(kind)) {
        items.retain(|item| item.text != PACKED_LAYOUT);
    }
    items.splice(0..0, declared.items);
    Program {
        name: format!("v{seed}"),
        items,
    }
}

/// Packed sequences.
const PACKED_LAYOUT: &str = "layout = tnd;";

/// Whether a tensor of that kind may be captured where sequences are packed: its rows follow `b`.
fn packs(kind: &str) -> bool {
    let dims: Vec<&str> = kind.split(['[', ']', ',']).skip(1).map(str::trim).collect();
    let after_batch = |at: usize| at > 0 && dims[at - 1] == "b";
    dims.iter().enumerate().all(|(at, dim)| {
        !dim.contains("_len") || (matches!(*dim, "q_len" | "kv_len") && after_batch(at))
    })
}

fn heads(dice: &mut Dice) -> Vec<Item> {
    let declared: &[&str] = match dice.below(10) {
        0 => &["heads = 2;"],
        1 => &["heads = 4;", "kv_heads = 2;"],
        2 => &["heads = 3;", "kv_heads = 1;"],
        3 => &["kv_heads = 1;"],
        _ => &[],
    };
    declared.iter().copied().map(Item::new).collect()
}

fn types_and_layout(dice: &mut Dice) -> Vec<Item> {
    let mut items = Vec::new();
    let precision = dice.pick(&[
        "",
        "precision = mixed;",
        "precision = mixed;",
        "precision = mixed_bf16;",
        "precision = mixed_bf16;",
        "precision = fp32;",
        "precision = fp16;",
        "precision = bf16;",
        "precision { output = fp32; }",
        "precision { qkv = bf16; output = fp32; }",
    ]);
    if !precision.is_empty() {
        items.push(Item::new(precision));
    }
    if dice.percent(60) {
        let layout = dice.pick(&["bnsd", "bsnd", "bsh", "sbh", "tnd"]);
        items.push(Item::new(format!("layout = {layout};")));
    }
    if dice.percent(25) {
        items.push(Item::new("align = top_left;"));
    }
    if dice.percent(20) {
        let scale = dice.pick(&[
            "0.125",
            "1.0 / float(head_dim)",
            "0.3 / sqrt(float(head_dim))",
        ]);
        items.push(Item::new(format!("scale = {scale};")));
    }
    items
}

fn sink(dice: &mut Dice, declared: &mut Declarations) -> Term {
    match dice.below(3) {
        0 => Term::atom("0.5 * float(h) - 1.0"),
        1 => Term::atom(format!("{}[h]", declared.tensor("sinks", "fp32[h]"))),
        _ => Term::atom(format!(
            "{}[h] + 0.25",
            declared.tensor("half_sinks", "fp16[h]")
        )),
    }
}

fn tile(dice: &mut Dice) -> Option<Item> {
    if dice.percent(55) {
        return None;
    }
    let (block_q, block_kv) = (
        dice.number(&[16, 32, 64, 128]),
        dice.number(&[16, 48, 64, 128, 256]),
    );
    let stages = dice.number(&[1, 2, 2, 3]);
    let keys = [
        format!("block_q = {block_q};"),
        format!("block_kv = {block_kv};"),
        format!("stages = {stages};"),
    ];
    let kept: Vec<&str> = keys
        .iter()
        .map(String::as_str)
        .filter(|_| dice.percent(70))
        .collect();
    (!kept.is_empty()).then(|| Item::new(format!("tile {{ {} }}", kept.join(" "))))
}
