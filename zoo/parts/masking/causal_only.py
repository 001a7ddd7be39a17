"""The causal mask alone."""

from __future__ import annotations

from torch import Tensor

from zoo.parts.masking.base import Masking, causal_keep


class CausalOnlyMasking(Masking):
    """No position of the target attends to a later one; padding is attended to like anything else.

    An answer then depends on how much padding its source was given. Enough for sequences of one length.
    """

    def src(self, tokens: Tensor) -> None:
        """None: everything may be attended to."""

    def tgt(self, tokens: Tensor, num_queries: int) -> Tensor | None:
        """tokens [B, L] -> [1, 1, num_queries, L]."""
        return None if num_queries == 1 else causal_keep(num_queries, tokens.size(1), tokens.device)
