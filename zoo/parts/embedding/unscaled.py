"""One table a side."""

from __future__ import annotations

from torch import Tensor

from zoo.parts.embedding.base import Embeddings, make_table


class UnscaledEmbeddings(Embeddings):
    """table[token], without the factor sqrt(D): as in GPT (Radford et al. 2018)."""

    def __init__(self, src_vocab: int, tgt_vocab: int, d_model: int, std: float = 0.1) -> None:
        """Vocabulary sizes of both sides, width D, and the standard deviation of the initial tables."""
        super().__init__()
        self.src_table = make_table(src_vocab, d_model, std)
        self.tgt_table = make_table(tgt_vocab, d_model, std)

    def src(self, tokens: Tensor) -> Tensor:
        """[B, S] -> [B, S, D]."""
        return self.src_table(tokens)  # type: ignore[no-any-return]

    def tgt(self, tokens: Tensor) -> Tensor:
        """[B, L] -> [B, L, D]."""
        return self.tgt_table(tokens)  # type: ignore[no-any-return]
