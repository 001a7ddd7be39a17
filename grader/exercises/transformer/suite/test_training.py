"""The training test of transformer: the learner's model, made of the judge's parts, spells words backwards."""

from __future__ import annotations

from typing import cast

import pytest

from grader.api import (
    D_FF,
    D_MODEL,
    MAX_LEN,
    NUM_HEADS,
    VOCAB,
    Progress,
    Submission,
    WholeModel,
    load_from,
    remote,
    require_spelling,
    reverser,
    train_model,
)
from zoo.models.transformer import Transformer
from zoo.training.trainer import Score


@pytest.mark.grade(
    category="training",
    points=5,
    title="it learns to reverse words",
    needs=("shape", "masking", "numerics", "gradients", "parameters", "behaviour"),
)
def test_spells_words_backwards(component: Submission, seed: int, progress: Progress) -> None:
    def spell(seed: int) -> Score:
        weights = reverser(seed).state_dict()
        encoder = component.part("WorkingEncoder", (D_MODEL, NUM_HEADS, D_FF))
        decoder = component.part("WorkingDecoder", (D_MODEL, NUM_HEADS, D_FF))
        load_from(remote(encoder), weights, "encoder.")
        load_from(remote(decoder), weights, "decoder.")
        tables = [component.part("WorkingEmbedding", (VOCAB, D_MODEL)) for _ in range(2)]
        for table, side in zip(tables, ("src", "tgt"), strict=True):
            # The exercise multiplies embeddings by sqrt(D); the recipe's vectors are what comes out of that.
            table.load({"weight": weights[f"embeddings.{side}_table.weight"] / D_MODEL**0.5})
        positions = component.part("WorkingPositions", (D_MODEL, MAX_LEN))
        model = component.construct("Transformer", (encoder, decoder, *tables, positions, D_MODEL, VOCAB))
        whole = cast(Transformer, WholeModel(remote(model)))
        return train_model(whole, seed=seed, progress=progress)

    require_spelling(spell, seed)
