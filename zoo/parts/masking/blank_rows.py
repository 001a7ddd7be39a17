"""Padding hidden as a query."""

from __future__ import annotations

from torch import Tensor

from zoo.parts.masking.base import Masking, causal_keep, padding_keep


class BlankRowsMasking(Masking):
    """On the target's side, padding is hidden as a query instead of as a key: whole rows are masked.

    Where padding stands at the end, the causal mask hides it from all real queries, so that only what
    padded positions compute differs from `full`. What they compute depends on how the attention treats a
    row without a key: exactly 0, or with a finite fill (attention=filled) the mean over all values.
    """

    def src(self, tokens: Tensor) -> Tensor:
        """tokens [B, S] -> [B, 1, 1, S]."""
        return padding_keep(tokens, self.pad)

    def tgt(self, tokens: Tensor, num_queries: int) -> Tensor:
        """tokens [B, L] -> [B, 1, num_queries, L]."""
        row = (tokens[:, -num_queries:] != self.pad)[:, None, :, None]  # [B, Tq] -> [B, 1, Tq, 1]
        return row & causal_keep(num_queries, tokens.size(1), tokens.device)  # [B,1,Tq,1] & [1,1,Tq,L]
