"""The training test of decoding: a model that the judge has trained, and the learner's decoding spells with it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import torch
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
from zoo.training.tasks.base import SPECIAL
from zoo.training.trainer import Score, load_task

BEAM_WORDS = 100
WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


@pytest.mark.grade(
    category="training",
    points=5,
    title="spells words backwards with a trained model",
    needs=("shape", "masking", "numerics", "behaviour"),
)
def test_spells_words_backwards(component: Submission, seed: int, progress: Progress) -> None:
    model = good_speller(reverser, seed=seed, progress=progress)
    part = reverser_part(component)
    weights, letters = in_other_letters(model.state_dict(), seed)
    load_from(remote(part), weights)
    part.train(False)
    task = load_task(TASK)

    def score(name: str, words: int, *beam: int) -> Score:
        texts = task.held_out[:words]
        outcome = component.function(name).call([part, task.batch(texts).src, *beam, task.max_len])
        ids = outcome.value
        fits = isinstance(ids, Tensor) and ids.dim() == 2 and ids.size(0) == words and ids.size(1) <= MOST
        whole = isinstance(ids, Tensor) and ids.dtype in WHOLE
        rows = ids.tolist() if fits and whole else []
        return spelled(task, texts, [[letters.get(one, one) for one in row] for row in rows])

    require(
        score("greedy_decode", WORDS), what="A trained Transformer spelled words backwards with greedy_decode"
    )
    require(
        score("beam_search", BEAM_WORDS, 3),
        what="A trained Transformer spelled words backwards with beam_search",
    )


def in_other_letters(weights: Mapping[str, Tensor], seed: int) -> tuple[dict[str, Tensor], dict[int, int]]:
    """Weights with which the model spells as well, in other letters; and which each of these stands for.

    So its answer is not the reversed source, which can be copied without a model.
    """
    size = weights["head.bias"].size(0)
    order = torch.randperm(size - SPECIAL, generator=torch.Generator().manual_seed(seed)) + SPECIAL
    changed = dict(weights)
    for name in ("embeddings.tgt_table.weight", "head.weight", "head.bias"):
        changed[name] = weights[name].detach().clone()
        changed[name][order] = weights[name].detach()[SPECIAL:]  # [V, ...]
    return changed, {int(new): old for old, new in enumerate(order, start=SPECIAL)}
