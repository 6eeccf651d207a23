//! What is decided per target: `tile`, `split_kv`, `allow`, with the layers of each target merged.

use super::fields::Fields;
use super::layers::{Key, Setting, Settings};
use crate::ast::{Expr, ExprKind, Field, FieldValue};
use crate::codes;
use crate::diagnostic::{Diagnostic, Severity};
use crate::span::Spanned;
use crate::variant::{Schedule, SplitKv, TargetSchedule, TileSpec};

/// The largest tile side that can be written.
const LARGEST_BLOCK: u32 = 1 << 16;

/// Most splits of the key axis.
const MOST_SPLITS: u32 = 1 << 16;

/// All schedules of a variant.
pub(super) struct Schedules {
    pub(super) general: Schedule,
    pub(super) targets: Vec<TargetSchedule>,
}

impl<'f> Fields<'f> {
    /// The general schedule and that of each target that the variant or a parent names.
    pub(super) fn schedules(&mut self) -> Schedules {
        let general: Vec<&Settings<'f>> = self.layers.iter().map(|layer| &layer.settings).collect();
        let general = self.schedule(&general);
        let mut targets: Vec<TargetSchedule> = Vec::new();
        for layer in self.layers {
            for target in &layer.targets {
                if targets
                    .iter()
                    .any(|known| known.target.value == target.name.text)
                {
                    continue;
                }
                let schedule = self.schedule(&self.layers_of(&target.name.text));
                targets.push(TargetSchedule {
                    target: Spanned {
                        value: target.name.text.clone(),
                        span: target.name.span,
                    },
                    schedule,
                });
            }
        }
        Schedules { general, targets }
    }

    /// The layers that hold for a target: of each body the general fields, then its target block.
    fn layers_of(&self, target: &str) -> Vec<&'f Settings<'f>> {
        let mut layers = Vec::new();
        for layer in self.layers {
            layers.push(&layer.settings);
            let own = layer.targets.iter().find(|own| own.name.text == target);
            layers.extend(own.map(|own| &own.settings));
        }
        layers
    }

    fn schedule(&mut self, layers: &[&'f Settings<'f>]) -> Schedule {
        let mut schedule = Schedule::default();
        for layer in layers {
            if let Some(setting) = layer.get(&Key::Tile) {
                self.tile(setting, &mut schedule.tile);
            }
            if let Some(Setting::Field(field)) = layer.get(&Key::SplitKv)
                && let Some(split) = self.split(field)
            {
                schedule.split_kv = split;
            }
            if let Some(Setting::Field(field)) = layer.get(&Key::Allow) {
                self.allow(field, &mut schedule.allow);
            }
        }
        schedule.allow.sort_unstable();
        schedule.allow.dedup();
        schedule
    }

    fn tile(&mut self, setting: &'f Setting<'f>, tile: &mut TileSpec) {
        match setting {
            Setting::Field(field) => {
                if self.word(field, &[("auto", ())]).is_some() {
                    *tile = TileSpec {
                        span: Some(field.span),
                        ..TileSpec::default()
                    };
                }
            }
            Setting::Block(block, keys) => {
                tile.span = Some(block.span);
                let mut number = |key: &str, most: u32, multiple: u32| {
                    let field = keys.get(key).copied().flatten()?;
                    if is_auto(field) {
                        return Some(None);
                    }
                    Some(Some(self.int_of(field, multiple..=most, multiple)?))
                };
                if let Some(rows) = number("block_q", LARGEST_BLOCK, 16) {
                    tile.block_q = rows;
                }
                if let Some(rows) = number("block_kv", LARGEST_BLOCK, 16) {
                    tile.block_kv = rows;
                }
                if let Some(stages) = number("stages", 8, 1) {
                    tile.stages = stages;
                }
            }
            Setting::Broken(_) => {}
        }
    }

    fn split(&mut self, field: &'f Field) -> Option<SplitKv> {
        if is_auto(field) {
            return Some(SplitKv::Auto);
        }
        self.int_of(field, 1..=MOST_SPLITS, 1).map(SplitKv::Fixed)
    }

    fn allow(&mut self, field: &'f Field, allow: &mut Vec<u16>) {
        let items: Vec<&Expr> = match &field.value {
            FieldValue::List(list) => list.items.iter().collect(),
            FieldValue::Expr(expr) => vec![expr],
        };
        if let FieldValue::Expr(expr) = &field.value {
            let text = self.sources.snippet(expr.span);
            self.sink.push(
                Diagnostic::error(
                    codes::WRONG_VALUE,
                    "`allow` takes a list of codes",
                    format!("write `allow = [{text}];`"),
                )
                .at(expr.span, "not a list"),
            );
            return;
        }
        for item in items {
            allow.extend(self.silenced(item));
        }
    }

    /// The number of a code that may be silenced.
    fn silenced(&mut self, item: &Expr) -> Option<u16> {
        let text = self.sources.snippet(item.span);
        let code = codes::parse(text);
        let (message, help) = match code.and_then(codes::lookup) {
            Some(entry) if entry.severity != Severity::Error => return Some(entry.code.0),
            _ if item.is_broken() => return None,
            Some(_) => (
                format!("`{text}` is an error, and errors cannot be silenced"),
                "remove it, and repair what the message is about",
            ),
            None => (
                format!("there is no code `{text}`"),
                "write the code that the message shows in brackets, such as `FA102`, without quotes",
            ),
        };
        let report = Diagnostic::error(codes::UNKNOWN_CODE, message, help);
        self.sink.push(report.at(item.span, "not a warning"));
        None
    }
}

fn is_auto(field: &Field) -> bool {
    matches!(
        &field.value,
        FieldValue::Expr(Expr {
            kind: ExprKind::Name(name),
            ..
        }) if name == "auto"
    )
}
