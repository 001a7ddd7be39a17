"""The training test of feedforward: a Transformer with the learner's network in it spells words backwards."""

from __future__ import annotations

import pytest
import torch

from grader.api import Progress, SpotChecked, Submission, require_spelling, train_to_reverse, wrapped_part
from grader.exercises.feedforward.reference import REFERENCE, namespace, wanted
from grader.exercises.feedforward.suite.scenarios import NAME, grading, sized
from zoo.training.trainer import Recipe, Score


@pytest.mark.grade(
    category="training",
    points=5,
    title="a Transformer with it reverses words",
    needs=("shape", "numerics", "gradients", "parameters", "behaviour"),
)
def test_spells_words_backwards(component: Submission, seed: int, progress: Progress) -> None:
    def spell(seed: int) -> Score:
        recipe, generator = Recipe(seed=seed), torch.Generator().manual_seed(seed)

        def make(d_model: int, d_ff: int, dropout: float) -> SpotChecked:
            initial = {one.name: torch.zeros(one.shape) for one in wanted(d_model, d_ff)}
            for value in initial.values():
                if value.dim() == 2:
                    torch.nn.init.xavier_uniform_(value, generator=generator)
            reference = namespace(REFERENCE)[NAME](d_model, d_ff, dropout)
            return wrapped_part(
                component,
                NAME,
                (d_model, d_ff),
                {"dropout": dropout},
                reference,
                grading(component, seed).layout(sized(d_model, d_ff)),
                initial,
                title="the feed-forward network",
                steps=recipe.steps,
            )

        return train_to_reverse("feedforward", make, seed=seed, progress=progress, recipe=recipe)

    require_spelling(spell, seed)
