//! The compiler driver: what it accepts, what it says.

mod common;

use std::ffi::OsString;

use fa_emulator::driver;

const HEAD: &str = "#include \"kernel_operator.h\"\nusing namespace AscendC;\n";

struct Attempt {
    folder: tempfile::TempDir,
    outcome: Result<String, driver::DriverError>,
}

impl Attempt {
    fn error(&self) -> String {
        self.outcome
            .as_ref()
            .expect_err("must not compile")
            .to_string()
    }
}

fn attempt(name: &str, source: &str, options: &[&str]) -> Attempt {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join(name);
    std::fs::write(&path, source).expect("writable folder");
    let mut args: Vec<OsString> = options.iter().map(OsString::from).collect();
    args.extend([path.into(), "-o".into(), folder.path().join("k.o").into()]);
    let outcome = driver::compile_with_diagnostics(&args);
    Attempt { folder, outcome }
}

const USUAL: [&str; 5] = ["-x", "asc", "--npu-arch=dav-2201", "-O2", "-Wall"];

fn kernel(body: &str) -> String {
    format!(
        "{HEAD}extern \"C\" __global__ __aicore__ void k(GM_ADDR x)\n{{\n    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);\n    (void)x;\n{body}\n}}\n"
    )
}

#[test]
fn command_lines() {
    let source = kernel("");
    let error = attempt(
        "k.cpp",
        &source,
        &["-x", "asc", "--npu-arch=dav-2201", "--fast-please"],
    )
    .error();
    assert_eq!(error, "emulated bisheng: unknown option `--fast-please`");
    assert!(
        attempt("k.cpp", &source, &["--npu-arch=dav-2201"])
            .error()
            .contains("pass `-x asc`")
    );
    assert!(
        attempt("k.cpp", &source, &["-x", "asc"])
            .error()
            .contains("pass `--npu-arch=dav-2201`")
    );
    assert!(
        attempt("k.cpp", &source, &["-x", "asc", "--npu-arch=dav-3510"])
            .error()
            .contains("dav-3510")
    );
    assert!(
        attempt(
            "k.asc",
            &source,
            &["--npu-soc=Ascend910B2", "--cce-auto-sync=off"]
        )
        .outcome
        .is_ok()
    );
    let other = attempt("k.asc", &source, &["--npu-arch=dav-2201", "--enable-simt"]).error();
    assert_eq!(
        other,
        "emulated bisheng: `--enable-simt` is for NPU 3510, the emulated chip is NPU 2201"
    );
    let usual = [
        "--run-mode=sim",
        "--sanitizer",
        "-dc",
        "-lruntime",
        "-Wl,--disable-new-dtags",
    ];
    let log = ["--npu-arch=dav-2201", "--cce-auto-sync-log=sync.txt"];
    let remarks = attempt("k.asc", &source, &[&usual[..], &log[..]].concat());
    let remarks = remarks.outcome.as_ref().expect("documented options");
    assert!(remarks.ends_with("no report is written\n"), "{remarks}");
    assert!(matches!(
        driver::compile(&[]),
        Err(driver::DriverError::Args(_))
    ));
}

#[test]
fn compiler_messages_name_the_source() {
    let attempt_ = attempt(
        "mine.cpp",
        &kernel("    int unused = 1;\n    missing();"),
        &USUAL,
    );
    let error = attempt_.error();
    assert!(
        error.contains("mine.cpp:8:") && error.contains("missing"),
        "{error}"
    );
    let warned = attempt("mine.cpp", &kernel("    int unused = 1;"), &USUAL);
    let warning = warned.outcome.as_ref().expect("a warning is no error");
    assert!(
        warning.contains("mine.cpp:7:") && warning.contains("unused"),
        "{warning}"
    );
    // The passes agree, so the warning comes once.
    assert_eq!(warning.matches("mine.cpp:7:").count(), 1, "{warning}");
    assert!(
        attempt("k.cpp", HEAD, &USUAL)
            .error()
            .contains("no `__global__")
    );
}

