//! The values of the fields that are no expressions of positions: numbers, words, precision.

use std::collections::BTreeSet;

use super::consts::unfoldable;
use super::declare::Lets;
use super::env::Env;
use super::fold::fold;
use super::infer::Infer;
use super::layers::{Body, Key, Setting, spelt};
use super::sink::{Known, Sink, nearest, one_of};
use crate::ast::{Expr, ExprKind, Field, FieldValue};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::ir::Type;
use crate::ir::eval::Value;
use crate::span::{SourceMap, Span, Spanned};
use crate::variant::{Align, Backward, Dropout, Dtype, Layout, Paged, Precision};

/// What the fields of one variant are read with.
pub(super) struct Fields<'f> {
    pub(super) sources: &'f SourceMap,
    /// The layers of the variant, the most general first.
    pub(super) layers: &'f [&'f Body<'f>],
    pub(super) env: &'f Env,
    pub(super) lets: &'f Lets,
    pub(super) used: &'f mut BTreeSet<Span>,
    pub(super) sink: &'f mut Sink,
}

/// The layouts by name.
const LAYOUTS: [Layout; 5] = [
    Layout::Bnsd,
    Layout::Bsnd,
    Layout::Bsh,
    Layout::Sbh,
    Layout::Tnd,
];

/// The rows of the precision table, with whether the output follows the inputs.
const PRESETS: [(&str, Precision); 6] = [
    ("fp32", Precision::FP32),
    ("mixed", Precision::MIXED),
    ("mixed_bf16", Precision::MIXED_BF16),
    ("fp16", Precision::FP16),
    ("bf16", Precision::BF16),
    ("int8", Precision::INT8),
];

/// What each key of `precision` may be.
const ROLES: [(&str, &[Dtype]); 4] = [
    ("qkv", &[Dtype::Fp32, Dtype::Fp16, Dtype::Bf16, Dtype::Int8]),
    ("softmax", &[Dtype::Fp32, Dtype::Fp16, Dtype::Bf16]),
    ("accumulate", &[Dtype::Fp32, Dtype::Fp16]),
    ("output", &[Dtype::Fp32, Dtype::Fp16, Dtype::Bf16]),
];

impl<'f> Fields<'f> {
    /// The setting that wins.
    pub(super) fn setting(&self, key: Key) -> Option<&'f Setting<'f>> {
        self.layers
            .iter()
            .rev()
            .find_map(|layer| layer.settings.get(&key))
    }

