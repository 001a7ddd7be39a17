"""The base class of embeddings."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn


def make_table(vocab: int, d_model: int, std: float | None) -> nn.Embedding:
    """A table [V, D] of normal numbers with standard deviation `std`; 1/sqrt(D) if None."""
    table = nn.Embedding(vocab, d_model)
    nn.init.normal_(table.weight, std=d_model**-0.5 if std is None else std)
    return table


def check_one_vocabulary(src_vocab: int, tgt_vocab: int) -> None:
    """Raises ValueError if both sides have not the same vocabulary."""
    if src_vocab != tgt_vocab:
        raise ValueError(
            f"A shared table needs one vocabulary: src_vocab={src_vocab}, tgt_vocab={tgt_vocab}. Make them equal."
        )


def keep_only(embeddings: nn.Module, side: str) -> None:
    """Drop the table of the other side than `side` ("src" or "tgt"): `src_table` or `tgt_table`, if there are both."""
    names = {"src": "src_table", "tgt": "tgt_table"}
    if all(hasattr(embeddings, name) for name in names.values()):
        delattr(embeddings, next(name for one, name in names.items() if one != side))


class Embeddings(nn.Module, ABC):
    """Token ids to vectors, on both sides. Models call it with the side, "src" or "tgt", so that hooks fire.

    One that declares `tied` keeps the target's table as `tgt_table`, an nn.Embedding: its weight [V, D] is
    the weight of the model's head too. One that keeps a table a side calls them `src_table` and `tgt_table`: a model
    with one stack drops the other's.
    """

    def forward(self, tokens: Tensor, side: str) -> Tensor:
        """Tokens [B, T] of `side`, "src" or "tgt" -> [B, T, D]."""
        return self.src(tokens) if side == "src" else self.tgt(tokens)

    @abstractmethod
    def src(self, tokens: Tensor) -> Tensor:
        """Source tokens [B, S] -> [B, S, D]."""

    @abstractmethod
    def tgt(self, tokens: Tensor) -> Tensor:
        """Target tokens [B, L] -> [B, L, D]."""
