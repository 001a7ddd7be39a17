"""One table a side, times sqrt(D)."""

from __future__ import annotations

from torch import Tensor

from zoo.parts.embedding.base import Embeddings, make_table


class ScaledEmbeddings(Embeddings):
    """table[token] * sqrt(D): Vaswani et al. 2017, section 3.4.

    By itself the table starts with standard deviation 1/sqrt(D), so that vectors enter the model with a
    size of 1 and do not drown the positions.
    """

    def __init__(self, src_vocab: int, tgt_vocab: int, d_model: int, std: float | None = None) -> None:
        """Vocabulary sizes of both sides, width D, and the standard deviation of the initial tables
        (1/sqrt(D) if None)."""
        super().__init__()
        self.scale = d_model**0.5
        self.src_table = make_table(src_vocab, d_model, std)
        self.tgt_table = make_table(tgt_vocab, d_model, std)

    def src(self, tokens: Tensor) -> Tensor:
        """[B, S] -> [B, S, D]."""
        return self.src_table(tokens) * self.scale  # type: ignore[no-any-return]

    def tgt(self, tokens: Tensor) -> Tensor:
        """[B, L] -> [B, L, D]."""
        return self.tgt_table(tokens) * self.scale  # type: ignore[no-any-return]
