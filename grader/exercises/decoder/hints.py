"""Hints for `decoder.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

HINTS: Mapping[str, Sequence[str]] = {
    "DecoderLayer": (
        "It is an encoder layer with one more sublayer in the middle. For each of the two attentions, write down "
        "where its queries and its keys come from, and which mask has these keys.",
        "Self-attention: query, key and value from the target, tgt_mask. Cross-attention: query from the "
        "target, key and value are memory, src_mask. Each sublayer has its own layer norm; in pre-norm, "
        "memory is not normalized.",
        "Post: x = self.norm1(x + drop(self_attention(x, x, x, tgt_mask))); x = self.norm2(x + "
        "drop(cross_attention(x, memory, memory, src_mask))); then feed_forward with norm3. Pre: y = "
        "self.norm1(x) for all three in self-attention, self.norm2(x) as the query alone in "
        "cross-attention, and x + drop(...) without a norm around it.",
    ),
    "Decoder": (
        "Like the encoder: create the layers once, and pass x through them. What else does each layer need?",
        'An nn.ModuleList of make_layer() results, and one more nn.LayerNorm(d_model) for norm="pre". Only '
        "x changes from layer to layer; memory and both masks are the same for all.",
        "for layer in self.layers: x = layer(x, memory, src_mask, tgt_mask); then the final norm if there "
        "is one, and return x.",
    ),
}
