//! Renders variants, compiles them as one library, launches them and compares with the reference.

pub(crate) mod data;
pub(crate) mod variants;

use std::ffi::c_void;
use std::fmt::Write;
use std::process::Command;

use fa_codegen::{Plan, Provenance, plan, render};
use fa_dsl::ir::eval::Value;
use fa_dsl::reference::{Arithmetic, Captured, Output, Problem, Reference, Sizes};
use fa_dsl::variant::{Dtype, Variant};
use fa_targets::Target;
use libloading::Library;
use tempfile::TempDir;

use data::Storage;
pub(crate) use data::{Setup, Strides};

type Entry = unsafe extern "C" fn(*const u64, *const *mut c_void, i64, i64) -> i32;

/// Variants compiled into one library.
pub(crate) struct Built {
    library: Library,
    kernels: Vec<(Variant, Plan)>,
    _folder: TempDir,
}

/// One rendered file.
pub(crate) fn rendered(variant: &Variant) -> (Plan, String) {
    let target = Target::built_in("cpu").expect("the cpu target is built in");
    let plan = plan(variant, &target)
        .unwrap_or_else(|errors| panic!("`{}` is not planned: {errors:?}", variant.name.value))
        .plan;
    let provenance = Provenance {
        source_name: "test.fa".to_owned(),
        source_sha256: "0".repeat(64),
    };
    let file = render(&plan, &provenance).remove(0);
    (plan, file.text)
}

/// Compiles variants, whose names differ, as modules of one library.
pub(crate) fn build(variants: Vec<Variant>) -> Built {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let mut source = String::new();
    let mut kernels = Vec::new();
    for variant in variants {
        let (plan, text) = rendered(&variant);
        writeln!(source, "mod {} {{\n{text}}}", variant.name.value).expect("strings take text");
        kernels.push((variant, plan));
    }
    let (file, output) = (folder.path().join("all.rs"), folder.path().join("all.so"));
    std::fs::write(&file, source).expect("the temporary folder is writable");
    // Launches are small: to optimise would take several times longer than to run what is not.
    let compiled = Command::new("rustc")
        .args([
            "--edition=2024",
            "--crate-type=cdylib",
            "-Copt-level=0",
            "-Dwarnings",
        ])
        .args(["-Cdebug-assertions=on", "-Coverflow-checks=on"])
        .arg(&file)
        .arg("-o")
        .arg(&output)
        .output()
        .expect("rustc runs");
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    // SAFETY: the library was just compiled from rendered code, which has no initialisers.
    let library = unsafe { Library::new(&output) }.expect("the compiled library loads");
    Built {
        library,
        kernels,
        _folder: folder,
    }
}

/// O and LSE as the kernel stored them, in `[b, h, n, d]` order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Results {
    pub(crate) out: Vec<f32>,
    pub(crate) lse: Vec<f32>,
}

impl Built {
    /// The variant of this name.
    pub(crate) fn variant(&self, name: &str) -> &Variant {
        &self.kernel(name).0
    }

    fn kernel(&self, name: &str) -> &(Variant, Plan) {
        self.kernels
            .iter()
            .find(|(variant, _)| variant.name.value == name)
            .expect("the test built this variant")
    }

    /// Launches a variant, its tasks split into so many calls on threads of their own.
    pub(crate) fn run(&self, name: &str, setup: &Setup) -> Results {
        let (variant, plan) = self.kernel(name);
        // SAFETY: the symbol has this signature; the launch block is the first argument, as words.
        let entry = unsafe { self.library.get::<Entry>(plan.symbol()) }.expect("it is exported");
        let sizes = setup.sizes;
        let rows = [sizes.batch, sizes.heads, sizes.q_len];
        let out_dims = [rows[0], rows[1], rows[2], variant.v_head_dim as usize];
        let [q, k, v] = setup.inputs(variant);
        let mut out = Storage::filled(variant.precision.output, out_dims, setup.out_strides);
        let mut lse = Storage::filled(Dtype::Fp32, [rows[0], rows[1], rows[2], 1], Strides::Bsnd);
        let captured = setup.captured_storage(variant);
        let block = launch_block(variant, setup, [&q, &k, &v, &out], &lse, &captured);
        let mut pointers = vec![
            q.pointer(),
            k.pointer(),
            v.pointer(),
            out.pointer_mut(),
            lse.pointer_mut(),
        ];
        pointers.extend(captured.iter().map(Storage::pointer));
        // Keys are whole.
        pointers.push(std::ptr::null_mut());
        if !setup.wants_lse {
            pointers[4] = std::ptr::null_mut();
        }
        let block_q = plan.tile().block_q as usize;
        let tasks = (rows[0] * rows[1] * rows[2].div_ceil(block_q)) as i64;
        let share = (tasks + setup.threads - 1) / setup.threads;
        let launch = Launch {
            entry: *entry,
            block,
            pointers,
        };
        std::thread::scope(|scope| {
            for thread in 0..setup.threads {
                let launch = &launch;
                let (first, last) = (
                    (thread * share).min(tasks),
                    ((thread + 1) * share).min(tasks),
                );
                scope.spawn(move || launch.call(first, last));
            }
        });
        Results {
            out: out.logical(),
            lse: lse.logical(),
        }
    }

