"""Hints for `attention.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

HINTS: Mapping[str, Sequence[str]] = {
    "scaled_dot_product_attention": (
        "Three steps, in this order: compare every query with every key, turn each query's comparisons into "
        "shares, take that share of each value. Do the worked example of section 3 by hand first.",
        "The comparisons are one matrix product: query [..., Tq, Dk] with key turned to [..., Dk, Tk]. They are "
        "divided by the root of Dk. A hidden key must have the score -inf (or a very low one) before the softmax "
        "over the last dimension, which runs over keys.",
        "scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1)); then masked_fill with ~mask for a bool "
        "mask, or scores + mask for a float one; then softmax(dim=-1); return weights @ value, weights. For rows "
        "without any key, fill with torch.finfo(scores.dtype).min in place of -inf.",
    ),
    "MultiHeadAttention": (
        "Four linear layers of d_model x d_model. In between, the projected columns are cut into num_heads narrow "
        "pieces, and each piece attends for itself with your function.",
        "Cut with a reshape to [B, T, H, d] and a transpose to [B, H, T, d]: the first names the pieces, the second "
        "brings the heads forward. On the way back the transpose comes first.",
        "x.reshape(B, T, H, d).transpose(1, 2) for q, k and v; weights from your function, dropout on the weights, "
        "weights @ v; then .transpose(1, 2).flatten(2), and the output projection. Check d_model % num_heads in "
        "__init__ and raise ValueError.",
    ),
}
