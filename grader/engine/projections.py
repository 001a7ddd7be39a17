"""Finds the four projections of an attention among a learner's parameters: by name, shape and order.

Matrices may be packed ([3D, D], in any order, or head by head), split by head, cut into one parameter per head, or
transposed; names are free, but one that says plainly what it is decides. Often several readings are possible. All are
listed, the likeliest first; the one with which the numbers come out right is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, permutations, product
from math import prod

import torch
from torch import Tensor

from grader.core.submission import ParameterInfo
from grader.engine.layout import Layout, Shapes
from grader.engine.projection_names import is_bias_of, role_of, stem

ROLES = ("q", "k", "v", "out")
COUNTS = (2, 3, 4)  # of matrices that are packed
MOST = 200
MOST_IN_VECTORS = 48  # with biases at either place; an experiment finds what is not among them
# The matrices that are transposed against what their names let expect: the usual ones first.
FLIPS = tuple(map(frozenset, ("", "qkvo", "o", "qkv", "k", "v", "q", "qk", "kv", "qv")))
# Of packed matrices, heads and channels, in one dimension.
RUNS = ("CHd", "HCd", "Hd", "Cd", "CH", "HC", "HdC", "dC")


def missing(found: Layout, width: int) -> list[str]:
    """Roles whose weights were not found, or are not [width, width]."""
    square = (width, width)
    return [
        r for r in ROLES if f"{r}.weight" not in found.index or found.index[f"{r}.weight"].shape != square
    ]


def projections(parameters: Mapping[str, ParameterInfo], width: int, heads: int) -> list[Layout]:
    """All readings of the learner's own parameters. There is at least one; what was not found is not in it."""
    return _projections(tuple((name, info.value.shape) for name, info in parameters.items()), width, heads)


@dataclass(frozen=True, eq=False)
class _Group:
    """A parameter, or those that are numbered and make up one together.

    Attributes:
        name: the first one's.
        where: positions; of several, [pieces, ...].
        count: how many matrices (or biases) of full size it holds; 0 if it fits none.
        pieces: whether it is made up of numbered ones.
    """

    name: str
    where: Tensor
    count: int
    pieces: bool = False

    @property
    def role(self) -> str | None:
        return role_of(self.name)


@lru_cache(maxsize=512)
def _projections(shapes: Shapes, width: int, heads: int) -> list[Layout]:
    found: dict[tuple[object, ...], Layout] = {}
    vectors = any(_matrices_in(shape, width) for _, shape in shapes)
    for in_turns in (False, True) if vectors else (False,):
        groupings: list[Groups] = []
        # as many pieces, or rows, as heads may be matrices, or heads
        for some, last in product((0, heads), (False, True) if heads in COUNTS else (False,)):
            found_groups = _grouped(shapes, width, some, last=last, in_turns=in_turns)
            if not any(_are_same(found_groups, one) for one in groupings):
                groupings.append(found_groups)
        most = len(found) + (MOST_IN_VECTORS if vectors else MOST)
        for label, index in chain.from_iterable(_readings(*one, width, heads) for one in groupings):
            key = tuple((name, tuple(where.flatten().tolist())) for name, where in index.items())
            found.setdefault(key, Layout(dict(shapes), index, f"{in_turns} {label}"))
            if len(found) == most:
                break
    # what no reading looks at has the value that it starts with, often 0, until a training changes it
    most_first = sorted(found.values(), key=lambda one: -sum(where.numel() for where in one.index.values()))
    return most_first or [Layout(dict(shapes), {})]


Groups = tuple[list[_Group], list[_Group]]


def _are_same(some: Groups, others: Groups) -> bool:
    """Return whether two ways to group parameters have the same groups."""
    return all(
        len(a) == len(b)
        and all(x.count == y.count and torch.equal(x.where, y.where) for x, y in zip(a, b, strict=True))
        for a, b in zip(some, others, strict=True)
    )


