"""An encoder by itself: what a sentence says, position by position."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from zoo.models.transformer import Model

if TYPE_CHECKING:
    from zoo.models.builder import Parts


class EncoderOnly(Model):
    """From token ids to scores for each position, as in BERT (Devlin et al. 2018). It makes its own masks.

    Every position sees all others but padding. Tokens are of `src_vocab`, scores are over `tgt_vocab`: the same
    vocabulary, to fill in hidden tokens, or the classes that tokens are sorted into.
    """

    stacks = ("encoder",)

    def __init__(self, parts: Parts) -> None:
        """`parts` makes what is asked of it, in the order in which it is asked."""
        super().__init__(parts)
        self.embeddings = parts.embeddings("src")
        self.src_positions = parts.positions()
        self.encoder = parts.encoder()
        self.head = parts.head(self.embeddings)

    def forward(self, tokens: Tensor) -> Tensor:
        """tokens [B, S] -> [B, S, V]."""
        return self.head(self.encode(tokens))  # type: ignore[no-any-return]

    def encode(self, tokens: Tensor) -> Tensor:
        """tokens [B, S] -> hidden vectors [B, S, D]."""
        x, more = self.embed_src(tokens)
        return self.encoder(x, self.src_mask(tokens, x), **more)  # type: ignore[no-any-return]
