"""The training test: a Transformer with the learner's attention in every place must learn to spell backwards."""

from __future__ import annotations

from typing import cast

import pytest
import torch

from grader.api import (
    Layout,
    Progress,
    RemoteInstance,
    RemoteModule,
    SpotChecked,
    Submission,
    load,
    require_spelling,
    train_to_reverse,
)
from grader.exercises.attention.reference import CLASS
from grader.exercises.attention.suite.scenarios import grading
from grader.exercises.attention.suite.wrapped_part import AttentionOracle, found_in, xavier
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
        found: list[Layout] = []

        def make(d_model: int, num_heads: int, dropout: float) -> SpotChecked:
            instance = component.construct(CLASS, (d_model, num_heads), {"dropout": dropout})
            found[:] = found or [
                found_in(grading(component, seed), d_model, num_heads)
            ]  # the same in all three places
            load(instance, found[0], xavier(found[0], generator))
            part = RemoteModule(
                cast(RemoteInstance, instance), CLASS, options=("mask",)
            )  # this test needs a worker
            oracle = AttentionOracle(found[0], num_heads)
            return SpotChecked(part, part.names, oracle, "the attention", recipe.steps)

        return train_to_reverse("attention", make, seed=seed, progress=progress, recipe=recipe)

    require_spelling(spell, seed)
