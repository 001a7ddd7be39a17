"""The target's table is the head's weight too."""

from __future__ import annotations

from zoo.parts.embedding.scaled import ScaledEmbeddings


class TiedEmbeddings(ScaledEmbeddings):
    """One table a side; the model's head takes `tgt_table` for its weight. Vectors are `scale` times their row.

    Press and Wolf 2017, arXiv:1608.05859. A standard deviation of 1/sqrt(D) suits both uses: embedded vectors
    of size 1, and logits of size 1 for a normalized hidden vector.
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
            src_vocab: size of the source vocabulary.
            tgt_vocab: size of the target vocabulary.
            d_model: width D.
            std: standard deviation of the initial tables; 1/sqrt(D) if None.
            scale: factor on embedded vectors, not on the head; sqrt(D) if None.
        """
        super().__init__(src_vocab, tgt_vocab, d_model, std)
        self.scale = self.scale if scale is None else scale
