//! Strict launches on every backend: each class of what they look for is found before or after the kernel runs, is
//! located, and says what to change; the pages of these codes say what happens.

use std::sync::LazyLock;

use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::ir::eval::Value;
use fa_dsl::philox::Seed;
use fa_dsl::variant::{Dtype, Layout};
use fa_runtime::{Arguments, Error, Kernel, PackedLengths, Tensor};
use fa_tests::harness::{Backends, compile, compile_for};
use fa_tests::{root, variants};

const HEADS: usize = 2;
const ROWS: usize = 5;
const KEYS: usize = 9;
const WIDTH: usize = 16;

static STRICT: LazyLock<Vec<Backends>> = LazyLock::new(|| {
    compile(
        "attention plain { head_dim = 16; mask = causal; }
         attention biased { head_dim = 16; param temperature: float = 1.0; tensor bias: fp32[h, kv_len];
             score = score / temperature + bias[h, kv_idx]; }
         attention lengths { head_dim = 16; tensor lens: int32[b]; mask = padding(lens); }
         attention prefixes { head_dim = 16; layout = tnd; tensor lens: int32[b]; mask = causal || prefix(lens[b]); }
         attention documents { head_dim = 16; tensor ids: int32[b, kv_len]; mask = same(ids); }
         attention half { head_dim = 16; precision = fp16; mask = causal; allow = [FA102]; }
         attention made { head_dim = 16; score = log(score); }
         attention dropped { head_dim = 16; dropout = 0.5; }",
    )
});

/// Inputs that a test spoils in one place.
struct Problem {
    backends: &'static Backends,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    captured: Vec<(&'static str, Tensor)>,
    temperature: Option<f32>,
    training: bool,
}

impl Problem {
    /// All elements are 1.
    fn new(name: &str) -> Problem {
        let backends = Backends::named(&STRICT, name);
        let ones = |rows: usize| {
            let shape = match backends.variant.layout {
                Layout::Tnd => vec![rows, HEADS, WIDTH],
                _ => vec![1, HEADS, rows, WIDTH],
            };
            Tensor::from_f64(Dtype::Fp16, &shape, &vec![1.0; rows * HEADS * WIDTH])
        };
        Problem {
            backends,
            q: ones(ROWS),
            k: ones(KEYS),
            v: ones(KEYS),
            captured: Vec::new(),
            temperature: None,
            training: false,
        }
    }

    fn with(
        mut self,
        name: &'static str,
        dtype: Dtype,
        shape: &[usize],
        values: &[f64],
    ) -> Problem {
        self.captured
            .push((name, Tensor::from_f64(dtype, shape, values)));
        self
    }

    /// Code, message and help of each finding, which all backends agree about; none for a sound launch.
    fn findings(&self) -> Vec<[String; 3]> {
        let found: Vec<_> = self
            .backends
            .kernels
            .iter()
            .map(|kernel| self.findings_of(kernel))
            .collect();
        assert_eq!(found.len(), 3, "reference, cpu, ascend");
        for other in &found[1..] {
            assert_eq!(*other, found[0]);
        }
        found[0].clone()
    }

    fn findings_of(&self, kernel: &Kernel) -> Vec<[String; 3]> {
        let mut arguments = Arguments::new(self.q.view(), self.k.view(), self.v.view()).strict();
        for (name, tensor) in &self.captured {
            arguments = arguments.with(name, tensor.view());
        }
        if let Some(temperature) = self.temperature {
            arguments = arguments.with_param("temperature", Value::Float(temperature));
        }
        if self.training {
            arguments = arguments.training(Seed { seed: 5, offset: 0 });
        }
        if self.backends.variant.layout == Layout::Tnd {
            arguments.packed = Some(PackedLengths {
                cu_q: vec![0, 2, 5],
                cu_kv: vec![0, 3, 9],
            });
        }
        match kernel.run(&arguments) {
            Ok(_) => Vec::new(),
            Err(Error::Launch(found) | Error::Results(found)) => found.iter().map(text).collect(),
            Err(other) => panic!("{other}"),
        }
    }

