"""The training test of positions: sinusoids in the source, learned positions in the target, words backwards."""

from __future__ import annotations

from typing import cast

import pytest
import torch

from grader.api import (
    PLACES,
    Progress,
    RemoteInstance,
    RemoteModule,
    SpotChecked,
    Submission,
    require_spelling,
    reverser,
    train_model,
)
from grader.exercises.positions.reference import LEARNED, SINUSOIDAL
from grader.exercises.positions.suite.tables import TableOracle, filled, order_of
from zoo.training.trainer import Recipe, Score


@pytest.mark.grade(
    category="training",
    points=5,
    title="a Transformer with them reverses words",
    needs=("shape", "numerics", "gradients", "parameters", "behaviour"),
)
def test_spells_words_backwards(component: Submission, seed: int, progress: Progress) -> None:
    def spell(seed: int) -> Score:
        recipe, generator = Recipe(seed=seed), torch.Generator().manual_seed(seed)
        kinds = iter(((SINUSOIDAL, "src_positions"), (LEARNED, "tgt_positions")))

        def make(d_model: int, max_len: int) -> SpotChecked:
            name, place = next(kinds)
            instance = component.construct(name, (d_model,), {"max_len": max_len})
            own, order = instance.parameters(), None
            if name == LEARNED:
                table = torch.empty(max_len, d_model).normal_(std=0.1, generator=generator)
                order = order_of(component.construct, own, table.shape)
                instance.load(filled(table, own, order))
            part = RemoteModule(cast(RemoteInstance, instance), name)  # a training test needs a worker
            oracle = TableOracle(name, d_model, max_len, own, order)
            return SpotChecked(part, part.names, oracle, PLACES[place], recipe.steps)

        return train_model(reverser(seed, {"encoding": make}), seed=seed, progress=progress, recipe=recipe)

    require_spelling(spell, seed)
