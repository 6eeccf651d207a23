//! Running checked plans on a core's memories. Nothing here can refuse: plans have passed every check.

mod arith;
mod cast;
mod copy;
mod cube;
mod fixpipe;
mod fused;
mod lanes;
mod reduce;
mod select;
mod sort;
mod vector;

use crate::device::Allocation;
use crate::instruction::{Action, Loc};
use crate::local::Locals;
use crate::plan::Place;
use crate::report::Refusal;

/// State of the vector unit that its own instructions write.
#[derive(Debug, Default)]
pub(crate) struct VectorState {
    /// Compare register: up to 128 bits, and whether they are defined.
    pub(crate) compare: u128,
    pub(crate) compare_defined: bool,
    /// Sum, extreme value and its index left by the last reduction, as bits.
    pub(crate) reduced: [u64; 3],
    /// Elements that the last merge took from each list.
    pub(crate) merged: [u16; 4],
}

/// What instructions act on.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) locals: Locals,
    pub(crate) vector: VectorState,
    pub(crate) block: usize,
}

/// Runs one instruction; the result goes back to the scalar unit where a call returns a value.
///
/// # Errors
/// Garbage used as an address; everything else was refused when the instruction was planned.
pub(crate) fn execute(machine: &mut Machine, action: &Action, loc: Loc) -> Result<u64, Refusal> {
    match action {
        Action::Vector(plan) => vector::run(machine, plan),
        Action::Reduce(plan) => reduce::run(machine, plan),
        Action::ReduceTensor(plan) => reduce::run_tensor(machine, plan),
        Action::Compare(plan) => select::compare(machine, plan),
        Action::Select(plan) => select::select(machine, plan),
        Action::Gather(plan) => select::gather(machine, plan)?,
        Action::GatherMask(plan) => return select::gather_mask(machine, plan),
        Action::Shuffle(plan) => select::shuffle(machine, plan),
        Action::Sort(plan) => sort::sort(machine, plan),
        Action::Merge(plan) => sort::merge(machine, plan),
        Action::Copy(plan) => copy::copy(machine, plan, loc),
        Action::Nd2Nz(plan) => copy::nd2nz(machine, plan),
        Action::PadIn(plan) => copy::pad_in(machine, plan),
        Action::Load(plan) => cube::load(machine, plan),
        Action::Load3D(plan) => cube::load3d(machine, plan),
        Action::Fill(plan) => cube::fill(machine, plan),
        Action::Mmad(plan) => cube::mmad(machine, plan),
        Action::Fixpipe(plan) => fixpipe::run(machine, plan, loc),
        Action::SetFlag(_)
        | Action::WaitFlag(_)
        | Action::Barrier
        | Action::CrossSet { .. }
        | Action::Post(_)
        | Action::Answer { .. } => {}
    }
    Ok(0)
}

/// Bytes and definedness of `len` bytes at `offset` from a place.
pub(crate) fn read_place<'m>(
    locals: &'m Locals,
    place: &'m Place,
    offset: usize,
    len: usize,
) -> (&'m [u8], &'m [u8]) {
    match place {
        Place::Local(mem, base) => {
            let memory = locals.get(*mem);
            let start = base + offset;
            (
                &memory.bytes[start..start + len],
                &memory.shadow[start..start + len],
            )
        }
        Place::Gm(allocation, base) => {
            let allocation: &Allocation = allocation;
            let start = base + offset;
            (allocation.bytes(start, len), allocation.shadow(start, len))
        }
    }
}

/// Writes bytes and definedness at `offset` from a place.
pub(crate) fn write_place(
    locals: &mut Locals,
    place: &Place,
    offset: usize,
    data: &[u8],
    shadow: &[u8],
    loc: Loc,
) {
    match place {
        Place::Local(mem, base) => {
            let memory = locals.get_mut(*mem);
            let start = base + offset;
            memory.bytes[start..start + data.len()].copy_from_slice(data);
            memory.shadow[start..start + data.len()].copy_from_slice(shadow);
        }
        Place::Gm(allocation, base) => {
            allocation.write(base + offset, data, shadow, || loc.site());
        }
    }
}
