"""The learner's attention in a model that is trained: what it should compute, and the weights that it begins with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from grader.api import Failed, Instance, Projections, own_parameters, projections
from grader.exercises.attention.reference import CLASS, REFERENCE, Call


class AttentionOracle:
    """What multi-head attention gives, on the weights that are found in the learner's parameters."""

    def __init__(self, found: Projections, num_heads: int) -> None:
        self._found, self._heads = found, num_heads

    def forward(
        self, inputs: Sequence[Tensor], masks: Sequence[Tensor | None], parameters: Mapping[str, Tensor]
    ) -> Tensor:
        """query, key, value [B, T, D] -> [B, Tq, D]; one mask, bool, True = may be attended to."""
        (query, key, value), (mask,) = inputs, masks
        output: Tensor = REFERENCE.multi_head(Call(query, key, value, mask, self._heads, parameters))
        return output

    def comparable(self, values: Mapping[str, Tensor | None]) -> dict[str, Tensor]:
        return self._found.read(values)


def xavier(found: Projections, generator: torch.Generator) -> dict[str, Tensor]:
    """Initial weights as the zoo gives them to its own attentions, whatever the learner's parameters look like."""
    weights = {name: torch.zeros(where.shape) for name, where in found.index.items()}
    for name, weight in weights.items():
        if name.endswith("weight"):
            weight.uniform_(-1, 1, generator=generator).mul_(math.sqrt(6 / sum(weight.shape)))
    return weights


def load(instance: Instance, found: Projections, weights: Mapping[str, Tensor]) -> None:
    """Give the learner's class these weights."""
    own = {name: info.value for name, info in own_parameters(instance.parameters()).items()}
    instance.load(found.write(weights, own))


def found_in(instance: Instance, d_model: int, num_heads: int) -> Projections:
    """Return where the class keeps its weights: the reading with which it computes what the reference does.

    Raises:
        Failed: they cannot be found.
    """
    possible = projections(own_parameters(instance.parameters()), d_model, num_heads)
    missing = possible[0].missing(d_model)
    if missing:
        raise Failed(
            f"The weights for {', '.join(missing)} ([{d_model}, {d_model}] each) were not found among the "
            f"parameters of {CLASS}, so it cannot be trained here. Other tests say more."
        )
    draws = torch.Generator().manual_seed(0)
    inputs = [torch.randn(2, 3, d_model, generator=draws) for _ in range(3)]

    def fits(found: Projections) -> bool:
        weights = {
            n: torch.randn(where.shape, generator=draws) / d_model**0.5 for n, where in found.index.items()
        }
        load(instance, found, weights)
        outcome = instance.call(inputs)
        instance.release(outcome)
        got = outcome.value[0] if isinstance(outcome.value, tuple) else outcome.value
        right = AttentionOracle(found, num_heads).forward(inputs, [None], weights)
        return isinstance(got, Tensor) and got.shape == right.shape and torch.allclose(got, right, atol=1e-3)

    instance.train(False)
    chosen = next(filter(fits, possible), possible[0]) if len(possible) > 1 else possible[0]
    instance.train(True)
    return chosen
