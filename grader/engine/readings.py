"""Matches a learner's parameters with those expected: by shape, first value, name and order.

The learner's names are free, and often several readings are possible (two layer norms of equal size). All are listed,
the likeliest first; the exam tries them, and takes the one in which the numbers come out right. Several of them may be
stacked in one parameter (gain and shift as [2, D], [D, 2] or in turns), if it holds nothing else, or lie one after the
other in a vector (both biases of two layers); and one may be cut into several (a list of parameters or of layers, each
with some of the rows or columns).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, islice, product, zip_longest

import torch
from torch import Tensor

from grader.core.submission import ParameterInfo
from grader.engine.layout import Layout, Shapes

MOST = 48
WAYS_TO_JOIN = 32
ROWS = -1
Chunks = tuple[tuple[str, torch.Size], ...]
_UNASSIGNED = 1000
_OTHER_NAME, _OTHER_START = 3, 20
_UNLIKE = _OTHER_NAME + _OTHER_START - 1  # beside these, places in the order cost little


@dataclass(frozen=True)
class Wanted:
    """A parameter that the reference has.

    Attributes:
        name: the reference's, "norm1.gain": what stands before the last dot belongs together.
        shape: its shape.
        words: a pattern of names that people give it.
        starts: the value all its numbers start with, if the contract fixes that.
        optional: whether the contract leaves it free to be there.
        idle: whether right code does nothing with it, where it is there.
    """

    name: str
    shape: tuple[int, ...]
    words: str = ""
    starts: float | None = None
    optional: bool = False
    idle: bool = False


@dataclass(frozen=True)
class Slot:
    """Where one wanted parameter is kept: under which name, as which of so many equal pieces, whether transposed.

    Attributes:
        shape: of the learner's whole parameter.
        along: the dimension along which its pieces are stacked; one beyond the last: they take turns.
        chunks: names and shapes of the learner's parameters that make up the whole one; none if it is one.
        cut: the dimension along which it is cut into chunks; `ROWS`: each is a row, a vector.
        start: the number that it begins at, where pieces are of unlike sizes: in a vector, or with a bias as the first
            or last row (or column, `along` 1) of its matrix.
    """

    own: str
    shape: torch.Size
    turned: bool = False
    piece: int = 0
    pieces: int = 1
    along: int = 0
    chunks: Chunks = ()
    cut: int = 0
    start: int | None = None

    def where(self, positions: Mapping[str, Tensor], shape: Sequence[int]) -> Tensor:
        """The positions of the wanted parameter's numbers, from those of all of the learner's parameters."""
        if not self.chunks:
            return self._read(positions[self.own], shape)
        parts = [positions[name] for name, _ in self.chunks]
        return self._read(torch.stack(parts) if self.cut == ROWS else torch.cat(parts, self.cut), shape)

    def _read(self, value: Tensor, shape: Sequence[int]) -> Tensor:
        """The reference's form of the learner's whole value."""
        if self.start is not None:
            flat = value.movedim(self.along, 0).flatten()  # -> [all numbers]
            mine = flat[self.start : self.start + math.prod(shape)]  # -> [numbers]
        else:
            mine = _in_front(value, self.along, self.pieces).reshape(self.pieces, -1)[
                self.piece
            ]  # -> [numbers]
        if self.turned:
            return mine.reshape(tuple(reversed(shape))).T  # [..., ...] -> turned
        return mine.reshape(tuple(shape))  # the reference's shape


Slots = Mapping[str, Slot]
_INDEX = re.compile(r"(?<![^.])\d+(?![^.])")  # a number as a part of a dotted name


def own_parameters(parameters: Mapping[str, ParameterInfo]) -> dict[str, ParameterInfo]:
    """Those that the learner made and that hold numbers: the weights of the judge's own parts are left out."""
    return {
        name: one
        for name, one in parameters.items()
        if one.value.numel() and not name.rpartition(".")[2].startswith("judge_")
    }


def are_computed(names: Iterable[str]) -> bool:
    """Whether torch computes some weights from other parameters, as `parametrizations.weight_norm` of torch does."""
    return any("parametrizations" in name.split(".") for name in names)


def are_unusual(own: Mapping[str, ParameterInfo], wanted: Iterable[Sequence[int]]) -> bool:
    """Whether some have another shape than one that is wanted, or than several of these on top of one another.

    The numbers of these may have any order.
    """
    usual = {tuple(way) for shape in wanted for way in (_plain(shape), _plain(shape)[::-1])}
    return any(not _is_usual(_plain(info.value.shape), usual) for info in own.values())


