//! The tile does not fit: both numbers, on the tokens of the tile.

fa::attention! {
    attention local {
        head_dim = 256;
        mask = causal;
        tile { block_q = 512; block_kv = 512; }
    }
}

fn main() {}
