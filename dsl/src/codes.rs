//! The registry of diagnostic codes: FA0xx language, FA1xx memory and schedule, FA2xx targets, FA3xx
//! launch. A number is never reused. Each code has a page in `docs/errors/`, which `fa-gen explain` shows.

use crate::diagnostic::{Code, Severity};

/// A code and what is known about it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The number.
    pub code: Code,
    /// The fault in kebab case, for machines and headings.
    pub slug: &'static str,
    /// How heavy its diagnostics are.
    pub severity: Severity,
    /// The fault in one line.
    pub title: &'static str,
    /// Its page, in Markdown.
    pub page: &'static str,
}

/// What is known about a code.
pub fn lookup(code: Code) -> Option<&'static Entry> {
    ALL.iter().find(|entry| entry.code == code)
}

/// The code of a spelling such as `FA101`.
pub fn parse(text: &str) -> Option<Code> {
    let digits = text.strip_prefix("FA")?;
    let wellformed = digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit());
    let code = Code(digits.parse().ok().filter(|_| wellformed)?);
    lookup(code).map(|entry| entry.code)
}

/// Declares each code once: a constant and a row of the table.
macro_rules! codes {
    ($($number:literal $page:literal $name:ident $slug:literal $severity:ident $title:literal;)*) => {
        $(
            #[doc = $title]
            pub const $name: Code = Code($number);
        )*

        /// All codes, in order.
        pub const ALL: &[Entry] = &[
            $(Entry {
                code: $name,
                slug: $slug,
                severity: Severity::$severity,
                title: $title,
                page: include_str!(concat!("../../docs/errors/FA", $page, ".md")),
            },)*
        ];
    };
}

codes! {
    1 "001" SYNTAX "syntax" Error "the text does not follow the grammar";
    2 "002" MISSING_PUNCTUATION "missing-punctuation" Error "a `;`, a `}` or the end of a comment is missing";
    3 "003" BAD_OPERATOR "bad-operator" Error "an operator that the language does not have, or a chained comparison";
    4 "004" BAD_NUMBER "bad-number" Error "a number that is malformed or does not fit";
    5 "005" TOO_DEEP "too-deep" Error "brackets or operators nest too deep";
    6 "006" UNKNOWN_NAME "unknown-name" Error "a name that nothing defines";
    7 "007" UNKNOWN_FIELD "unknown-field" Error "a field, block or key that does not exist";
    8 "008" REPEATED "repeated" Error "something is defined twice";
    9 "009" RESERVED_NAME "reserved-name" Error "a definition takes a name of the language";
    10 "010" MISSING_FIELD "missing-field" Error "a required field is absent";
    11 "011" WRONG_TYPE "wrong-type" Error "an expression of the wrong type";
    12 "012" OUT_OF_RANGE "out-of-range" Error "a value outside the range of its field";
    13 "013" WRONG_VALUE "wrong-value" Error "a field is given something that it does not take";
    14 "014" NOT_CONSTANT "not-constant" Error "a value must be known when the kernel is generated";
    15 "015" WRONG_ARGUMENTS "wrong-arguments" Error "a function, mask word or tensor is used in the wrong form";
    16 "016" DIVISION_BY_ZERO "division-by-zero" Error "an int divisor that may be zero";
    17 "017" INDEX_OUTSIDE "index-outside" Error "a tensor index that may lie outside";
    18 "018" WRONG_PLACE "wrong-place" Error "a name is used where it has no value";
    19 "019" UNUSED_INPUT "unused-input" Error "a declared input that nothing reads";
    20 "020" INHERITANCE "inheritance" Error "a parent that does not exist, or variants that inherit from each other";
    21 "021" HEADS_NOT_DIVISIBLE "heads-not-divisible" Error "`heads` is no multiple of `kv_heads`";
    22 "022" NEGATIVE_WINDOW "negative-window" Error "a window with a negative side";
    23 "023" DROPOUT_ROUNDS_AWAY "dropout-rounds-away" Error "a dropout rate that the 16-bit generator cannot tell from 0 or 1";
    24 "024" DEFINE "define" Error "a `-D` argument that fits no constant";
    25 "025" TENSOR_SHAPE "tensor-shape" Error "a captured tensor of the wrong shape or type";
    26 "026" UNKNOWN_CODE "unknown-code" Error "`allow` names something that cannot be silenced";
    27 "027" CYCLE "cycle" Error "definitions that depend on each other";
    40 "040" UNUSED_DEFINITION "unused-definition" Warning "a `const` or `let` that nothing reads";
    41 "041" SCALE_NOT_APPLIED "scale-not-applied" Warning "a score that leaves out the scale";
    42 "042" FINITE_SENTINEL "finite-sentinel" Warning "masking by a large negative score";
    43 "043" CAPPED_MASKING "capped-masking" Warning "a softcap that undoes the masking inside it";
    44 "044" CONSTANT_MASK "constant-mask" Warning "a mask that does not depend on the position";
    45 "045" FOLDED_INPUT "folded-input" Note "an input whose every use is folded away";
    101 "101" TILE_TOO_LARGE "tile-too-large" Error "a tile that does not fit into on-chip memory";
    102 "102" FP16_SOFTMAX "fp16-softmax" Warning "fp16 softmax or accumulation where values can overflow or be lost";
    103 "103" BATCH_WITHOUT_LENGTHS "batch-without-lengths" Note "a batched variant that ignores padding";
    104 "104" FP16_TRAINING "fp16-training" Warning "training in pure fp16";
    105 "105" IDLE_UNITS "idle-units" Warning "units that wait for each other or stay mostly idle";
    106 "106" UNORDERED_GRADIENT "unordered-gradient" Warning "a gradient that is summed in no fixed order";
    201 "201" UNSUPPORTED_FEATURE "unsupported-feature" Error "a feature that a backend does not have";
    202 "202" UNKNOWN_TARGET "unknown-target" Error "a target that nobody has described";
    203 "203" INEXACT_INT "inexact-int" Error "an int expression that a backend cannot evaluate exactly";
    301 "301" LAUNCH_ARGUMENT "launch-argument" Error "a launch argument of the wrong type, rank or size";
    302 "302" LAUNCH_STRIDES "launch-strides" Error "strides or alignment that a kernel cannot read";
    303 "303" LAUNCH_LENGTHS "launch-lengths" Error "lengths beyond the limits of a kernel";
    304 "304" LAUNCH_INPUTS "launch-inputs" Error "a captured input that is missing, unknown or out of range at launch";
    305 "305" LAUNCH_HEADS "launch-heads" Error "head counts that do not divide each other at launch";
    306 "306" WINDOW_SEES_ALL "window-sees-all" Note "a window that is larger than every length of a launch";
    307 "307" NON_FINITE_VALUE "non-finite-value" Warning "NaN or an infinity in an argument or a result";
    308 "308" INDEX_OUT_OF_RANGE "index-out-of-range" Warning "lengths or document numbers that no launch has";
    309 "309" SCORE_OVERFLOW "score-overflow" Warning "scores beyond the type that softmax is computed in";
}
