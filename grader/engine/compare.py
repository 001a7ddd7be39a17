"""When two results count as equal.

The bound is `unit * slack * (1 + largest expected magnitude)`. `unit` is what correct code stays far
below on the judge's inputs (numbers around 1, a few dozen terms a sum): correct float32 code was seen
within 2e-6 for outputs and 1e-5 for gradients, whatever the order of its operations, while every known
mistake deviates by more than 1e-3 somewhere. float64 allows for constants that were rounded to float32
on the way; bfloat16 carries 8 bits.
"""

from __future__ import annotations

import torch
from torch import Tensor

from grader.engine.cases import Case, Observation

UNITS = {torch.float32: 3e-5, torch.float64: 3e-6, torch.bfloat16: 6e-2}
GRADIENT = 4.0  # a backward pass rounds about twice as often, and its sums are longer


def bound(case: Case, name: str, expected: Tensor) -> float:
    """How far `name` may be from its expected value, in this case."""
    finite = expected[expected.isfinite()] if expected.is_floating_point() else expected.new_zeros(0)
    size = float(finite.abs().max()) if finite.numel() else 0.0
    factor = GRADIENT if name.startswith("gradient") else 1.0
    return UNITS[case.dtype] * factor * case.slack * (1 + size)


def deviation(expected: Tensor, got: Tensor) -> float:
    """Largest difference; infinity where only one of them is finite, or the infinities differ."""
    if expected.shape != got.shape:
        return float("inf")
    if not expected.numel():
        return 0.0
    a, b = expected.double(), got.double()
    same = (a == b) | (a.isnan() & b.isnan())
    return float((a - b).abs().nan_to_num(float("inf")).masked_fill(same, 0.0).max())


def equal(case: Case, expected: Observation, got: Observation, *, loose: float = 1.0) -> bool:
    """Whether two observations of one case are the same, up to the bound (times `loose`)."""
    if expected.form == "error" or got.form == "error":
        return _same_error(expected, got)
    if expected.form != got.form or expected.changed != got.changed:
        return False
    return not differences(case, expected, got, loose=loose)


def differences(case: Case, expected: Observation, got: Observation, *, loose: float = 1.0) -> list[str]:
    """Names of the values that differ: those both should have, in order."""
    return [
        name
        for name, value in expected.values.items()
        if name not in got.values
        or value.dtype != got.values[name].dtype
        or not deviation(value, got.values[name]) <= loose * bound(case, name, value)
    ]


def _same_error(expected: Observation, got: Observation) -> bool:
    if expected.error is None or got.error is None:
        return False
    return (expected.error.kind, expected.error.type_name) == (got.error.kind, got.error.type_name)
