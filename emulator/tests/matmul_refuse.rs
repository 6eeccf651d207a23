//! Mistakes with Matmul objects: each is found, with its place and a way out, and nothing hangs.

mod common;

use common::product::{EVEN, Shape, strict};
use common::{Arg, Buffer, Module, scalar};
use half::f16;

const BROKEN: &str = "matmul_broken.cpp";

/// Bit of the kernel's last argument, marker, kind, and what the message and the help say.
type Case = (i32, &'static str, &'static str, &'static str, &'static str);

const CALLS: &[Case] = &[
    (
        0,
        "// mm-unregistered",
        "matmul-order",
        "REGIST_MATMUL_OBJ does not name",
        "register the object",
    ),
    (
        1,
        "// mm-no-a",
        "matmul-order",
        "A is not set",
        "SetTensorA before",
    ),
    (
        3,
        "// mm-while-open",
        "matmul-unfinished",
        "has not called End",
        "call End of that object",
    ),
    (
        4,
        "// mm-end",
        "matmul-unfinished",
        "has not called End when the kernel ends",
        "call End",
    ),
    (
        5,
        "// mm-not-waited",
        "matmul-unfinished",
        "1 result(s) of this call",
        "WaitIterateAll",
    ),
    (
        6,
        "// mm-nothing",
        "matmul-order",
        "no IterateAll<false>",
        "true) before",
    ),
    (
        7,
        "// mm-no-block",
        "matmul-order",
        "no block that Iterate",
        "call Iterate before",
    ),
    (
        8,
        "// mm-dropped",
        "matmul-order",
        "dropped by the Iterate at line",
        "GetTensorC behind each",
    ),
    (
        9,
        "// mm-transposed",
        "matmul-order",
        "B is set transposed",
        "ISTRANS = true",
    ),
    (
        10,
        "// mm-flag",
        "cross-core-flag-reserved",
        "two flags each: 0 to 3",
        "a flag from 4 on",
    ),
    (
        11,
        "// mm-partial",
        "matmul-shape",
        "partial sums of 4 blocks",
        "let singleCoreM be baseM",
    ),
    (
        12,
        "// mm-no-workspace",
        "matmul-order",
        "needs a workspace",
        "SetWorkspace before",
    ),
    (
        13,
        "// mm-shape",
        "matmul-shape",
        "32 x 0 x 64 elements",
        "SetSingleShape",
    ),
    (
        14,
        "// mm-bias-off",
        "matmul-order",
        "isBias = 0",
        "set isBias",
    ),
    (
        15,
        "// mm-atomic-ub",
        "matmul-order",
        "enAtomic is 1",
        "add in UB",
    ),
    (
        16,
        "// mm-pitch",
        "matmul-shape",
        "70000 elements apart, a copy can step over 65535",
        "intrinsicsCheck",
    ),
    (17, "// mm-behind", "race-war", "Fixpipe writes bytes", ""),
    (
        18,
        "// mm-regist",
        "deadlock",
        "aic waits for the GetTensorC by which aiv 0 takes its partial sums",
        "",
    ),
    (
        19,
        "// mm-partial-first",
        "matmul-order",
        "partial sums of nothing",
        "Iterate(false)",
    ),
    (
        20,
        "// mm-stage",
        "matmul-shape",
        "bytes of the system workspace",
        "smaller blocks",
    ),
    (21, "// mm-past-end", "out-of-bounds", "Fixpipe", ""),
];

