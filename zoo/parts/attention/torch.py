"""Torch's own multi-head attention."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from zoo.parts.attention.base import check_heads, in_type
from zoo.parts.attention.packed import keep_canonical_names
from zoo.parts.values import require

HEADS_DIFFER = (
    "nn.MultiheadAttention cannot blank a row that is fully masked in some heads only; use attention=eager or "
    "attention=fused for this mask."
)


class TorchAttention(nn.MultiheadAttention):
    """`nn.MultiheadAttention`, with the mask inverted and fully masked rows made safe.

    torch's boolean mask means True = may NOT be attended to; here, as everywhere in the zoo, it is
    True = may. A fully masked row is NaN or not there, depending on flags and modes
    (pytorch/pytorch#103963); here it attends to nothing, and the output is that of zero heads.
    """

    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True) -> None:
        """Arguments and errors as in `zoo.parts.attention.base.MultiHeadAttention`."""
        check_heads(d_model, num_heads)
        super().__init__(d_model, num_heads, dropout=dropout, bias=bias, batch_first=True)
        keep_canonical_names(self, "in_proj_", (d_model,) * 3)

    def forward(  # type: ignore[override]  # the zoo's arguments, not torch's
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """query [B, Tq, D], key and value [B, Tk, D], mask as in the other variants -> [B, Tq, D]."""
        return self._run(query, key, value, mask, need_weights=False)[0]

    def forward_with_weights(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """`forward`, and the weights [B, H, Tq, Tk] it used (after dropout in train mode)."""
        out, weights = self._run(query, key, value, mask, need_weights=True)
        assert weights is not None  # asked for
        return out, weights

    def _run(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        mask = in_type(mask, query.dtype)
        if mask is None or 0 in (query.numel(), key.numel()):  # an empty mask hides nothing; torch refuses it
            return self._theirs(query, key, value, None, need_weights)
        open_ = (mask if mask.dtype == torch.bool else mask != float("-inf")).any(dim=-1, keepdim=True)
        if open_.dim() >= 3 and open_.size(-3) > 1:
            check_alike(open_)
        drop = ~mask & open_ if mask.dtype == torch.bool else mask.masked_fill(~open_, 0.0)
        shape = (query.size(0), self.num_heads, query.size(1), key.size(1))
        out, weights = self._theirs(
            query, key, value, drop.expand(shape).flatten(0, 1), need_weights
        )  # [B*H, Tq, Tk]
        open_ = open_.expand(*shape[:3], 1)  # [B, H, Tq, 1]
        if weights is not None:
            weights = weights.masked_fill(~open_, 0.0)
        bias = self.out_proj.bias
        closed = out.new_zeros(()) if bias is None else bias  # what zero heads give
        return torch.where(open_[:, 0], out, closed), weights

    def _theirs(
        self, query: Tensor, key: Tensor, value: Tensor, drop: Tensor | None, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        out, weights = super().forward(
            query, key, value, attn_mask=drop, need_weights=need_weights, average_attn_weights=False
        )
        return out, weights


def check_alike(open_: Tensor) -> None:
    """Raises ValueError (RuntimeError where compiled or exported) unless rows are open [.., H, Tq, 1] in all heads
    or in none."""
    require((open_.any(dim=-3) == open_.all(dim=-3)).all(), HEADS_DIFFER)