    fn expect(&self, code: &str, message: &str, help: &str) {
        let found = self.findings();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0][..2], [code, message]);
        assert!(found[0][2].contains(help), "{found:?}");
    }
}

fn text(found: &Diagnostic) -> [String; 3] {
    let help = found.help.clone();
    assert!(!help.is_empty());
    [found.code.to_string(), found.message.clone(), help]
}

/// The tensor with another value at a place.
fn spoilt(tensor: &Tensor, at: usize, value: f64) -> Tensor {
    let mut values = tensor.to_f64();
    values[at] = value;
    Tensor::from_f64(tensor.dtype(), tensor.shape(), &values)
}

#[test]
fn sound_launches_pass() {
    let bias = [0.0, 0.0, f64::NEG_INFINITY].repeat(6);
    let sound = [
        Problem::new("plain"),
        Problem::new("half"),
        // Queries and keys of 1 have a score of 4.
        Problem::new("made"),
        Problem::new("biased").with("bias", Dtype::Fp32, &[2, 9], &bias),
        Problem::new("lengths").with("lens", Dtype::Int32, &[1], &[9.0]),
        Problem::new("prefixes").with("lens", Dtype::Int32, &[2], &[3.0, 6.0]),
        Problem::new("documents").with(
            "ids",
            Dtype::Int32,
            &[1, 9],
            &[0., 0., 1., 1., 1., 1., 7., 7., 7.],
        ),
    ];
    for problem in sound {
        assert!(problem.findings().is_empty(), "{:?}", problem.findings());
    }
}

#[test]
fn inputs_that_are_not_finite_are_located() {
    // Row 3 of head 1 begins at element (5 + 3) * 16 of q.
    let mut problem = Problem::new("plain");
    problem.q = spoilt(&problem.q, (ROWS + 3) * WIDTH + 7, f64::NAN);
    problem.expect(
        "FA307",
        "1 of 160 elements of `q` are NaN or infinite, the first is NaN at [0, 1, 3, 7]",
        "find what made `q` so",
    );
    for (place, value, shown) in [(0, f64::INFINITY, "inf"), (1, f64::NEG_INFINITY, "-inf")] {
        let mut problem = Problem::new("plain");
        let name = if place == 0 { "k" } else { "v" };
        let tensor = if place == 0 {
            &mut problem.k
        } else {
            &mut problem.v
        };
        *tensor = spoilt(tensor, 2 * WIDTH, value);
        problem.expect(
            "FA307",
            &format!("1 of 288 elements of `{name}` are NaN or infinite, the first is {shown} at [0, 0, 2, 0]"),
            "fill what is masked or padded with zeros",
        );
    }
    // Row 7 of the packed keys is row 4 of sequence 1.
    let mut problem = Problem::new("prefixes").with("lens", Dtype::Int32, &[2], &[0.0; 2]);
    problem.k = spoilt(&problem.k, (7 * HEADS + 1) * WIDTH + 2, f64::NAN);
    problem.expect(
        "FA307",
        "1 of 288 elements of `k` are NaN or infinite, the first is NaN at [1, 1, 4, 2]",
        "find what made `k` so",
    );
    let mut bias = vec![0.0; 18];
    bias[11] = f64::INFINITY;
    let problem = Problem::new("biased").with("bias", Dtype::Fp32, &[2, 9], &bias);
    problem.expect(
        "FA307",
        "1 of 18 elements of `bias` are NaN or +inf, the first is inf at [1, 2]",
        "a bias masks by -inf",
    );
    let mut problem = Problem::new("biased").with("bias", Dtype::Fp32, &[2, 9], &[0.0; 18]);
    problem.temperature = Some(f32::NAN);
    problem.expect("FA307", "parameter `temperature` is NaN", "pass a number");
}

