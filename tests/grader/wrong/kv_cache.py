"""Wrong cached attention as beginners write it."""

from __future__ import annotations

from collections.abc import Mapping

RIGHT_PARTS = {
    "init": """
import math
import torch
from torch import nn

class CachedAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("d_model must be divisible by num_heads")
        self.h, self.d = num_heads, d_model // num_heads
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.proj = nn.Linear(d_model, d_model)
""",
    "start": """
    def forward(self, x, cache):
        B = x.shape[0]
        q, k, v = self.qkv(x).view(B, 1, 3, self.h, self.d).permute(2, 0, 3, 1, 4)
""",
    "cache": """
        if cache is not None:
            k = torch.cat((cache["k"], k), dim=2)
            v = torch.cat((cache["v"], v), dim=2)
""",
    "attend": """
        att = (q @ k.transpose(-1, -2) / math.sqrt(self.d)).softmax(-1)
        y = (att @ v).transpose(1, 2).reshape(B, 1, -1)
""",
    "end": """
        return self.proj(y), {"k": k, "v": v}
""",
}


def file(**changed: str) -> str:
    """A file in which these parts are written in another way."""
    return "".join({**RIGHT_PARTS, **changed}.values())


WRONG: Mapping[str, tuple[frozenset[str], str]] = {
    "joined along the heads": (
        frozenset({"cache-wrong-dimension"}),
        file(
            cache="""
        if cache is not None:
            k = torch.cat((cache["k"], k), dim=1)
            v = torch.cat((cache["v"], v), dim=1)
"""
        ),
    ),
    "a causal mask of one row": (
        frozenset({"causal-mask-of-one-row"}),
        file(
            attend="""
        att = q @ k.transpose(-1, -2) / math.sqrt(self.d)
        mask = torch.tril(torch.ones(q.size(2), k.size(2), device=x.device))
        att = att.masked_fill(mask == 0, float("-inf")).softmax(-1)
        y = (att @ v).transpose(1, 2).reshape(B, 1, -1)
"""
        ),
    ),
    "kept on self": (
        frozenset({"cache-in-module"}),
        file(
            cache="""
        if getattr(self, "k", None) is not None:
            k = torch.cat((self.k, k), dim=2)
            v = torch.cat((self.v, v), dim=2)
        self.k, self.v = k.detach(), v.detach()
"""
        ),
    ),
    "kept on self as long as the batch fits": (
        frozenset({"cache-in-module"}),
        file(
            cache="""
        if hasattr(self, "k") and self.k.size(0) == B:
            k = torch.cat((self.k, k), dim=2)
            v = torch.cat((self.v, v), dim=2)
        self.k, self.v = k.detach(), v.detach()
"""
        ),
    ),
    "room in the cache, and the position on self": (
        frozenset({"sequences-mixed"}),
        file(
            cache="""
        if cache is None:
            self.t = 0
            cache = {"k": k.new_zeros(B, self.h, 999, self.d), "v": k.new_zeros(B, self.h, 999, self.d)}
        keys, values = cache["k"].clone(), cache["v"].clone()
        keys[:, :, self.t], values[:, :, self.t] = k[:, :, 0], v[:, :, 0]
        self.t += 1
        k, v = keys[:, :, : self.t], values[:, :, : self.t]
""",
            end="""
        return self.proj(y), {"k": keys, "v": values}
""",
        ),
    ),
    "the newest key only": (
        frozenset({"only-last-step-cached"}),
        file(
            cache="""
        new = {"k": k, "v": v}
        if cache is not None:
            k = torch.cat((cache["k"], k), dim=2)
            v = torch.cat((cache["v"], v), dim=2)
""",
            end="""
        return self.proj(y), new
""",
        ),
    ),
    "scaled by the whole width": (
        frozenset({"scale-wrong"}),
        file(
            attend="""
        att = (q @ k.transpose(-1, -2) / math.sqrt(x.size(-1))).softmax(-1)
        y = (att @ v).transpose(1, 2).reshape(B, 1, -1)
"""
        ),
    ),
    "values kept as keys": (
        frozenset({"keys-and-values-confused"}),
        file(
            end="""
        return self.proj(y), {"k": v, "v": v}
"""
        ),
    ),
    "weights that torch computes from others": (
        frozenset({"parameters-not-recognised"}),
        file(
            init=RIGHT_PARTS["init"]
            .replace("nn.Linear(d_model, 3", "normed(nn.Linear(d_model, 3")
            .replace("bias=False)", "bias=False))")
            .replace(
                "from torch import nn",
                "from torch import nn\nfrom torch.nn.utils.parametrizations import weight_norm as normed",
            )
        ),
    ),
    "a step of zeros taken for padding": (
        frozenset({"zeros-taken-for-padding"}),
        file(
            attend="""
        att = q @ k.transpose(-1, -2) / math.sqrt(self.d)
        att = att.masked_fill((k == 0).all(-1)[:, :, None], -1e9).softmax(-1)
        y = (att @ v).transpose(1, 2).reshape(B, 1, -1)
"""
        ),
    ),
    "room of float32 from the 33rd position on": (
        frozenset(),
        file(
            cache="""
        if cache is not None:
            k = torch.cat((cache["k"], k), dim=2)
            v = torch.cat((cache["v"], v), dim=2)
            if k.size(2) > 32:
                k, v = torch.cat((torch.zeros(0), k)), torch.cat((torch.zeros(0), v))
"""
        ),
    ),
    "a ring of 32 positions": (
        frozenset({"length-limited"}),
        file(
            cache="""
        if cache is not None:
            k = torch.cat((cache["k"][:, :, -31:], k), dim=2)
            v = torch.cat((cache["v"][:, :, -31:], v), dim=2)
"""
        ),
    ),
    "no projection at the end": (
        frozenset({"output-projection-missing"}),
        file(
            end="""
        return y, {"k": k, "v": v}
"""
        ),
    ),
    "the output alone": (
        frozenset({"cache-not-returned"}),
        file(
            end="""
        return self.proj(y)
"""
        ),
    ),
}
