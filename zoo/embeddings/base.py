"""What embeddings are."""

from __future__ import annotations

from abc import abstractmethod

from torch import Tensor, nn


def make_table(vocab: int, d_model: int, std: float) -> nn.Embedding:
    """A table [V, D] of normal numbers with standard deviation `std`."""
    table = nn.Embedding(vocab, d_model)
    nn.init.normal_(table.weight, std=std)
    return table


class Embeddings(nn.Module):
    """Token ids to vectors, on both sides."""

    @abstractmethod
    def src(self, tokens: Tensor) -> Tensor:
        """Source tokens [B, S] -> [B, S, D]."""

    @abstractmethod
    def tgt(self, tokens: Tensor) -> Tensor:
        """Target tokens [B, L] -> [B, L, D]."""