#[test]
fn results_that_are_not_finite_are_located() {
    // The logarithm of a negative score is none: the rows of head 1, whose queries are negative.
    let mut problem = Problem::new("made");
    let signs: Vec<f64> = (0..ROWS * HEADS * WIDTH)
        .map(|at| if at < ROWS * WIDTH { 1.0 } else { -1.0 })
        .collect();
    problem.q = Tensor::from_f64(Dtype::Fp16, problem.q.shape(), &signs);
    let found = problem.findings();
    assert_eq!(
        found[0][1],
        "80 of 160 elements of `out` are NaN or infinite, the first is NaN at [0, 1, 0, 0]"
    );
    assert_eq!(
        found[1][1],
        "5 of 10 elements of `lse` are NaN or +inf, the first is NaN at [0, 1, 0]"
    );
    assert!(
        found[0][2].contains("`log`") && found[1][2].contains("`log`"),
        "{found:?}"
    );
    // Kept pairs count double, and twice 60000 is no fp16.
    let mut problem = Problem::new("dropped");
    problem.training = true;
    let values = vec![60000.0; KEYS * HEADS * WIDTH];
    problem.v = Tensor::from_f64(Dtype::Fp16, problem.v.shape(), &values);
    let found = problem.findings();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0][0], "FA307");
    assert!(
        found[0][1]
            .contains("of 160 elements of `out` are NaN or infinite, the first is inf at [0, "),
        "{found:?}"
    );
    assert!(
        found[0][2].contains("values beyond 65504 overflow fp16 results"),
        "{found:?}"
    );
}

#[test]
fn lengths_and_documents_are_in_range() {
    let problem = Problem::new("lengths").with("lens", Dtype::Int32, &[1], &[10.0]);
    problem.expect(
        "FA308",
        "1 of 1 elements of `lens` are out of range, the first is 10 at [0]",
        "lengths of this launch are 0 to 9",
    );
    // Each packed sequence has its own number of keys.
    let problem = Problem::new("prefixes").with("lens", Dtype::Int32, &[2], &[4.0, 6.0]);
    problem.expect(
        "FA308",
        "1 of 2 elements of `lens` are out of range, the first is 4 at [0]",
        "lengths of sequence 0 are 0 to 3, its number of keys",
    );
    let problem = Problem::new("prefixes").with("lens", Dtype::Int32, &[2], &[3.0, -1.0]);
    problem.expect(
        "FA308",
        "1 of 2 elements of `lens` are out of range, the first is -1 at [1]",
        "lengths of sequence 1 are 0 to 6",
    );
    let ids = [0., 0., 1., 1., -1., -1., -1., 2., 2.];
    let problem = Problem::new("documents").with("ids", Dtype::Int32, &[1, 9], &ids);
    problem.expect(
        "FA308",
        "3 of 9 elements of `ids` are out of range, the first is -1 at [0, 4]",
        "number the documents from 0",
    );
}

#[test]
fn scores_beyond_fp16_are_counted_and_located() {
    // Queries of 300 in row 2 of head 1 meet keys of 300: 16 * 300 * 300 / 4 = 360000. Row 2 sees 7 of 9 keys.
    let mut problem = Problem::new("half");
    let rows: Vec<f64> = (0..ROWS * HEADS * WIDTH)
        .map(|at| if at / WIDTH == ROWS + 2 { 300.0 } else { 0.0 })
        .collect();
    problem.q = Tensor::from_f64(Dtype::Fp16, problem.q.shape(), &rows);
    let keys = vec![300.0; KEYS * HEADS * WIDTH];
    problem.k = Tensor::from_f64(Dtype::Fp16, problem.k.shape(), &keys);
    problem.expect(
        "FA309",
        "7 of 70 attended scores overflow fp16, which ends at 65504: the first is 360000.000000 at b = 0, h = 1, \
         q_idx = 2, kv_idx = 0, the largest 360000.000000",
        "multiply `scale`, 0.250000 now, by less than 0.182",
    );
}

