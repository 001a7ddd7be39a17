"""All pairs of variants of different axes, in each assembly: each builds, trains a step and decodes, or is refused."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
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
from zoo.models.builder import build, build_decoding, build_loss, build_optimizer, build_schedule
from zoo.models.trial import Tokens
from zoo.parts.decoding.generate import generate

SIZES = {
    "d_model": 8, "num_heads": 2, "d_ff": 12, "num_encoder_layers": 1, "num_decoder_layers": 1,
    "src_vocab": 11, "tgt_vocab": 11, "max_len": 9,
}  # fmt: skip
SRC, TGT = torch.tensor([[3, 4, 5], [6, 7, 0]]), torch.tensor([[1, 8, 9, 2], [1, 5, 0, 0]])
LABELS = torch.tensor([[8, 9, 2, 0], [5, 2, 0, 0]])
SHARES = 8
ASSEMBLIES = tuple(one.name for one in get_registry().variants("assembly"))
INSIDE = [axis for axis in AXES if axis.name != "assembly"]
EVERY_SHARE = [
    pytest.param(name, share, marks=[pytest.mark.slow] * (share > 0))
    for name in ASSEMBLIES
    for share in range(SHARES)
]

Choices = Mapping[str, str]
Pair = frozenset[tuple[str, str]]
"""Two choices, each an axis and a variant."""


def blueprint_of(choices: Choices) -> Blueprint:
    return make_blueprint(**{axis.replace("-", "_"): name for axis, name in choices.items()}, **SIZES)


def all_pairs() -> list[Pair]:
    variants = [[(axis.name, one.name) for one in get_registry().variants(axis.name)] for axis in INSIDE]
    return [frozenset(pair) for some in combinations(variants, 2) for pair in product(*some)]


def refused(choices: Choices) -> bool:
    return bool(problems(make_plan(blueprint_of(choices), get_registry())))


@cache
def covering_all_pairs(assembly: str) -> tuple[Choices, ...]:
    """Models in which every pair occurs that no rule refuses; each covers as many new ones as it can."""
    registry, models = get_registry(), []
    left = {pair: None for pair in all_pairs() if not refused({**dict(pair), "assembly": assembly})}
    while left:
        chosen = {"assembly": assembly, **dict(sorted(next(iter(left))))}
        for axis in INSIDE:
            if axis.name in chosen:
                continue
            gains = {
                one.name: sum(frozenset({(axis.name, one.name), other}) in left for other in chosen.items())
                for one in registry.variants(axis.name)
            }
            for name in sorted(gains, key=lambda one: -gains[one]):
                if not refused({**chosen, axis.name: name}):
                    chosen[axis.name] = name
                    break
        for pair in combinations(chosen.items(), 2):
            left.pop(frozenset(pair), None)
        models.append(chosen)
    return tuple(models)


def trains_and_decodes(blueprint: Blueprint) -> None:
    """One step with finite gradients that changes the weights, then an answer, if it has a decoder."""
    model, recipe = build(blueprint, seed=0), Recipe(steps=2, warmup=1)
    optimizer, schedule = build_optimizer(blueprint, model, recipe), build_schedule(blueprint, 2, 1)
    tokens = Tokens(SRC, TGT, LABELS)
    output = model(*tokens.read_by(model))
    labels = LABELS if "decoder" in model.stacks else SRC.flip(0)
    labels = labels if model.reads == "tokens" else labels[:, :1]  # an image has one label
    assert output.shape == (*labels.shape, 11)
    loss = build_loss(blueprint)(output, labels)
    loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
    before = model.head.weight.detach().clone()
    optimizer.param_groups[0]["lr"] *= schedule(0)
    optimizer.step()
    assert not torch.equal(model.head.weight, before)
    if "decoder" not in model.stacks:
        return
    answers = generate(model, SRC, 3, build_decoding(blueprint))
    assert answers.shape[0] == 2
    assert 1 <= answers.shape[1] <= 3


@pytest.mark.parametrize(("assembly", "share"), EVERY_SHARE)
def test_every_pair_works(assembly: str, share: int) -> None:
    for choices in covering_all_pairs(assembly)[share::SHARES]:
        try:
            trains_and_decodes(blueprint_of(choices))
        except Exception as error:
            raise AssertionError(str(choices)) from error


@pytest.mark.parametrize("assembly", ASSEMBLIES)
def test_every_other_pair_is_refused(assembly: str) -> None:
    pairs = [{**dict(pair), "assembly": assembly} for pair in all_pairs()]
    others = [choices for choices in pairs if refused(choices)]
    assert others
    for choices in others:
        with pytest.raises(CombinationError):
            build(blueprint_of(choices))