    /// The field that wins; `Known::Broken` where it has a syntax error.
    pub(super) fn field(&self, key: Key) -> Known<&'f Field> {
        match self.setting(key) {
            None => Known::Absent,
            Some(Setting::Field(field)) => Known::Value(*field),
            Some(Setting::Block(..) | Setting::Broken(_)) => Known::Broken,
        }
    }

    /// The expression of a field; a list is an error.
    pub(super) fn expr(&mut self, field: &'f Field) -> Option<&'f Expr> {
        match &field.value {
            FieldValue::Expr(expr) => Some(expr),
            FieldValue::List(list) => {
                self.sink.push(
                    Diagnostic::error(
                        codes::WRONG_VALUE,
                        format!(
                            "`{}` takes one value, this is a list",
                            spelt(&field.name.text)
                        ),
                        "write the value without brackets",
                    )
                    .at(list.span, "a list"),
                );
                None
            }
        }
    }

    /// A constant of this type.
    pub(super) fn constant(&mut self, expr: &Expr, ty: Type, role: &str) -> Option<Value<f64>> {
        let mut infer = Infer {
            sources: self.sources,
            env: self.env,
            used: self.used,
            sink: self.sink,
        };
        let hir = infer.expect(expr, ty, role)?;
        match fold(&hir, &self.lets.values) {
            Ok(value) => Some(value),
            Err(error) => {
                self.sink.extend(unfoldable(error, role, self.sources));
                None
            }
        }
    }

    /// A whole number within a range.
    pub(super) fn int_of(
        &mut self,
        field: &'f Field,
        range: std::ops::RangeInclusive<u32>,
        multiple: u32,
    ) -> Option<Spanned<u32>> {
        let name = spelt(&field.name.text);
        let expr = self.expr(field)?;
        let role = format!("`{name}`");
        let Value::Int(value) = self.constant(expr, Type::Int, &role)? else {
            return None;
        };
        let (least, most) = (*range.start(), *range.end());
        let number = u32::try_from(value).ok().filter(|n| range.contains(n));
        if let Some(number) = number
            && number % multiple == 0
        {
            return Some(Spanned {
                value: number,
                span: field.span,
            });
        }
        let kind = if multiple == 1 {
            String::new()
        } else {
            format!("a multiple of {multiple} ")
        };
        let near = i64::from(value)
            .clamp(i64::from(least), i64::from(most))
            .div_euclid(i64::from(multiple))
            .max(1)
            * i64::from(multiple);
        let most_shown = if most == u32::MAX >> 1 {
            "2147483647".to_owned()
        } else {
            most.to_string()
        };
        self.sink.push(
            Diagnostic::error(
                codes::OUT_OF_RANGE,
                format!("`{name}` is {value}, it must be {kind}from {least} to {most_shown}"),
                format!("write `{name} = {near};`, the nearest that is allowed"),
            )
            .at(expr.span, format!("this is {value}")),
        );
        None
    }

    /// A field that is a whole number.
    pub(super) fn int(
        &mut self,
        key: Key,
        range: std::ops::RangeInclusive<u32>,
    ) -> Known<Spanned<u32>> {
        match self.field(key) {
            Known::Absent => Known::Absent,
            Known::Broken => Known::Broken,
            Known::Value(field) => match self.int_of(field, range, 1) {
                Some(value) => Known::Value(value),
                None => Known::Broken,
            },
        }
    }

    /// A word out of a list.
    pub(super) fn word<T: Copy>(
        &mut self,
        field: &'f Field,
        choices: &[(&'static str, T)],
    ) -> Option<T> {
        let expr = self.expr(field)?;
        let names = choices.iter().map(|(name, _)| *name);
        let name = spelt(&field.name.text);
        let report = match &expr.kind {
            ExprKind::Name(word) => {
                if let Some((_, value)) = choices.iter().find(|(known, _)| known == word) {
                    return Some(*value);
                }
                let message = format!("`{word}` is no value of `{name}`");
                match nearest(word, names.clone()) {
                    Some(near) => {
                        let help = format!("did you mean `{near}`?");
                        Diagnostic::error(codes::WRONG_VALUE, message, help)
                            .at(expr.span, "unknown value")
                            .with_patch(expr.span, near)
                    }
                    None => {
                        let help = format!("write {}", one_of(names));
                        Diagnostic::error(codes::WRONG_VALUE, message, help)
                            .at(expr.span, "unknown value")
                    }
                }
            }
            ExprKind::Broken(_) | ExprKind::Error => return None,
            _ => Diagnostic::error(
                codes::WRONG_VALUE,
                format!("`{name}` takes a word"),
                format!("write {}, without quotes", one_of(names)),
            )
            .at(expr.span, "not a word"),
        };
        self.sink.push(report);
        None
    }

    /// `layout`
    pub(super) fn layout(&mut self) -> Option<(Layout, Option<Span>)> {
        let choices = LAYOUTS.map(|layout| (layout.name(), layout));
        match self.field(Key::Layout) {
            Known::Absent => Some((Layout::Bnsd, None)),
            Known::Broken => None,
            Known::Value(field) => Some((self.word(field, &choices)?, Some(field.span))),
        }
    }

    /// `align`
    pub(super) fn align(&mut self) -> Option<Align> {
        let choices = [
            ("bottom_right", Align::BottomRight),
            ("top_left", Align::TopLeft),
        ];
        match self.field(Key::Align) {
            Known::Absent => Some(Align::BottomRight),
            Known::Broken => None,
            Known::Value(field) => self.word(field, &choices),
        }
    }

    /// `precision`, merged key by key; an output that is not set follows the inputs.
    pub(super) fn precision(&mut self) -> Option<(Precision, Option<Span>)> {
        let mut types = Precision::MIXED;
        let (mut output, mut span, mut broken) = (None, None, false);
        for layer in self.layers {
            let Some(setting) = layer.settings.get(&Key::Precision) else {
                continue;
            };
            span = Some(setting.span());
            match setting {
                Setting::Broken(_) => broken = true,
                Setting::Field(field) => match self.word(field, &PRESETS) {
                    Some(preset) => {
                        types = preset;
                        output = None;
                    }
                    None => broken = true,
                },
                Setting::Block(_, keys) => {
                    for (role, allowed) in ROLES {
                        let Some(field) = keys.get(role) else {
                            continue;
                        };
                        let chosen = field.and_then(|field| {
                            let choices: Vec<_> =
                                allowed.iter().map(|dtype| (dtype.name(), *dtype)).collect();
                            self.word(field, &choices)
                        });
                        match (role, chosen) {
                            (_, None) => broken = true,
                            ("qkv", Some(dtype)) => types.qkv = dtype,
                            ("softmax", Some(dtype)) => types.softmax = dtype,
                            ("accumulate", Some(dtype)) => types.accumulate = dtype,
                            (_, Some(dtype)) => output = Some(dtype),
                        }
                    }
                }
            }
        }
        types.output = output.unwrap_or(match types.qkv {
            Dtype::Int8 => Dtype::Fp16,
            other => other,
        });
        (!broken).then_some((types, span))
    }

    /// A float constant of a field, with its place.
    pub(super) fn float_of(&mut self, field: &'f Field) -> Option<(f64, Span)> {
        let expr = self.expr(field)?;
        let role = format!("`{}`", spelt(&field.name.text));
        match self.constant(expr, Type::Float, &role)? {
            Value::Float(value) => Some((value, expr.span)),
            Value::Int(_) | Value::Bool(_) => None,
        }
    }

    /// `scale`; its default needs the head width.
    pub(super) fn scale(&mut self, head_dim: Known<u32>) -> Known<f64> {
        let field = match self.field(Key::Scale) {
            Known::Absent => {
                return match head_dim {
                    Known::Value(width) => Known::Value(1.0 / f64::from(width).sqrt()),
                    Known::Absent | Known::Broken => Known::Broken,
                };
            }
            Known::Broken => return Known::Broken,
            Known::Value(field) => field,
        };
        let Some((value, span)) = self.float_of(field) else {
            return Known::Broken;
        };
        if (value as f32).is_finite() {
            return Known::Value(value);
        }
        self.sink.push(
            Diagnostic::error(
                codes::OUT_OF_RANGE,
                format!("`scale` is {value}, it must be a finite fp32 number"),
                "write a number such as `0.125`, or leave `scale` out for `1.0 / sqrt(float(head_dim))`",
            )
            .at(span, format!("this is {value}")),
        );
        Known::Broken
    }

    /// `dropout`: `Ok(None)` is a rate of 0; `Err` has been reported.
    pub(super) fn dropout(&mut self) -> Result<Option<Dropout>, ()> {
        let field = match self.field(Key::Dropout) {
            Known::Absent => return Ok(None),
            Known::Broken => return Err(()),
            Known::Value(field) => field,
        };
        let (rate, at) = self.float_of(field).ok_or(())?;
        if !(0.0..1.0).contains(&rate) {
            self.sink.push(
                Diagnostic::error(
                    codes::OUT_OF_RANGE,
                    format!("`dropout` is {rate}, it must be at least 0 and below 1"),
                    "write the share of probabilities to drop, such as `dropout = 0.1;`",
                )
                .at(at, format!("this is {rate}")),
            );
            return Err(());
        }
        let threshold = (rate * 65536.0).round_ties_even() as u32;
        if rate > 0.0 && (threshold == 0 || threshold == 65536) {
            self.sink.push(
                Diagnostic::error(
                    codes::DROPOUT_ROUNDS_AWAY,
                    format!(
                        "`dropout` is {rate}, which rounds to {threshold}/65536: {} would be dropped",
                        if threshold == 0 { "nothing" } else { "everything" }
                    ),
                    "write a rate from 0.00001 to 0.99999, or `0.0` for none",
                )
                .at(at, "rates are multiples of 1/65536"),
            );
            return Err(());
        }
        Ok((rate > 0.0).then_some(Dropout {
            rate,
            threshold,
            span: field.span,
        }))
    }

    /// `backward`
    pub(super) fn backward(&mut self, at: Span) -> Option<Spanned<Backward>> {
        let field = match self.field(Key::Backward) {
            Known::Absent => {
                return Some(Spanned {
                    value: Backward::None,
                    span: at,
                });
            }
            Known::Broken => return None,
            Known::Value(field) => field,
        };
        let span = field.span;
        let expr = self.expr(field)?;
        if let ExprKind::Call(name, arguments) = &expr.kind
            && name.text == "checkpoint"
            && let [ratio] = arguments.as_slice()
        {
            let role = "the ratio of `checkpoint`";
            let Value::Float(value) = self.constant(ratio, Type::Float, role)? else {
                return None;
            };
            if (0.0..=1.0).contains(&value) {
                let value = Backward::Checkpoint(value);
                return Some(Spanned { value, span });
            }
            self.sink.push(
                Diagnostic::error(
                    codes::OUT_OF_RANGE,
                    format!("the ratio of `checkpoint` is {value}, it must be from 0 to 1"),
                    "write the share of blocks to store, such as `checkpoint(0.5)`",
                )
                .at(ratio.span, format!("this is {value}")),
            );
            return None;
        }
        let bare = matches!(&expr.kind, ExprKind::Name(name) if name == "checkpoint");
        if bare || matches!(expr.kind, ExprKind::Call(..)) {
            self.sink.push(
                Diagnostic::error(
                    codes::WRONG_VALUE,
                    "`backward` takes `none`, `recompute` or `checkpoint(ratio)`",
                    "write `checkpoint(0.5)` with the share of blocks to store",
                )
                .at(expr.span, "unknown value"),
            );
            return None;
        }
        let choices = [("none", Backward::None), ("recompute", Backward::Recompute)];
        let value = self.word(field, &choices)?;
        Some(Spanned { value, span })
    }

    /// `paged`: `Err` has been reported.
    pub(super) fn paged(&mut self) -> Result<Option<Paged>, ()> {
        let (block, keys) = match self.setting(Key::Paged) {
            None => return Ok(None),
            Some(Setting::Block(block, keys)) => (block, keys),
            Some(Setting::Field(_) | Setting::Broken(_)) => return Err(()),
        };
        let field = match keys.get("page_size") {
            Some(Some(field)) => *field,
            Some(None) => return Err(()),
            None => {
                self.sink.push(
                    Diagnostic::error(
                        codes::MISSING_FIELD,
                        "`paged` needs `page_size`",
                        "write `paged { page_size = 128; }`",
                    )
                    .at(block.name.span, "how many rows has a page?"),
                );
                return Err(());
            }
        };
        let size = self.int_of(field, 1..=1 << 20, 1).ok_or(())?;
        Ok(Some(Paged {
            page_size: size.value,
            span: block.span,
        }))
    }
}
