"""The training test of norm: the zoo's model with the learner's layer norm in every place spells words backwards."""

from __future__ import annotations

import pytest
from torch import nn

from grader.judge.component import Submission
from grader.judge.proxy import RemoteModule
from grader.judge.pytest_plugin import Progress
from grader.judge.stand_ins import remote
from grader.judge.training import require_spelling, reverser, train_model
from zoo.training import Score


@pytest.mark.grade(
    category="training",
    points=5,
    title="a Transformer with LayerNorm reverses words",
    needs=("shape", "numerics", "gradients", "parameters", "behaviour"),
)
def test_spells_words_backwards(component: Submission, seed: int, progress: Progress) -> None:
    def spell(seed: int) -> Score:
        def make(d_model: int) -> nn.Module:
            return RemoteModule(remote(component.construct("LayerNorm", (d_model,))), "LayerNorm")

        return train_model(reverser(seed, {"norm-type": make}), seed=seed, progress=progress)

    require_spelling(spell, seed)
