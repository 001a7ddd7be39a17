"""Decoder of the sequence-to-sequence library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

NormName = Literal["pre", "post"]


@dataclass
class Context:
    """What a layer looks at besides its input."""

    memory: Tensor
    src_mask: Tensor | None = None
    tgt_mask: Tensor | None = None

    def __post_init__(self) -> None:
        assert self.memory.dim() == 3, f"expected memory [B, S, D], got {tuple(self.memory.shape)}"


class Sublayer(nn.Module):
    """Base of the three sublayers: norm, dropout and residual sum around `compute`."""

    def __init__(self, part: nn.Module, d_model: int, dropout: float, norm: NormName) -> None:
        super().__init__()
        self.part = part
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.pre_norm = norm == "pre"

    def compute(self, x: Tensor, context: Context) -> Tensor:
        raise NotImplementedError

    def forward(self, x: Tensor, context: Context) -> Tensor:
        if self.pre_norm:
            return self._forward_pre(x, context)
        return self._forward_post(x, context)

    def _forward_pre(self, x: Tensor, context: Context) -> Tensor:
        branch = self.compute(self.norm(x), context)
        return x + self.dropout(branch)

    def _forward_post(self, x: Tensor, context: Context) -> Tensor:
        branch = self.compute(x, context)
        return self.norm(x + self.dropout(branch))


class SelfAttentionSublayer(Sublayer):
    def compute(self, x: Tensor, context: Context) -> Tensor:
        return self.part(query=x, key=x, value=x, mask=context.tgt_mask)


class CrossAttentionSublayer(Sublayer):
    def compute(self, x: Tensor, context: Context) -> Tensor:
        memory = context.memory
        return self.part(query=x, key=memory, value=memory, mask=context.src_mask)


class FeedForwardSublayer(Sublayer):
    def compute(self, x: Tensor, context: Context) -> Tensor:
        return self.part(x)


class DecoderLayer(nn.Module):
    def __init__(
        self,
        self_attention: nn.Module,
        cross_attention: nn.Module,
        feed_forward: nn.Module,
        d_model: int,
        dropout: float = 0.0,
        norm: NormName = "post",
    ) -> None:
        super().__init__()
        options = {"d_model": d_model, "dropout": dropout, "norm": norm}
        self.attend_target = SelfAttentionSublayer(self_attention, **options)
        self.attend_source = CrossAttentionSublayer(cross_attention, **options)
        self.transform = FeedForwardSublayer(feed_forward, **options)

    @property
    def sublayers(self) -> tuple[Sublayer, ...]:
        return self.attend_target, self.attend_source, self.transform

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
    ) -> Tensor:
        context = Context(memory, src_mask, tgt_mask)
        for sublayer in self.sublayers:
            x = sublayer(x, context)
        return x


class Decoder(nn.Module):
    def __init__(
        self, make_layer: Callable[[], nn.Module], num_layers: int, d_model: int, norm: NormName = "post"
    ) -> None:
        super().__init__()
        assert num_layers >= 1, "a decoder has at least one layer"
        self.blocks = nn.ModuleDict({f"block_{index}": make_layer() for index in range(num_layers)})
        self.final_norm = self._make_final_norm(d_model, norm)

    @staticmethod
    def _make_final_norm(d_model: int, norm: NormName) -> nn.Module:
        if norm == "pre":
            return nn.LayerNorm(d_model)
        return nn.Identity()

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
    ) -> Tensor:
        state = x
        for block in self.blocks.values():
            state = block(state, memory, src_mask=src_mask, tgt_mask=tgt_mask)
        return self.final_norm(state)
