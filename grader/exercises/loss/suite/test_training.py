"""The training test of loss: a Transformer that is trained by the learner's loss spells words backwards."""

from __future__ import annotations

import pytest

from grader.api import LearnersLoss, Progress, Submission, require_spelling, reverser, train_model
from grader.exercises.loss.reference import REFERENCE, namespace
from zoo.training.trainer import Score

NAME = "sequence_loss"


@pytest.mark.grade(
    category="training",
    points=5,
    title="a Transformer trained by it reverses words",
    needs=("shape", "masking", "numerics", "gradients", "behaviour"),
)
def test_spells_words_backwards(component: Submission, seed: int, progress: Progress) -> None:
    def spell(seed: int) -> Score:
        loss = LearnersLoss(component.function(NAME), namespace(REFERENCE)[NAME])
        return train_model(reverser(seed), seed=seed, progress=progress, loss=loss)

    require_spelling(spell, seed)
