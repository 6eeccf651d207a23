//! Dropout acts in training launches only, and depends on the seed.

fa::attention! {
    attention local { head_dim = 16; dropout = 0.5; }
}

pub(crate) fn main() -> Result<(), fa::Error> {
    let elements = vec![fa::f16::ONE; 2 * 5 * 16];
    let q = fa::View::new(&elements, &[1, 2, 5, 16]).expect("as many elements");
    let plain = local::forward(&q, &q, &q)?;
    let seed = fa::Seed { seed: 42, offset: 0 };
    let trained = local::call(&q, &q, &q).training(seed).forward()?;
    let again = local::call(&q, &q, &q).training(seed).forward()?;
    assert_ne!(plain.bytes(), trained.bytes());
    assert_eq!(again.bytes(), trained.bytes());
    Ok(())
}
