"""Comparison of two answers to a scenario, and where they differ, expected and got in a few lines."""

from __future__ import annotations

import math
import re
from collections.abc import Collection

import torch
from torch import Tensor

from grader.core.explain import place
from grader.core.submission import SubmissionError
from grader.engine.scenario import Observation, Scenario
from grader.engine.wording import deviation, values_in_words

# How far right code may be from what is expected: `unit * slack * (1 + largest expected magnitude)`. Right float32 code
# was seen within 2e-6 for outputs and 1e-5 for gradients, whatever the order of its operations, while every known
# mistake is off by more than 1e-3 somewhere. float64 allows for constants that were rounded to float32 on the way;
# bfloat16 carries 8 bits.
UNITS = {torch.float32: 3e-5, torch.float64: 3e-6, torch.bfloat16: 6e-2}
NEARER = 0.5  # times as far from what explains wrong values as from right ones
GRADIENT = 4.0  # a backward pass rounds about twice as often, and its sums are longer

# Bool matrices that are drawn side by side: how their names begin, and what an x says.
MAPS = {
    "influence": "x where the output position (row) depends on the input position (column)",
    "allowed keys": "x where the query (row) may attend to the key (column)",
    "keys": "x where a key may be attended to; one row per sentence",
}
LARGEST_MAP = 12


def bound(scenario: Scenario, name: str, expected: Tensor, loose: float = 1.0) -> float:
    """Return the tolerance of a value, see `UNITS`.

    Args:
        loose: above 1 where `expected` is the answer of wrong code: its rounding in the scenario's dtype counts too,
            even if it gives back another one.
    """
    if not expected.is_floating_point():
        return 0.0
    factor = GRADIENT if name.startswith("gradient") else 1.0
    unit = UNITS.get(expected.dtype, UNITS[scenario.dtype])
    if loose > 1:
        unit = max(unit, UNITS[scenario.dtype])
    return loose * unit * factor * scenario.slack * (1 + _size(expected))


def _size(x: Tensor) -> float:
    x = x.to(torch.uint8) if x.dtype == torch.bool else x
    largest = float(x.abs().max()) if x.numel() else 0.0
    if math.isfinite(largest):  # to pick the finite ones takes ten times as long
        return largest
    finite = x[x.isfinite()]
    return float(finite.abs().max()) if finite.numel() else 0.0


def alike(a: Tensor, b: Tensor) -> bool:
    """Return whether two equal calls gave the same, up to rounding, which need not repeat itself."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return deviation(a, b) <= UNITS.get(a.dtype, 0.0) * (1 + _size(a))


# What torch says where shapes do not fit: in many words, depending on the operation.
SHAPES = re.compile(r"must match|shapes? |size|dimension|subscript|broadcast", re.IGNORECASE)
NOT_SHAPES = re.compile(r"stride|leaf|dtype|device|grad", re.IGNORECASE)


def kind_of(error: SubmissionError) -> tuple[str, str, bool]:
    """Return what two errors must have in common to agree: kind, type, and whether it is shapes that do not fit."""
    about_shapes = bool(SHAPES.search(error.message)) and not NOT_SHAPES.search(error.message)
    return error.kind, error.type_name, error.type_name == "RuntimeError" and about_shapes


def template(message: str) -> str:
    """The message of an error without its numbers and names."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\d+", "_", message)


def same(scenario: Scenario, right: Observation, got: Observation, *, loose: float = 1.0) -> bool:
    """Return whether two answers agree, up to rounding (times `loose`); two errors of one kind agree, see `kind_of`."""
    if right.error is not None or got.error is not None:
        return (
            right.error is not None and got.error is not None and kind_of(right.error) == kind_of(got.error)
        )
    return not differing(scenario, right, got, loose=loose)


