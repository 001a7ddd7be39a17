"""Parts of layers and of stacks. Small, smooth functions of everything they are given, masks too."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from .base import Part, weight

HIDES = -1e3  # what an additive mask adds where it hides is below this


def allowed(mask: Tensor) -> Tensor:
    """A mask as bool, True = may be attended to, whichever form it has."""
    return mask if mask.dtype == torch.bool else mask > HIDES


def masked(scores: Tensor, mask: Tensor) -> Tensor:
    """Scores with the lowest number where a mask hides; other numbers of a mask are added, as attention does."""
    seen = allowed(mask)
    if mask.dtype != torch.bool:
        scores = scores + mask.masked_fill(~seen, 0).to(scores.dtype)
    return scores.masked_fill(~seen, torch.finfo(scores.dtype).min)


class Attention(Part):
    """Attention of one head: softmax(Q K^T / sqrt(D)) V with projections `judge_q`, `judge_k`, `judge_v` [D, D].

    `mask` bool (True = may be attended to) or additive. A row without any key gives 0. Where the mask has several
    heads, each attends as it says, and the result is their mean.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.judge_q, self.judge_k, self.judge_v = (weight(d_model, d_model) for _ in range(3))

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        """query [B, Tq, D], key and value [B, Tk, D], mask -> [B, Tq, D]."""
        self.note(query=query, key=key, value=value, mask=mask)
        q, k, v = query @ self.judge_q, key @ self.judge_k, value @ self.judge_v
        scores = (q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))).unsqueeze(1)  # [B, 1, Tq, Tk]
        if mask is not None:
            weights = masked(scores, mask).softmax(-1).masked_fill(~allowed(mask), 0.0)
        else:
            weights = scores.softmax(-1)
        return (weights @ v.unsqueeze(1)).mean(1)  # [B, heads of the mask, Tq, D] -> [B, Tq, D]


class FeedForward(Part):
    """tanh(x A) B with `judge_a` and `judge_b` [D, D]."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.judge_a = weight(d_model, d_model)
        self.judge_b = weight(d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """x [..., D] -> [..., D]."""
        self.note(x=x)
        return torch.tanh(x @ self.judge_a) @ self.judge_b


class Sublayer(Part):
    """tanh(x A) B, plus every further argument, or 0.5 where it is None: what a norm placement wraps."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.judge_a = weight(d_model, d_model)
        self.judge_b = weight(d_model, d_model)

    def forward(self, x: Tensor, *args: Tensor | None, **kwargs: Tensor | None) -> Tensor:
        """x [..., D] and whatever broadcasts to it -> [..., D]."""
        self.note(x=x, **{f"argument {i}": a for i, a in enumerate(args)}, **kwargs)
        out = torch.tanh(x @ self.judge_a) @ self.judge_b
        for i, further in enumerate(args):
            out = out + (i + 1) * (0.5 if further is None else further)
        for name in sorted(kwargs):
            further = kwargs[name]
            out = out - len(name) * (0.5 if further is None else further)
        return out


class Smooth(Part):
    """A sublayer whose backward pass needs what its forward pass gave, as that of a sigmoid: 1 / (1 + exp(-x))."""

    def forward(self, x: Tensor) -> Tensor:
        """x [..., D] -> [..., D]."""
        return x.sigmoid()


class Same(Part):
    """A sublayer that gives what it is given, not a copy of it."""

    def forward(self, x: Tensor) -> Tensor:
        """x [..., D] -> x."""
        return x


class Norm(Part):
    """(x - mean) * `judge_gain` + `judge_shift`, both [D]: a norm without a root, to be told from other people's."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.judge_gain = weight(d_model)
        self.judge_shift = weight(d_model)

    def forward(self, x: Tensor) -> Tensor:
        """x [..., D] -> [..., D]."""
        self.note(x=x)
        return (x - x.mean(-1, keepdim=True)) * self.judge_gain + self.judge_shift


class Layers(Part):
    """Layers of torch's own, which code that sets the weights of every `nn.Linear` it finds would set too."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.linear, self.norm, self.table = (
            nn.Linear(d_model, d_model),
            nn.LayerNorm(d_model),
            nn.Embedding(3, d_model),
        )
        for one in self.parameters():
            nn.init.normal_(one)

    def forward(self, x: Tensor, *_args: Any, **_kwargs: Any) -> Tensor:
        """x [..., D], or ids [...] -> [..., D]: modules that are finished by a first call make one."""
        if not x.is_floating_point():
            x = self.table(x % self.table.num_embeddings)
        normal: Tensor = self.norm(self.linear(x))
        return normal


class EncoderLayer(Part):
    """x + attention(x, x, x, src_mask), for stacks."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.inner = Attention(d_model)

    def forward(self, x: Tensor, src_mask: Tensor | None = None) -> Tensor:
        """x [B, S, D], src_mask as in `Attention` -> [B, S, D]."""
        self.note(x=x, src_mask=src_mask)
        attended: Tensor = self.inner(x, x, x, src_mask)
        return x + attended


class DecoderLayer(Part):
    """x + attention over itself, then + attention over memory, for stacks."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.inner, self.cross = Attention(d_model), Attention(d_model)

    def forward(
        self, x: Tensor, memory: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None
    ) -> Tensor:
        """x [B, L, D], memory [B, S, D], masks as in `Attention` -> [B, L, D]."""
        self.note(x=x, memory=memory, src_mask=src_mask, tgt_mask=tgt_mask)
        x = x + self.inner(x, x, x, tgt_mask)
        attended: Tensor = self.cross(x, memory, memory, src_mask)
        return x + attended


class Maker(Part):
    """Stands for `make_layer`: gives out the layers it was made with, one a call, in order."""

    def __init__(self, layers: list[nn.Module]) -> None:
        super().__init__()
        self._layers = layers  # a plain list: they are not this module's own
        self._made = 0

    def handed(self) -> Callable[..., nn.Module]:
        """The function `make_layer()`."""

        def make_layer(*args: Any, **kwargs: Any) -> nn.Module:
            if args or kwargs:
                raise TypeError("make_layer() takes no argument")
            if self._made == len(self._layers):
                raise IndexError(f"make_layer() was called more than num_layers={len(self._layers)} times")
            self._made += 1
            return self._layers[self._made - 1]

        make_layer.__module__, make_layer.__qualname__ = (
            "",
            "make_layer",
        )  # as messages of torch should say it
        return make_layer

    def recorded(self) -> list[dict[str, Tensor]]:
        """One entry: how many layers were made."""
        return [{"made": torch.tensor(self._made)}]
