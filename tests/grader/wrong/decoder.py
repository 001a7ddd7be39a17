"""Wrong decoders as beginners write them."""

from __future__ import annotations

from collections.abc import Mapping

IMPORTS = """
import copy
import torch
import torch.nn.functional as F
from torch import nn

"""
LAYER_INIT = """
class DecoderLayer(nn.Module):
    def __init__(self, self_attention, cross_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.self_attn = self_attention
        self.cross_attn = cross_attention
        self.ff = feed_forward
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm = norm
"""
LAYER_FORWARD = """
    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        if self.norm == "pre":
            h = self.norm1(x)
            x = x + self.dropout(self.self_attn(h, h, h, tgt_mask))
            h = self.norm2(x)
            x = x + self.dropout(self.cross_attn(h, memory, memory, src_mask))
            return x + self.dropout(self.ff(self.norm3(x)))
        x = self.norm1(x + self.dropout(self.self_attn(x, x, x, tgt_mask)))
        x = self.norm2(x + self.dropout(self.cross_attn(x, memory, memory, src_mask)))
        return self.norm3(x + self.dropout(self.ff(x)))
"""
STACK_INIT = """
class Decoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.layers = nn.ModuleList([make_layer() for _ in range(num_layers)])
        self.norm = nn.LayerNorm(d_model) if norm == "pre" else None
"""
STACK_FORWARD = """
    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        for layer in self.layers:
            x = layer(x, memory, src_mask, tgt_mask)
        if self.norm is not None:
            x = self.norm(x)
        return x
"""


def file(
    layer_init: str = LAYER_INIT,
    layer_forward: str = LAYER_FORWARD,
    stack_init: str = STACK_INIT,
    stack_forward: str = STACK_FORWARD,
) -> str:
    """A file in which these parts are written in another way."""
    return IMPORTS + layer_init + layer_forward + "\n" + stack_init + stack_forward


def forward(old: str, new: str) -> str:
    """A file whose layer's forward has `new` in the place of `old`."""
    assert old in LAYER_FORWARD
    return file(layer_forward=LAYER_FORWARD.replace(old, new))


def stack(old: str, new: str) -> str:
    """A file whose stack's forward has `new` in the place of `old`."""
    assert old in STACK_FORWARD
    return file(stack_forward=STACK_FORWARD.replace(old, new))


