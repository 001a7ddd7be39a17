"""Padding and causal masks."""

from __future__ import annotations

from torch import Tensor

from zoo.parts.masking.base import Masking, causal_keep, padding_keep


class FullMasking(Masking):
    """Nobody attends to padding, and on the target's side nobody to later positions.

    Padded queries keep their row: what they compute is not used. Vaswani et al. 2017, section 3.2.3.
    """

    def src(self, tokens: Tensor) -> Tensor:
        """tokens [B, S] -> [B, 1, 1, S]."""
        return padding_keep(tokens, self.pad)

    def tgt(self, tokens: Tensor, num_queries: int) -> Tensor:
        """tokens [B, L] -> broadcasts to [B, 1, num_queries, L]."""
        keep = padding_keep(tokens, self.pad)
        if num_queries == 1:  # the last position: nothing comes later
            return keep
        return causal_keep(num_queries, tokens.size(1), tokens.device) & keep  # [1,1,Tq,L] & [B,1,1,L]

    def real(self, tokens: Tensor) -> Tensor:
        """All but padding: [B, T]."""
        return tokens != self.pad
