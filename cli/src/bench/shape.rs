//! Shapes as they are written: `BxHxN`, `BxHxNxD`, `BxH/HkvxNq:NkvxD`.

use std::fmt;
use std::str::FromStr;

/// The shapes that public articles about attention on these chips give times for: BERT-Large at four lengths, GPT-3
/// 1.3B and LLaMA-2 7B.
const MISSION: [&str; 6] = [
    "32x16x512x64",
    "8x16x1024x64",
    "2x16x2048x64",
    "1x16x4096x64",
    "1x32x2048x64",
    "1x32x4096x128",
];

/// Sizes of a launch as the command line gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BenchShape {
    /// Sequences.
    pub(crate) batch: usize,
    /// Query heads.
    pub(crate) heads: usize,
    /// Key/value heads; as many as the variant says, or as there are query heads, where absent.
    pub(crate) kv_heads: Option<usize>,
    /// Query rows.
    pub(crate) q_len: usize,
    /// Key rows.
    pub(crate) kv_len: usize,
    /// Width of query and key rows; that of the variant where absent.
    pub(crate) head_dim: Option<u32>,
}

/// The shapes that are timed where none is given.
pub(crate) fn mission() -> Vec<BenchShape> {
    MISSION
        .iter()
        .map(|text| text.parse().expect("a well-formed shape"))
        .collect()
}

impl FromStr for BenchShape {
    type Err = String;

    fn from_str(text: &str) -> Result<BenchShape, String> {
        let malformed = || {
            format!(
                "`{text}` is no shape; write BxHxN or BxHxNxD as in 1x32/8x1:4096x128, with H/Hkv and Nq:Nkv where they differ"
            )
        };
        let number = |part: &str| match part.parse::<usize>() {
            Ok(0) => Err(format!("`{text}` has a size of 0")),
            Ok(number) if u32::try_from(number).is_ok() => Ok(number),
            _ => Err(malformed()),
        };
        let pair = |part: &str, sign: char| match part.split_once(sign) {
            Some((first, second)) => Ok::<_, String>((number(first)?, Some(number(second)?))),
            None => Ok((number(part)?, None)),
        };
        let parts: Vec<&str> = text.split('x').collect();
        let (batch, heads, length, width) = match parts.as_slice() {
            [batch, heads, length] => (batch, heads, length, None),
            [batch, heads, length, width] => (batch, heads, length, Some(width)),
            _ => return Err(malformed()),
        };
        let (heads, kv_heads) = pair(heads, '/')?;
        let (q_len, kv_len) = pair(length, ':')?;
        if let Some(kv_heads) = kv_heads
            && heads % kv_heads != 0
        {
            return Err(format!(
                "`{text}`: {kv_heads} key/value heads do not divide {heads} query heads"
            ));
        }
        let head_dim = width.map(|width| number(width)).transpose()?;
        Ok(BenchShape {
            batch: number(batch)?,
            heads,
            kv_heads,
            q_len,
            kv_len: kv_len.unwrap_or(q_len),
            head_dim: head_dim.map(|width| width as u32),
        })
    }
}

impl fmt::Display for BenchShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.batch, self.heads)?;
        if let Some(kv_heads) = self.kv_heads.filter(|kv_heads| *kv_heads != self.heads) {
            write!(f, "/{kv_heads}")?;
        }
        write!(f, "x{}", self.q_len)?;
        if self.kv_len != self.q_len {
            write!(f, ":{}", self.kv_len)?;
        }
        match self.head_dim {
            Some(head_dim) => write!(f, "x{head_dim}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_read_as_they_are_written() {
        for text in ["1x32/8x1:4096x128", "32x16x512x64", "2x4x17", "1x2/1x3:5"] {
            assert_eq!(
                text.parse::<BenchShape>().expect("well-formed").to_string(),
                text
            );
        }
        assert_eq!(mission().len(), MISSION.len());
    }

    #[test]
    fn what_is_no_shape_is_refused() {
        for text in [
            "",
            "1x2",
            "1x2x3x4x5",
            "1x2xq",
            "1x0x3",
            "1x3/2x5",
            "1x2x3:",
            "99999999999x1x1",
        ] {
            assert!(text.parse::<BenchShape>().is_err(), "{text}");
        }
    }
}