def _grouped(
    shapes: Shapes,
    width: int,
    heads: int,
    *,
    last: bool = False,
    in_turns: bool = False,
) -> Groups:
    """The matrices and the biases, each in the order in which they were made.

    Args:
        heads: so many numbered parameters of one shape are one for each head; 0 where that is not looked at.
        last: of dimensions that are as large as matrices are packed, the last one counts them, not the first.
        in_turns: in a vector with all numbers each bias follows its matrix.
    """
    together: dict[tuple[str, str], dict[str, Tensor]] = {}
    start = 0
    for name, shape in shapes:
        where = torch.arange(start, start + prod(shape)).view(shape).squeeze()  # ones in a shape say nothing
        start += where.numel()
        for end, part in _without_bias(where, width, in_turns=in_turns):
            together.setdefault((re.sub(r"\d+", "*", name), end), {})[name + end] = part
    found: tuple[list[_Group], list[_Group]] = ([], [])
    for (_, end), made in together.items():
        parts = dict(sorted(made.items(), key=lambda one: _numbers_in(one[0])))
        total = sum(where.numel() for where in parts.values())
        matrix = total % width**2 == 0 and total > 0 and not end
        size = width**2 if matrix else width
        odd = not (matrix or end) and not all(
            is_bias_of(name, where.shape, width) for name, where in parts.items()
        )
        matrix |= odd and total not in (2 * width, 3 * width, 4 * width)
        alike, by_head = len({w.shape for w in parts.values()}) == 1, len(parts) == heads > 1
        stacked = alike and (by_head or any(w.numel() % size for w in parts.values()))
        if stacked:
            parts = {next(iter(parts)): torch.stack(list(parts.values())).squeeze()}  # [pieces, ...]
        for name, where in parts.items():
            count = where.numel() // size if where.numel() % size == 0 else 0
            count = 0 if matrix and size == width else count  # matrices of another size
            if matrix and where.dim() == 1 and count:  # a matrix as one vector
                where = where.view(count, width, width).squeeze(0)
            shared = len(where) == count and not last if where.dim() else False
            packed = (
                [dim for dim, n in enumerate(where.shape) if n == count == len(ROLES)]
                if where.dim() > 2
                else []
            )
            if packed and matrix:  # all four, along any dimension
                pieces = where.movedim(packed[-1 if last else 0], 0)
                found[0].extend(_Group(name, piece, 1) for piece in pieces)
            elif stacked and by_head:
                found[not matrix].append(_Group(name, where, count, pieces=True))
            elif count > 1 and ((shared and where.dim() > (2 if matrix else 1)) or (count == 4 and matrix)):
                pieces = where
                if where.dim() == 2 and matrix:  # side by side: [D, 4D] -> [4, D, D]
                    across = (
                        where.unflatten(1, (count, width)).transpose(0, 1) if len(where) == width else where
                    )
                    pieces = across.reshape(count, -1, width)
                found[not matrix].extend(_Group(name, piece, 1) for piece in pieces)
            else:
                found[not matrix].append(_Group(name, where, count, pieces=stacked))
    return found


def _numbers_in(name: str) -> list[int]:
    return [int(one) for one in re.findall(r"\d+", name)]


def _matrices_in(shape: Sequence[int], width: int) -> int:
    """How many matrices and biases a vector holds; 0 if it is none that holds as many of these."""
    count, rest = divmod(prod(shape), width * (width + 1))
    return count if len(shape) == 1 and not rest and count <= len(ROLES) else 0


