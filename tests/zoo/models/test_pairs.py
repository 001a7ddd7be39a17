"""All pairs of variants of different axes, in each assembly: each builds, trains a step and decodes, or is refused."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
INSIDE = tuple(axis.name for axis in AXES if axis.name != "assembly")
PER_LAYER = ("attention", "feedforward")
"""Axes with choices per layer; the encoding has them too, and is covered by `tests/zoo/models/test_per_layer.py`."""
EVERY_SHARE = [
    pytest.param(name, share, marks=[pytest.mark.slow] * (share > 0 or "decoder" not in name))
    for name in ASSEMBLIES
    for share in range(SHARES)
]

Choices = Mapping[str, str]
Pair = frozenset[tuple[str, str]]
"""Two choices, each an axis and a variant."""


def blueprint_of(choices: Choices) -> Blueprint:
    named = {axis.replace("-", "_"): name for axis, name in choices.items()}
    layers = max(name.count("+") + 1 for name in choices.values())
    return make_blueprint(**named, **{**SIZES, "num_encoder_layers": layers, "num_decoder_layers": layers})


def all_pairs(axes: Sequence[str] = INSIDE) -> list[Pair]:
    variants = [[(axis, one.name) for one in get_registry().variants(axis)] for axis in axes]
    return [frozenset(pair) for some in combinations(variants, 2) for pair in product(*some)]


def refused(choices: Choices) -> bool:
    return _refused(frozenset(choices.items()))


@cache
def _refused(choices: Pair) -> bool:
    return bool(problems(make_plan(blueprint_of(dict(choices)), get_registry())))


@cache
def covering_all_pairs(assembly: str, axes: Sequence[str] = INSIDE, layers: int = 1) -> tuple[Choices, ...]:
    """Models in which every pair of `axes` occurs that no rule refuses; each covers as many new ones as it can.

    With several `layers`, these differ where an axis has choices per layer.
    """
    models = []
    left = {pair: None for pair in all_pairs(axes) if not refused({**dict(pair), "assembly": assembly})}
    while left:
        chosen = {"assembly": assembly, **dict(sorted(next(iter(left))))}
        for axis in axes:
            if axis not in chosen:
                names = (name for name, _ in _by_gain(axis, chosen, left))
                chosen[axis] = next(name for name in names if not refused({**chosen, axis: name}))
        for axis in (one for one in PER_LAYER if layers > 1 and one in axes):
            for name, gain in _by_gain(axis, chosen, left):
                longer = {**chosen, axis: f"{chosen[axis]}+{name}"}
                fits = gain and name not in chosen[axis].split("+") and longer[axis].count("+") < layers
                if fits and not refused(longer):
                    chosen = longer
        for one, other in combinations(chosen.items(), 2):
            for pair in product(_each(*one), _each(*other)):
                left.pop(frozenset(pair), None)
        models.append(chosen)
    return tuple(models)


def _each(axis: str, names: str) -> list[tuple[str, str]]:
    return [(axis, name) for name in names.split("+")]


def _by_gain(axis: str, chosen: Choices, left: Collection[Pair]) -> list[tuple[str, int]]:
    """The variants of an axis, those first that make most new pairs with what is chosen on the others."""
    others = [one for name, value in chosen.items() if name != axis for one in _each(name, value)]
    gains = {
        one.name: sum(frozenset({(axis, one.name), other}) in left for other in others)
        for one in get_registry().variants(axis)
    }
    return sorted(gains.items(), key=lambda one: -one[1])


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


@pytest.mark.slow
@pytest.mark.parametrize(("assembly", "share"), EVERY_SHARE)
def test_every_pair_works(assembly: str, share: int) -> None:
    for choices in covering_all_pairs(assembly)[share::SHARES]:
        try:
            trains_and_decodes(blueprint_of(choices))
        except Exception as error:
            raise AssertionError(str(choices)) from error


@pytest.mark.parametrize(("axis", "assembly"), [
    pytest.param(axis, name, marks=[pytest.mark.slow] * (axis == "attention" or name != "decoder"))
    for axis in PER_LAYER for name in ASSEMBLIES
])  # fmt: skip
def test_any_two_variants_work_on_two_layers_of_a_model(axis: str, assembly: str) -> None:
    names = [one.name for one in get_registry().variants(axis)]
    worked = 0
    for one, other in combinations(names, 2):
        choices = {"assembly": assembly, axis: f"{one}+{other}"}
        if not refused(choices):
            worked += 1
            try:
                trains_and_decodes(blueprint_of(choices))
            except Exception as error:
                raise AssertionError(str(choices)) from error
        else:
            assert refused({**choices, axis: one}) or refused({**choices, axis: other})
    assert worked > len(names)


@pytest.mark.parametrize("assembly", ASSEMBLIES)
@pytest.mark.sampled(4)
def test_every_other_pair_is_refused(assembly: str) -> None:
    pairs = [{**dict(pair), "assembly": assembly} for pair in all_pairs()]
    others = [choices for choices in pairs if refused(choices)]
    assert others
    for choices in others:
        with pytest.raises(CombinationError):
            build(blueprint_of(choices))
