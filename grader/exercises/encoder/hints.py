"""Hints for `encoder.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

HINTS: Mapping[str, Sequence[str]] = {
    "EncoderLayer": (
        "Two sublayers, one after the other. Write the post-norm path first, two lines of it, and look at "
        "section 1 for what is inside what; then the pre-norm path.",
        "Keep the two parts, make two layer norms and one dropout. Post-norm: the sum of x and the dropped "
        "output goes through the norm. Pre-norm: only what the sublayer sees goes through the norm, the sum "
        "does not. The second sublayer starts from the x that the first has left.",
        "Post: x = self.norm1(x + self.dropout(self.self_attention(x, x, x, src_mask))), then the same with "
        "norm2 and feed_forward(x). Pre: y = self.norm1(x); x = x + self.dropout(self.self_attention(y, y, "
        "y, src_mask)), then the same with norm2 and feed_forward.",
    ),
    "Encoder": (
        "Make the layers once, in __init__, and let x go through them one by one in forward.",
        "Call make_layer once for each layer and keep the results in an nn.ModuleList, so that their "
        'parameters are found. For norm="pre", keep one more nn.LayerNorm(d_model) for the end.',
        "self.layers = nn.ModuleList([make_layer() for _ in range(num_layers)]); in forward: for layer in "
        "self.layers: x = layer(x, src_mask); then the final norm if there is one, and return x.",
    ),
}