def _without_bias(where: Tensor, width: int, *, in_turns: bool) -> Iterator[tuple[str, Tensor]]:
    """A parameter as a whole; or its matrices, and their biases, each with a name's end: a matrix whose last column (or
    row) is the bias, or a vector with everything."""
    count = _matrices_in(where.shape, width)
    if count:
        some = [1] * count if in_turns else [count]
        parts = where.split([n * size for n in some for size in (width**2, width)])  # matrices, biases, ...
        matrices, biases = torch.cat(parts[::2]), torch.cat(parts[1::2])
        yield "", matrices.view(count, width, width).squeeze(0)  # [count, D, D]
        yield "biases", biases.view(count, width).squeeze(0)  # [count, D]
    elif where.dim() == 2 and width + 1 in where.shape and where.numel() % (width + 1) == 0:
        dim = list(where.shape).index(width + 1)
        yield "", where.narrow(dim, 0, width)
        yield "bias", where.select(dim, width)
    else:
        yield "", where


def _readings(
    matrices: Sequence[_Group], biases: Sequence[_Group], width: int, heads: int
) -> Iterator[tuple[str, dict[str, Tensor]]]:
    ways_of = cache(lambda group, roles, linear: list(_ways(group, roles, width, heads, linear=linear)))
    bias_index = cache(lambda homes: _bias_index(biases, homes, width, heads))
    assigned = list(_assignments(matrices))
    for flip in FLIPS:
        for roles in assigned:
            # The ways to read each matrix; groups that can be read in as many ways go the same way.
            linear = {group: group.name.endswith("weight") != (roles[group][0][0] in flip) for group in roles}
            ways = {group: ways_of(group, roles[group], linear[group]) for group in roles}
            lengths = sorted({len(some) for some in ways.values() if some})
            for numbers in product(*map(range, lengths)):
                number = dict(zip(lengths, numbers, strict=True))
                chosen = {g: some[number[len(some)]] for g, some in ways.items() if some}
                index = {
                    f"{role}.weight": piece
                    for group, (_, found) in chosen.items()
                    for role, piece in zip(roles[group], found, strict=True)
                }
                homes = tuple((group, roles[group], order) for group, (order, _) in chosen.items())
                label = f"{sorted(flip)} {[(mine, order) for _, mine, order in homes]}"
                yield label, index | bias_index(homes)


def _assignments(matrices: Sequence[_Group]) -> Iterator[dict[_Group, tuple[str, ...]]]:
    """Yield which roles each group has: its name's, or what the names leave over, in any order."""
    named: dict[_Group, tuple[str, ...]] = {}
    for group in matrices:
        if group.role and all(roles != (group.role,) for roles in named.values()):
            named[group] = (group.role,)
    left = [role for role in ROLES if (role,) not in named.values()]
    silent = [group for group in matrices if group.role is None and group.count]

    def shared(groups: Sequence[_Group], roles: Sequence[str]) -> Iterator[dict[_Group, tuple[str, ...]]]:
        if not groups:
            yield {}
            return
        first, *rest = groups
        pool = roles if first.count == 1 else [role for role in roles if role != "out"]
        if len(pool) < first.count:
            yield from shared(rest, roles)
            return
        # Keys and values are what is packed in twos.
        for mine in sorted(
            permutations(pool, first.count), key=lambda some: len(some) == 2 and some != ("k", "v")
        ):
            for others in shared(rest, [role for role in roles if role not in mine]):
                yield {first: mine, **others}

    packed_first = sorted(silent, key=lambda group: group.count == 1)
    for found in shared(packed_first, left):
        yield {**named, **found}


