//! `fa-gen targets`: the known chips.

use fa_targets::Target;
use serde_json::json;

use crate::args::TargetsArgs;
use crate::session::{Outcome, Session};
use crate::table::{Table, kib};

/// Lists the built-in targets.
pub(crate) fn run(args: &TargetsArgs, session: &mut Session) -> anyhow::Result<Outcome> {
    session.set_format(args.format);
    let targets: Vec<Target> = Target::built_in_names()
        .filter_map(Target::built_in)
        .collect();
    if !session.is_json() {
        session.print(&text(&targets))?;
    }
    Ok(session.finish(json!({ "targets": targets }))?)
}

fn text(targets: &[Target]) -> String {
    let mut table = Table::new(&[
        "target",
        "kind",
        ">cores",
        "memories, usable KiB",
        "description",
    ]);
    for target in targets {
        let cores = target
            .chip
            .as_ref()
            .map_or_else(String::new, |chip| chip.cube_cores.to_string());
        table.row([
            target.name.clone(),
            target.kind.to_string(),
            cores,
            memories(target),
            target.description.clone(),
        ]);
    }
    table.text()
}

fn memories(target: &Target) -> String {
    if let Some(memory) = &target.memory {
        let parts = [
            ("L1", &memory.l1),
            ("L0A", &memory.l0a),
            ("L0B", &memory.l0b),
            ("L0C", &memory.l0c),
            ("UB", &memory.ub),
        ];
        return parts
            .map(|(name, memory)| format!("{name} {}", kib(memory.usable_bytes)))
            .join(", ");
    }
    target.cpu.as_ref().map_or_else(String::new, |cpu| {
        format!("L1d {}, L2 {}", kib(cpu.l1d_bytes), kib(cpu.l2_bytes))
    })
}
