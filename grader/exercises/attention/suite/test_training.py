"""The training test: a Transformer with the learner's attention in every place must learn to spell backwards."""

from __future__ import annotations

from typing import cast

import pytest
import torch

from grader.core.progress import Progress
from grader.core.submission import Submission
from grader.engine.layout import Layout
from grader.exercises.attention.suite.plugged import AttentionOracle, layout_of, xavier
from grader.sandbox.remote import RemoteInstance
from grader.training.proxy import RemoteModule
from grader.training.spotcheck import SpotChecked
from grader.training.training import require_spelling, train_to_reverse
from zoo.training.trainer import Recipe, Score


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
            instance = component.construct("MultiHeadAttention", (d_model, num_heads), {"dropout": dropout})
            layouts[:] = layouts or [
                layout_of(component, instance, d_model, num_heads)
            ]  # the same in all three places
            instance.load(layouts[0].from_canonical(xavier(layouts[0], generator)))
            part = RemoteModule(
                cast(RemoteInstance, instance), "MultiHeadAttention", options=("mask",)
            )  # this test needs a worker
            return SpotChecked(
                part, part.names, AttentionOracle(layouts[0], num_heads), "the attention", recipe.steps
            )

        return train_to_reverse("attention", make, seed=seed, progress=progress, recipe=recipe)

    require_spelling(spell, seed)
