"""Names of built-in attentions, for `--no-library-attention`. Imports no torch: the judge reads source by it too."""

from __future__ import annotations

MODULES = (
    "MultiheadAttention",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
)
"""Classes of `torch.nn`."""

FORBIDDEN = frozenset(MODULES) | {
    "_cudnn_attention_forward",
    "_efficient_attention_forward",
    "_flash_attention_forward",
    "_native_multi_head_attention",
    "_scaled_dot_product_attention",
    "_scaled_dot_product_attention_math",
    "_scaled_dot_product_attention_math_for_mps",
    "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_fused_attention_overrideable",
    "_transformer_encoder_layer_fwd",
    "_triton_multi_head_attention",
    "_triton_scaled_dot_attention",
    "flex_attention",
    "multi_head_attention_forward",
    "scaled_dot_product_attention",
    "varlen_attn",
}
