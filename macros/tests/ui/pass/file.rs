//! A path names a file beside this one; its constants can be set.

mod as_written {
    fa::attention!("local.fa");
}

mod wider {
    fa::attention!("local.fa", radius = 4);
}

pub(crate) fn main() {
    let elements = vec![fa::f16::ONE; 2 * 5 * 16];
    let q = fa::View::new(&elements, &[1, 2, 5, 16]).expect("as many elements");
    let narrow = as_written::local::call(&q, &q, &q).run().expect("a legal launch");
    let wide = wider::local::call(&q, &q, &q).run().expect("a legal launch");
    assert!(narrow.lse.to_f64()[4] < wide.lse.to_f64()[4]);
    assert!(as_written::capped::SOURCE.contains("softcap"));
}
