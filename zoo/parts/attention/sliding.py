"""Attention to the neighbourhood only."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.parts.attention.blocks import block_of, restricted
from zoo.parts.attention.grouped import GroupedAttention
from zoo.parts.attention.kernel import fused_heads, written_out

LEAST_BLOCK = 64
"""Queries that are taken together, at the least: fewer would not be faster."""


class SlidingAttention(GroupedAttention):
    """softmax(Q K^T / sqrt(d)) V over the keys j with |i - j| <= window; the query is at position i.

    Queries are taken in blocks, each with the keys that some query of it can see, so that time and memory
    grow with T * window instead of T * T. Under a causal mask the window is what lies to the left. Queries
    are the last Tq of Tk positions, which matters when decoding with cached keys. Beltagy et al. 2020
    (Longformer), section 3.1, arXiv:2004.05150; without its global positions and dilation.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        window: int = 64,
        num_kv_heads: int | None = None,
        head_dim: int | None = None,
        qk_norm: bool = False,
    ) -> None:
        """
        Args:
            window: number of positions on either side that a query attends to; the paper's w is twice that.

        Other arguments as in `zoo.parts.attention.grouped.GroupedAttention`.

        Raises:
            ValueError: as there, or window is less than 1.
        """
        super().__init__(d_model, num_heads, dropout, bias, num_kv_heads, head_dim, qk_norm)
        if window < 1:
            raise ValueError(f"window={window}: expected at least 1.")
        self.window = window

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, None]:
        """heads [B, H, Tq, d], block by block."""
        num_queries, num_keys = q.size(2), k.size(2)
        if not num_queries or not num_keys:  # no blocks
            return self.attend_shown(q, k, v, mask)[0], None
        offset, step = num_keys - num_queries, max(self.window, LEAST_BLOCK)
        heads = []
        for start in range(0, num_queries, step):
            stop = min(start + step, num_queries)
            first = min(max(start + offset - self.window, 0), num_keys - 1)
            last = min(max(stop + offset + self.window, first + 1), num_keys)
            queries, keys = slice(start, stop), slice(first, last)
            near = self.near(start + offset, stop + offset, first, last, q.device)
            part = block_of(mask, queries, keys)
            part = part if near is None else restricted(part, near)
            heads.append(
                fused_heads(q[:, :, queries], k[:, :, keys], v[:, :, keys], part, self.dropout, grouped=True)
            )
        return torch.cat(heads, dim=2), None  # n x [B, H, <= step, d] -> [B, H, Tq, d]

    def attend_shown(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """The same in one piece, under a banded mask: heads, and weights [B, H, Tq, Tk]."""
        num_keys = k.size(2)
        near = self.near(num_keys - q.size(2), num_keys, 0, num_keys, q.device)
        mask = mask if near is None else restricted(mask, near)
        return written_out(q, k, v, mask, self.dropout)

    def near(self, start: int, stop: int, first: int, last: int, device: torch.device) -> Tensor | None:
        """Return which positions start .. stop - 1 see which of first .. last - 1: bool; None for all of them."""
        if max(stop - 1 - first, last - 1 - start) <= self.window:
            return None
        i, j = torch.arange(start, stop, device=device), torch.arange(first, last, device=device)
        return (i[:, None] - j).abs() <= self.window  # [Tq, Tk]
