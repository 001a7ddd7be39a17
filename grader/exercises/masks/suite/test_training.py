"""The training test of masks: a Transformer that sees through the learner's masks spells words backwards."""

from __future__ import annotations

import pytest

from grader.engine.component import Submission
from grader.exercises.masks.reference import REFERENCE, namespace
from grader.run.pytest_plugin import Progress
from grader.training.stand_ins import LearnersMasks
from grader.training.training import require_spelling, reverser, train_model
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
