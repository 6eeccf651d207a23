//! Two errors in an expression, and none about what is done with it.

fn main() {
    let attn = fa::attention!(< head_dim = 64, mask = causl, scale = 1/8 >);
    attn.forward(&1, &2, &3);
}