def _ways(
    group: _Group, roles: tuple[str, ...], width: int, heads: int, *, linear: bool
) -> Iterator[tuple[str, list[Tensor]]]:
    """The ways to see a group as so many matrices [out, in]: the order of its dimensions, and the matrices.

    Args:
        linear: they are kept as in `nn.Linear`, [out, in].
    """
    out = roles == ("out",)
    model_last = linear != out  # x [B, T, D] meets the last dimension of a Linear's weight
    where = group.where
    if group.count != len(roles) or where.dim() < 2:
        if where.dim() == 2:  # no projection of the right size
            yield "", [where if linear else where.T]
        return
    dims = sorted((i for i, size in enumerate(where.shape) if size == width), reverse=model_last)
    for dim in dims[:1]:
        moved = where.movedim(dim, -1)  # [heads and channels ..., D]
        for order in _orders(moved.shape[:-1], group.count, heads, width // heads):
            pieces = _arranged(moved, order, group.count, heads, width // heads)  # [count, D, D]
            yield order, [piece.mT if out else piece for piece in pieces]


def _sizes(count: int, heads: int, depth: int) -> dict[str, int]:
    """Of the labels in an order: packed matrices, heads, channels of a head; without ones."""
    return {label: size for label, size in (("C", count), ("H", heads), ("d", depth)) if size > 1}


def _orders(lead: Sequence[int], count: int, heads: int, depth: int) -> list[str]:
    """The orders of the labels that these dimensions can have, the usual one first."""
    sizes = _sizes(count, heads, depth)
    return ["".join(labels) for labels in permutations(sizes) if _fits("".join(labels), lead, sizes)]


def _fits(order: str, lead: Sequence[int], sizes: Mapping[str, int]) -> bool:
    """Return whether each dimension is one label, or a run of them."""
    for size in lead:
        length = next((n for n in range(1, len(order) + 1) if prod(sizes[x] for x in order[:n]) == size), 0)
        if not length or (length > 1 and order[:length] not in RUNS):
            return False
        order = order[length:]
    return not order


def _arranged(where: Tensor, order: str, count: int, heads: int, depth: int) -> Tensor:
    """Positions, heads and channels first -> [count, heads * depth, ...]."""
    sizes = _sizes(count, heads, depth)
    split = where.reshape(*(sizes[label] for label in order), -1)
    turned = split.permute(*(order.index(label) for label in sizes), -1)  # [count, heads, depth, ...]
    return turned.reshape(count, heads * depth, -1)


def _bias_index(
    biases: Sequence[_Group],
    homes: Sequence[tuple[_Group, tuple[str, ...], str]],
    width: int,
    heads: int,
) -> dict[str, Tensor]:
    """Each bias: by its name, by the matrix beside it, or in the order of the matrices that have none."""
    placed: list[tuple[_Group, tuple[str, ...]]] = []
    silent: list[_Group] = []
    beside = {stem(group.name): roles for group, roles, _ in homes}
    for bias in biases:
        roles = (bias.role,) if bias.role else beside.get(stem(bias.name), ())
        if roles and (len(roles) == bias.count or not bias.count):
            placed.append((bias, roles))
        else:
            silent.append(bias)
    taken = {role for _, roles in placed for role in roles}
    by_place = sorted(homes, key=lambda home: int(home[0].where.flatten()[0]))
    free = [role for _, roles, _ in by_place for role in roles if role not in taken]
    for bias in silent:
        lone = len(silent) == 1 and bias.count == 1 and "out" in free
        roles = ("out",) if lone else tuple(free[: bias.count])
        free = [role for role in free if role not in roles]
        placed.append((bias, roles))
    orders = {role: order for _, roles, order in homes for role in roles}
    index: dict[str, Tensor] = {}
    for bias, roles in placed:
        if bias.count and len(roles) == bias.count and roles[0] in orders:
            columns = not bias.pieces and bias.where.shape == (width, bias.count)  # [D, 4]: one each
            flat = (bias.where.T if columns else bias.where).flatten().unsqueeze(-1)  # [numbers, 1]
            order = orders[roles[0]]
            usual = roles == ("out",) or {*order} != {*_sizes(bias.count, heads, width // heads)}
            pieces = (
                flat.view(bias.count, width)
                if usual
                else _arranged(flat, order, bias.count, heads, width // heads)
            )
            index |= {f"{role}.bias": piece.flatten() for role, piece in zip(roles, pieces, strict=True)}
        elif roles:
            index[f"{roles[0]}.bias"] = bias.where.flatten()  # no bias of the right size
    return index
