"""Names for the values of a run: arguments, steps of the reference, variables, or how they were made."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from grader.core.value_trace import Event, Place, Ref
from grader.places.alignment import level
from grader.places.flow import Flow
from grader.places.right_runs import PART, RightRun, Step, merged
from grader.places.vocabulary import (
    HOLE,
    OF_A_LIST,
    SILENT,
    Phrase,
    Sizes,
    Slot,
    Speaker,
    arguments,
    shape_of,
)

DEPTH = 2  # of an expression for a value without a name
MOST_WORDS = 60
NO_TENSOR, PARAMETER = "a value", "a parameter"
NAMELESS = (NO_TENSOR, PARAMETER)


class ValueNames:
    """Names of the values of one wrong run, and of right ones beside it.

    Args:
        flow: the wrong run.
        runs: right runs: the reference's first.
        given: the values of the arguments, by name.
        sizes: of the scenario.
    """

    def __init__(self, flow: Flow, runs: Sequence[RightRun], given: Mapping[str, int], sizes: Sizes) -> None:
        self.flow, self.runs, self._arguments, self.sizes = flow, runs, given, sizes
        self._signatures: dict[int, tuple[float, ...]] = {}

    def name(self, value: int, event: Event, depth: int) -> Phrase:
        """A value of the wrong run: an argument, a step of the reference, a variable, or how it was made."""
        argument = next((name for name, v in self._arguments.items() if v == value), None)
        numbers = self.flow.trace.values[value].numbers
        label = None if numbers is None else self.label(numbers)
        if argument is not None or label is not None:
            return (argument or label or "",)
        name = self._variables.get(value)
        if name is not None:
            return (f"`{name}`",)
        producer = self.flow.producer(value)
        if producer is not None and depth > 0 and self.flow.events[producer] is not event:
            return self.said(self.flow.events[producer], depth - 1)
        reads = [node for node in self.flow.source.reads(event.place) if isinstance(node, ast.Attribute)]
        words = [f"`{self.flow.source.segment(_place(node))}`" for node in reads]
        own = [word for word in dict.fromkeys(words) if word.startswith("`self.") and word.count(".") == 1]
        if len(own) == 1 and producer is None:
            return (own[0],)
        free = producer is None and self.flow.trace.values[value].requires_grad
        return (PARAMETER,) if free else (NO_TENSOR,)

    @cached_property
    def _variables(self) -> dict[int, str]:
        """Local names of values; later ones do not take over from earlier ones."""
        found: dict[int, str] = {}
        for event in self.flow.events:
            for name, item in event.names.items() if event.kind == "line" else ():
                if isinstance(item, Ref):
                    found.setdefault(item.value, name)
        return found

    def said(self, event: Event, depth: int = DEPTH, *, but: frozenset[str] = frozenset()) -> Phrase:
        """The operation as it is written."""
        parsed = arguments(event.arguments)
        if parsed is None:
            return (f"`{short(self.flow.source.segment(event.place))}`",)
        if merged(event):
            return (f"`{short(self.flow.source.segment(event.place))}`", *self.given(event.inputs, event))
        values = iter(event.inputs)
        last = event.inputs[-1] if event.inputs else None

        def filled(one: Any) -> Any:
            if one is HOLE:
                return _Value(next(values, last), event, depth)
            return tuple(map(filled, one)) if isinstance(one, tuple) else one

        args, kwargs = parsed
        shape = self.flow.trace.values[event.inputs[0]].shape if event.inputs else ()
        given = [filled(one) for one in args]
        return self._speaker.say(
            event.name, given, {n: filled(one) for n, one in kwargs.items() if n not in but}, shape
        )

    def given(self, values: Sequence[int], event: Event) -> Phrase:
        """Describe the arguments of a call into other code, as far as they have names."""
        names = [plain_text(self.name(value, event, 0)) for value in values]
        known = [name for name in names if name not in NAMELESS and not name.startswith("`self")]
        return (f" of {', '.join(dict.fromkeys(known))}",) if known else ()

    def _spoken(self, one: Any) -> Phrase:
        if isinstance(one, _Value):
            return (NO_TENSOR,) if one.value is None else self.name(one.value, one.event, one.depth)
        if isinstance(one, _Tensor):
            return self.right_name(one.run, one.value, one.depth)
        return (short(str(one)),)

    @cached_property
    def _speaker(self) -> Speaker:
        return Speaker(self._spoken, self.sizes)

    def right_name(self, run: RightRun, x: Tensor, depth: int) -> Phrase:
        """A value of a right run."""
        numbers = x.detach().to(torch.float64)
        for name, value in self._arguments.items():
            given = self.flow.trace.values[value].numbers
            if given is not None and given.shape == numbers.shape and close_to(given, numbers, 1e-4):
                return (name,)
        label = run.labels.get(id(x)) or self.label(numbers)
        if label is not None:
            return (label,)
        maker = run.makers.get(id(x))
        if isinstance(x, nn.Parameter):
            return (PARAMETER,)
        if maker is not None and maker.op in SILENT and maker.args and isinstance(maker.args[0], Tensor):
            return self.right_name(run, maker.args[0], depth)
        if maker is not None and maker.op != PART and depth > 0:
            return self.say(run, maker, depth - 1)
        mine = next((name for v, name in self._variables.items() if self._has(v, numbers)), None)
        return (f"`{mine}`",) if mine else (NO_TENSOR,)

    def right(self, run: RightRun, step: Step, *, but: frozenset[str] = frozenset()) -> tuple[Phrase, Phrase]:
        """Describe the value of a right step: with its name, and without."""
        said = self.say(run, step, but=but)
        name = run.labels.get(id(step.out)) or self.label(step.out.detach().to(torch.float64))
        if name in said and step.op != PART and len(said) > 1:
            return said, said  # what goes into it has this name too: a name by itself says nothing
        if name and (not said or (len(said) == 1 and said[0] in (name, OF_A_LIST))):
            return (name,), said
        if step.op == PART:
            return (name or "the output", *said), said
        return ((f"{name}: ", *said) if name else said), said

    def say(
        self, run: RightRun, step: Step, depth: int = DEPTH, *, but: frozenset[str] = frozenset()
    ) -> Phrase:
        def filled(one: Any) -> Any:
            if isinstance(one, Tensor):
                return _Tensor(run, one, depth)
            return tuple(map(filled, one)) if isinstance(one, (tuple, list)) else one

        if step.op == PART:
            names = [plain_text(self.right_name(run, x, 0)) for x in step.args]
            known = [name for name in dict.fromkeys(names) if name not in NAMELESS]
            return (f" of {', '.join(known)}",) if known else ()
        if step.op == "dropout" and self._same(step):
            return self.right_name(run, step.args[0], depth)
        args = [filled(one) for one in step.args]
        kwargs = {n: filled(v) for n, v in step.kwargs.items() if n not in but}
        return self._speaker.say(step.op, args, kwargs, shape_of(step.args))

    @staticmethod
    def _same(step: Step) -> bool:
        """Return whether a right step changes nothing: dropout in eval mode."""
        return isinstance(step.args[0], Tensor) and torch.equal(step.args[0], step.out)

    def label(self, numbers: Tensor) -> str | None:
        """The name of a right value: of an argument, or of a step of the reference."""
        if numbers.numel() < 2:
            return None
        for name, value in self._arguments.items():
            given = self.flow.trace.values[value].numbers
            if given is not None and given.numel() > 1 and self.alike(given, numbers):
                return name
        labelled = (one for run in self.runs for one in run.labelled)
        return (
            None if level(numbers) else next((name for name, x in labelled if self.alike(x, numbers)), None)
        )

    def alike(self, a: Tensor, b: Tensor) -> bool:
        """Return whether two tensors have the same numbers in some order."""
        if a.numel() != b.numel():
            return False
        close = 1e-4 if self.flow.right.close > 1e-6 else 1e-6
        return all(
            math.isclose(x, y, rel_tol=close, abs_tol=close)
            for x, y in zip(self._signature(a), self._signature(b), strict=True)
        )

    def _signature(self, x: Tensor) -> tuple[float, ...]:
        if id(x) not in self._signatures:
            numbers = x.detach().to(torch.float64).nan_to_num(0.0, 0.0, 0.0).clamp(-1e8, 1e8)
            self._signatures[id(x)] = float(numbers.sum()), float(numbers.square().sum())
            self._kept.append(x)
        return self._signatures[id(x)]

    @cached_property
    def _kept(self) -> list[Tensor]:
        return []  # ids of tensors stay theirs

    def there(self, out: Tensor) -> bool:
        """Return whether the wrong run has this right value."""
        return any(x.numel() == out.numel() and self.alike(x, out) for x in self._all_numbers)

    @cached_property
    def _all_numbers(self) -> list[Tensor]:
        return [v.numbers for v in self.flow.trace.values if v.numbers is not None]

    def _has(self, value: int, numbers: Tensor) -> bool:
        mine = self.flow.trace.values[value].numbers
        return mine is not None and mine.numel() > 1 and self.alike(mine, numbers)


@dataclass(frozen=True)
class _Value:
    """A value of the wrong run, in a phrase about an event."""

    value: int | None
    event: Event
    depth: int


@dataclass(frozen=True)
class _Tensor:
    """A tensor of a right run, in a phrase."""

    run: RightRun
    value: Tensor
    depth: int


def _place(node: ast.expr) -> Place:
    end = node.lineno if node.end_lineno is None else node.end_lineno
    return Place(node.lineno, end, node.col_offset, node.end_col_offset)


def plain_text(phrase: Phrase) -> str:
    """A phrase as one text."""
    return "".join(one.text if isinstance(one, Slot) else one for one in phrase)


def short(text: str) -> str:
    """Code on one line, and not too long."""
    text = " ".join(text.split())
    return text if len(text) <= MOST_WORDS else f"{text[:MOST_WORDS]} ..."


def short_pair(old: str, new: str) -> tuple[str, str]:
    """Two pieces of code, short: what both begin with is left out where the difference would be cut off."""
    a, b = short(old), short(new)
    if old == new or a != b:
        return a, b
    old, new = (" ".join(text.split()) for text in (old, new))
    same = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), len(new))
    begin = max(old[:same].rfind(", "), 0)
    return short(f"...{old[begin:]}"), short(f"...{new[begin:]}")


def close_to(a: Tensor, b: Tensor, close: float) -> bool:
    """Return whether two tensors have the same shape and, up to rounding, the same numbers."""
    if a.shape != b.shape:
        return False
    finite = b[b.isfinite()]
    bound = close * (1e-3 + (float(finite.abs().max()) if finite.numel() else 0.0))
    return bool(((a == b) | ((a - b).abs() <= bound) | (a.isnan() & b.isnan())).all())


def tensors_in(values: Any, depth: int = 0) -> Iterator[Tensor]:
    """The tensors in a value, and in what it holds."""
    for value in values.values() if isinstance(values, dict) else values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (tuple, list, dict)) and depth < 3:
            yield from tensors_in(value, depth + 1)
