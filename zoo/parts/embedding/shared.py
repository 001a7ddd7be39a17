"""One table for both sides."""

from __future__ import annotations

from torch import Tensor

from zoo.parts.embedding.base import Embeddings, check_one_vocabulary, make_table


class SharedEmbeddings(Embeddings):
    """table[token] with the same table for source and target, unscaled.

    Sharing: Press and Wolf 2017, arXiv:1608.05859; Vaswani et al. 2017, section 3.4. Both sides must
    have the same vocabulary.
    """

    def __init__(self, src_vocab: int, tgt_vocab: int, d_model: int, std: float = 0.1) -> None:
        """The vocabulary size (given twice, and equal), width D, standard deviation of the initial table.

        Raises ValueError if there are two vocabularies.
        """
        super().__init__()
        check_one_vocabulary(src_vocab, tgt_vocab)
        self.table = make_table(src_vocab, d_model, std)

    def src(self, tokens: Tensor) -> Tensor:
        """[B, S] -> [B, S, D]."""
        return self.table(tokens)  # type: ignore[no-any-return]

    def tgt(self, tokens: Tensor) -> Tensor:
        """[B, L] -> [B, L, D]."""
        return self.table(tokens)  # type: ignore[no-any-return]
