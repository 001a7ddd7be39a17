"""What tests of torch's own features (autocast, compile, export) share: small models, one axis changed at a time."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from tests.zoo.support import accepted, fitting
from zoo.core.blueprint import Blueprint
from zoo.core.plan import make_plan
from zoo.core.plugins import get_registry
from zoo.core.rules import problems
from zoo.models.builder import build
from zoo.models.transformer import Transformer

PAD, VOCAB = 0, 11
SIZES = {
    "d_model": 32,
    "num_heads": 2,
    "d_ff": 48,
    "num_encoder_layers": 1,
    "num_decoder_layers": 1,
    "src_vocab": VOCAB,
    "tgt_vocab": VOCAB,
    "max_len": 16,
}
NOISE = 0.1
"""On all parameters: none stays at a value that hides anything (0 or 1)."""
AROUND = ("init", "loss", "schedule", "optimizer", "decoding")
"""Axes that have no part in a forward pass."""


def cases(*left_out: str) -> list[str]:
    """ "axis=variant" for every variant of the live registry that can stand in a model, but those of some axes."""
    return [f"{v.axis}={v.name}" for v in accepted() if v.axis not in left_out]


def flex_is_slow(found: Iterable[str]) -> list[object]:
    """These cases for `parametrize`: flex attention, which traces its mask function at every call, is slow."""
    return [pytest.param(case, marks=[pytest.mark.slow] * ("attention=flex" in case)) for case in found]


def blueprint_of(case: str, dropout: float = 0.0) -> Blueprint:
    """The default blueprint with these choices, and what goes with them."""
    return fitting(dict(part.split("=") for part in case.split(",")), dropout=dropout, **SIZES)


def pairs(first: str, *others: str) -> list[str]:
    """Every variant of one axis with every one of some others, where no rule is against it."""
    registry = get_registry()
    found = [
        f"{first}={one.name},{axis}={other.name}"
        for one in registry.variants(first)
        for axis in others
        for other in registry.variants(axis)
    ]
    return [case for case in found if not problems(make_plan(blueprint_of(case), registry))]


@cache
def covering(*left_out: str) -> list[str]:
    """As few models as it takes for every variant that can stand in a model to be in one, but for some axes.

    All are of the default assembly.
    """
    registry, found = get_registry(), []
    left_out = (*left_out, "assembly")
    todo = {a.name: [v.name for v in accepted(a.name)] for a in registry.axes if a.name not in left_out}
    while any(todo.values()):
        chosen: dict[str, str] = {}
        for axis, names in todo.items():
            for name in names:
                if not problems(make_plan(fitting({**chosen, axis: name}, **SIZES), registry)):
                    chosen[axis] = name
                    break
        assert chosen, f"no model can be built with any of {todo}"
        for axis, name in chosen.items():
            todo[axis].remove(name)
        found.append(",".join(f"{axis}={name}" for axis, name in chosen.items()))
    return found


def make(case: str, dropout: float = 0.0, dtype: torch.dtype = torch.float64) -> Transformer:
    """The model in train mode, its parameters a bit off what they start with."""
    model = build(blueprint_of(case, dropout), seed=0).to(dtype)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += NOISE * torch.randn(parameter.shape, generator=generator, dtype=dtype)
    return model


class Batch(NamedTuple):
    """src [B, S] and tgt [B, L], rows of different lengths, then padding."""

    src: Tensor
    tgt: Tensor

    @property
    def real(self) -> Tensor:
        """Which target positions are no padding: [B, L]. What stands at the others is nobody's concern."""
        return self.tgt != PAD


def batch(rows: int = 3, source: int = 6, target: int = 5, seed: int = 0) -> Batch:
    """Random tokens; the first row is full, none is empty."""
    generator = torch.Generator().manual_seed(seed)

    def side(length: int) -> Tensor:
        tokens = torch.randint(3, VOCAB, (rows, length), generator=generator)
        kept = (torch.arange(rows, 0, -1)[:, None] * length / rows).ceil()
        return tokens.masked_fill(torch.arange(length) >= kept, PAD)

    return Batch(side(source), side(target))


def run(call: object, model: Transformer, given: Batch) -> tuple[Tensor, dict[str, Tensor]]:
    """The output of `call` at real positions, and the gradients of `model` of a random weighted sum of it."""
    model.zero_grad(set_to_none=True)
    out: Tensor = call(given.src, given.tgt)[given.real]  # type: ignore[operator]
    generator = torch.Generator().manual_seed(1)
    cotangent = torch.randn(out.shape, generator=generator, dtype=out.dtype)
    (out * cotangent).sum().backward()
    gradients = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    return out.detach(), gradients
