"""Annotation enthusiast: frozen dataclass config, enum for the sides, Protocol, mixin and ABC, numpy scalar for the scale."""

from __future__ import annotations

import abc
import dataclasses
import enum
from typing import Any, Final, NamedTuple, Protocol, final, runtime_checkable

import numpy as np
import torch
from torch import BoolTensor, LongTensor, Tensor, nn


@runtime_checkable
class MakesMasks(Protocol):
    def source_mask(self, ids: LongTensor) -> BoolTensor: ...

    def target_mask(self, ids: LongTensor) -> BoolTensor: ...


class Side(enum.Enum):
    SOURCE = "src"
    TARGET = "tgt"


@dataclasses.dataclass(frozen=True)
class TransformerConfig:
    d_model: int
    vocab_size: int
    pad_token_id: int = 0

    @property
    def embedding_scale(self) -> np.float64:
        return np.sqrt(np.float64(self.d_model))


class Masks(NamedTuple):
    cross: Tensor
    self_: Tensor


class MaskMixin:
    config: TransformerConfig

    def source_mask(self, ids: LongTensor) -> BoolTensor:
        return ids.ne(self.config.pad_token_id)[:, None, None]

    def target_mask(self, ids: LongTensor) -> BoolTensor:
        n: Final[int] = ids.size(1)
        rows: Tensor = torch.arange(n).to(ids).view(n, 1)
        cols: Tensor = torch.arange(n).to(ids).view(1, n)
        return self.source_mask(ids).expand(-1, -1, n, -1).masked_fill(cols > rows, False)


class Seq2Seq(nn.Module, abc.ABC):
    @abc.abstractmethod
    def encode(self, src: Tensor) -> Tensor: ...

    @abc.abstractmethod
    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor: ...

    @final
    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        return self.decode(tgt=tgt, memory=self.encode(src=src), src=src)


class Transformer(MaskMixin, Seq2Seq):
    def __init__(
        self,
        encoder: nn.Module,
        decoder: nn.Module,
        src_embed: nn.Module,
        tgt_embed: nn.Module,
        positions: nn.Module,
        d_model: int,
        tgt_vocab: int,
        pad: int = 0,
        **unused: Any,
    ) -> None:
        super().__init__()
        self.config = TransformerConfig(d_model, tgt_vocab, pad_token_id=pad)
        self.stacks = nn.ModuleDict({"reader": encoder, "writer": decoder})
        self.tables = nn.ModuleDict({Side.SOURCE.value: src_embed, Side.TARGET.value: tgt_embed})
        self.positions = positions
        self.lm_head = nn.Linear(self.config.d_model, self.config.vocab_size)
        nn.init.zeros_(self.lm_head.bias)
        assert isinstance(self, MakesMasks)

    def embed(self, ids: Tensor, side: Side) -> Tensor:
        return self.positions(self.tables[side.value](ids) * self.config.embedding_scale)

    def encode(self, src: Tensor) -> Tensor:
        return self.stacks["reader"](self.embed(src, Side.SOURCE), self.source_mask(src))

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        masks = Masks(cross=self.source_mask(src), self_=self.target_mask(tgt))
        out = self.stacks["writer"](self.embed(tgt, Side.TARGET), memory, masks.cross, masks.self_)
        return self.lm_head(out)
