"""One table for source, target and head."""

from __future__ import annotations

from torch import Tensor

from zoo.parts.embedding.base import Embeddings, check_one_vocabulary, make_table


class ThreeWayEmbeddings(Embeddings):
    """table[token] * sqrt(D) with one table for both sides, which is the weight of the model's head too.

    Vaswani et al. 2017, section 3.4, arXiv:1706.03762; Press and Wolf 2017, arXiv:1608.05859. Both sides
    must have the same vocabulary. A standard deviation of 1/sqrt(D) suits all uses: embedded vectors of
    size 1, and logits of size 1 for a normalized hidden vector.
    """

    def __init__(
        self,
        src_vocab: int,
        tgt_vocab: int,
        d_model: int,
        std: float | None = None,
        scale: float | None = None,
    ) -> None:
        """
        Args:
            src_vocab: size of the vocabulary.
            tgt_vocab: the same.
            d_model: width D.
            std: standard deviation of the initial table; 1/sqrt(D) if None.
            scale: factor on embedded vectors, not on the head; sqrt(D) if None.

        Raises:
            ValueError: there are two vocabularies.
        """
        super().__init__()
        check_one_vocabulary(src_vocab, tgt_vocab)
        self.scale = d_model**0.5 if scale is None else scale
        self.tgt_table = make_table(tgt_vocab, d_model, std)

    def src(self, tokens: Tensor) -> Tensor:
        """[B, S] -> [B, S, D]."""
        return self.tgt_table(tokens) * self.scale  # type: ignore[no-any-return]

    def tgt(self, tokens: Tensor) -> Tensor:
        """[B, L] -> [B, L, D]."""
        return self.tgt_table(tokens) * self.scale  # type: ignore[no-any-return]