/// The CPU backend alone sums in fp16: the largest product it holds passes, with a score far below the limit, and
/// the next one is named.
#[test]
fn products_beyond_fp16_are_counted_where_sums_are_in_fp16() {
    let narrow =
        "attention narrow { head_dim = 16; scale = 0.001; mask = kv_idx != 1; allow = [FA102];
                    precision { accumulate = fp16; } }
                attention both : narrow { scale = 1.0; precision { softmax = fp16; } }";
    let run = |kernel: &Kernel, size: f64| {
        let q = Tensor::from_f64(Dtype::Fp16, &[1, 1, 2, 16], &[64.0; 32]);
        let k: Vec<f64> = (0..48).map(|at| if at < 32 { 1.0 } else { size }).collect();
        let k = Tensor::from_f64(Dtype::Fp16, &[1, 1, 3, 16], &k);
        let v = Tensor::from_f64(Dtype::Fp16, &[1, 1, 3, 16], &[1.0; 48]);
        match kernel.run(&Arguments::new(q.view(), k.view(), v.view()).strict()) {
            Ok(_) => Vec::new(),
            Err(Error::Launch(found)) => found.iter().map(text).collect(),
            Err(other) => panic!("{other}"),
        }
    };
    let all = compile_for(narrow, &["cpu"]);
    for kernel in &all[0].kernels {
        // 16 * 64 * 63.96875 = 65504.
        assert!(run(kernel, 63.968_75).is_empty());
        let found = run(kernel, 64.0);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(
            found[0][1],
            "2 of 4 products of attended rows overflow fp16, which ends at 65504: the first is 65536.000000 at b = 0, \
             h = 0, q_idx = 0, kv_idx = 2, the largest 65536.000000"
        );
        assert!(found[0][2].contains("accumulate = fp32"), "{found:?}");
    }
    // Where scores are rounded too, both are counted.
    for kernel in &all[1].kernels {
        let found = run(kernel, -64.0);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0][1].contains("products") && found[1][1].contains("scores"));
    }
    let ascend = fa_tests::target("ascend910b");
    for variant in variants("narrow.fa", narrow) {
        let Err(refused) = fa_codegen::plan(&variant, &ascend) else {
            panic!("no fp16 sums there");
        };
        assert!(refused[0].message.contains("precision"), "{refused:?}");
    }
}

/// The launches that the pages of strict codes describe, on the examples of these pages.
#[test]
fn pages_say_what_happens() {
    // Code, and elements of q and k that spoil the failing example.
    for (code, q, k, lens) in [
        ("FA307", 1.0, -1.0, None),
        ("FA308", 0.0, 0.0, Some(200.0)),
        ("FA309", 40.0, 40.0, None),
    ] {
        let path = root().join(format!("docs/errors/{code}.md"));
        let page = fs_err::read_to_string(path).expect("a page");
        let blocks: Vec<&str> = page.split("```").skip(1).step_by(2).collect();
        assert_eq!(blocks.len(), 2, "{code}: what fails, and its repair");
        for (at, block) in blocks.iter().enumerate() {
            let (info, text) = block.split_once('\n').expect("an info line");
            assert_eq!(info, ["fa fail launch", "fa"][at]);
            let variant = &variants("page.fa", text)[0];
            let filled = |value: f64| {
                Tensor::from_f64(variant.precision.qkv, &[1, 1, 128, 64], &[value; 128 * 64])
            };
            let (q, k) = (filled(q), filled(k));
            let mut arguments = Arguments::new(q.view(), k.view(), k.view()).strict();
            let lens = lens.map(|lens| Tensor::from_f64(Dtype::Int32, &[1], &[lens]));
            if let Some(lens) = &lens {
                arguments = arguments.with("lens", lens.view());
            }
            let found = match Kernel::reference(variant).run(&arguments) {
                Ok(_) => Vec::new(),
                Err(Error::Launch(found) | Error::Results(found)) => found,
                Err(other) => panic!("{other}"),
            };
            let codes: Vec<String> = found.iter().map(|found| found.code.to_string()).collect();
            let expected = at == 0;
            assert_eq!(
                codes.iter().any(|found| found == code),
                expected,
                "{code}: {codes:?}"
            );
            assert!(codes.iter().all(|found| found == code), "{code}: {codes:?}");
        }
    }
}
