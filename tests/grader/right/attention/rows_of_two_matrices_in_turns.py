"""Attention on a single flat arena of numbers (as FSDP's FlatParameter), with the softmax in log space and double."""
import math
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Slot:
    offset: int
    shape: tuple
    stride: tuple

    def view(self, arena: Tensor) -> Tensor:
        return arena.as_strided(self.shape, self.stride, arena.storage_offset() + self.offset)


@lru_cache(maxsize=None)
def layout(D: int, H: int) -> dict:
    """Where each block is. The rows of q and of k alternate (q0 k0 q1 k1 ...), v is stored column-major, out
    row-major; the four biases stand between the matrices."""
    d = D // H
    qk, bias, v, out = 0, 2 * D * D, 2 * D * D + 3 * D, 3 * D * D + 3 * D
    return {
        "q": Slot(qk, (H, d, D), (2 * d * D, 2 * D, 1)),
        "k": Slot(qk + D, (H, d, D), (2 * d * D, 2 * D, 1)),
        "v": Slot(v, (H, d, D), (d, 1, D)),
        "out": Slot(out, (H, D, d), (d, D, 1)),
        # biases of k, out and q alternate, that of v is at the very end
        "bk": Slot(bias, (H, d), (3 * d, 3)),
        "bo": Slot(bias + 1, (D,), (3,)),
        "bq": Slot(bias + 2, (H, d), (3 * d, 3)),
        "bv": Slot(out + D * D, (H, d), (d, 1)),
    }


def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, mask=None):
    dtype = query.dtype
    q, k, v = query.double(), key.double(), value.double()
    s = q @ k.mT / math.sqrt(q.size(-1))
    if mask is None:
        log_w = s - s.logsumexp(-1, keepdim=True)
        w = log_w.exp()
    else:
        may = mask if mask.dtype == torch.bool else mask == 0
        may = may.broadcast_to(torch.broadcast_shapes(may.shape, s.shape))
        some = may.any(-1, keepdim=True)
        # a row without keys is evaluated as if it had all of them with score 0, then emptied
        s = torch.where(may, s, torch.where(some, -torch.inf, 0.0).to(s))
        w = (s - s.logsumexp(-1, keepdim=True)).exp() * some
    return (w @ v).to(dtype), w.to(dtype)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model <= 0 or num_heads <= 0 or d_model % num_heads != 0:
            raise ValueError(f"{num_heads} heads do not fit in a width of {d_model}")
        if not 0.0 <= dropout <= 1.0:
            raise ValueError(f"dropout {dropout} is no probability")
        self.D, self.H, self.p = d_model, num_heads, dropout
        self.arena = nn.Parameter(torch.zeros(4 * d_model * (d_model + 1)))
        with torch.no_grad():
            slots = layout(d_model, num_heads)
            for name in ("q", "k", "v", "out"):
                view = slots[name].view(self.arena)
                square = torch.empty(d_model, d_model)
                nn.init.orthogonal_(square)
                if name == "out":
                    view.copy_(square.view(d_model, num_heads, -1).transpose(0, 1))
                else:
                    view.copy_(square.view(num_heads, -1, d_model))

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask=None) -> Tensor:
        p = {name: slot.view(self.arena) for name, slot in layout(self.D, self.H).items()}

        def heads(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
            return torch.einsum("bti,hci->bhtc", x, w) + b[:, None, :]

        q = heads(query, p["q"], p["bq"])
        k = heads(key, p["k"], p["bk"])
        v = heads(value, p["v"], p["bv"])
        output, weights = scaled_dot_product_attention(q, k, v, mask)
        if self.training and self.p > 0:
            output = torch.dropout(weights, self.p, True) @ v
        return torch.einsum("bhtc,hoc->bto", output, p["out"]) + p["bo"]
