"""A learned key for each distance."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from zoo.parts.encoding.base import Encoding, Positions
from zoo.parts.encoding.bias import offsets


class ShawPositions(Encoding):
    """q_i . a[clip(j - i, -k, k)] / sqrt(d) is added to the score of query i and key j.

    The 2k + 1 learned vectors [d] are shared by the heads and by the layers of a stack. The paper has such
    vectors for the values too; here are those of the keys alone (its equation 4), which in its own ablation,
    on translation, did as well as both. Shaw et al. 2018, section 3, arXiv:1803.02155.
    """

    def __init__(
        self,
        d_model: int,
        max_len: int,
        head_dim: int,
        clip: int = 16,
        std: float = 0.02,
    ) -> None:
        """
        Args:
            d_model: width D.
            max_len: longest sequence.
            head_dim: width d of a head, and of a vector.
            clip: k, distance from which all share one vector.
            std: standard deviation of the initial vectors.
        """
        super().__init__(max_len)
        self.clip = clip
        self.table = nn.Parameter(torch.empty(2 * clip + 1, head_dim).normal_(std=std))

    def positions(self, num_queries: int, num_keys: int, like: Tensor) -> Positions:
        """For the last `num_queries` of `num_keys` positions. Raises ValueError if num_keys > max_len."""
        offset = offsets(num_queries, self.check_length(num_keys), like.device)  # [Tq, Tk]
        return RelativeKeys(self.table, offset.clamp(-self.clip, self.clip) + self.clip)


class RelativeKeys(Positions):
    """Adds the product of each query with the vector of each distance."""

    def __init__(self, table: Tensor, rows: Tensor) -> None:
        """`table` [2k + 1, d], and which row of it each query and key take: [Tq, Tk]."""
        self.table, self.rows = table, rows

    def bias(self, q: Tensor) -> Tensor:
        """q [B, H, Tq, d] -> [B, H, Tq, Tk]. Each product is made once, however often its distance occurs."""
        products: Tensor = q @ self.table.to(q.dtype).T * q.size(-1) ** -0.5  # [B, H, Tq, 2k + 1]
        rows: Tensor = self.rows.expand(*q.shape[:2], -1, -1)  # [Tq, Tk] -> [B, H, Tq, Tk]
        return products.gather(-1, rows)  # [B, H, Tq, 2k + 1] -> [B, H, Tq, Tk]
