"""Cached attention in small steps, so that a known mistake is the reference with one step replaced.

Causal self-attention, one position a call: the new query attends to all keys so far, which the cache holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from grader.exercises.attention.reference import (
    ROLES,
    Call,
    check,
    linear,
    merge,
    mix,
    normalise,
    scale,
    score,
    split,
)

Pair = tuple[Tensor, Tensor]


def project(call: Call, role: str, x: Tensor) -> Tensor:
    """x [B, 1, D] -> [B, 1, D], with the weights of a role."""
    return linear(call, role, x)


def extend(steps: Steps, call: Call, cache: Any, k: Tensor, v: Tensor) -> Pair:
    """Keys and values so far: those of the cache, then the new ones [B, H, T, d]."""
    if cache is None:
        return k, v
    return steps.join(call, cache[0], k), steps.join(call, cache[1], v)


@dataclass(frozen=True)
class Steps:
    """The whole computation, in order. `dataclasses.replace` makes a mistake of it.

    Attributes:
        found: the cache that is gone on with.
        store: what is handed out as the cache, of (call, cache before, new k, new v, all keys, all values).
    """

    NAMES: ClassVar[Mapping[str, str]] = {
        "project": "{} projection", "split": "{} in heads", "join": "cached and new", "score": "Q K^T",
        "scale": "scaled scores", "mask": "scaled scores", "normalise": "weights", "mix": "mixed values",
        "merge": "merged heads",
    }  # fmt: skip

    check: Callable[[int, int], None] = check
    roles: tuple[str, ...] = ROLES
    trained: bool = True
    found: Callable[[Call, Any], Any] = lambda _call, cache: cache
    project: Callable[[Call, str, Tensor], Tensor] = project
    split: Callable[[Call, str, Tensor], Tensor] = split
    join: Callable[[Call, Tensor, Tensor], Tensor] = lambda _call, old, new: torch.cat([old, new], 2)
    extend: Callable[[Steps, Call, Any, Tensor, Tensor], Pair] = extend
    score: Callable[[Call, Tensor, Tensor], Tensor] = score
    scale: Callable[[Call, Tensor, Tensor, Tensor], Tensor] = scale
    mask: Callable[[Call, Tensor], Tensor] = lambda _call, scores: scores
    normalise: Callable[[Call, Tensor], Tensor] = normalise
    mix: Callable[[Call, Tensor, Tensor], Tensor] = mix
    merge: Callable[[Call, Tensor], Tensor] = merge
    store: Callable[[Call, Any, Pair, Pair], Any] = lambda _call, _cache, _new, everything: everything
    finish: Callable[[Call, Tensor, Any], Any] = lambda _call, out, cache: (out, cache)

    def run(self, call: Call, given: Any) -> Any:
        """One step: x [B, 1, D] and the cache -> (out [B, 1, D], cache)."""
        x, cache = call.query, self.found(call, given)
        q, k, v = (self.split(call, role, self.project(call, role, x)) for role in ("q", "k", "v"))
        keys, values = self.extend(self, call, cache, k, v)
        scores = self.mask(call, self.scale(call, self.score(call, q, keys), q, keys))  # [B, H, 1, T]
        mixed = self.merge(call, self.mix(call, self.normalise(call, scores), values))
        out = self.project(call, "out", mixed)
        return self.finish(call, out, self.store(call, cache, (k, v), (keys, values)))


REFERENCE = Steps()


def _one_step(d_model: int, *_rest: Any, **_options: Any) -> list[Any]:
    return [torch.zeros(1, 1, d_model), None]


FIRST_CALLS = {"CachedAttention": _one_step}
"""Of the classes that have parameters, see `grader.core.submission.Submission`."""


def namespace(steps: Steps) -> dict[str, Any]:
    """Return the names that a file with these steps defines."""

    class CachedAttention(nn.Module):
        def __init__(self, d_model: int, num_heads: int) -> None:
            super().__init__()
            steps.check(d_model, num_heads)
            self.heads = num_heads
            self.memory: dict[str, Any] = {}
            for role in steps.roles:
                weight = torch.randn(d_model, d_model) / math.sqrt(d_model)
                self.register_parameter(f"{role}_weight", nn.Parameter(weight, steps.trained))

        def forward(self, x: Tensor, cache: Any) -> Any:
            weights = {name.replace("_", "."): p for name, p in self.named_parameters()}
            return steps.run(Call(x, x, x, None, self.heads, weights, memory=self.memory), cache)

    return {"CachedAttention": CachedAttention}
