"""Hints for `encoder.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

HINTS: Mapping[str, Sequence[str]] = {
    "EncoderLayer": (
        "Two sublayers, one after the other. Write the two lines of post-norm first (section 1 has the "
        "formula), then those of pre-norm.",
        "Store the two modules, create two layer norms and one dropout. Post-norm: the sum of x and the "
        "sublayer's output, after dropout, is normalized. Pre-norm: only the sublayer's input is normalized, not "
        "the sum. The input of the second sublayer is the result of the first.",
        "Post: x = self.norm1(x + self.dropout(self.self_attention(x, x, x, src_mask))), then the same with "
        "norm2 and feed_forward(x). Pre: y = self.norm1(x); x = x + self.dropout(self.self_attention(y, y, "
        "y, src_mask)), then the same with norm2 and feed_forward.",
    ),
    "Encoder": (
        "Create the layers once, in __init__, and pass x through them one after the other in forward.",
        "Call make_layer once for each layer and store the results in an nn.ModuleList, which registers their "
        'parameters. For norm="pre", add an nn.LayerNorm(d_model) for the end.',
        "self.layers = nn.ModuleList([make_layer() for _ in range(num_layers)]); in forward: for layer in "
        "self.layers: x = layer(x, src_mask); then the final norm if there is one, and return x.",
    ),
}
