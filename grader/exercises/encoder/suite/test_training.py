"""The training test of encoder: the zoo's model with the learner's encoder in it spells words backwards."""

from __future__ import annotations

import pytest

from grader.api import (
    D_FF,
    D_MODEL,
    NUM_HEADS,
    Progress,
    Submission,
    load_from,
    remote,
    require_spelling,
    reverser,
    train_model,
    with_stack,
)
from zoo.training.trainer import Score


@pytest.mark.grade(
    category="training",
    points=5,
    title="a Transformer with it reverses words",
    needs=("shape", "masking", "numerics", "gradients", "parameters", "behaviour"),
)
def test_spells_words_backwards(component: Submission, seed: int, progress: Progress) -> None:
    def spell(seed: int) -> Score:
        weights = reverser(seed).state_dict()
        attention = component.part("WorkingAttention", (D_MODEL, NUM_HEADS))
        feed_forward = component.part("WorkingFeedForward", (D_MODEL, D_FF))
        load_from(remote(attention), weights, "encoder.layers.0.self_attention.")
        load_from(remote(feed_forward), weights, "encoder.layers.0.feed_forward.")
        layer = component.construct("EncoderLayer", (attention, feed_forward, D_MODEL), {"norm": "pre"})
        maker = component.part("Maker", ([layer],))
        stack = component.construct("Encoder", (maker, 1, D_MODEL), {"norm": "pre"})
        return train_model(with_stack(seed, "encoder", remote(stack)), seed=seed, progress=progress)

    require_spelling(spell, seed)
