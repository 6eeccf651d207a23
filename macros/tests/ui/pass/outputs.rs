//! Results into memory of the caller.

fa::attention! {
    attention local { head_dim = 16; precision = fp32; target = cpu; layout = bsnd; }
}

pub(crate) fn main() -> Result<(), fa::Error> {
    let elements: Vec<f32> = (0..5 * 2 * 16).map(|index| index as f32 / 100.0).collect();
    let q = fa::View::new(&elements, &[1, 5, 2, 16])?;
    let (mut out, mut lse) = (vec![f32::NAN; 160], vec![f32::NAN; 10]);
    let results = local::call(&q, &q, &q).run()?;
    let (out_view, lse_view) = (fa::view_mut(&mut out, &[1, 5, 2, 16])?, fa::view_mut(&mut lse, &[1, 2, 5])?);
    local::call(&q, &q, &q).run_into(out_view, lse_view)?;
    assert_eq!(fa::View::new(&out, &[160])?.into_untyped().to_f64(), results.out.to_f64());
    assert_eq!(fa::View::new(&lse, &[10])?.into_untyped().to_f64(), results.lse.to_f64());
    Ok(())
}
