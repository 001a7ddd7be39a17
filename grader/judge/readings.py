"""Which of a learner's parameters is which: by shape, first value, name and order.

The learner's names are free, and often several readings are possible (two layer norms of equal size). All are listed,
the likeliest first; the exam tries them, and takes the one in which the numbers come out right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

import torch
from torch import Tensor

from grader.judge.component import ParameterInfo

MOST = 48
_UNASSIGNED = 1000


@dataclass(frozen=True)
class Wanted:
    """A parameter that the reference has.

    Attributes:
        name: the reference's, "norm1.gain": what stands before the last dot belongs together.
        shape: its shape.
        words: a pattern of names that people give it.
        starts: the value all its numbers start with, if the contract fixes that.
        optional: whether the contract leaves it free to be there.
    """

    name: str
    shape: tuple[int, ...]
    words: str = ""
    starts: float | None = None
    optional: bool = False


@dataclass(frozen=True)
class Slot:
    """Where one wanted parameter is kept: under which name, and whether turned round."""

    own: str
    shape: torch.Size
    turned: bool = False

    def write(self, value: Tensor) -> Tensor:
        """The learner's form of the reference's value."""
        return (value.T if self.turned else value).reshape(self.shape)  # the learner's shape

    def read(self, value: Tensor, shape: Sequence[int]) -> Tensor:
        """The reference's form of the learner's value or gradient."""
        if self.turned:
            return value.reshape(tuple(reversed(shape))).T  # [..., ...] -> turned
        return value.reshape(tuple(shape))  # the reference's shape


Reading = Mapping[str, Slot]


def own_parameters(parameters: Mapping[str, ParameterInfo]) -> dict[str, ParameterInfo]:
    """Those that the learner made: the weights of the judge's own parts are left out."""
    return {n: p for n, p in parameters.items() if not n.rpartition(".")[2].startswith("judge_")}


def readings(parameters: Mapping[str, ParameterInfo], wanted: Sequence[Wanted]) -> list[Reading]:
    """All ways to find the wanted parameters among the learner's own, the likeliest first.

    What cannot be found is left out of a reading. There is at least one, which may be empty.
    """
    own = own_parameters(parameters).items()
    found = _readings(tuple(_Own(name, p.value.shape, _level(p.value)) for name, p in own), tuple(wanted))
    return list(found)


@dataclass(frozen=True)
class _Own:
    """What is looked at of a learner's parameter; `level` is the value that all its numbers have, if they do."""

    name: str
    shape: torch.Size
    level: float | None


def _level(value: Tensor) -> float | None:
    flat = value.flatten()
    return float(flat[0]) if flat.numel() and bool((flat == flat[0]).all()) else None


@lru_cache(maxsize=256)
def _readings(own: tuple[_Own, ...], wanted: tuple[Wanted, ...]) -> list[Reading]:
    choices = [sorted(_places(one, i, own), key=lambda c: c[0]) for i, one in enumerate(wanted)]
    found: list[tuple[float, Reading]] = []
    for picked in islice(_assignments(choices), 20_000):
        slots = {w.name: slot for w, (_, slot) in zip(wanted, picked, strict=True) if slot is not None}
        cost = sum(cost for cost, _ in picked) + 10 * _torn(slots)
        found.append((cost, slots))
    found.sort(key=lambda pair: pair[0])
    best = found[0][0]
    return [slots for cost, slots in found[:MOST] if cost < best + _UNASSIGNED / 2]


def _places(one: Wanted, position: int, own: Sequence[_Own]) -> Iterator[tuple[float, Slot | None]]:
    """The parameters that one could be, with a cost: lower is likelier."""
    for order, info in enumerate(own):
        squeezed = [n for n in info.shape if n != 1]
        plain = [n for n in one.shape if n != 1]
        for turned in (False, True):
            if squeezed != (plain[::-1] if turned else plain) or (turned and len(plain) < 2):
                continue
            cost = 0.1 * abs(order - position) + turned
            if one.words:
                cost += 0 if re.search(one.words, info.name.lower()) else 3
            if one.starts is not None:
                cost += 0 if info.level == one.starts else 20
            yield cost, Slot(info.name, info.shape, turned)
    yield (_UNASSIGNED / 10 if one.optional else _UNASSIGNED), None


def _assignments(
    choices: Sequence[Sequence[tuple[float, Slot | None]]], taken: frozenset[str] = frozenset()
) -> Iterator[list[tuple[float, Slot | None]]]:
    if not choices:
        yield []
        return
    for cost, slot in choices[0]:
        if slot is None or slot.own not in taken:
            used = taken if slot is None else taken | {slot.own}
            for rest in _assignments(choices[1:], used):
                yield [(cost, slot), *rest]


def _torn(slots: Reading) -> int:
    """How many parameters that belong together come from different modules of the learner's."""
    homes: dict[str, set[str]] = {}
    for name, slot in slots.items():
        group, _, _ = name.rpartition(".")
        if group:
            homes.setdefault(group, set()).add(_home(slot.own))
    return sum(len(places) - 1 for places in homes.values())


def _home(name: str) -> str:
    module, dot, last = name.rpartition(".")
    return module if dot else re.sub(r"(weight|bias|gain|gamma|beta|shift|scale|[abgw])", "", last.lower())
