"""The training test of decoding: a model that the judge has trained, and the learner's decoding spells with it."""

from __future__ import annotations

import pytest
from torch import Tensor

from grader.api import (
    TASK,
    WORDS,
    Progress,
    Submission,
    good_speller,
    load_from,
    remote,
    require,
    reverser,
    reverser_part,
    spelled,
)
from grader.exercises.decoding.suite.scenarios import MOST
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
        ids = outcome.value
        fits = isinstance(ids, Tensor) and ids.dim() == 2 and ids.size(0) == words and ids.size(1) <= MOST
        return spelled(task, texts, ids.tolist() if fits else [])

    require(
        score("greedy_decode", WORDS), what="A trained Transformer spelled words backwards with greedy_decode"
    )
    require(
        score("beam_search", BEAM_WORDS, 3),
        what="A trained Transformer spelled words backwards with beam_search",
    )