def _is_usual(shape: Sequence[int], usual: Collection[tuple[int, ...]]) -> bool:
    return tuple(shape) in usual or any(
        len(shape) == len(one) == 2 and shape[1 - i] == one[1 - i] and not shape[i] % one[i]
        for one in usual
        for i in (0, 1)
    )


def readings(parameters: Mapping[str, ParameterInfo], wanted: Sequence[Wanted]) -> list[Layout]:
    """All ways to find the wanted parameters among the learner's own, the likeliest first.

    What cannot be found is left out of a reading. There is at least one, which may be empty.
    """
    own, needed = own_parameters(parameters), tuple(wanted)
    whole = tuple(_Own(name, p.value.shape, _level(p.value)) for name, p in own.items())
    found = _readings(whole, needed)
    if _complete(found[0], wanted):
        return _plainly_read(whole, needed)
    shapes = tuple((one.name, one.shape) for one in whole)
    return [_layout(slots, shapes, needed) for slots in _cut_or_joined(own, wanted) or found]


@lru_cache(maxsize=256)  # it is asked for in each call
def _plainly_read(whole: tuple[_Own, ...], wanted: tuple[Wanted, ...]) -> list[Layout]:
    shapes = tuple((one.name, one.shape) for one in whole)
    return [_layout(slots, shapes, wanted) for slots in _readings(whole, wanted)]


def _layout(slots: Slots, shapes: Shapes, wanted: Sequence[Wanted]) -> Layout:
    index = {one.name: _where(slots[one.name], shapes, one.shape) for one in wanted if one.name in slots}
    return Layout(dict(shapes), index)


@lru_cache(maxsize=512)
def _where(slot: Slot, shapes: Shapes, shape: tuple[int, ...]) -> Tensor:
    """The positions of a wanted parameter's numbers in all of the learner's parameters."""
    sizes = [math.prod(one) for _, one in shapes]
    numbers = torch.arange(sum(sizes)).split(sizes)
    positions = {name: some.view(one) for (name, one), some in zip(shapes, numbers, strict=True)}
    return slot.where(positions, shape)


def _cut_or_joined(own: Mapping[str, ParameterInfo], wanted: Sequence[Wanted]) -> list[Slots]:
    """Ways in which all that is wanted is found, some of it as pieces of a parameter, or as several joined."""
    joined: list[list[Slots]] = [
        _readings(way, tuple(wanted)) for way in islice(_joined(own), 1, WAYS_TO_JOIN)
    ]
    if fitting := [some for some in joined if _complete(some[0], wanted)]:
        most = max(len(some[0]) for some in fitting)
        ranks = zip_longest(
            *(some for some in fitting if len(some[0]) == most)
        )  # the likeliest of each way first
        return [one for rank in ranks for one in rank if one is not None][:MOST]
    if len(own) >= len(wanted):
        return []
    stacked: list[Slots] = []
    for cut in _ways_to_cut(own, wanted):
        for along in range(1 + max((p.value.dim() for p in own.values()), default=0)):
            pieces = tuple(
                piece
                for name, p in own.items()
                for piece in cut.get(name) or _pieces(name, p.value, wanted, along)
            )
            stacked += [one for one in _readings(pieces, tuple(wanted)) if _complete(one, wanted)]
        if stacked and not cut:
            break
    return stacked[:MOST]


@dataclass(frozen=True)
class _Own:
    """What is looked at of a learner's parameter, or of a piece of it.

    Attributes:
        shape: its own, or the piece's.
        level: the value that all its numbers have, if they do.
        piece, pieces, along: which piece, of how many, stacked along which dimension.
        whole: the whole parameter's shape, if this is a piece.
        chunks, cut, start: see `Slot`.
    """

    name: str
    shape: torch.Size
    level: float | None
    piece: int = 0
    pieces: int = 1
    along: int = 0
    whole: torch.Size | None = None
    chunks: Chunks = ()
    cut: int = 0
    start: int | None = None


def _joined(own: Mapping[str, ParameterInfo]) -> Iterator[tuple[_Own, ...]]:
    """The parameters as they are, then with those as one that are numbered and fit together, by rows or by columns."""
    groups: dict[str, dict[str, Tensor]] = {}
    for name, info in own.items():
        groups.setdefault(_INDEX.sub("*", name), {})[name] = info.value
    choices: list[list[list[_Own]]] = []
    for label, parts in groups.items():
        apart = [_Own(name, value.shape, _level(value)) for name, value in parts.items()]
        ways = [_as_one(label, parts, cut) for cut in (0, 1, ROWS)] if len(parts) > 1 else []
        choices.append([apart, *([way] for way in ways if way is not None)])
    for chosen in product(*choices):
        yield tuple(one for group in chosen for one in group)


