"""The learner's attention in a model that is trained: where it keeps its weights, and what it should compute."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from grader.core.failures import Failed
from grader.core.submission import Instance, Submission
from grader.engine.exam import confirm
from grader.engine.layout import Layout, find_layout
from grader.engine.subjects import Submitted
from grader.exercises.attention.reference import REFERENCE, ROLES, Call


class AttentionOracle:
    """What multi-head attention gives, on the weights that a layout finds in the learner's parameters."""

    def __init__(self, layout: Layout, num_heads: int) -> None:
        self._layout, self._heads = layout, num_heads

    def forward(
        self, inputs: Sequence[Tensor], masks: Sequence[Tensor | None], parameters: Mapping[str, Tensor]
    ) -> Tensor:
        """query, key, value [B, T, D] -> [B, Tq, D]; one mask, bool, True = may be attended to."""
        (query, key, value), (mask,) = inputs, masks
        output: Tensor = REFERENCE.multi_head(Call(query, key, value, mask, self._heads, parameters))
        return output

    def comparable(self, values: Mapping[str, Tensor | None]) -> dict[str, Tensor]:
        return self._layout.to_canonical(values)


def xavier(layout: Layout, generator: torch.Generator) -> dict[str, Tensor]:
    """Initial weights as the zoo gives them to its own attentions, whatever the learner's parameters look like."""
    weights = {name: torch.zeros(shape) for name, shape in layout.shapes.items()}
    for name, weight in weights.items():
        if name.endswith("weight"):
            weight.uniform_(-1, 1, generator=generator).mul_(math.sqrt(6 / sum(weight.shape)))
    return weights


def layout_of(component: Submission, instance: Instance, d_model: int, num_heads: int) -> Layout:
    """Where the class keeps its weights at this size. Raises Failed if they cannot be found."""
    subject, size = Submitted(component), (d_model, num_heads)
    subject.layouts[size] = find_layout(instance, d_model)
    confirm(subject, size, seed=0)
    layout = subject.layouts[size]
    missing = [role for role in ROLES if layout.shapes.get(f"{role}.weight") != (d_model, d_model)]
    if missing:
        raise Failed(
            f"The weights for {', '.join(missing)} ([{d_model}, {d_model}] each) were not found among the "
            "parameters of MultiHeadAttention, so it cannot be trained here. Other tests say more."
        )
    return layout
