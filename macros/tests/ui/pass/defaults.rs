//! Inputs that all have defaults can be left to them.

fa::attention! {
    attention warm { head_dim = 16; param heat: float = 2.0; score = score / heat; }
}

pub(crate) fn main() {
    let elements = vec![fa::f16::ONE; 2 * 5 * 16];
    let q = fa::View::new(&elements, &[1, 2, 5, 16]).expect("as many elements");
    let own = warm::call(&q, &q, &q, warm::Inputs { heat: Some(2.0) }).run().expect("a legal launch");
    let default = warm::call(&q, &q, &q, warm::Inputs::default()).run().expect("a legal launch");
    assert_eq!(own.lse.bytes(), default.lse.bytes());
}
