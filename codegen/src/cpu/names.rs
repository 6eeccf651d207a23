//! Rust identifiers for what users named: legal, snake case, unlike each other and unlike our own names.

use std::collections::BTreeSet;

/// Longest identifier that is kept whole; longer ones are cut, so that emitted lines stay short.
const MAX_LEN: usize = 20;

/// Words of Rust of any edition.
const KEYWORDS: &str = "
    abstract as async await become box break const continue crate do dyn else enum extern false
    final fn for gen if impl in let loop macro match mod move mut override priv pub ref return
    self static struct super trait true try type typeof unsafe unsized use virtual where while
    yield
";

/// Fields of the launch block and of the problem.
const FIELDS: &str = "
    batch heads kv_heads q_len kv_len q_stride k_stride v_stride out_stride lse_stride seed
    offset training padding launch q k v out lse
";

/// Locals, parameters and prefixes of numbered locals of functions that expressions become.
const LOCALS: &str = "
    score scores values columns tile scratch q_idx q_pos q_last kv_idx kv_last row col lane
    value task twin start
";

/// Gives out identifiers.
#[derive(Debug)]
pub(super) struct Namer {
    taken: BTreeSet<String>,
}

impl Namer {
    /// With our own names taken.
    pub(super) fn new() -> Namer {
        Namer {
            taken: [KEYWORDS, FIELDS, LOCALS]
                .into_iter()
                .flat_map(str::split_whitespace)
                .map(str::to_owned)
                .collect(),
        }
    }

    /// An identifier like `wanted` that was not given out before, and neither were its `_stride` and
    /// numbered forms.
    pub(super) fn name(&mut self, wanted: &str) -> String {
        let base = snake_case(wanted);
        let name = (1..)
            .map(|n| {
                if n == 1 {
                    base.clone()
                } else {
                    format!("{base}_v{n}")
                }
            })
            .find(|name| {
                !self.taken.contains(name) && !self.taken.contains(&format!("{name}_stride"))
            })
            .expect("numbers do not run out");
        self.taken.insert(name.clone());
        self.taken.insert(format!("{name}_stride"));
        name
    }
}

/// Lower case with single underscores, and cut to the longest length.
pub(super) fn snake_case(wanted: &str) -> String {
    let mut name = String::new();
    for c in wanted.chars() {
        match c {
            'A'..='Z' => {
                if name.ends_with(|c: char| c.is_ascii_lowercase()) {
                    name.push('_');
                }
                name.push(c.to_ascii_lowercase());
            }
            'a'..='z' | '0'..='9' => name.push(c),
            _ if name.is_empty() || name.ends_with('_') => {}
            _ => name.push('_'),
        }
    }
    name.truncate(MAX_LEN);
    let name = name.trim_end_matches('_');
    match name.chars().next() {
        Some('a'..='z') => name.to_owned(),
        Some(_) => format!("n{name}"),
        None => "unnamed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_legal_distinct_and_snake_case() {
        let mut namer = Namer::new();
        assert_eq!(namer.name("slopes"), "slopes");
        assert_eq!(namer.name("type"), "type_v2");
        assert_eq!(namer.name("seed"), "seed_v2");
        assert_eq!(namer.name("relBias"), "rel_bias");
        assert_eq!(namer.name("rel_bias"), "rel_bias_v2");
        assert_eq!(namer.name("__x__y"), "x_y");
        assert_eq!(
            namer.name("a_rather_long_identifier_indeed"),
            "a_rather_long_identi"
        );
        assert_eq!(namer.name("slopes_stride"), "slopes_stride_v2");
    }
}
