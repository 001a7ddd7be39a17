"""Results that are the right ones times a number: which number, and what it is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from grader.core.failures import Named
from grader.engine.cases import Case
from grader.engine.diagnose import Evidence, expected
from grader.engine.subjects import Subject

CLOSE = 1e-3  # of the largest number: what is left over when the factor is taken out
FEW = 2  # cases that have to agree


def _depth(case: Case) -> float:
    return case.d_model / max(case.heads, 1)


def _queries(case: Case) -> float:
    return case.inputs[0].size(-2)


def _keys(case: Case) -> float:
    return case.inputs[1].size(-2)


# Numbers that a computation of attention has at hand.
SIZES: dict[str, Callable[[Case], float]] = {
    "num_heads": lambda case: max(case.heads, 1),
    "d_k": _depth,
    "d_model": lambda case: case.d_model,
    "Tq": _queries,
    "Tk": _keys,
    "batch size": lambda case: case.inputs[0].size(0) if case.inputs[0].dim() > 2 else 1,
}
POWERS = {"1/{}": -1.0, "{}": 1.0, "1/sqrt({})": -0.5, "sqrt({})": 0.5}


def factor(right: Tensor, got: Tensor) -> float | None:
    """The number that `got` is `right` times, if there is one."""
    if right.shape != got.shape:
        return None
    a, b = right.double().flatten(), got.double().flatten()
    if not bool(a.any()):
        return None
    found = float((a @ b) / (a @ a))
    return found if bool((b - found * a).abs().max() < CLOSE * (1 + a.abs().max())) else None


def scaled(evidence: Evidence, wrong: Sequence[int], subject: Subject) -> Named | None:
    """A name, if the output (or what goes into W_O) is right but for a factor, in all these cases."""
    where = "The output is"
    found = [_of_output(evidence, i, "output") for i in wrong]
    of_weights = [_of_output(evidence, i, "weights") for i in wrong]
    if None not in of_weights and any(abs((one or 0.0) - 1) > CLOSE for one in of_weights):
        where, found = "The weights, and with them the output, are", of_weights
    elif evidence.part == "class" and None in found:
        where = "What goes into the output projection is"
        found = [_before_bias(evidence.cases[i], subject) for i in wrong]
    factors = [one for one in found if one is not None]
    if len(factors) < max(FEW, len(found)) or all(abs(one - 1) < CLOSE for one in factors):
        return None
    return Named(
        "output-scaled-by-constant",
        f"{where} right but for a factor: {_said([evidence.cases[i] for i in wrong], factors)}.",
        formula="softmax(Q K^T / sqrt(d_k)) V",
        hint="Look for a product or a division after the softmax; none belongs there.",
    )


def _of_output(evidence: Evidence, index: int, name: str) -> float | None:
    right, got = evidence.right[index].values, evidence.got[index].values
    return factor(right[name], got[name]) if name in right and name in got else None


def _before_bias(case: Case, subject: Subject) -> float | None:
    """The factor of the output without its bias, which is added last."""
    weights = {n: torch.zeros_like(w) if n == "out.bias" else w for n, w in case.weights.items()}
    case = replace(case, weights=weights, cotangents=None)
    right, got = expected(case).values, subject.run(case).values
    return factor(right["output"], got["output"]) if "output" in right and "output" in got else None


def _said(cases: Sequence[Case], factors: Sequence[float]) -> str:
    made_of = [
        form.format(name)
        for name, size in SIZES.items()
        for form, power in POWERS.items()
        if all(abs(size(c) ** power - f) < CLOSE * (1 + f) for c, f in zip(cases, factors, strict=True))
    ]
    low, high = min(factors), max(factors)
    known = f", which is {made_of[0]}" if made_of else ""
    if high - low < CLOSE:
        return f"{factors[0]:.4g} times what it should be{known}"
    return f"{low:.4g} to {high:.4g} times what it should be{known or ', depending on the sizes'}"
