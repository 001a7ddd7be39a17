"""The training test of training: the learner's steps, on the learner's batches, teach a model to spell backwards."""

from __future__ import annotations

import random

import pytest
from torch import Tensor

from grader.api import (
    TASK,
    WORDS,
    Progress,
    Submission,
    SubmissionError,
    load_from,
    remote,
    require_spelling,
    reverser,
    reverser_part,
)
from zoo.parts.schedule.linear import LinearSchedule
from zoo.training.trainer import Recipe, Score, exact_match, load_task


@pytest.mark.grade(
    category="training",
    points=5,
    title="a Transformer trained by it reverses words",
    needs=("shape", "numerics", "gradients", "behaviour"),
)
def test_spells_words_backwards(component: Submission, seed: int, progress: Progress) -> None:
    def spell(seed: int) -> Score:
        task, recipe, model, draws = load_task(TASK), Recipe(seed=seed), reverser(seed), random.Random(seed)
        part = reverser_part(component)
        load_from(remote(part), model.state_dict())
        optimizer = component.part("Trainer", (part, list(recipe.betas), recipe.eps, recipe.weight_decay))
        schedule = LinearSchedule(recipe.steps, recipe.warmup)
        make_batch, step = component.function("reverse_words"), component.function("train_step")
        for number in range(recipe.steps):
            words = draws.sample(task.training, recipe.batch_size)
            batch = make_batch.call([words]).value
            if (
                not isinstance(batch, (tuple, list))
                or not all(isinstance(x, Tensor) for x in batch)
                or len(batch) != 2
            ):
                raise SubmissionError("protocol", "reverse_words must give a pair of tensors (src, tgt)")
            optimizer.call([recipe.lr * schedule(number)], method="set_rate")
            step.call([part, optimizer, *batch])
            progress("training", number + 1, recipe.steps)
        trained = {name: info.value for name, info in part.parameters().items()}
        model.load_state_dict(trained, strict=True)
        return exact_match(model, task, task.held_out[:WORDS])

    require_spelling(spell, seed)
