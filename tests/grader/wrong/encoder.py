"""Wrong encoders as beginners write them."""

from __future__ import annotations

from collections.abc import Mapping

IMPORTS = """
import copy
import torch
import torch.nn.functional as F
from torch import nn

"""
LAYER_INIT = """
class EncoderLayer(nn.Module):
    def __init__(self, self_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.attention = self_attention
        self.ff = feed_forward
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout1 = nn.Dropout(dropout)
        self.dropout2 = nn.Dropout(dropout)
        self.norm = norm
"""
LAYER_FORWARD = """
    def forward(self, x, src_mask=None):
        if self.norm == "pre":
            h = self.norm1(x)
            x = x + self.dropout1(self.attention(h, h, h, src_mask))
            h = self.norm2(x)
            return x + self.dropout2(self.ff(h))
        x = self.norm1(x + self.dropout1(self.attention(x, x, x, src_mask)))
        return self.norm2(x + self.dropout2(self.ff(x)))
"""
STACK_INIT = """
class Encoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.layers = nn.ModuleList([make_layer() for _ in range(num_layers)])
        self.norm = nn.LayerNorm(d_model) if norm == "pre" else None
"""
STACK_FORWARD = """
    def forward(self, x, src_mask=None):
        for layer in self.layers:
            x = layer(x, src_mask)
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


WRONG: Mapping[str, tuple[frozenset[str], str]] = {
    "layers made and not kept": (
        frozenset({"layers-not-kept"}),
        file(
            stack_init=STACK_INIT.replace("[make_layer() for _ in range(num_layers)]", "").replace(
                "self.norm =", "[make_layer() for _ in range(num_layers)]\n        self.norm ="
            )
        ),
    ),
    "as in the annotated transformer: pre-norm whatever is asked for": (
        frozenset({"always-pre-norm"}),
        file(
            layer_forward="""
    def forward(self, x, src_mask=None):
        y = self.norm1(x)
        x = x + self.dropout1(self.attention(y, y, y, src_mask))
        return x + self.dropout2(self.ff(self.norm2(x)))
"""
        ),
    ),
    "the stream is normed in pre-norm": (
        frozenset({"residual-from-normed"}),
        file(
            layer_forward="""
    def forward(self, x, src_mask=None):
        if self.norm == "pre":
            x = self.norm1(x)
            x = x + self.dropout1(self.attention(x, x, x, src_mask))
            x = self.norm2(x)
            return x + self.dropout2(self.ff(x))
        x = self.norm1(x + self.dropout1(self.attention(x, x, x, src_mask)))
        return self.norm2(x + self.dropout2(self.ff(x)))
"""
        ),
    ),
    "the residual is kept once": (
        frozenset({"residual-from-layer-input"}),
        file(
            layer_forward="""
    def forward(self, x, src_mask=None):
        residual = x
        if self.norm == "pre":
            x = self.norm1(x)
            x = residual + self.dropout1(self.attention(x, x, x, src_mask))
            x = residual + self.dropout2(self.ff(self.norm2(x)))
            return x
        x = self.norm1(residual + self.dropout1(self.attention(x, x, x, src_mask)))
        return self.norm2(residual + self.dropout2(self.ff(x)))
"""
        ),
    ),
    "only the query is normed": (
        frozenset({"attention-half-normed"}),
        file(
            layer_forward=LAYER_FORWARD.replace(
                "self.attention(h, h, h, src_mask)", "self.attention(h, x, x, src_mask)"
            )
        ),
    ),
    "one norm for both": (
        frozenset({"norm-shared"}),
        file(
            layer_init=LAYER_INIT.replace(
                "        self.norm2 = nn.LayerNorm(d_model)\n", "        self.norm2 = self.norm1\n"
            )
        ),
    ),
    "the second norm is forgotten in forward": (
        frozenset({"wrong-norm-used"}),
        file(layer_forward=LAYER_FORWARD.replace("self.norm2", "self.norm1")),
    ),
    "no mask": (
        frozenset({"mask-not-passed"}),
        file(
            layer_forward=LAYER_FORWARD.replace("h, h, h, src_mask", "h, h, h").replace(
                "x, x, x, src_mask", "x, x, x"
            )
        ),
    ),
    "the mask turned round for torch": (
        frozenset({"mask-inverted"}),
        file(
            layer_forward=LAYER_FORWARD.replace(
                "        if self.norm",
                "        if src_mask is not None:\n            src_mask = src_mask == 0\n        if self.norm",
            )
        ),
    ),
    "one more dimension for the heads": (
        frozenset({"mask-converted"}),
        file(
            layer_forward=LAYER_FORWARD.replace(
                "        if self.norm",
                "        if src_mask is not None:\n            src_mask = src_mask.unsqueeze(1)\n        if self.norm",
            )
        ),
    ),
    "dropout around the sum": (
        frozenset({"dropout-on-sum"}),
        file(
            layer_forward="""
    def forward(self, x, src_mask=None):
        if self.norm == "pre":
            h = self.norm1(x)
            x = self.dropout1(x + self.attention(h, h, h, src_mask))
            return self.dropout2(x + self.ff(self.norm2(x)))
        x = self.norm1(self.dropout1(x + self.attention(x, x, x, src_mask)))
        return self.norm2(self.dropout2(x + self.ff(x)))
