//! Warnings that need no target.

use super::env::Env;
use super::layers::Setting;
use super::sink::Sink;
use crate::variant::Variant;

/// Looks a finished variant over.
pub(super) fn of_variant(
    _variant: &Variant,
    _mask: Option<&Setting<'_>>,
    _consts: &Env,
    _sink: &mut Sink,
) {
}
