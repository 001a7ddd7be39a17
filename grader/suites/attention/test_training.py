"""The training test: a Transformer with the learner's attention in every place must learn to spell backwards."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import cast

import pytest
import torch
from torch import Tensor

from grader.judge.component import Instance, Submission
from grader.judge.layout import Layout, find_layout
from grader.judge.proxy import RemoteModule
from grader.judge.pytest_plugin import Progress
from grader.judge.remote import RemoteInstance
from grader.judge.spotcheck import SpotChecked
from grader.judge.training import require_spelling, train_to_reverse
from grader.judge.verdict import Failed
from grader.reference.attention import REFERENCE, ROLES, Call
from zoo.training import Recipe, Score


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


def layout_of(instance: Instance, d_model: int) -> Layout:
    """Where the class keeps its weights at this size. Raises Failed if they cannot be found."""
    layout = find_layout(instance, d_model)
    missing = [role for role in ROLES if layout.shapes.get(f"{role}.weight") != (d_model, d_model)]
    if missing:
        raise Failed(
            f"The weights for {', '.join(missing)} ([{d_model}, {d_model}] each) were not found among the "
            "parameters of MultiHeadAttention, so it cannot be trained here. Other tests say more."
        )
    return layout


@pytest.mark.grade(
    category="training",
    points=10,
    title="a Transformer with it reverses words",
    needs=("shape", "masking", "numerics", "gradients", "parameters"),
)
def test_spells_words_backwards(component: Submission, seed: int, progress: Progress) -> None:
    def spell(seed: int) -> Score:
        generator = torch.Generator().manual_seed(seed)
        recipe = Recipe(seed=seed)
        layouts: list[Layout] = []

        def make(d_model: int, num_heads: int, dropout: float) -> SpotChecked:
            instance = component.construct("MultiHeadAttention", (d_model, num_heads, dropout))
            layouts[:] = layouts or [layout_of(instance, d_model)]  # the same in all three places
            instance.load(layouts[0].from_canonical(xavier(layouts[0], generator)))
            part = RemoteModule(
                cast(RemoteInstance, instance), "MultiHeadAttention"
            )  # this test needs a worker
            return SpotChecked(
                part, part.names, AttentionOracle(layouts[0], num_heads), "the attention", recipe.steps
            )

        return train_to_reverse("attention", make, seed=seed, progress=progress, recipe=recipe)

    require_spelling(spell, seed)
