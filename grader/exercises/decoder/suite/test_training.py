"""The training test of decoder: the zoo's model with the learner's decoder in it spells words backwards."""

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
        parts = []
        for name in ("self_attention", "cross_attention", "feed_forward"):
            kind, sizes = (
                ("WorkingFeedForward", (D_MODEL, D_FF))
                if name == "feed_forward"
                else ("WorkingAttention", (D_MODEL, NUM_HEADS))
            )
            parts.append(component.part(kind, sizes))
            load_from(remote(parts[-1]), weights, f"decoder.layers.0.{name}.")
        layer = component.construct("DecoderLayer", (*parts, D_MODEL), {"norm": "pre"})
        maker = component.part("Maker", ([layer],))
        stack = component.construct("Decoder", (maker, 1, D_MODEL), {"norm": "pre"})
        return train_model(with_stack(seed, "decoder", remote(stack)), seed=seed, progress=progress)

    require_spelling(spell, seed)
