//! The budget is a constant.

fa::attention! {
    attention local { head_dim = 128; mask = causal; tile { block_q = 128; block_kv = 128; stages = 2; } }
}

const L1_BYTES: u64 = local::BUDGET.memories[0].used_bytes;
const _: () = assert!(L1_BYTES <= local::BUDGET.memories[0].capacity_bytes);

pub(crate) fn main() {
    for memory in local::BUDGET.memories {
        let end = memory.buffers.iter().map(|buffer| buffer.offset_bytes + buffer.bytes).max();
        assert_eq!(end.unwrap_or(0), memory.used_bytes, "{}", memory.name);
    }
}
