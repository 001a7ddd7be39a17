"""Where a learner's parameters hold the four projections: by name, shape and order; several readings, likeliest first.

Matrices may be packed ([3D, D]), split by head, or transposed. A name that says plainly what it is decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice, permutations, product

import torch
from torch import Tensor

from grader.api import Layout, ParameterInfo, is_bias, role_of
from grader.exercises.attention.reference import ROLES

MOST = 48
Places = dict[str, Tensor]  # role -> [out, in], positions in all parameters, flattened and joined


def layouts(parameters: Mapping[str, ParameterInfo], d_model: int, heads: int) -> list[Layout]:
    """All readings. There is at least one, in which projections that were not found are left out."""
    values = {name: info.value for name, info in parameters.items()}
    frozen = frozenset(name for name, info in parameters.items() if not info.requires_grad)
    where, start = {}, 0
    for name, value in values.items():
        positions = torch.arange(start, start + value.numel()).view(value.shape)
        start += value.numel()
        if not is_bias(name, value.dim()):
            where[name] = positions.squeeze()  # a convolution's kernel, a lone head: ones say nothing
    found = _readings(where, d_model, heads)
    indices = [{f"{role}.weight": index for role, index in places.items()} for places in found]
    return [Layout(values, index, frozen=frozen) for index in indices]


def _readings(where: Mapping[str, Tensor], width: int, heads: int) -> list[Places]:
    options: list[list[Places]] = []
    named: dict[str, list[str]] = {}
    for name in where:
        role = role_of(name)
        if role is not None:
            named.setdefault(role, []).append(name)
    for role, names in named.items():
        pieces = [where[name] for name in names]
        linear = names[0].endswith("weight")
        found = _one(pieces[0], role, width, heads) if len(pieces) == 1 else _by_head(pieces, role, width)
        options.append([{role: index} for index in (found if linear else found[::-1])])
    missing = [role for role in ROLES if role not in named]
    silent = {n: p for n, p in where.items() if role_of(n) is None}
    options += _silent(silent, missing, width, heads)
    return [
        {role: index for places in chosen for role, index in places.items()}
        for chosen in islice(product(*filter(None, options)), MOST)
    ]


def _one(where: Tensor, role: str, width: int, heads: int) -> list[Tensor]:
    """The ways to read one matrix as [out, in]; a Linear's way first."""
    if where.numel() != width * width:
        return []
    depth = width // heads
    if where.dim() == 2:
        return [where, where.T] if where.shape == (width, width) else []
    turns: dict[tuple[int, ...], tuple[int, int, int]] = {
        (heads, width, depth): (0, 2, 1),
        (width, heads, depth): (1, 2, 0),
        (heads, depth, width): (0, 1, 2),
    }
    if role == "out":
        turns = {
            (heads, depth, width): (2, 0, 1),
            (width, heads, depth): (0, 1, 2),
            (heads, width, depth): (1, 0, 2),
        }
    turn = turns.get(tuple(where.shape))
    return [] if turn is None else [where.permute(turn).reshape(width, width)]  # [out, in]


def _by_head(pieces: list[Tensor], role: str, width: int) -> list[Tensor]:
    """A matrix a head, in order."""
    if any(piece.dim() != 2 or width not in piece.shape for piece in pieces):
        return []
    if sum(piece.numel() for piece in pieces) != width * width:
        return []
    if role == "out":
        upright = [piece if piece.size(0) == width else piece.T for piece in pieces]  # [D, d]
        return [torch.cat(upright, 1)]
    upright = [piece if piece.size(1) == width else piece.T for piece in pieces]  # [d, D]
    return [torch.cat(upright, 0)]


def _silent(silent: Mapping[str, Tensor], missing: list[str], width: int, heads: int) -> list[list[Places]]:
    """Matrices whose names do not say what they are: packed ones by size, single ones in any order."""
    options: list[list[Places]] = []
    left, singles = list(missing), []
    for where in silent.values():
        count = where.numel() // (width * width)
        if where.numel() == width * width:
            singles.append(where)
        elif count in (2, 3, 4) and where.numel() == count * width * width:
            roles = {2: ["k", "v"], 3: ["q", "k", "v"], 4: list(ROLES)}[count]
            if all(role in left for role in roles):
                left = [role for role in left if role not in roles]
                options.append(
                    [dict(zip(roles, parts, strict=True)) for parts in _packed(where, count, width, heads)]
                )
    if singles and len(singles) == len(left):
        orders = permutations(left)
        turned: list[Callable[[Tensor], Tensor]] = [lambda p: p, lambda p: p.mT]
        options.append(
            [
                {role: turn(p).reshape(width, width) for role, p in zip(order, singles, strict=True)}
                for order in orders
                for turn in turned
            ]
        )
    return options


def _packed(where: Tensor, count: int, width: int, heads: int) -> list[list[Tensor]]:
    """[n D, D], in order, or head by head; or turned round."""
    if where.dim() == 3 and where.shape == (count, width, width):
        return [list(where), [one.T for one in where]]
    if where.dim() != 2 or width not in where.shape:
        return []
    rows = where if where.size(1) == width else where.T  # [n D, D]
    depth = width // heads
    by_head = rows.reshape(heads, count, depth, width).transpose(0, 1).reshape(count, width, width)
    return [list(rows.reshape(count, width, width)), list(by_head)]
