"""Hints for `norm.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

HINTS: Mapping[str, Sequence[str]] = {
    "LayerNorm": (
        "Four steps over the last dimension: subtract the mean, take the mean of the squared deviations (the biased "
        "variance), divide by the square root of variance plus eps, then apply gain and bias.",
        "mean(dim=-1, keepdim=True) keeps the dimension, so that the subtraction broadcasts. gain and bias are "
        "nn.Parameters of d_model ones and zeros. Square the deviations: mean(x^2) - mean(x)^2 is inexact for "
        "large values.",
        "centred = x - x.mean(-1, keepdim=True); var = centred.square().mean(-1, keepdim=True); return self.gain * "
        "centred / torch.sqrt(var + self.eps) + self.bias. For bfloat16, compute in x.float() and return "
        ".to(x.dtype).",
    ),
    "PreNorm": (
        "Only the input of the sublayer is normalized. The x that is added at the end is not.",
        "Store norm, sublayer and an nn.Dropout as attributes. The sublayer gets norm(x) and the other arguments; "
        "dropout is applied to its output, before the sum.",
        "return x + self.dropout(self.sublayer(self.norm(x), *args, **kwargs)).",
    ),
    "PostNorm": (
        "The norm comes last: the sublayer gets x itself, and the sum of both is normalized.",
        "Store norm, sublayer and an nn.Dropout as attributes. The sublayer gets x and the other arguments; dropout "
        "is applied to its output, then the sum, then the norm.",
        "return self.norm(x + self.dropout(self.sublayer(x, *args, **kwargs))).",
    ),
}
