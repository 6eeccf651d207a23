//! Two variants of one name in one program: nothing is exported under a fixed name.

mod first {
    fa::attention! { attention local { head_dim = 16; mask = causal; } }
}

mod second {
    fa::attention! { attention local { head_dim = 16; } }
}

pub(crate) fn main() {
    let elements = vec![fa::f16::ONE; 2 * 5 * 16];
    let q = fa::View::new(&elements, &[1, 2, 5, 16]).expect("as many elements");
    let first = first::local::call(&q, &q, &q).run().expect("a legal launch");
    let second = second::local::call(&q, &q, &q).run().expect("a legal launch");
    assert_ne!(first.lse.bytes(), second.lse.bytes());
}
