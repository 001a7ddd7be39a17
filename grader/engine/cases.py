"""One question put to a component, and what it answered: the evidence a diagnosis rests on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from grader.core.submission import Outcome, SubmissionError
from grader.engine.mistakes import Part

Inputs = tuple[Tensor, Tensor, Tensor]
NAMES = ("query", "key", "value", "mask")


@dataclass(frozen=True)
class Observation:
    """What one case gave.

    Attributes:
        form: "pair", "tensor", "error", or in words what came back in their place.
        values: by name: "output", "weights", "gradient of query", "gradient of q.weight", ...
        changed: names of the inputs that were changed in place.
        error: what was raised, for the form "error".
    """

    form: str
    values: Mapping[str, Tensor] = field(default_factory=dict)
    changed: frozenset[str] = frozenset()
    error: SubmissionError | None = None


@dataclass(frozen=True, eq=False)
class Case:
    """One call of attention, with everything that determines its result.

    Attributes:
        title: what is special about it, as words in a sentence ("3 queries and 5 keys").
        part: the function, or the class.
        group: the hidden test it belongs to.
        traits: what a failure may turn on ("bool mask", "unequal lengths"), for saying so.
        inputs, mask, weights: float64 (bool masks stay bool); they are rounded to `dtype` for the call.
        heads, dropout, training: the class only.
        cotangents: for output and weights; a backward pass is made if there are any.
        digest: what to make of the raw observation before it is compared.
        slack: how many times the usual rounding error this case may show.
        earlier: a call made first, on the same instance.
    """

    title: str
    part: Part
    group: str
    inputs: Inputs
    mask: Tensor | None = None
    weights: Mapping[str, Tensor] = field(default_factory=dict)
    heads: int = 0
    dropout: float = 0.0
    training: bool = False
    dtype: torch.dtype = torch.float32
    cotangents: tuple[Tensor | None, Tensor | None] | None = None
    traits: frozenset[str] = frozenset()
    digest: Callable[[Case, Observation], Observation] | None = None
    slack: float = 1.0
    earlier: Case | None = None
    seed: int = 0

    @property
    def d_model(self) -> int:
        return self.inputs[0].size(-1)

    def rounded(self, x: Tensor) -> Tensor:
        """To the case's dtype, by way of float32, in which parameters are loaded."""
        return x if x.dtype == torch.bool else x.to(torch.float32).to(self.dtype)

    def exact(self) -> Case:
        """The same case in float64, on the numbers that the submission really got."""

        def widened(x: Tensor) -> Tensor:
            return x if x.dtype == torch.bool else self.rounded(x).double()

        query, key, value = (widened(x) for x in self.inputs)
        return replace(
            self,
            inputs=(query, key, value),
            mask=None if self.mask is None else widened(self.mask),
            weights={name: widened(w) for name, w in self.weights.items()},
            cotangents=None if self.cotangents is None else _both(self.cotangents, widened),
            earlier=None if self.earlier is None else self.earlier.exact(),
            dtype=torch.float64,
        )

    def arguments(self) -> list[Tensor]:
        """Query, key and value, which are passed by position."""
        return [self.rounded(x).clone() for x in self.inputs]

    def options(self) -> dict[str, Tensor]:
        """What is passed by keyword: the mask, if there is one."""
        return {} if self.mask is None else {"mask": self.rounded(self.mask).clone()}

    def digested(self, seen: Observation) -> Observation:
        if self.digest is None or seen.form == "error":
            return seen
        return self.digest(self, seen)


def _both(
    pair: tuple[Tensor | None, Tensor | None], change: Callable[[Tensor], Tensor]
) -> tuple[Tensor | None, Tensor | None]:
    first, second = (None if x is None else change(x) for x in pair)
    return first, second


def failed(error: SubmissionError) -> Observation:
    """The observation of a call that raised."""
    return Observation("error", error=error)


def described(part: Part, outcome: Outcome) -> Observation:
    """Sort what a call gave back into output and weights. Extra values are not judged."""
    value, changed = outcome.value, frozenset(_name(position) for position in outcome.changed)
    if isinstance(value, dict):  # a named tuple may come as its fields
        value = tuple(value.values())
    if isinstance(value, Tensor):
        return Observation("tensor", {"output": value.detach()}, changed)
    if not isinstance(value, (tuple, list)):
        return Observation(_in_words(value), {}, changed)
    found = [x for x in value if isinstance(x, Tensor)]
    if part == "class" and value and isinstance(value[0], Tensor):
        return Observation("tensor", {"output": value[0].detach()}, changed)
    if len(value) == 2 and len(found) == 2:
        return Observation("pair", {"output": found[0].detach(), "weights": found[1].detach()}, changed)
    kind = "tuple" if isinstance(value, tuple) else "list"
    return Observation(
        f"a {kind} of {len(value)} ({', '.join(_in_words(x) for x in value[:4])})", {}, changed
    )


def _name(position: int | str) -> str:
    return NAMES[position] if isinstance(position, int) and position < len(NAMES) else str(position)


def _in_words(value: object) -> str:
    if value is None:
        return "None"
    name = getattr(value, "type_name", type(value).__name__)
    return f"a {name}"


def finite_only(_case: Case, seen: Observation) -> Observation:
    """Only whether all is finite counts: for rows whose values are free."""
    flags = {name: torch.tensor(bool(x.isfinite().all())) for name, x in seen.values.items()}
    return replace(seen, values=flags)


def without_empty_rows(case: Case, seen: Observation) -> Observation:
    """Rows that may attend to nothing have free values: blank what is finite there."""
    if case.mask is None:
        return seen
    open_keys = case.mask if case.mask.dtype == torch.bool else case.mask == 0
    empty = ~open_keys.any(-1, keepdim=True)
    values = dict(seen.values)
    for name in ("output", "weights"):
        if name in values and values[name].dim() >= 2:
            values[name] = _blanked(values[name], empty, case)
    return replace(seen, values=values)


def _blanked(x: Tensor, empty: Tensor, case: Case) -> Tensor:
    if case.heads and empty.dim() == 4:
        empty = empty.any(1)  # the class puts its heads into one vector
    try:
        return x.masked_fill(empty.expand(*x.shape[:-1], 1) & x.isfinite(), 0.0)
    except RuntimeError:  # a result of the wrong shape is compared as it is
        return x
