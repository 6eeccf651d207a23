//! From an instruction code to its plan and its pipe.

use crate::abi::{Code, RawRecord};
use crate::core_model::Planned;
use crate::instruction::{Action, Pipe};
use crate::plan::{
    Checked, Context, copy, cube, fixpipe, gather, load, reduce, select, sort, vector,
};

/// The pipe that an instruction belongs to, for findings about instructions that were not planned.
pub(super) fn pipe_of(code: Code) -> Pipe {
    match code {
        Code::DataCopy | Code::Nd2Nz | Code::PadIn => Pipe::Mte2,
        Code::PadOut => Pipe::Mte3,
        Code::Load2D | Code::Load2DTranspose | Code::Load3D | Code::Fill => Pipe::Mte1,
        Code::Mmad => Pipe::M,
        Code::Fixpipe => Pipe::Fix,
        _ => Pipe::V,
    }
}

pub(super) fn plan_instruction(
    context: &mut Context<'_>,
    code: Code,
    record: &RawRecord,
) -> Checked<Planned> {
    macro_rules! on {
        ($pipe:expr, $plan:expr, $action:path) => {
            Ok($plan?.map(|(plan, prints)| ($pipe, $action(plan), prints)))
        };
    }
    macro_rules! routed {
        ($plan:expr, $action:path) => {
            Ok($plan?.map(|(plan, prints, pipe)| (pipe, $action(plan), prints)))
        };
    }
    let v = Pipe::V;
    match code {
        Code::Brcb => on!(v, vector::plan_brcb(context, record), Action::Vector),
        Code::ReduceRepeat | Code::ReduceBlock | Code::ReducePair => {
            on!(v, reduce::plan(context, record, code), Action::Reduce)
        }
        Code::ReduceTensor => on!(
            v,
            reduce::plan_tensor(context, record),
            Action::ReduceTensor
        ),
        Code::Compare | Code::Compares | Code::CompareSpr => {
            on!(
                v,
                select::plan_compare(context, record, code),
                Action::Compare
            )
        }
        Code::Select => on!(v, select::plan_select(context, record), Action::Select),
        Code::Gather | Code::Gatherb => on!(
            v,
            gather::plan_gather(context, record, code),
            Action::Gather
        ),
        Code::GatherMask => on!(
            v,
            gather::plan_gather_mask(context, record),
            Action::GatherMask
        ),
        Code::Transpose => on!(v, select::plan_transpose(context, record), Action::Shuffle),
        Code::Trans5Hd => on!(v, select::plan_5hd(context, record), Action::Shuffle),
        Code::DataCopy => routed!(copy::plan(context, record), Action::Copy),
        Code::PadOut => routed!(copy::plan_pad_out(context, record), Action::Copy),
        Code::Nd2Nz => on!(Pipe::Mte2, copy::plan_nd2nz(context, record), Action::Nd2Nz),
        Code::PadIn => on!(
            Pipe::Mte2,
            copy::plan_pad_in(context, record),
            Action::PadIn
        ),
        Code::Load2D => routed!(load::plan_load(context, record), Action::Load),
        Code::Load2DTranspose => routed!(load::plan_load_transpose(context, record), Action::Load),
        Code::Load3D => on!(
            Pipe::Mte1,
            load::plan_load3d(context, record),
            Action::Load3D
        ),
        Code::Fill => routed!(load::plan_fill(context, record), Action::Fill),
        Code::Mmad => on!(Pipe::M, cube::plan_mmad(context, record), Action::Mmad),
        Code::Fixpipe => on!(
            Pipe::Fix,
            fixpipe::plan_fixpipe(context, record),
            Action::Fixpipe
        ),
        Code::Sort32 => on!(v, sort::plan_sort(context, record), Action::Sort),
        Code::MrgSort => on!(v, sort::plan_merge(context, record), Action::Merge),
        _ => on!(v, vector::plan(context, record, code), Action::Vector),
    }
}