def differing(scenario: Scenario, right: Observation, got: Observation, *, loose: float = 1.0) -> list[str]:
    """Names of what differs: "error", facts, values; the right answer's first, in its order."""
    if right.error is not None or got.error is not None:
        return [] if same(scenario, right, got) else ["error"]
    facts = [n for n in {**right.facts, **got.facts} if right.facts.get(n) != got.facts.get(n)]
    values = [
        name
        for name, value in right.values.items()
        if name not in got.values
        or value.dtype != got.values[name].dtype
        or not deviation(value, got.values[name]) <= bound(scenario, name, value, loose)
    ]
    extra = [name for name in got.values if name not in right.values]
    return [*values, *facts, *extra]


def explains(names: Collection[str], right: Observation, answer: Observation, got: Observation) -> bool:
    """Whether wrong values are much nearer to another answer than to the right one.

    Within a wide tolerance, as in bfloat16, they could agree with anything.

    Args:
        names: of what is wrong.
    """
    return all(
        deviation(answer.values[name], got.values[name])
        <= NEARER * deviation(right.values[name], got.values[name])
        for name in names
        if all(name in one.values for one in (right, answer, got))
    )


def only_dtypes(names: Collection[str], right: Observation, got: Observation) -> bool:
    """Return whether all that differs are the dtypes of values, beside what these round."""
    pairs = [(right.values[n], got.values[n]) for n in names if n in right.values and n in got.values]
    return len(pairs) == len(names) > 0 and all(
        a.dtype != b.dtype
        and a.shape == b.shape
        and deviation(a, b) <= 2 * UNITS.get(a.dtype, 0.0) * (1 + _size(a))
        for a, b in pairs
    )


def contrast(scenario: Scenario, names: list[str], right: Observation, got: Observation) -> tuple[str, str]:
    """Return a test's message about one wrong scenario, and a picture where that helps."""
    head = f"{scenario.component}, {scenario.title}:"
    if got.error is not None:
        where = place(got.error)
        expected = "a result" if right.error is None else f"a {right.error.type_name}"
        raised = f"{head} expected {expected}, got {got.error.type_name}: {got.error.message}"
        return raised + (f"\n  {where}" if where else ""), scenario.picture
    if right.error is not None:
        return f"{head} expected a {right.error.type_name}, got no error.", ""
    name, picture = names[0], picture_of(scenario, right, got) or scenario.picture
    if name in right.values and name in got.values:
        return f"{head} {values_in_words(name, right.values[name], got.values[name])}", picture
    said = f"{head} {name}: expected {_describe(name, right)}, got {_describe(name, got)}"
    return said if said.endswith("?") else f"{said}.", picture


def picture_of(scenario: Scenario, right: Observation, got: Observation) -> str:
    """The first map that differs beside the right one, "" if there is none."""
    for name in differing(scenario, right, got) if right.error is None and got.error is None else ():
        if name.startswith(tuple(MAPS)) and name in got.values and name in right.values:
            return influence_map(name, right.values[name], got.values[name])
    return ""


def _describe(name: str, seen: Observation) -> str:
    if name in seen.facts:
        return seen.facts[name]
    if name in seen.values:
        return f"a tensor of shape {list(seen.values[name].shape)}"
    came = seen.facts.get("result", "none")
    return "None: is there a return?" if came == "None" else came


def influence_map(title: str, right: Tensor, got: Tensor) -> str:
    """Two bool matrices side by side, see `MAPS`."""
    if right.shape != got.shape or right.dim() != 2 or max(right.shape) > LARGEST_MAP:
        return ""
    rows = [f"{_row(a)}      {_row(b)}" for a, b in zip(right.tolist(), got.tolist(), strict=True)]
    gap = " " * max(1, 2 * right.size(1) - 1 - len("right") + 6)
    legend = next((said for start, said in MAPS.items() if title.startswith(start)), "x for True")
    return "\n".join([f"{title}: {legend}", f"right{gap}yours", *rows])


def _row(cells: list[bool]) -> str:
    return " ".join("x" if cell else "." for cell in cells)


def as_bool(x: Tensor) -> Tensor:
    """For influence maps: what moved at all."""
    return x.abs() > 1e-5 if x.dtype != torch.bool else x
