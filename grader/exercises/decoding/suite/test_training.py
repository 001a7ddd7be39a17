"""The training test of decoding: a model that the judge has trained, and the learner's decoding spells with it."""

from __future__ import annotations

import pytest
from torch import Tensor

from grader.engine.component import Submission
from grader.run.pytest_plugin import Progress
from grader.training.stand_ins import load_from, remote, reverser_part
from grader.training.training import TASK, WORDS, good_speller, require, reverser, spelled
from zoo.training.trainer import Score, load_task

BEAM_WORDS = 100


@pytest.mark.grade(
    category="training",
    points=5,
    title="spells words backwards with a trained model",
    needs=("shape", "masking", "numerics", "behaviour"),
)
def test_spells_words_backwards(component: Submission, seed: int, progress: Progress) -> None:
    model = good_speller(reverser, seed=seed, progress=progress)
    part = reverser_part(component)
    load_from(remote(part), model.state_dict())
    part.train(False)
    task = load_task(TASK)

    def score(name: str, words: int, *beam: int) -> Score:
        texts = task.held_out[:words]
        outcome = component.function(name).call([part, task.batch(texts).src, *beam, task.max_len])
        rows = outcome.value.tolist() if isinstance(outcome.value, Tensor) else []
        return spelled(task, texts, rows)

    require(
        score("greedy_decode", WORDS), what="A trained Transformer spelled words backwards with greedy_decode"
    )
    require(
        score("beam_search", BEAM_WORDS, 3),
        what="A trained Transformer spelled words backwards with beam_search",
    )
