"""The training test of norm: the zoo's model with the learner's layer norm in every place spells words backwards."""

from __future__ import annotations

import pytest

from grader.api import (
    Progress,
    SpotChecked,
    Submission,
    require_spelling,
    reverser,
    train_model,
    wrapped_part,
)
from grader.exercises.norm.reference import REFERENCE, namespace, parameters
from grader.exercises.norm.suite.scenarios import NAME, grading, sized
from zoo.training.trainer import Recipe, Score


@pytest.mark.grade(
    category="training",
    points=5,
    title="a Transformer with LayerNorm reverses words",
    needs=("shape", "numerics", "gradients", "parameters", "behaviour"),
)
def test_spells_words_backwards(component: Submission, seed: int, progress: Progress) -> None:
    def spell(seed: int) -> Score:
        recipe = Recipe(seed=seed)

        def make(d_model: int) -> SpotChecked:
            return wrapped_part(
                component,
                NAME,
                (d_model,),
                {},
                namespace(REFERENCE)[NAME](d_model),
                grading(component, seed).layout(sized(d_model)),
                {name: value.detach() for name, value in parameters(d_model).items()},
                title="a layer norm",
                steps=recipe.steps,
            )

        return train_model(reverser(seed, {"norm-type": make}), seed=seed, progress=progress, recipe=recipe)

    require_spelling(spell, seed)