"""
        ),
    ),
    "dropout of the feed-forward network only": (
        frozenset({"dropout-missing"}),
        file(
            layer_forward=LAYER_FORWARD.replace(
                "self.dropout1(self.attention(h, h, h, src_mask))", "self.attention(h, h, h, src_mask)"
            ).replace("self.dropout1(self.attention(x, x, x, src_mask))", "self.attention(x, x, x, src_mask)")
        ),
    ),
    "F.dropout without training": (
        frozenset({"dropout-in-eval"}),
        file(layer_init=LAYER_INIT.replace("nn.Dropout(dropout)", "lambda x: F.dropout(x, dropout)")),
    ),
    "a rate of its own": (
        frozenset({"dropout-hard-coded"}),
        file(layer_init=LAYER_INIT.replace("nn.Dropout(dropout)", "nn.Dropout(0.1)")),
    ),
    "x += in the residual": (
        frozenset({"layer-input-changed"}),
        file(
            layer_forward="""
    def forward(self, x, src_mask=None):
        if self.norm == "pre":
            h = self.norm1(x)
            x += self.dropout1(self.attention(h, h, h, src_mask))
            x += self.dropout2(self.ff(self.norm2(x)))
            return x
        x = self.norm1(x + self.dropout1(self.attention(x, x, x, src_mask)))
        return self.norm2(x + self.dropout2(self.ff(x)))
"""
        ),
    ),
    "own norm with torch's std": (
        frozenset({"norm-unbiased", "norm-eps"}),
        IMPORTS
        + """
class Norm(nn.Module):
    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.a_2 = nn.Parameter(torch.ones(features))
        self.b_2 = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        std = x.std(-1, keepdim=True)
        return self.a_2 * (x - mean) / (std + self.eps) + self.b_2

"""
        + (LAYER_INIT + LAYER_FORWARD + "\n" + STACK_INIT + STACK_FORWARD).replace("nn.LayerNorm", "Norm"),
    ),
    "layers copied from one": (
        frozenset({"layers-copied"}),
        file(
            stack_init=STACK_INIT.replace(
                "[make_layer() for _ in range(num_layers)]",
                "[copy.deepcopy(layer) for _ in range(num_layers)]",
            ).replace("super().__init__()\n", "super().__init__()\n        layer = make_layer()\n")
        ),
    ),
    "one layer times num_layers": (
        frozenset({"one-layer-repeated"}),
        file(
            stack_init=STACK_INIT.replace(
                "[make_layer() for _ in range(num_layers)]", "[make_layer()] * num_layers"
            )
        ),
    ),
    "a plain list of layers": (
        frozenset({"layers-not-registered"}),
        file(
            stack_init=STACK_INIT.replace(
                "nn.ModuleList([make_layer() for _ in range(num_layers)])",
                "[make_layer() for _ in range(num_layers)]",
            )
        ),
    ),
    "each layer gets the input": (
        frozenset({"loop-forgets"}),
        file(
            stack_forward="""
    def forward(self, x, src_mask=None):
        for layer in self.layers:
            out = layer(x, src_mask)
        return self.norm(out) if self.norm is not None else out
"""
        ),
    ),
    "a last norm in every stack": (
        frozenset({"final-norm-too-many"}),
        file(stack_init=STACK_INIT.replace(' if norm == "pre" else None', "")),
    ),
    "the last norm in the loop": (
        frozenset({"final-norm-in-loop"}),
        file(
            stack_forward="""
    def forward(self, x, src_mask=None):
        for layer in self.layers:
            x = layer(x, src_mask)
            if self.norm is not None:
                x = self.norm(x)
        return x
"""
        ),
    ),
    "no last norm, and no mask for the layers": (
        frozenset({"final-norm-missing", "stack-mask-not-passed"}),
        file(
            stack_init=STACK_INIT.replace('nn.LayerNorm(d_model) if norm == "pre" else None', "None"),
            stack_forward=STACK_FORWARD.replace("layer(x, src_mask)", "layer(x)"),
        ),
    ),
    "xavier over everything": (
        frozenset({"parts-reset"}),
        file(
            stack_init=STACK_INIT
            + "        for p in self.parameters():\n"
            + "            if p.dim() > 1:\n                nn.init.xavier_uniform_(p)\n"
        ),
    ),
    "no mask for one position": (
        frozenset({"mask-unused-at-length-one", "mask-not-passed"}),
        file(
            layer_forward=LAYER_FORWARD.replace(
                "        if self.norm",
                "        src_mask = src_mask if x.size(1) > 1 else None\n        if self.norm",
            )
        ),
    ),
    "parts wrapped in a list": (
        frozenset({"part-not-registered"}),
        file(
            layer_init=LAYER_INIT.replace(
                "self.attention = self_attention", "self.sublayers = [self_attention, feed_forward]"
            ).replace("        self.ff = feed_forward\n", ""),
            layer_forward=LAYER_FORWARD.replace("self.attention(", "self.sublayers[0](").replace(
                "self.ff(", "self.sublayers[1]("
            ),
        ),
    ),
    "no return": (
        frozenset({"nothing-returned"}),
        file(stack_forward=STACK_FORWARD.replace("        return x\n", "")),
    ),
}
