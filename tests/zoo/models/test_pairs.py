"""All pairs of variants of different axes: each builds, trains a step and decodes, or a rule refuses it."""

from __future__ import annotations

from itertools import combinations, product

import pytest
import torch

from zoo.core.axes import AXES
from zoo.core.blueprint import Blueprint, make_blueprint
from zoo.core.errors import CombinationError
from zoo.core.plan import make_plan
from zoo.core.plugins import get_registry
from zoo.core.recipe import Recipe
from zoo.core.rules import problems
from zoo.models.builder import build, build_decoding, build_loss, build_schedule
from zoo.parts.decoding.generate import generate
from zoo.training.trainer import make_optimizer

SIZES = {
    "d_model": 8, "num_heads": 2, "d_ff": 12, "num_encoder_layers": 1, "num_decoder_layers": 1,
    "src_vocab": 11, "tgt_vocab": 11, "max_len": 9,
}  # fmt: skip
SRC, TGT = torch.tensor([[3, 4, 5], [6, 7, 0]]), torch.tensor([[1, 8, 9, 2], [1, 5, 0, 0]])
LABELS = torch.tensor([[8, 9, 2, 0], [5, 2, 0, 0]])


def trains_and_decodes(blueprint: Blueprint) -> None:
    """One step with finite gradients that changes the weights, then an answer."""
    model, recipe = build(blueprint, seed=0), Recipe(steps=2, warmup=1)
    optimizer, schedule = make_optimizer(model, recipe), build_schedule(blueprint, 2, 1)
    output = model(SRC, TGT)
    assert output.shape == (2, 4, 11)
    loss = build_loss(blueprint)(output, LABELS)
    loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
    before = model.head.weight.detach().clone()
    optimizer.param_groups[0]["lr"] *= schedule(0)
    optimizer.step()
    assert not torch.equal(model.head.weight, before)
    answers = generate(model, SRC, 3, build_decoding(blueprint))
    assert answers.shape[0] == 2
    assert 1 <= answers.shape[1] <= 3


@pytest.mark.parametrize(("first", "second"), [*combinations((axis.name for axis in AXES), 2)])
def test_every_pair_works_or_is_refused(first: str, second: str) -> None:
    registry = get_registry()
    for one, other in product(registry.variants(first), registry.variants(second)):
        blueprint = make_blueprint(
            **{first.replace("-", "_"): one.name, second.replace("-", "_"): other.name}, **SIZES
        )
        refused = problems(make_plan(blueprint, registry))
        try:
            if refused:
                with pytest.raises(CombinationError):
                    build(blueprint)
            else:
                trains_and_decodes(blueprint)
        except Exception as error:
            raise AssertionError(f"{first}={one.name} {second}={other.name}") from error
