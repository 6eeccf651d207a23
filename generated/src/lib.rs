//! The stock variants as rendered for the CPU. Written by the golden test; edit `examples/*.fa`.

pub mod alibi_cpu;
pub mod causal_gqa_cpu;
pub mod dense_or_near_cpu;
pub mod documents_cpu;
pub mod odd_head_dim_cpu;
pub mod packed_cpu;
pub mod pair_bias_cpu;
pub mod plain_cpu;
pub mod relative_cpu;
pub mod row_and_key_cpu;
pub mod sink_window_cpu;
pub mod sliding_window_cpu;
pub mod softcap_causal_cpu;
pub mod strided_cpu;
pub mod training_cpu;
