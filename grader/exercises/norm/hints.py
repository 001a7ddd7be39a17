"""Hints for `norm.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

HINTS: Mapping[str, Sequence[str]] = {
    "LayerNorm": (
        "Four steps over the last dimension: take the mean away, take the mean of the squares of what is left (that is "
        "the biased variance), divide by the root of it plus eps, then gain and bias.",
        "mean(dim=-1, keepdim=True) keeps the dimension, so that the subtraction fits. gain and bias are "
        "nn.Parameters of d_model ones and zeros. Square the deviations themselves: a difference of two means of "
        "squares loses all digits for large numbers.",
        "centred = x - x.mean(-1, keepdim=True); var = centred.square().mean(-1, keepdim=True); return self.gain * "
        "centred / torch.sqrt(var + self.eps) + self.bias. For bfloat16, calculate in x.float() and return "
        ".to(x.dtype).",
    ),
    "PreNorm": (
        "The norm stands on the way into the sublayer only. What is added at the end is the x that came in.",
        "Keep norm, sublayer and an nn.Dropout as attributes. The rest of the arguments goes to the sublayer, after "
        "the normed x; the dropout takes the sublayer's output, before the sum.",
        "return x + self.dropout(self.sublayer(self.norm(x), *args, **kwargs)).",
    ),
    "PostNorm": (
        "The norm comes last: the sublayer sees x as it is, and the sum of both is normed.",
        "Keep norm, sublayer and an nn.Dropout as attributes. The sublayer gets x and the rest of the arguments; "
        "dropout on its output, then the sum, then the norm.",
        "return self.norm(x + self.dropout(self.sublayer(x, *args, **kwargs))).",
    ),
}
