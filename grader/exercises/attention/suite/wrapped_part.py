"""The learner's attention in a model that is trained: what it should compute, and the weights that it begins with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from grader.api import Failed, Grading, Layout, missing
from grader.exercises.attention.reference import CLASS, REFERENCE, Call
from grader.exercises.attention.suite.scenarios import sized


class AttentionOracle:
    """What multi-head attention gives, on the weights that are found in the learner's parameters."""

    def __init__(self, found: Layout, num_heads: int) -> None:
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


def xavier(found: Layout, generator: torch.Generator) -> dict[str, Tensor]:
    """Initial weights as the zoo gives them to its own attentions, whatever the learner's parameters look like."""
    weights = {name: torch.zeros(where.shape) for name, where in found.index.items()}
    for name, weight in weights.items():
        if name.endswith("weight"):
            weight.uniform_(-1, 1, generator=generator).mul_(math.sqrt(6 / sum(weight.shape)))
    return weights


def found_in(grading: Grading, d_model: int, num_heads: int) -> Layout:
    """Where a class of these sizes keeps its weights, see `Answers.layout`.

    Raises:
        Failed: they cannot be found.
    """
    found = grading.layout(sized(d_model, num_heads))
    left_out = missing(found, d_model)
    if left_out:
        raise Failed(
            f"The weights for {', '.join(left_out)} ([{d_model}, {d_model}] each) were not found among the "
            f"parameters of {CLASS}, so it cannot be trained here. Other tests say more."
        )
    return found
