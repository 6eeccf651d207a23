//! One case of the protocol: its line, its `.fa` text, its tensors. Knows no clock.

use anyhow::{Context, Result, bail};
use fa_dsl::variant::Dtype;

/// A case as `prepare` names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    /// Sequences.
    pub(crate) batch: usize,
    /// Query heads.
    pub(crate) heads: usize,
    /// Key/value heads.
    pub(crate) kv_heads: usize,
    /// Query rows of a sequence.
    pub(crate) q_len: usize,
    /// Key rows of a sequence.
    pub(crate) kv_len: usize,
    /// Width of all rows.
    pub(crate) head_dim: usize,
    /// `full`, `causal`, `alibi` or `window`; beyond the protocol also `softcap`.
    pub(crate) variant: String,
    /// Keys of a window, the query's own included.
    pub(crate) window: usize,
    /// Type of inputs and output.
    pub(crate) dtype: Dtype,
    /// Folder with `q.bin`, `k.bin` and `v.bin`.
    pub(crate) folder: String,
}

/// What this program cannot do, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unsupported(pub(crate) String);

impl std::fmt::Display for Unsupported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unsupported {}

impl Case {
    /// Reads the words after `prepare`.
    ///
    /// # Errors
    /// [`Unsupported`] for a legal case beyond this program; otherwise what is wrong with the line.
    pub(crate) fn parse(words: &[&str]) -> Result<Case> {
        let [
            batch,
            heads,
            kv_heads,
            q_len,
            kv_len,
            head_dim,
            variant,
            window,
            dtype,
            mode,
            _,
            folder,
        ] = words
        else {
            bail!("prepare takes 12 words, not {}", words.len());
        };
        let number = |word: &str| word.parse().with_context(|| format!("`{word}`: no number"));
        if *mode != "fwd" {
            return Err(Unsupported(format!("mode {mode}")).into());
        }
        Ok(Case {
            batch: number(batch)?,
            heads: number(heads)?,
            kv_heads: number(kv_heads)?,
            q_len: number(q_len)?,
            kv_len: number(kv_len)?,
            head_dim: number(head_dim)?,
            variant: (*variant).to_owned(),
            window: window.parse().unwrap_or(0),
            dtype: dtype_of(dtype)?,
            folder: (*folder).to_owned(),
        })
    }

    /// The variant as a user would write it.
    ///
    /// # Errors
    /// [`Unsupported`] for an unknown variant.
    pub(crate) fn source(&self) -> Result<String> {
        let body = match self.variant.as_str() {
            "full" => String::new(),
            "causal" => "mask = causal;".to_owned(),
            "softcap" => "mask = causal; score = softcap(score, 50.0);".to_owned(),
            "window" => format!("mask = causal && window({}, 0);", self.window.max(1) - 1),
            "alibi" => "tensor slopes: fp32[h]; mask = causal; \
                        score = score - slopes[h] * float(q_pos - kv_pos);"
                .to_owned(),
            other => return Err(Unsupported(format!("variant {other}")).into()),
        };
        let precision = match self.dtype {
            Dtype::Fp16 => "mixed",
            Dtype::Bf16 => "mixed_bf16",
            _ => "fp32",
        };
        let head_dim = self.head_dim;
        Ok(format!(
            "attention bench {{ head_dim = {head_dim}; precision = {precision}; {body} }}\n"
        ))
    }

    /// Slopes of ALiBi, one per query head.
    pub(crate) fn slopes(&self) -> Option<Vec<f32>> {
        let heads = self.heads as f32;
        let slope = |head: usize| (-8.0 * (head + 1) as f32 / heads).exp2();
        (self.variant == "alibi").then(|| (0..self.heads).map(slope).collect())
    }

    /// Shape of q and of the output.
    pub(crate) fn q_shape(&self) -> [usize; 4] {
        [self.batch, self.heads, self.q_len, self.head_dim]
    }

    /// Shape of k and v.
    pub(crate) fn kv_shape(&self) -> [usize; 4] {
        [self.batch, self.kv_heads, self.kv_len, self.head_dim]
    }
}

fn dtype_of(word: &str) -> Result<Dtype> {
    Ok(match word {
        "fp32" => Dtype::Fp32,
        "fp16" => Dtype::Fp16,
        "bf16" => Dtype::Bf16,
        other => return Err(Unsupported(format!("dtype {other}")).into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "1 8 2 64 64 128 causal 0 bf16 fwd 2 folder";

    fn parse(line: &str) -> Result<Case> {
        Case::parse(&line.split_whitespace().collect::<Vec<_>>())
    }

    #[test]
    fn a_line_of_the_protocol() {
        let case = parse(LINE).expect("the line is legal");
        assert_eq!(case.q_shape(), [1, 8, 64, 128]);
        assert_eq!(case.kv_shape(), [1, 2, 64, 128]);
        assert!(case.source().expect("known").contains("mixed_bf16"));
    }

    #[test]
    fn what_is_beyond_it() {
        let unsupported = |line: &str| {
            let error = parse(line).and_then(|case| case.source());
            error.is_err_and(|error| error.is::<Unsupported>())
        };
        assert!(unsupported(&LINE.replace("fwd", "fwdbwd")));
        assert!(unsupported(&LINE.replace("causal", "odd")));
        assert!(unsupported(&LINE.replace("bf16", "int8")));
        assert!(parse("1 2").is_err());
    }
}