    /// What the definition gives.
    pub(crate) fn expected(&self, name: &str, setup: &Setup) -> Output {
        let variant = self.variant(name);
        let sizes = setup.sizes;
        let [q, k, v] = setup.values(variant);
        let captured: Vec<Captured<'_>> = setup
            .captured
            .iter()
            .map(|data| data.as_captured())
            .collect();
        let problem = Problem {
            variant,
            sizes: Sizes { ..sizes },
            packed: None,
            q: &q,
            k: &k,
            v: &v,
            captured,
            params: setup.params.clone(),
            training: setup.training,
        };
        Reference::new(problem, Arithmetic::Exact)
            .expect("the test's sizes fit together")
            .run()
    }

    /// Launches and compares.
    pub(crate) fn check(&self, name: &str, setup: &Setup) {
        let found = self.run(name, setup);
        let expected = self.expected(name, setup);
        let precision = self.variant(name).precision;
        let narrow = |dtype| match dtype {
            Dtype::Fp16 => 2.0_f64.powi(-11),
            Dtype::Bf16 => 2.0_f64.powi(-8),
            _ => 0.0,
        };
        let softmax = narrow(precision.softmax);
        let out_error = 2e-5 + narrow(precision.output) + 8.0 * softmax;
        let lse_error = 2e-5 + 4.0 * softmax;
        compare(
            &format!("{name} {:?} out", setup.sizes),
            &found.out,
            &expected.out,
            out_error,
        );
        if setup.wants_lse {
            compare(
                &format!("{name} {:?} lse", setup.sizes),
                &found.lse,
                &expected.lse,
                lse_error,
            );
        }
    }
}

struct Launch {
    entry: Entry,
    block: Vec<u64>,
    pointers: Vec<*mut c_void>,
}

// SAFETY: threads run different tasks, which write different elements.
unsafe impl Sync for Launch {}

impl Launch {
    fn call(&self, first: i64, last: i64) {
        // SAFETY: block and pointers describe storage that outlives the call.
        let status =
            unsafe { (self.entry)(self.block.as_ptr(), self.pointers.as_ptr(), first, last) };
        assert_eq!(status, 0, "the kernel refuses its launch");
    }
}

/// Compares with an error relative to 1 or the value, whichever is larger; NaN and infinities must agree.
pub(crate) fn compare(what: &str, found: &[f32], expected: &[f64], error: f64) {
    assert_eq!(found.len(), expected.len(), "{what}: lengths differ");
    for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
        let found = f64::from(*found);
        let close = (found - expected).abs() <= error * expected.abs().max(1.0);
        let same = found == *expected || (found.is_nan() && expected.is_nan());
        assert!(
            same || close,
            "{what}: element {place} is {found}, expected {expected}"
        );
    }
}

fn launch_block(
    variant: &Variant,
    setup: &Setup,
    main: [&Storage; 4],
    lse: &Storage,
    captured: &[Storage],
) -> Vec<u64> {
    let sizes = setup.sizes;
    let mut block: Vec<u64> = [
        sizes.batch,
        sizes.heads,
        sizes.kv_heads,
        sizes.q_len,
        sizes.kv_len,
    ]
    .map(|size| size as u64)
    .to_vec();
    for storage in main {
        block.extend(storage.strides.map(|stride| stride as u64));
    }
    block.extend(lse.strides[..3].iter().map(|stride| *stride as u64));
    let seed = setup.training.map_or(0, |training| training.seed);
    let offset = setup.training.map_or(0, |training| training.offset);
    block.push(seed);
    block.push(u64::from(offset) | u64::from(setup.training.is_some()) << 32);
    assert_eq!(block.len() * 8, 208);
    for storage in captured {
        block.extend(storage.strides.map(|stride| stride as u64));
    }
    let words: Vec<u32> = setup
        .params
        .iter()
        .map(|param| match param {
            Value::Int(value) => *value as u32,
            Value::Float(value) => value.to_bits(),
            Value::Bool(value) => u32::from(*value),
        })
        .collect();
    assert_eq!(words.len(), variant.params.len());
    for pair in words.chunks(2) {
        block.push(u64::from(pair[0]) | u64::from(pair.get(1).copied().unwrap_or(0)) << 32);
    }
    block
}
