//! Pieces that come through another macro.

macro_rules! variants {
    ($($name:ident: $head_dim:literal, $mask:expr;)*) => {
        $(fa::attention! { attention $name { head_dim = $head_dim; mask = !$mask; } })*
    };
}

variants! {
    first: 16, causal || prefix(3);
    second: 32, q_pos == kv_pos;
}

pub(crate) fn main() {
    let elements = vec![fa::f16::ONE; 2 * 5 * 16];
    let q = fa::View::new(&elements, &[1, 2, 5, 16]).expect("as many elements");
    let out = first::forward(&q, &q, &q).expect("a legal launch").to_f64();
    assert!(out.iter().all(|value| [0.0, 1.0].contains(value)));
    assert_eq!(out[4 * 16], 0.0, "the last row sees nothing");
    assert_eq!(out[0], 1.0, "the first row sees keys 3 and 4");
    assert!(second::SOURCE.contains("second"));
}
