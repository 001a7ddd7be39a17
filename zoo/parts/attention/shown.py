"""An attention that shows weights which its fast way never forms."""

from __future__ import annotations

from abc import abstractmethod

from torch import Tensor

from zoo.parts.attention.base import WeightedAttention
from zoo.parts.encoding.base import Positions


class ShownAttention(WeightedAttention):
    """`attend` is fast and gives heads alone; `attend_shown` gives the same heads, and the weights."""

    @abstractmethod
    def attend_shown(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """heads [B, H, Tq, d] and weights [B, H, Tq, Tk], from what `attend` takes."""

    def forward_with_weights(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        *,
        positions: Positions | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return what `forward` gives, and the weights [B, H, Tq, Tk] behind it (before dropout in train mode)."""
        heads, weights = self.attend_shown(*self.prepare(query, key, value, mask, positions=positions))
        return self.out_proj(self.merge(heads)), weights
