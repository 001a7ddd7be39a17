"""Every head is a module of its own (ModuleList), the output projection a sum over heads with one ParameterDict bias; mask by addition."""

from typing import List, Optional, Tuple, Union

import torch
from torch import Tensor, nn


def _as_additive(mask: Tensor, dtype: torch.dtype) -> Tensor:
    if mask.dtype is torch.bool:
        return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(~mask, float("-inf"))
    return mask


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor] = None
) -> List[Tensor]:
    logits: Tensor = (query @ key.mT).mul(key.shape[-1] ** -0.5)
    if mask is None:
        weights = logits.softmax(-1)
    else:
        bias = _as_additive(mask, logits.dtype)
        # inf - inf would be nan, so bring the products back into the range of the type first
        logits = logits.nan_to_num() + bias
        dead = logits.isneginf().all(-1, keepdim=True)
        weights = logits.masked_fill(dead, 0).softmax(-1).masked_fill(dead, 0)
    return [weights @ value, weights]


class Head(nn.Module):
    """One narrow look: D -> d, attend, d -> D."""

    def __init__(self, d_model: int, width: int, p: float) -> None:
        super().__init__()
        for name in ("ask", "offer", "give"):
            self.add_module(name, nn.Linear(d_model, width))
        self.merge = nn.Linear(width, d_model, bias=False)
        self.drop = nn.Dropout(p)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor]) -> Tensor:
        q, k, v = self.ask(query), self.offer(key), self.give(value)
        weights = scaled_dot_product_attention(q, k, v, mask=mask)[1]
        return self.merge(self.drop(weights) @ v)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, dropout: Union[float, Tensor] = 0.0) -> None:
        width, rest = divmod(d_model, num_heads)
        if rest:
            raise ValueError(f"{num_heads} heads cannot share {d_model} columns evenly")
        super().__init__()
        self.heads = nn.ModuleList(Head(d_model, width, float(dropout)) for _ in range(num_heads))
        self.shared = nn.ParameterDict({"bias": nn.Parameter(torch.zeros(d_model))})

    def _masks(self, mask: Optional[Tensor]) -> List[Optional[Tensor]]:
        if mask is None or mask.dim() < 4:
            return [mask] * len(self.heads)
        per_head: Tuple[Tensor, ...] = mask.expand(-1, len(self.heads), -1, -1).unbind(1)
        return list(per_head)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        total = self.shared["bias"].expand_as(query)
        for head, its_mask in zip(self.heads, self._masks(mask)):
            total = total + head(query, key, value, its_mask)
        return total
