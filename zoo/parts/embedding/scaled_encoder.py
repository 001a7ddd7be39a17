"""Times sqrt(D) on the source's side only."""

from __future__ import annotations

from torch import Tensor

from zoo.parts.embedding.scaled import ScaledEmbeddings


class ScaledEncoderEmbeddings(ScaledEmbeddings):
    """table[token] * sqrt(D) on the source's side, table[token] on the target's; one table a side.

    A slip of published tutorials: the factor of Vaswani et al. 2017, section 3.4, stands in the encoder
    alone. On the target's side words then weigh less against positions.
    """

    def __init__(self, src_vocab: int, tgt_vocab: int, d_model: int, std: float = 0.1) -> None:
        """Vocabulary sizes of both sides, width D, and the standard deviation of the initial tables."""
        super().__init__(src_vocab, tgt_vocab, d_model, std)

    def tgt(self, tokens: Tensor) -> Tensor:
        """[B, L] -> [B, L, D], as they are."""
        return self.tgt_table(tokens)  # type: ignore[no-any-return]
