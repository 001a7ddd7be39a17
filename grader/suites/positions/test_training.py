"""The training test of positions: sinusoids in the source, learned positions in the target, words backwards."""

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
    title="a Transformer with them reverses words",
    needs=("shape", "numerics", "gradients", "parameters", "behaviour"),
)
def test_spells_words_backwards(component: Submission, seed: int, progress: Progress) -> None:
    def spell(seed: int) -> Score:
        kinds = iter(("SinusoidalPositions", "LearnedPositions"))  # source, then target

        def make(d_model: int, max_len: int) -> nn.Module:
            name = next(kinds)
            part = RemoteModule(remote(component.construct(name, (d_model, max_len))), name)
            for parameter in part.parameters():
                nn.init.normal_(parameter, std=0.1)
            return part

        return train_model(reverser(seed, {"encoding": make}), seed=seed, progress=progress)

    require_spelling(spell, seed)
