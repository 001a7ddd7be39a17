"""Hints for `attention.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

HINTS: Mapping[str, Sequence[str]] = {
    "scaled_dot_product_attention": (
        "Three steps, in this order: compare every query with every key, turn each query's scores into weights "
        "that sum to 1, and sum the values with these weights. Do the worked example of section 3 by hand first.",
        "The scores are one matrix product: query [..., Tq, Dk] with key transposed to [..., Dk, Tk]. They are "
        "divided by sqrt(Dk). A masked key must get the score -inf (or a very low one) before the softmax, which "
        "runs over the last dimension, the keys.",
        "scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1)); then masked_fill with ~mask for a bool "
        "mask, or scores + mask for a float one; then softmax(dim=-1); return weights @ value, weights. For rows "
        "without any allowed key, fill with torch.finfo(scores.dtype).min instead of -inf.",
    ),
    "MultiHeadAttention": (
        "Four linear layers of d_model x d_model. The projected features are split into num_heads parts, and your "
        "function computes attention for each part.",
        "Split with a reshape to [B, T, H, d] and a transpose to [B, H, T, d]. To merge, transpose first, then "
        "reshape.",
        "x.reshape(B, T, H, d).transpose(1, 2) for q, k and v; weights from your function, dropout on the weights, "
        "weights @ v; then .transpose(1, 2).flatten(2), and the output projection. Check d_model % num_heads in "
        "__init__ and raise ValueError.",
    ),
}
