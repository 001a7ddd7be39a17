"""Exact attention in memory that does not grow with Tq * Tk."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from zoo.parts.attention.base import MultiHeadAttention
from zoo.parts.attention.blocks import block_of
from zoo.parts.values import within_func


class ChunkedAttention(MultiHeadAttention):
    """softmax(Q K^T / sqrt(d)) V, a chunk of keys after the other; never forms all scores.

    With s the scores of a chunk, and m, l, o what its forerunners left (-inf, 0, 0 at first):

        m' = max(m, max_k s);  l' = e^(m - m') l + sum_k e^(s - m');  o' = e^(m - m') o + e^(s - m') V

    and in the end out = o / l. The backward pass recomputes each chunk's scores, so that training too
    takes memory for Tq * chunk of them only. Rabe and Staats 2021, arXiv:2112.05682, section 2 and 4;
    queries are not split. Dropout is applied to e^(s - m') in front of V, not to l: that is dropout of the weights.
    """

    def __init__(
        self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True, chunk: int = 256
    ) -> None:
        """
        Args:
            chunk: number of keys processed together.

        Other arguments as in `zoo.parts.attention.base.MultiHeadAttention`.

        Raises:
            ValueError: H does not divide D, or chunk is less than 1.
        """
        super().__init__(d_model, num_heads, dropout, bias)
        if chunk < 1:
            raise ValueError(f"chunk={chunk}: expected at least 1.")
        self.chunk = chunk

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, None]:
        """heads [B, H, Tq, d]."""
        wide = torch.promote_types(
            q.dtype, torch.float32
        )  # sums over chunks of bfloat16 would round each time
        top = q.new_full((*q.shape[:-1], 1), torch.finfo(wide).min, dtype=wide)  # m: [B, H, Tq, 1]
        total = torch.zeros_like(top)  # l: [B, H, Tq, 1]
        heads = torch.zeros_like(q, dtype=wide)  # o: [B, H, Tq, d]
        for start in range(0, k.size(2), self.chunk):
            keys = slice(start, start + self.chunk)
            part = block_of(mask, slice(None), keys)
            higher, more_total, more_heads = self.look_at(q, k[:, :, keys], v[:, :, keys], part, top)
            shrink = (top - higher).exp()
            total, heads = total * shrink + more_total, heads * shrink + more_heads
            top = higher
        heads = heads / total.masked_fill(total == 0, 1.0)  # 0 only where nothing may be attended to
        return heads.to(q.dtype), None

    def look_at(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, top: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """`_chunk`, with its inner results recomputed in the backward pass instead of being kept.

        In `torch.func.grad` they are kept.
        """
        if within_func(q) or not torch.is_grad_enabled():  # torch.func knows no checkpoints
            return self._chunk(q, k, v, mask, top)
        dropping = self.training and self.dropout.p > 0
        return checkpoint(  # type: ignore[no-any-return]
            self._chunk, q, k, v, mask, top, use_reentrant=False, preserve_rng_state=dropping
        )

    def _chunk(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, top: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The new m [B, H, Tq, 1], and what a chunk k, v [B, H, C, d] adds to l and o."""
        scores = (q @ k.transpose(-2, -1) * self.head_width**-0.5).to(top.dtype)  # [B, H, Tq, C]
        keep = None
        if mask is not None:
            keep = mask if mask.dtype == torch.bool else mask != float("-inf")
            if mask.dtype != torch.bool:
                scores = scores + mask
            scores = scores.masked_fill(~keep, torch.finfo(scores.dtype).min)  # -inf would make gradients NaN
        higher = torch.maximum(top, scores.detach().amax(dim=-1, keepdim=True))  # any constant would do
        weights = (scores - higher).exp()  # [B, H, Tq, C]
        if keep is not None:
            weights = weights.masked_fill(~keep, 0.0)
        return (
            higher,
            weights.sum(dim=-1, keepdim=True),
            (self.dropout(weights).to(v.dtype) @ v).to(top.dtype),
        )
