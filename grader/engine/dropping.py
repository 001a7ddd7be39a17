"""What dropout did, in words that do not depend on which numbers it happened to drop."""

from __future__ import annotations

import torch
from torch import Tensor

NEAR = 0.06  # shares are measured on thousands of numbers
FEW = 0.1  # of the rows may hold two numbers that are equal by chance


def dropping_facts(kept: Tensor, rate: float) -> dict[str, str]:
    """Facts of a branch after dropout divided by the branch before it: 0 where dropped, 1 / (1 - rate) elsewhere.

    Args:
        kept: [..., D], one ratio a number.
        rate: the dropout that was asked for.
    """
    if not bool(kept.isfinite().all()):
        return {"what dropout did": "not finite"}
    gone = kept.abs() < 1e-2
    share = float(gone.double().mean())
    usual = next((s for s in (0.0, rate, 1 - rate, 1.0) if abs(share - s) < NEAR), round(share, 1))
    left = kept[~gone]
    even = bool(left.numel()) and float((left - left.median()).abs().max()) < 2e-2
    whole = not even or bool((gone.flatten(0, -2).all(-1) | ~gone.flatten(0, -2).any(-1)).all())
    return {
        "share of the branch dropped": f"{usual:g}",
        "factor of what is kept": f"{float(left.median()):.2f}" if even else "uneven",
        "dropped": "in whole vectors" if whole and bool(gone.any()) else "number by number",
    }


def together(kept: Tensor, shown: Tensor) -> str:
    """Whether numbers were dropped one by one. Only ratios that are `shown` count; both [..., D]."""
    gone = (kept.abs() < 1e-2) & shown
    whole = (gone | ~shown).all(-1) | ~gone.any(-1)
    return "in whole vectors" if bool(whole.all()) and bool(gone.any()) else "number by number"


def repeats(x: Tensor) -> str:
    """Whether numbers occur twice within many rows: those that were dropped together are equal afterwards."""
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
    """A fact in place of the others if the output is not of the shape of x."""
    if isinstance(output, Tensor) and output.shape == x.shape:
        return None
    return {"shape": str(list(output.shape) if isinstance(output, torch.Tensor) else None)}