#[test]
fn types_that_the_chip_lacks_do_not_compile() {
    let tensor = "    LocalTensor<bfloat16_t> t(TPosition::VECCALC, 0, 64);\n";
    let error = attempt(
        "k.cpp",
        &kernel(&format!("{tensor}    Add(t, t, t, 64);")),
        &USUAL,
    )
    .error();
    assert!(
        error.contains("Add takes half, float, int16_t and int32_t"),
        "{error}"
    );
    let cast = "    Cast(t.ReinterpretCast<half>(), t, RoundMode::CAST_RINT, 64);";
    let error = attempt("k.cpp", &kernel(&format!("{tensor}{cast}")), &USUAL).error();
    assert!(error.contains("Cast between these types"), "{error}");
    let select = "    LocalTensor<float> f(TPosition::VECCALC, 0, 64);\n    LocalTensor<uint8_t> b(TPosition::VECCALC, 512, 64);\n    Select(f, b, f, f, SELMODE::VSEL_CMPMASK_SPR, 64);";
    assert!(attempt("k.cpp", &kernel(select), &USUAL).outcome.is_ok());
    let options = [USUAL.as_slice(), &["--cce-disable-asc-reserved-ubuf"]].concat();
    let error = attempt("k.cpp", &kernel(select), &options).error();
    assert!(error.contains("Select is forbidden"), "{error}");
    absent_calls();
    let control = "    SetCtrlSpr<60, 60>(1);";
    assert!(
        attempt("k.cpp", &kernel(control), &USUAL)
            .error()
            .contains("only bit 48")
    );
}

/// What other chips or parts of the toolkit have is refused by its name, with what to write instead.
fn absent_calls() {
    let tensors = "    LocalTensor<half> u(TPosition::VECCALC, 0, 64);\n    LocalTensor<half> l(TPosition::A1, 0, 64);\n    GlobalTensor<half> g;\n";
    let calls = [
        (
            "LocalTensor<TensorTrait<half, TPosition::A1>> t;",
            "TensorTrait is not emulated",
        ),
        (
            "LoadData(l, l, LoadData2DParamsV2());",
            "LoadData2DParamsV2 does not exist",
        ),
        (
            "DataCopy(u, l, DataCopyParams(), DataCopyEnhancedParams());",
            "DataCopyEnhancedParams does not exist",
        ),
        (
            "MultiCopyParams<half, 2> p;",
            "MultiCopyParams does not exist",
        ),
        (
            "DataCopy(l, g, Dn2NzParams());",
            "Dn2NzParams does not exist",
        ),
        ("DataCopy(l, u, Nd2NzParams());", "no such path"),
        (
            "FixpipeParamsArch3510<CO2Layout::NZ> p;",
            "use FixpipeParamsV220",
        ),
        (
            "AtomicAdd((__gm__ half*)x, half(1));",
            "AtomicAdd does not exist",
        ),
        ("Neg(u, u, 64u);", "Neg does not exist"),
        (
            "TQueSync<TPosition::VECIN, TPosition::VECOUT> q;",
            "TQueSync does not exist",
        ),
        (
            "PhiloxRandom<7>(u, PhiloxKey{}, PhiloxCounter{}, 64);",
            "PhiloxRandom does nothing",
        ),
        (
            "if (TILING_KEY_IS(1)) {}",
            "TILING_KEY_IS belongs to custom-operator projects",
        ),
        ("REGIST_MATMUL_OBJ(1, 2, 3);", "include lib/matmul_intf.h"),
    ];
    let body: String = calls
        .iter()
        .map(|(call, _)| format!("    {{ {call} }}\n"))
        .collect();
    let error = attempt("k.cpp", &kernel(&format!("{tensors}{body}")), &USUAL).error();
    for (call, message) in calls {
        assert!(error.contains(message), "{call}: {error}");
    }
}

