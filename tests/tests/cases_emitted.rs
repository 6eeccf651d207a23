//! Public bug reports of other attention systems that emitted Ascend C answers as text: calls that take space of their
//! own (row 15 of the case list), compiler flags of chip families (row 16), offsets of 32 bits (row 24).

use std::collections::BTreeSet;

use fa_targets::Target;
use fa_tests::{files_below, rendered, target};

/// What the basic API has that uses the memory of its arguments and nothing else: instructions, and the types and constants of
/// their arguments. Whoever adds a name here has read in its documentation that it asks for no temporary buffer; a function that
/// does is called with one of the budget.
const WITHOUT_SPACE: &str = "
    Abs Add Adds And BinaryRepeatParams BlockReduceMax BlockReduceSum Brcb
    CFG_ROW_MAJOR CMPMODE CacheLine Cast Compare CompareScalar CrossCoreSetFlag CrossCoreWaitFlag
    DataCacheCleanAndInvalid DataCopy
    DataCopyExtParams DataCopyPad DataCopyPadExtParams DataCopyParams DcciDst Div Duplicate Exp Fixpipe
    FixpipeParamsV220 Gather GatherMask GetBlockIdx GetBlockNum GetSubBlockIdx GetSubBlockNum GlobalTensor HF32Mode
    HardEvent InitSocState Ln LoadData LoadData2DParams LoadData2dTransposeParams LoadDataWithTranspose LocalTensor
    Max Maxs Min Mins Mmad MmadParams Mul Muls
    Nd2NzParams Not Or PipeBarrier ReduceOrder RoundMode Select SetFlag
    SetHF32Mode SetSyncBaseAddr ShiftLeft ShiftRight Sqrt Sub TPosition WaitFlag
    WholeReduceMax WholeReduceMin WholeReduceSum
";

#[test]
fn a15_every_call_uses_memory_of_the_budget() {
    let known: BTreeSet<&str> = WITHOUT_SPACE.split_whitespace().collect();
    let merge = fa_codegen::ascend::plan_merge(70, &target("ascend910b")).expect("a plan");
    let mut texts = vec![fa_codegen::ascend::render_merge(&merge).text];
    let kernels = rendered()
        .into_iter()
        .filter(|file| file.path.ends_with(".cpp"));
    texts.extend(kernels.map(|file| file.text));
    assert!(texts.len() > 20);
    let mut unknown = BTreeSet::new();
    for text in &texts {
        for after in text.split("AscendC::").skip(1) {
            let end = after.find(|c: char| !c.is_alphanumeric() && c != '_');
            let name = &after[..end.unwrap_or(after.len())];
            if !known.contains(name) {
                unknown.insert(name.to_owned());
            }
        }
    }
    assert!(
        unknown.is_empty(),
        "do these take space of their own? {unknown:?}"
    );
}

#[test]
fn a16_the_flag_of_a_family_comes_from_its_file() {
    let variant = &fa_tests::variants("t.fa", "attention t { head_dim = 64; }")[0];
    for name in Target::built_in_names() {
        let Some(chip) = target(name).chip else {
            continue;
        };
        let mut other = target(name);
        other.chip.as_mut().expect("a chip").compiler_arch = "dav-9999".to_owned();
        for (target, arch) in [
            (target(name), chip.compiler_arch),
            (other, "dav-9999".to_owned()),
        ] {
            let plan = fa_tests::plan(variant, &target);
            let files = fa_codegen::render(&plan, &fa_tests::provenance("t.fa".as_ref(), ""));
            let project = files
                .iter()
                .find(|file| file.path.ends_with("CMakeLists.txt"));
            let text = &project.expect("a project file").text;
            assert!(
                text.contains(&format!("--npu-arch={arch} ")),
                "{name}: {text}"
            );
        }
    }
    let unknown = fa_codegen::unknown_target("kirin", None);
    for name in Target::built_in_names() {
        assert!(unknown.help.contains(name), "{}", unknown.help);
    }
}

/// Strides are 64 bits wide, and so is what is made of them: a product passes 2^31 long before memory ends.
#[test]
fn b24_offsets_of_emitted_ascend_code_are_64_bits_wide() {
    let mut sums = 0;
    for path in files_below("generated/ascendc", "") {
        let text = fs_err::read_to_string(&path).expect("a golden");
        let is_header = path.to_string_lossy().ends_with("_tiling.h");
        for line in text.lines().map(str::trim) {
            let declares = is_header && line.contains("Stride[") && line.contains(';');
            assert!(
                !declares || line.starts_with("int64_t "),
                "{}: {line}",
                path.display()
            );
            let adds = line.contains("tiling.") && line.contains("Stride[") && line.contains(" = ");
            if adds && !line.contains("gap") {
                assert!(
                    line.starts_with("const int64_t "),
                    "{}: {line}",
                    path.display()
                );
                sums += 1;
            }
        }
        for (at, _) in text.match_indices("Offset") {
            let line_start = text[..at].rfind('\n').map_or(0, |at| at + 1);
            let line = text[line_start..].lines().next().expect("a line");
            let defines = line.starts_with("__aicore__ inline") && !line.contains("int64_t ");
            assert!(!defines, "{}: {line}", path.display());
        }
    }
    assert!(sums > 50, "{sums}");
}
