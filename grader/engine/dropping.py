"""Facts about dropout that do not depend on which numbers it happened to drop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import torch
from torch import Tensor

from grader.engine.draws import Draws

NEAR = 0.06  # shares are measured on thousands of numbers
SURE = 40.0  # minus the logarithm of how likely chance goes as far, by a bound that is good for large numbers
ON_AVERAGE, AS_BEFORE = "on average, with dropout", "as large as without"
NOWHERE, CHANCE = "nowhere", "chance"
AXES = ("sentences", "positions", "features")
UNLIKELY, VERY_UNLIKELY = 6.0, 9.0  # times the deviation that chance gives a mean
MOST_FEW = 30  # numbers, of which a mean says nothing
ROUNDED = 3e-3  # by how much a factor may be off
MOST_LAG = 25  # places that two numbers with one choice lie apart
FEW = 0.1  # of the rows may hold two numbers that are equal by chance


def dropping_facts(
    kept: Tensor, rate: float, shown: Tensor | None = None, before: Tensor | None = None
) -> dict[str, str]:
    """Facts of a branch after dropout divided by the branch before it: 0 where dropped, 1 / (1 - rate) elsewhere.

    Args:
        kept: [..., D], one ratio a number.
        rate: the dropout that was asked for.
        shown: bool [..., D], the ratios that count; None for all.
        before: [..., D], the branch before dropout; None where it is not known.
    """
    all_shown = shown is None
    shown = torch.ones_like(kept, dtype=torch.bool) if shown is None else shown
    counted = kept[shown]
    if not bool(counted.isfinite().all()):
        return {"what dropout did": "not finite"}
    gone = kept.abs() < 1e-2
    share = float((counted.abs() < 1e-2).double().mean())
    usual = next((s for s in (0.0, rate, 1 - rate, 1.0) if abs(share - s) < NEAR), round(share, 1))
    left = counted[counted.abs() >= 1e-2]
    even = bool(left.numel()) and float((left - left.median()).abs().max()) < 2e-2
    whole = (all_shown and not even) or _in_whole(gone, shown)
    choice = chosen(gone, AXES[-kept.dim() :], before, shown)
    each = even and not whole and choice["one choice for all"] == NOWHERE
    return {
        "share of the branch dropped": f"{usual:g}",
        "factor of what is kept": said_of_factor(float(left.median()), rate, 2) if even else "uneven",
        "dropped": "in whole vectors" if whole and bool(gone.any()) else "number by number",
        **choice,
        ON_AVERAGE: mean_after(gone[shown], float(left.median()) if each else None),
    }


def said_of_factor(factor: float, rate: float, digits: int) -> str:
    """A factor with so many digits; the right one as it is, for rounding must not decide between two numbers.

    Args:
        rate: of dropout: what is kept is multiplied by 1 / (1 - rate).
    """
    right = 1 / (1 - rate)
    return f"{right if abs(factor - right) < 0.5 * 10**-digits else factor:.{digits}f}"


def mean_after(gone: Tensor, factor: float | None) -> str:
    """Return whether dropout leaves the mean as it was: the share that is kept times the factor is 1.

    Args:
        gone: bool, what was dropped: thousands of numbers, each by a choice of its own.
        factor: of those that are kept; None where it cannot be judged by that.
    """
    share = float(gone.double().mean())
    if factor is None or not 0 < share < 1:
        return AS_BEFORE
    chance = math.sqrt(share * (1 - share) / gone.numel())
    off = factor * (1 - share) - 1
    if abs(off) <= factor * UNLIKELY * chance + ROUNDED:
        return AS_BEFORE
    return "larger" if off > 0 else "smaller"


def _in_whole(gone: Tensor, shown: Tensor) -> bool:
    """Return whether of each vector all was dropped, or nothing; only what is shown counts."""
    gone = gone & shown
    return bool(((gone | ~shown).all(-1) | ~gone.any(-1)).all())


def chosen(
    gone: Tensor, axes: Sequence[str], before: Tensor | None, shown: Tensor | None = None
) -> dict[str, str]:
    """Facts on what was dropped: whether each number by a choice of its own, and by chance alone.

    Args:
        gone: bool [...], what was dropped.
        axes: a name for each dimension.
        before: [...], the numbers before dropout; None where they are not known.
        shown: bool [...], the numbers that count; None for all.
    """
    counts = torch.ones_like(gone) if shown is None else shown
    reason = CHANCE if before is None else _reason(gone[counts], before[counts].double())
    return {"one choice for all": alike_along(gone, axes, shown), "chosen by": reason}


def alike_along(gone: Tensor, axes: Sequence[str], shown: Tensor | None = None) -> str:
    """Along which axes one choice was made for all, or for blocks, in place of one for each: "nowhere" as it should be.

    Args:
        gone: bool [...], what was dropped.
        axes: a name for each dimension.
        shown: bool [...], the numbers that count; None for all.
    """
    counts = torch.ones_like(gone) if shown is None else shown
    whole = _all_alike_along(gone, axes, counts)
    return _in_blocks_along(gone, axes, counts) if whole == NOWHERE else whole


def _reason(gone: Tensor, values: Tensor) -> str:
    """Return what decides on which of these numbers are dropped: chance, or how large they are."""
    for x in (values, values.abs()):
        dropped, left = x[gone], x[~gone]
        if min(len(dropped), len(left)) < MOST_FEW:
            continue
        chance = float(x.std()) * math.sqrt(1 / len(dropped) + 1 / len(left))
        if abs(float(dropped.mean() - left.mean())) > VERY_UNLIKELY * chance:
            return "how large the numbers are"
    return CHANCE


def _in_blocks_along(gone: Tensor, axes: Sequence[str], counts: Tensor) -> str:
    """Along which axes numbers share a choice with some of the next ones, or with those half of the axis away."""
    share = float(gone[counts].double().mean()) if bool(counts.any()) else 0.0
    alike = share**2 + (1 - share) ** 2  # of two independent choices
    found = []
    for dim, name in enumerate(axes):
        size = gone.size(dim)
        for lag in dict.fromkeys([*range(1, min(size, MOST_LAG)), size // 2]) if size > 1 else ():
            both = counts.narrow(dim, 0, size - lag) & counts.narrow(dim, lag, size - lag)
            equal = (gone.narrow(dim, 0, size - lag) == gone.narrow(dim, lag, size - lag))[both].double()
            chance = math.sqrt(alike * (1 - alike) / max(1, len(equal)))
            more = float(equal.mean()) - alike if len(equal) else 0.0
            if more > max(VERY_UNLIKELY * chance, (1 - alike) / 4):
                found.append(name)
                break
    return "for blocks along the " + " and the ".join(found) if found else NOWHERE


def _all_alike_along(gone: Tensor, axes: Sequence[str], counts: Tensor) -> str:
    """Along which axes one choice was made for all.

    If each number is dropped for itself, the share that is dropped varies along an axis as chance has it; if n numbers
    share one choice, it varies n times as much. Too few numbers to be sure of that (to 1e-12) are not judged.
    """
    share = float((gone & counts).sum()) / max(1, int(counts.sum()))
    found = []
    for dim, name in enumerate(axes):
        number = counts.sum(dim).double()  # [... without dim]
        rows = number > 0
        among = float(number[rows].mean()) if bool(rows.any()) else 0.0
        limit = (1 + among) / 2
        sure = int(rows.sum()) * (limit - 1 - math.log(limit)) / 2 > SURE
        if not sure or not 0 < share < 1:
            continue
        off = ((gone & counts).sum(dim).double()[rows] / number[rows] - share).square() * number[rows]
        if float(off.mean()) / (share * (1 - share)) > limit:
            found.append(name)
    return "along the " + " and the ".join(found) if found else NOWHERE


def drawn_rate(draws: Draws) -> float:
    """A rate of dropout: 0.1 to 0.7, but about 0.25 and 0.5, which others are asked with."""
    low, high = ((10, 24), (26, 40), (60, 70))[draws.integer(0, 2)]
    return draws.integer(low, high) / 100


def drawn_again(*outputs: object) -> str:
    """Return whether equal calls dropped other numbers, each of them."""
    found = [one for one in outputs if isinstance(one, Tensor)]
    same = any(torch.equal(one, other) for one, other in combinations(found, 2))
    return "the same numbers" if same else "other numbers"


def repeats(x: Tensor) -> str:
    """Return whether numbers occur twice within many rows: those that were dropped together are equal afterwards."""
    ordered = x.double().sort(-1).values
    rows = ((ordered[..., 1:] - ordered[..., :-1]).abs() < 1e-7).any(-1)  # [...]
    return "some" if float(rows.double().mean()) > FEW else "none"


def unaffine(out: Tensor, like: Tensor, columns: tuple[int, int]) -> Tensor:
    """Undo a norm: what row was it, if `columns` of it are known to be those of `like`?

    A layer norm shifts and scales each row by one number; two columns that nothing was added to give both away.
    """
    a, b = columns
    scale = (like[..., a] - like[..., b]) / (out[..., a] - out[..., b])  # [...]
    rows: Tensor = (out - out[..., a : a + 1]) * scale.unsqueeze(-1) + like[..., a : a + 1]
    return rows


def no_shape(output: object, x: Tensor) -> dict[str, str] | None:
    """A fact in place of the others if the output is not of the shape of x, or complex."""
    if isinstance(output, Tensor) and output.shape == x.shape and not output.is_complex():
        return None
    return {"shape": str(list(output.shape) if isinstance(output, torch.Tensor) else None)}
