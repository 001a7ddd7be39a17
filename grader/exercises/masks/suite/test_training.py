"""The training test of masks: a Transformer that sees through the learner's masks spells words backwards."""

from __future__ import annotations

import pytest

from grader.api import LearnersMasks, Progress, Submission, require_spelling, reverser, train_model
from grader.exercises.masks.reference import REFERENCE, namespace
from zoo.training.trainer import Score


@pytest.mark.grade(
    category="training",
    points=5,
    title="a Transformer with them reverses words",
    needs=("shape", "masking", "numerics", "behaviour"),
)
def test_spells_words_backwards(component: Submission, seed: int, progress: Progress) -> None:
    def spell(seed: int) -> Score:
        model = reverser(seed)
        model.masking = LearnersMasks(component, namespace(REFERENCE))
        model.cacheable = model.packable = False
        return train_model(model, seed=seed, progress=progress)

    require_spelling(spell, seed)
