"""Attentions that declare what they are not."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tests.zoo.analysis.checks.support import wrong
from tests.zoo.analysis.checks.wrong.attention_base import Base
from zoo.parts.attention.base import MultiHeadAttention, masked_softmax, with_bias
from zoo.parts.attention.eager import EagerAttention

EXACT = "equals eager with the same weights"
WEIGHTS = "returns the weights that it uses"
CACHED = "cached decoding matches the full forward pass"
MEMORY = "in cross-attention, reads keys and values from the cache"
PACKED = "a batch without its padding gives the same results"
TURNED = "works with an encoding that rotates queries and keys"
SCORED = "works with an encoding that adds to the scores"


@wrong("attention", EXACT, "it differs from eager", exact=True)
class NotScaled(Base):
    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return q @ k.transpose(-2, -1)


@wrong("attention", EXACT, "they differ in k_proj.bias, k_proj.weight, keys.bias, keys.weight.", exact=True)
class NamesOfItsOwn(Base):
    def make_projections(self, d_model: int, bias: bool) -> None:
        super().make_projections(d_model, bias)
        self.keys = self.k_proj
        del self.k_proj

    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.split(self.q_proj(query)), self.split(self.keys(key)), self.split(self.v_proj(value))


@wrong("attention", WEIGHTS, "do not sum to 1", exact=True, returns_weights=True)
class ShowsScores(Base):
    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        heads, weights = super().attend(q, k, v, mask)
        return heads, weights / 2


@wrong("attention", WEIGHTS, "Expected weights of shape", returns_weights=True)
class ShowsTheMean(Base):
    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        heads, weights = super().attend(q, k, v, mask)
        return heads, weights.mean(1, keepdim=True)


@wrong("attention", WEIGHTS, "AttributeError", returns_weights=True)
class ShowsNothing(MultiHeadAttention):
    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, None]:
        return masked_softmax(q @ k.transpose(-2, -1), mask) @ v, None


@wrong("attention", CACHED, "TypeError", cacheable=True)
class DeclaresACache(EagerAttention):
    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Any = None) -> Tensor:
        return super().forward(query, key, value, mask)


@wrong("attention", CACHED, "With a cache, position 1 is another", cacheable=True)
class ForgetsTheCache(EagerAttention):
    def prepare(self, query: Tensor, key: Tensor, value: Tensor, mask: Any, **_rest: Any) -> Any:
        mask = mask if mask is None else mask[..., -key.size(1) :]
        return super().prepare(query, key, value, mask)


@wrong("attention", MEMORY, "NaN", cacheable=True)
class ProjectsTheMemoryAgain(EagerAttention):
    def prepare(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Any, *, positions: Any, cache: Any
    ) -> Any:
        cache = cache if cache is None or cache.grows else None
        return super().prepare(query, key, value, mask, positions=positions, cache=cache)


@wrong("attention", PACKED, "TypeError", packs=True)
class TakesNoPacks(EagerAttention):
    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Any = None) -> Tensor:
        return super().forward(query, key, value, mask)


@wrong("attention", PACKED, "RuntimeError", packs=True)
class TakesAPackForARow(EagerAttention):
    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Any = None, **_rest: Any) -> Tensor:
        return super().forward(query, key, value, mask)


@wrong("attention", PACKED, "The packed result differs in self-attention", packs=True)
class SubtractsTheMeanOfTheQueries(EagerAttention):
    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = super().project(query, key, value)
        return q - q.mean(2, keepdim=True), k, v


@wrong("attention", TURNED, "Positions have no influence", positions=("queries-keys",))
class TurnsNothing(EagerAttention):
    def prepare(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Any, *, positions: Any, cache: Any
    ) -> Any:
        return super().prepare(query, key, value, mask, cache=cache)


@wrong("attention", TURNED, "TypeError", positions=("queries-keys",))
class TakesNoPositions(EagerAttention):
    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Any = None) -> Tensor:
        return super().forward(query, key, value, mask)


@wrong("attention", SCORED, "Positions have no influence", positions=("scores",))
class DropsTheBias(EagerAttention):
    def prepare(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Any, *, positions: Any, cache: Any
    ) -> Any:
        q, k, v, _ = super().prepare(query, key, value, mask, positions=positions, cache=cache)
        return q, k, v, mask


@wrong("attention", SCORED, "Positions that do nothing changed the output", positions=("scores",))
class BiasesAlways(EagerAttention):
    def prepare(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Any, *, positions: Any, cache: Any
    ) -> Any:
        q, k, v, mask = super().prepare(query, key, value, mask, positions=positions, cache=cache)
        return (
            q,
            k,
            v,
            mask if positions is None else with_bias(mask, torch.arange(k.size(-2)).to(q)[None, None, None]),
        )
