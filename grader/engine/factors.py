"""Results that are the right ones times a number: which number, and what it is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

CLOSE = 1e-3  # of the largest number: what is left over when the factor is taken out
POWERS = {"1/{}": -1.0, "{}": 1.0, "1/sqrt({})": -0.5, "sqrt({})": 0.5}


def factor(right: Tensor, got: Tensor) -> float | None:
    """The number that `got` is `right` times, if there is one."""
    a, b = right.double().flatten(), got.double().flatten()
    if right.shape != got.shape or not bool(a.any()):
        return None
    found = float((a @ b) / (a @ a))
    return found if bool((b - found * a).abs().max() < CLOSE * (1 + a.abs().max())) else None


def made_of(factors: Sequence[float], sizes: Sequence[Mapping[str, float]]) -> str:
    """The factors of several calls in words, with the size that they are a power of, if there is one.

    Args:
        factors: one a call.
        sizes: the numbers at hand in each call, by name.
    """
    known = [
        form.format(name)
        for name in sizes[0]
        for form, power in POWERS.items()
        if all(abs(size[name] ** power - f) < CLOSE * (1 + f) for size, f in zip(sizes, factors, strict=True))
    ]
    low, high = min(factors), max(factors)
    which = f", which is {known[0]}" if known else ""
    if high - low < CLOSE:
        return f"{factors[0]:.4g} times what it should be{which}"
    return f"{low:.4g} to {high:.4g} times what it should be{which or ', depending on the sizes'}"