WRONG: Mapping[str, tuple[frozenset[str], str]] = {
    "self-attention twice": (
        frozenset({"keys-and-values-from-decoder"}),
        file(
            layer_forward=LAYER_FORWARD.replace(
                "(h, memory, memory, src_mask)", "(h, h, h, src_mask)"
            ).replace("(x, memory, memory, src_mask)", "(x, x, x, src_mask)")
        ),
    ),
    "value, key, query": (
        frozenset({"query-from-memory"}),
        file(
            layer_forward=LAYER_FORWARD.replace(
                "(h, memory, memory, src_mask)", "(memory, memory, h, src_mask)"
            ).replace("(x, memory, memory, src_mask)", "(memory, memory, x, src_mask)")
        ),
    ),
    "values of the decoder": (
        frozenset({"values-from-decoder"}),
        file(
            layer_forward=LAYER_FORWARD.replace("(h, memory, memory, ", "(h, memory, h, ").replace(
                "(x, memory, memory, ", "(x, memory, x, "
            )
        ),
    ),
    "masks in the other order": (
        frozenset({"masks-exchanged"}),
        forward("tgt_mask=None):\n", "tgt_mask=None):\n        src_mask, tgt_mask = tgt_mask, src_mask\n"),
    ),
    "one mask for everything": (
        frozenset({"cross-mask-is-target-mask"}),
        file(layer_forward=LAYER_FORWARD.replace("memory, src_mask)", "memory, tgt_mask)")),
    ),
    "no source mask": (
        frozenset({"cross-mask-not-passed"}),
        file(layer_forward=LAYER_FORWARD.replace("memory, src_mask)", "memory)")),
    ),
    "both masks turned round": (
        frozenset({"cross-mask-inverted", "mask-inverted"}),
        forward(
            '        if self.norm == "pre":',
            "        if src_mask is not None:\n            src_mask = src_mask == 0\n"
            "        if tgt_mask is not None:\n            tgt_mask = tgt_mask == 0\n"
            '        if self.norm == "pre":',
        ),
    ),
    "norms everything that goes into cross-attention": (
        frozenset({"memory-normed"}),
        forward("self.cross_attn(h, memory, memory, src_mask)", "self.cross_attn(h, m, m, src_mask)").replace(
            "            h = self.norm2(x)\n", "            h, m = self.norm2(x), self.norm2(memory)\n"
        ),
    ),
    "asks with what self-attention gave": (
        frozenset({"query-before-add-and-norm"}),
        file(
            layer_forward="""
    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        if self.norm == "pre":
            h = self.norm1(x)
            attn = self.dropout(self.self_attn(h, h, h, tgt_mask))
            x = x + attn
            x = x + self.dropout(self.cross_attn(attn, memory, memory, src_mask))
            return x + self.dropout(self.ff(self.norm3(x)))
        attn = self.dropout(self.self_attn(x, x, x, tgt_mask))
        x = self.norm1(x + attn)
        x = self.norm2(x + self.dropout(self.cross_attn(attn, memory, memory, src_mask)))
        return self.norm3(x + self.dropout(self.ff(x)))
"""
        ),
    ),
    "a residual that is never renewed": (
        frozenset({"residual-from-layer-input"}),
        file(
            layer_forward="""
    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        residual = x
        if self.norm == "pre":
            x = self.norm1(x)
            x = residual + self.dropout(self.self_attn(x, x, x, tgt_mask))
            x = residual + self.dropout(self.cross_attn(self.norm2(x), memory, memory, src_mask))
            return residual + self.dropout(self.ff(self.norm3(x)))
        x = self.norm1(residual + self.dropout(self.self_attn(x, x, x, tgt_mask)))
        x = self.norm2(residual + self.dropout(self.cross_attn(x, memory, memory, src_mask)))
        return self.norm3(residual + self.dropout(self.ff(x)))
"""
        ),
    ),
    "no residual around cross-attention": (
        frozenset({"residual-missing"}),
        file(
            layer_forward=LAYER_FORWARD.replace(
                "x = x + self.dropout(self.cross_attn", "x = self.dropout(self.cross_attn"
            ).replace(
                "self.norm2(x + self.dropout(self.cross_attn", "self.norm2(self.dropout(self.cross_attn"
            )
        ),
    ),
    "the second norm twice": (
        frozenset({"wrong-norm-used"}),
        file(layer_forward=LAYER_FORWARD.replace("self.norm3", "self.norm2")),
    ),
    "the encoder's layer, with memory forgotten": (
        frozenset({"cross-attention-missing"}),
        file(
            layer_forward="""
    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        if self.norm == "pre":
            h = self.norm1(x)
            x = x + self.dropout(self.self_attn(h, h, h, tgt_mask))
            return x + self.dropout(self.ff(self.norm3(x)))
        x = self.norm1(x + self.dropout(self.self_attn(x, x, x, tgt_mask)))
        return self.norm3(x + self.dropout(self.ff(x)))
"""
        ),
    ),
    "cross-attention first": (
        frozenset({"cross-attention-before-self"}),
        file(
            layer_forward="""
    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        if self.norm == "pre":
            x = x + self.dropout(self.cross_attn(self.norm1(x), memory, memory, src_mask))
            h = self.norm2(x)
            x = x + self.dropout(self.self_attn(h, h, h, tgt_mask))
            return x + self.dropout(self.ff(self.norm3(x)))
        x = self.norm1(x + self.dropout(self.cross_attn(x, memory, memory, src_mask)))
        x = self.norm2(x + self.dropout(self.self_attn(x, x, x, tgt_mask)))
        return self.norm3(x + self.dropout(self.ff(x)))
"""
        ),
    ),
    "self_attention for both": (
        frozenset({"one-attention-for-both"}),
        file(layer_forward=LAYER_FORWARD.replace("self.cross_attn", "self.self_attn")),
    ),
    "its own causal mask, made on the CPU": (
        frozenset({"causal-mask-of-its-own"}),
        forward(
            '        if self.norm == "pre":',
            "        causal = torch.tril(torch.ones(x.size(1), x.size(1))).bool()\n"
            "        tgt_mask = causal if tgt_mask is None else tgt_mask & causal\n"
            '        if self.norm == "pre":',
        ),
    ),
    "memory without gradient": (
        frozenset({"memory-detached"}),
        file(layer_forward=LAYER_FORWARD.replace("memory, memory, ", "memory.detach(), memory.detach(), ")),
    ),
    "memory handed from layer to layer": (
        frozenset({"memory-replaced"}),
        stack(
            "x = layer(x, memory, src_mask, tgt_mask)", "x = memory = layer(x, memory, src_mask, tgt_mask)"
        ),
    ),
    "the layers' masks in the other order": (
        frozenset({"stack-masks-exchanged"}),
        stack("memory, src_mask, tgt_mask)\n", "memory, tgt_mask, src_mask)\n"),
    ),
    "tgt_mask in the third place": (
        frozenset({"stack-mask-in-wrong-place"}),
        stack("memory, src_mask, tgt_mask)\n", "memory, tgt_mask)\n"),
    ),
    "masks forgotten in the stack": (
        frozenset({"stack-source-mask-not-passed"}),
        stack("layer(x, memory, src_mask, tgt_mask)", "layer(x, memory)"),
    ),
    "memory first": (
        frozenset({"x-and-memory-exchanged"}),
        stack("layer(x, memory, src_mask, tgt_mask)", "layer(memory, x, src_mask, tgt_mask)"),
    ),
    "memory goes through the last norm": (
        frozenset({"stack-memory-normed"}),
        stack(
            "        for layer",
            "        memory = memory if self.norm is None else self.norm(memory)\n        for layer",
        ),
    ),
    "deep copies of one layer, a norm at every end": (
        frozenset({"layers-copied", "final-norm-too-many"}),
        file(
            stack_init="""
class Decoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        layer = make_layer()
        self.layers = nn.ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.norm = nn.LayerNorm(d_model)
"""
        ),
    ),
    "dropout of the sums": (
        frozenset({"dropout-on-sum"}),
        file(
            layer_forward="""
    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        if self.norm == "pre":
            h = self.norm1(x)
            x = self.dropout(x + self.self_attn(h, h, h, tgt_mask))
            h = self.norm2(x)
            x = self.dropout(x + self.cross_attn(h, memory, memory, src_mask))
            return self.dropout(x + self.ff(self.norm3(x)))
        x = self.norm1(self.dropout(x + self.self_attn(x, x, x, tgt_mask)))
        x = self.norm2(self.dropout(x + self.cross_attn(x, memory, memory, src_mask)))
        return self.norm3(self.dropout(x + self.ff(x)))
"""
        ),
    ),
    "two norms for three sublayers": (
        frozenset({"norm-shared"}),
        file(
            layer_init=LAYER_INIT.replace("        self.norm3 = nn.LayerNorm(d_model)\n", ""),
            layer_forward=LAYER_FORWARD.replace("self.norm3", "self.norm2"),
        ),
    ),
}