/// What a Matmul object of the toolkit does and the emulated one does not is refused by name.
#[test]
fn objects_that_are_not_emulated() {
    let head = "#include \"kernel_operator.h\"\n#include \"lib/matmul_intf.h\"\nusing namespace AscendC;\n\
        template <typename T, TPosition p = TPosition::GM, CubeFormat f = CubeFormat::ND> using Of = MatmulType<p, f, T>;\n\
        constexpr auto kNoEnd = [] { MatmulConfig c = GetNormalConfig(); c.enableEnd = false; return c; }();\n\
        constexpr auto kRelu = [] { MatmulConfig c = GetNormalConfig(); c.enableRelu = true; return c; }();\n\
        inline void Copy3(const __gm__ void*) {}\n\
        using H = Of<half>;\nusing F = Of<float>;\n";
    let calls = [
        (
            "Matmul<Of<half, TPosition::TSCM>, H, F> m;",
            "in TSCM are not emulated",
        ),
        (
            "Matmul<H, H, Of<float, TPosition::CO1, CubeFormat::NZ>> m;",
            "C in CO1 is not emulated",
        ),
        (
            "Matmul<Of<half, TPosition::GM, CubeFormat::VECTOR>, H, F> m;",
            "CubeFormat::VECTOR and SCALAR are not emulated",
        ),
        (
            "Matmul<MatmulType<TPosition::GM, CubeFormat::ND, half, false, LayoutMode::NORMAL>, H, F> m;",
            "batches of a Matmul object",
        ),
        (
            "Matmul<MatmulType<TPosition::GM, CubeFormat::ND, half, false, LayoutMode::NONE, true>, H, F> m;",
            "IBSHARE is not emulated",
        ),
        ("Matmul<H, F, F> m;", "by the same type"),
        (
            "Matmul<H, H, Of<int32_t>> m;",
            "cannot turn these sums into this C",
        ),
        (
            "Matmul<H, H, F, F, CFG_IBSHARE_NORM> m;",
            "the Norm and MDL templates",
        ),
        (
            "Matmul<H, H, F, F, MM_CFG_BB> m;",
            "CFG_NORM computes the same",
        ),
        (
            "Matmul<H, H, F, F, kRelu> m;",
            "sets a field that is not emulated",
        ),
        (
            "Matmul<H, H, F, F, CFG_NORM, MatmulCallBackFunc<Copy3>> m;",
            "MatmulCallBackFunc is not emulated",
        ),
        (
            "(void)GetBasicConfig(16, 16, 16);",
            "GetBasicConfig is not emulated",
        ),
        (
            "(void)GetMatmulApiTiling<H, H, F, F>(CFG_NORM);",
            "GetMatmulApiTiling is not emulated",
        ),
        (
            "plain.SetTensorA(half(1));",
            "SetTensorA with a scalar is not emulated",
        ),
        (
            "plain.Iterate(false, sums);",
            "Iterate into a tensor of CO1 is not emulated",
        ),
        (
            "plain.IterateBatch(gm, 1, 1, false);",
            "batches of a Matmul object",
        ),
        (
            "plain.GetTensorC(gm, sums);",
            "into GM and UB at once is not emulated",
        ),
        ("plain.GetTensorC(sums);", "gives C to GM"),
        ("plain.SetHF32(true);", "goes with ASCENDC_CUBE_ONLY"),
        ("plain.SetQuantScalar(1);", "does not quantise"),
        (
            "plain.SetSelfDefineData(1);",
            "belongs to MatmulCallBackFunc",
        ),
        (
            "Matmul<H, H, F, H> m; GlobalTensor<half> b; m.SetBias(b);",
            "the bias has the type of the sums",
        ),
        (
            "Matmul<H, H, F, F, kNoEnd> m; m.End();",
            "promises that End is not called",
        ),
        (
            "Matmul<H, H, Of<float, TPosition::VECIN>> m; m.IterateAll<false>(sums);",
            "IterateAll<false> into UB is not emulated",
        ),
        (
            "TPipe p; TCubeTiling t; Matmul<H, H, F> m[5]; REGIST_MATMUL_OBJ(&p, x, m[0], &t, m[1], &t, m[2], &t, m[3], &t, m[4], &t);",
            "at most 4 Matmul objects",
        ),
        (
            "TPipe p; REGIST_MATMUL_OBJ(&p, x, plain, 5);",
            "the address of its TCubeTiling",
        ),
    ];
    let body: String = calls
        .iter()
        .enumerate()
        .map(|(index, (call, _))| format!("inline void f{index}(GM_ADDR x)\n{{\n    (void)x;\n    Matmul<H, H, F> plain;\n    GlobalTensor<float> gm;\n    LocalTensor<float> sums;\n    {call}\n}}\n"))
        .collect();
    let entry = "extern \"C\" __global__ __mix__(1, 2) void k(GM_ADDR x) { (void)x; }\n";

    let error = attempt("k.cpp", &format!("{head}{body}{entry}"), &USUAL).error();
    for (call, message) in calls {
        assert!(error.contains(message), "{call}: {error}");
    }
}

#[test]
fn altered_binaries_are_refused() {
    common::set_up();
    let compiled = attempt("k.cpp", &kernel(""), &USUAL);
    compiled.outcome.as_ref().expect("compiles");
    let mut bytes = std::fs::read(compiled.folder.path().join("k.o")).expect("output");
    let load = |bytes: &[u8]| {
        let mut handle = std::ptr::null_mut();
        let data = bytes.as_ptr().cast();
        // SAFETY: the data has that length and the handle is writable.
        let code = unsafe {
            fa_emulator::acl::aclrtBinaryLoadFromData(
                data,
                bytes.len(),
                std::ptr::null(),
                &raw mut handle,
            )
        };
        (code, common::last_message())
    };
    assert_eq!(load(&bytes).0, 0);
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    assert!(load(&bytes).1.contains("altered"));
    assert!(
        load(b"\x7fELF and more")
            .1
            .contains("not an emulated kernel binary")
    );
}