def _as_one(label: str, parts: Mapping[str, Tensor], cut: int) -> _Own | None:
    """The parts as one parameter that is cut along a dimension; None if they do not fit."""
    values, shapes = list(parts.values()), {value.shape for value in parts.values()}
    if cut == ROWS:
        if len(shapes) > 1 or values[0].dim() != 1:
            return None
    elif any(value.dim() <= cut for value in values) or len({(*s[:cut], *s[cut + 1 :]) for s in shapes}) > 1:
        return None
    whole = torch.stack(values) if cut == ROWS else torch.cat(values, cut)
    chunks = tuple((name, value.shape) for name, value in parts.items())
    return _Own(label, whole.shape, _level(whole), chunks=chunks, cut=cut)


def _level(value: Tensor) -> float | None:
    flat = value.flatten()
    return float(flat[0]) if flat.numel() and bool((flat == flat[0]).all()) else None


def _pieces(name: str, value: Tensor, wanted: Sequence[Wanted], along: int) -> list[_Own]:
    """A parameter cut along a dimension into pieces of a wanted shape; whole if that cannot be."""
    shapes = [shape for one in wanted for shape in (one.shape, one.shape[::-1])]
    if _plain(value.shape) in map(_plain, shapes) or along > max(1, value.dim() - 1):
        return [_Own(name, value.shape, _level(value))]
    for shape in shapes:
        count = value.numel() // math.prod(shape)
        if not 1 < count <= len(wanted) or count * math.prod(shape) != value.numel():
            continue
        first = _in_front(value, along, count)
        if _is_stack(first.shape, shape):
            cut = first.reshape(count, *shape)  # [pieces, ...]
            return [_Own(name, p.shape, _level(p), i, count, along, value.shape) for i, p in enumerate(cut)]
    return [_Own(name, value.shape, _level(value))]


def _ways_to_cut(
    own: Mapping[str, ParameterInfo], wanted: Sequence[Wanted]
) -> Iterator[dict[str, list[_Own]]]:
    """The pieces of vectors, by name: of none, of those that hold all that is wanted, or all biases, in both orders; of
    matrices that have a bias in them."""
    yield {}
    for first in (False, True):
        inside = {
            name: cut
            for name, info in own.items()
            if (cut := _with_bias(name, info.value, wanted, first=first))
        }
        if inside:
            yield inside
    shapes = [one.shape for one in wanted]
    vectors: list[tuple[int, ...]] = [shape for shape in shapes if len(shape) == 1]
    matrices = [shape for one in wanted for shape in (one.shape, one.shape[::-1]) if len(one.shape) == 2]
    alone = [[shape] for shape in dict.fromkeys(matrices)]  # a matrix as one vector
    turned = [shape[::-1] for shape in shapes]
    choices: list[list[tuple[int, ...]]] = [shapes, shapes[::-1], turned, vectors, vectors[::-1], *alone]
    for some in choices:
        ends = list(accumulate(map(math.prod, some)))
        found: dict[str, list[_Own]] = {}
        for name, info in own.items():
            value = info.value.flatten()
            if not some or some[0] == info.value.shape or _plain(info.value.shape) != [ends[-1]]:
                continue
            starts = [end - math.prod(shape) for shape, end in zip(some, ends, strict=True)]
            found[name] = [
                _Own(
                    name, torch.Size(shape), _level(value[start:end]), i, len(some), 0, info.value.shape, start=start
                )
                for i, (shape, start, end) in enumerate(zip(some, starts, ends, strict=True))
            ]  # fmt: skip
        if found:
            yield found


def _with_bias(name: str, value: Tensor, wanted: Sequence[Wanted], *, first: bool) -> list[_Own]:
    """A matrix and the bias that is its first, or last, row or column; none if there is nothing like it."""
    shapes = [one.shape for one in wanted]
    for along in range(value.dim() if value.dim() == 2 else 0):
        rows, others = value.size(along) - 1, value.size(1 - along)
        if (others,) not in shapes or not {(rows, others), (others, rows)} & {*shapes}:
            continue
        flat = value.movedim(along, 0).flatten()
        sizes = [(others,), (rows, others)] if first else [(rows, others), (others,)]
        starts = (0, math.prod(sizes[0]))
        pieces = flat.split([math.prod(size) for size in sizes])
        return [
            _Own(name, torch.Size(size), _level(piece), i, 2, along, value.shape, start=start)
            for i, (size, start, piece) in enumerate(zip(sizes, starts, pieces, strict=True))
        ]
    return []


