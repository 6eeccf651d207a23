//! Fields of an expression are separated by commas.

fn main() {
    let attn = fa::attention!(< head_dim = 64; mask = causal >);
}