/// Fields of the tiling and their values, what is wrong with it, and the way out.
type Tiled = (&'static [(usize, i32)], &'static str, &'static str);

const TILINGS: &[Tiled] = &[
    (&[(8, 0)], "baseM of the tiling is 0, it is 1 to", "ranges"),
    (
        &[(9, 40)],
        "baseN of the tiling is 40 elements, no multiple of 16",
        "whole fractals",
    ),
    (
        &[(10, 24)],
        "baseK of the tiling is 24 elements, no multiple of 16",
        "whole fractals",
    ),
    (&[(7, 0)], "singleCoreK of the tiling is 0", "ranges"),
    (
        &[(8, 1024)],
        "dbL0A * baseM * baseK takes 131072 bytes of L0A, which has 65536",
        "smaller",
    ),
    (
        &[(9, 1024)],
        "dbL0B * baseK * baseN takes 131072 bytes of L0B, which has 65536",
        "smaller",
    ),
    (
        &[(8, 256), (9, 256)],
        "dbL0C * baseM * baseN takes 524288 bytes of L0C, which has 131072",
        "smaller",
    ),
    (
        &[(11, 512), (26, 256)],
        "bytes of L1, which has 524032",
        "lower depthA1",
    ),
    (
        &[(11, 3)],
        "depthA1 of the tiling is 3 base blocks, its steps make 1, or 2 in two halves",
        "twice that",
    ),
    (
        &[(13, 512)],
        "depthA1 of the tiling is 2 base blocks, its steps make 512",
        "product of the steps",
    ),
    (
        &[(15, 2)],
        "isBias of the tiling is 2, it is 0 to 1",
        "ranges",
    ),
    (&[(17, 2)], "iterateOrder of the tiling is 2", "ranges"),
    (
        &[(30, 3)],
        "dbL0A of the tiling is 3, it is 1 to 2",
        "ranges",
    ),
];

#[test]
fn mistakes_are_found() {
    let module = Module::compile(BROKEN);
    let shape = Shape {
        single: [32, 64],
        base: [16, 32, 32],
        ..EVEN
    };
    let (a, b) = (
        Buffer::from(&[f16::ONE; 64 * 64]),
        Buffer::from(&[f16::ONE; 64 * 64]),
    );
    let c = Buffer::from(&[0f32; 64 * 64]);
    let workspace = Buffer::new(16 << 20);
    let calls = |tiling: [i32; 50], broken: i32| {
        let args = [&a, &b, &c, &workspace].map(Arg::Buffer);
        let args: Vec<Arg<'_>> = args
            .into_iter()
            .chain([scalar(tiling), scalar(broken)])
            .collect();
        strict(None, || module.launch_as_set("broken_calls", 1, &args))
    };
    calls(shape.tiling(), -1).ok();
    for &(bit, marker, kind, message, help) in CALLS {
        let outcome = calls(shape.tiling(), bit);
        let finding = outcome.finds(kind, BROKEN, marker);
        assert!(finding.message.contains(message), "{finding}");
        assert!(finding.help.contains(help), "{finding}");
    }
    let biased = Shape {
        bias: true,
        ..shape
    };
    let outcome = calls(biased.tiling(), 2);
    let finding = outcome.finds("matmul-order", BROKEN, "// mm-no-bias");
    assert!(finding.help.contains("SetBias before"), "{finding}");
    for &(fields, message, help) in TILINGS {
        let mut tiling = shape.tiling();
        for &(field, value) in fields {
            tiling[field] = value;
        }
        // Nothing can be computed with such a tiling, and nothing hangs.
        let outcome = calls(tiling, 4);
        let finding = outcome.finds("matmul-tiling", BROKEN, "// mm-regist");
        assert!(
            outcome
                .findings
                .iter()
                .any(|finding| finding.message.contains(message)),
            "{message}: {:#?}",
            outcome.findings
        );
        assert!(finding.help.contains(help), "{finding}");
        assert!(
            outcome
                .findings
                .iter()
                .all(|finding| finding.kind == "matmul-tiling"),
            "{:#?}",
            outcome.findings
        );
    }
    kernels(&module, &shape);
}

/// Kernels that cannot have objects at all.
fn kernels(module: &Module, shape: &Shape) {
    let workspace = Buffer::new(16 << 20);
    let small = Buffer::new(1 << 20);
    let launch = |kernel, args: &[Arg<'_>]| strict(None, || module.launch_as_set(kernel, 1, args));
    let tiling = || scalar(shape.tiling());
    let outcome = launch("no_workspace", &[Arg::Buffer(&workspace), tiling()]);
    let finding = outcome.finds("workspace-unset", BROKEN, "// mm-workspace");
    assert!(finding.help.contains("__kfc_workspace__"), "{finding}");
    let outcome = launch("no_tiling", &[Arg::Buffer(&workspace), Arg::Buffer(&small)]);
    let finding = outcome.finds("matmul-order", BROKEN, "// mm-no-tiling");
    assert!(finding.message.contains("without a tiling"), "{finding}");
    let outcome = launch("no_cube", &[Arg::Buffer(&workspace), tiling()]);
    let finding = outcome.finds("kernel-type", BROKEN, "// mm-type");
    assert!(
        finding.help.contains("KERNEL_TYPE_MIX_AIC_1_2"),
        "{finding}"
    );
    let outcome = launch(
        "own_products",
        &[Arg::Buffer(&small), Arg::Buffer(&workspace), tiling()],
    );
    let finding = outcome.finds("matmul-order", BROKEN, "// mm-product");
    assert!(finding.help.contains("ASCENDC_CUBE_ONLY"), "{finding}");
    let mut args: Vec<Arg<'_>> = [&small; 4].map(Arg::Buffer).into_iter().collect();
    args.extend([tiling(), scalar(4)]);
    let outcome = launch("broken_calls", &args);
    let finding = outcome.finds("out-of-bounds", BROKEN, "// mm-regist");
    assert!(finding.message.contains("16777216"), "{finding}");
}