def _in_front(value: Tensor, along: int, pieces: int) -> Tensor:
    """The same numbers with the dimension in front along which pieces are stacked."""
    if pieces > 1 and along == value.dim():
        return value.reshape(-1, pieces).T  # [pieces, ...]
    return value.movedim(along, 0) if pieces > 1 else value


def _plain(shape: Sequence[int]) -> list[int]:
    """A shape without its ones, which say nothing."""
    return [n for n in shape if n != 1]


def _is_stack(whole: Sequence[int], shape: Sequence[int]) -> bool:
    """Return whether `whole` is some of `shape` on top of one another: [n, *shape] or [n shape[0], *shape[1:]]."""
    size, last = len(shape), tuple(whole[len(whole) - len(shape) :])
    if len(whole) > size:
        return last == tuple(shape)
    return len(whole) == size and last[1:] == tuple(shape[1:]) and not whole[0] % shape[0]


def _complete(reading: Slots, wanted: Sequence[Wanted]) -> bool:
    """Return whether everything wanted was found, in parameters that hold nothing else."""
    used = Counter(slot.own for slot in reading.values())
    return all(one.optional or one.name in reading for one in wanted) and all(
        used[slot.own] == slot.pieces for slot in reading.values()
    )


@lru_cache(maxsize=256)
def _readings(own: tuple[_Own, ...], wanted: tuple[Wanted, ...]) -> list[Slots]:
    choices = [sorted(_places(one, i, own), key=lambda c: c[0]) for i, one in enumerate(wanted)]
    # To leave out what could be found costs more than any other way; so it is tried only if there is none.
    # What has neither the name nor the first value is no choice either where something else has both.
    sparing = [[c for c in some if c[0] < _UNASSIGNED] or some for some in choices]
    likely = [[c for c in some if c[0] < some[0][0] + _UNLIKE] for some in sparing]
    ways = (list(islice(_assignments(some), 20_000)) for some in (likely, sparing, choices))
    assigned = next(filter(None, ways), [])
    found: list[tuple[float, Slots]] = []
    for picked in assigned:
        slots = {w.name: slot for w, (_, slot) in zip(wanted, picked, strict=True) if slot is not None}
        cost = sum(cost for cost, _ in picked) + 10 * _torn(slots)
        found.append((cost, slots))
    found.sort(key=lambda pair: pair[0])
    best = found[0][0]
    return [slots for cost, slots in found[:MOST] if cost < best + _UNASSIGNED / 2]


def _places(one: Wanted, position: int, own: Sequence[_Own]) -> Iterator[tuple[float, Slot | None]]:
    """The parameters that one could be, with a cost: lower is likelier."""
    for order, info in enumerate(own):
        squeezed, plain = _plain(info.shape), _plain(one.shape)
        for turned in (False, True):
            if squeezed != (plain[::-1] if turned else plain) or (turned and len(plain) < 2):
                continue
            cost = 0.1 * abs(order - position) + turned
            if one.words:
                cost += 0 if re.search(one.words, info.name.lower()) else _OTHER_NAME
            if one.starts is not None:
                cost += 0 if info.level == one.starts else _OTHER_START
            whole = info.shape if info.whole is None else info.whole
            yield (
                cost,
                Slot(
                    info.name,
                    whole,
                    turned,
                    info.piece,
                    info.pieces,
                    info.along,
                    info.chunks,
                    info.cut,
                    info.start,
                ),
            )
    yield (_UNASSIGNED / 10 if one.optional else _UNASSIGNED), None


def _assignments(
    choices: Sequence[Sequence[tuple[float, Slot | None]]], taken: frozenset[tuple[str, int]] = frozenset()
) -> Iterator[list[tuple[float, Slot | None]]]:
    if not choices:
        yield []
        return
    for cost, slot in choices[0]:
        if slot is None or (slot.own, slot.piece) not in taken:
            used = taken if slot is None else taken | {(slot.own, slot.piece)}
            for rest in _assignments(choices[1:], used):
                yield [(cost, slot), *rest]


def _torn(slots: Slots) -> int:
    """Return how many parameters that belong together come from different modules of the learner's."""
    homes: dict[str, set[str]] = {}
    for name, slot in slots.items():
        group, _, _ = name.rpartition(".")
        if group:
            homes.setdefault(group, set()).add(_home(slot))
    return sum(len(places) - 1 for places in homes.values())


def _home(slot: Slot) -> str:
    module, dot, last = slot.own.rpartition(".")
    if slot.pieces > 1:
        return f"piece {slot.piece}"
    return module if dot else re.sub(r"(weight|bias|gain|gamma|beta|shift|scale|[abgw])", "", last.lower())
