"""Compares a mutant that no test fails with its base: on scenarios of other seeds, and on inputs that none of them has.

The calls of a scenario are made again with other sizes (longer, shorter, one) and other numbers (small, large), where
the base can be called like that. What depends on chance is not compared.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.core.submission import FirstCall, Gradients, Outcome, SubmissionError
from grader.engine.answers import Answers
from grader.engine.contrast import UNITS, same
from grader.engine.local import LocalFunction, LocalInstance, LocalSubmission
from grader.engine.scenario import Observation, Scenario
from grader.engine.subject import Subject, run
from grader.engine.wording import deviation

SCALES = (1e-3, 1.0, 10.0)
LENGTHS = (1, 2, 9, 70)
LEAST = 4  # smaller plain numbers are ids, not sizes
LOOSE = 10.0
MOST_NUMBERS = 200_000  # in an input


class DiffersError(Exception):
    """A call gave something else."""


class Compared:
    """How many answers were equal.

    Args:
        base, changed: a right file, and its mutant.
        subject: their exercise.
        seed: scenarios of those after it are asked.
    """

    def __init__(self, base: LocalSubmission, changed: LocalSubmission, subject: Subject, seed: int) -> None:
        self.base, self.changed, self.subject, self.seed = base, changed, subject, seed
        self.count = 0

    def look(self, enough: int, seconds: float = 60.0) -> str:
        """Where they differ, "" if nowhere in so many answers, or in those of so much CPU time."""
        end = time.process_time() + seconds
        for seed in itertools.count(self.seed + 1):
            grading = Answers(self.changed, self.subject, seed)
            for scenario in grading.scenarios:
                alike = same(
                    scenario, answer(scenario, self.base, seed), answer(scenario, self.changed, seed)
                )
                if not alike and not is_right(grading, scenario):
                    return f"seed {seed}: {scenario.component}, {scenario.title}"
                self.count += 1
                pair = Pair(self.base, self.changed, random.Random(seed))
                try:
                    run(scenario, pair, seed=seed)
                except DiffersError as found:
                    return f"other inputs: {scenario.component}, {scenario.title}, {found}"
                except SubmissionError:
                    pass
                self.count += pair.count
                if self.count >= enough or time.process_time() > end:
                    return ""
        raise AssertionError


def answer(scenario: Scenario, submission: LocalSubmission, seed: int) -> Observation:
    """A submission's answer, also where the code is not there."""
    try:
        return run(scenario, submission, seed=seed)
    except SubmissionError as error:
        return Observation(error=error)


def is_right(grading: Answers, scenario: Scenario) -> bool:
    """Whether a mutant's answer is right as a grade sees it.

    A bias less, say, or its weights in another order, is another choice where the contract leaves it free.
    """
    try:
        return grading.is_right(scenario)
    except SubmissionError:  # the code is not there
        return False


class Pair:
    """A submission that gives the base's answers, and compares the other's in other calls.

    Attributes:
        count: of calls that were the same.
    """

    def __init__(self, base: LocalSubmission, changed: LocalSubmission, draw: random.Random) -> None:
        self._base, self._changed, self.draw = base, changed, draw
        self.first_calls: Mapping[str, FirstCall] = base.first_calls
        self.count = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._base, name)

    def function(self, name: str) -> Both:
        return Both(self._base.function(name), self._changed.function(name), self)

    def construct(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> Both:
        base = self._base.construct(name, args, kwargs)
        try:
            return Both(base, self._changed.construct(name, args, kwargs), self)
        except SubmissionError:  # what it is given can be had once only; scenarios show if it cannot be made
            return Both(base, None, self)


class Both:
    """A function, or an instance, of the base, and the mutant's."""

    def __init__(self, base: LocalFunction, changed: LocalFunction | None, pair: Pair) -> None:
        self._base, self._changed, self._pair = base, changed, pair
        self._drawn = isinstance(base, LocalInstance) and bool(base.parameters())  # first values are free

    def __getattr__(self, name: str) -> Any:
        return getattr(self._base, name)

    def call(
        self,
        args: Sequence[Any],
        kwargs: Mapping[str, Any] | None = None,
        *,
        grad: Sequence[int | str] = (),
        method: str = "",
        record: bool = True,
        refilled: bool = False,
    ) -> Outcome:
        changed = self._changed
        if changed is not None and not self._drawn:
            for other in varied([list(args), dict(kwargs or {})], self._pair.draw):
                found = [
                    value_of(one, other, method, seed) for one, seed in ((self._base, 0), (self._base, 1))
                ]
                if found[0] is None or not equal(*found):
                    continue
                other_answer = value_of(changed, other, method, 0)
                again = value_of(self._base, other, method, 0)  # what a call is given may change with each
                if not equal(found[0], other_answer) and equal(found[0], again):
                    raise DiffersError(f"called with {in_short(other)}")
                self._pair.count += 1
        return self._base.call(args, kwargs, grad=grad, method=method, record=record, refilled=refilled)

    def backward(self, outcome: Outcome, cotangents: Sequence[Tensor | None]) -> Gradients:
        return self._base.backward(outcome, cotangents)

    def load(self, values: Mapping[str, Tensor]) -> None:
        self._on_both(lambda one: one.load(values))
        self._drawn = False

    def train(self, *modes: bool) -> None:
        self._on_both(lambda one: one.train(*modes))

    def to(self, dtype: torch.dtype) -> None:
        self._on_both(lambda one: one.to(dtype))

    def _on_both(self, act: Callable[[LocalInstance], None]) -> None:
        assert isinstance(self._base, LocalInstance)
        act(self._base)
        if isinstance(self._changed, LocalInstance):
            try:
                act(self._changed)
            except SubmissionError:  # it has other parameters, and is compared by scenarios only
                self._changed = None


def value_of(callee: LocalFunction, given: Sequence[Any], method: str, seed: int) -> Any:
    """What a call gives, in a tuple; None if it raises."""
    torch.default_generator.manual_seed(seed)  # `torch.manual_seed` asks every kind of device
    with contextlib.suppress(SubmissionError):
        args, kwargs = given
        return (callee.call(_copied(args), _copied(kwargs), method=method).value,)
    return None


def varied(given: Any, draw: random.Random) -> Iterator[Any]:
    """The same arguments with one size changed everywhere, and with other numbers."""
    sizes = sorted({size for size in _sizes(given) if size > 1})
    if sizes:
        size, new = draw.choice(sizes), draw.choice(LENGTHS)
        resized = _map(given, lambda x: _resized(x, size, new))
        if sum(x.numel() for x in _tensors(resized)) < MOST_NUMBERS:
            yield resized
    scale = draw.choice(SCALES)
    generator = torch.Generator().manual_seed(draw.randrange(2**31))
    yield _map(given, lambda x: _other_numbers(x, scale, generator))


def _resized(x: Any, size: int, new: int) -> Any:
    """Cut off, or with the last entry repeated."""
    if isinstance(x, Tensor):
        for dim, length in enumerate(x.shape):
            if length == size:
                x = x.index_select(dim, torch.arange(new).clamp(max=size - 1))
        return x
    return new if type(x) is int and x == size >= LEAST else x


def _other_numbers(x: Any, scale: float, generator: torch.Generator) -> Any:
    if isinstance(x, Tensor) and x.is_floating_point() and bool(x.isfinite().all()):
        return (torch.randn(x.shape, generator=generator) * scale).to(x.dtype)
    return x


def _sizes(given: Any) -> Iterator[int]:
    if isinstance(given, Tensor):
        yield from given.shape
    elif type(given) is int and given >= LEAST:
        yield given
    elif isinstance(given, (list, tuple, dict)):
        for one in given.values() if isinstance(given, dict) else given:
            yield from _sizes(one)


def _tensors(given: Any) -> Iterator[Tensor]:
    if isinstance(given, Tensor):
        yield given
    elif isinstance(given, (list, tuple, dict)):
        for one in given.values() if isinstance(given, dict) else given:
            yield from _tensors(one)


def _map(given: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(given, dict):
        return {name: _map(one, change) for name, one in given.items()}
    if isinstance(given, (list, tuple)):
        return type(given)(_map(one, change) for one in given)
    return change(given)


def _copied(given: Any) -> Any:
    return _map(given, lambda x: x.clone() if isinstance(x, Tensor) else x)


def equal(a: Any, b: Any) -> bool:
    """Whether two values are the same, up to rounding, and up to columns of padding behind ids [B, L]."""
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        if a.dim() == b.dim() == 0 and a.is_floating_point() and b.is_floating_point():
            coarse = max(a.dtype, b.dtype, key=lambda dtype: torch.finfo(dtype).eps)
            a, b = a.to(coarse), b.to(coarse)  # a number, in whatever form: scenarios ask for the dtype
        a, b = _as_wide(a, b), _as_wide(b, a)
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        finite = a[a.isfinite()] if a.is_floating_point() else a[:0]
        size = float(finite.abs().max()) if finite.numel() else 0.0
        return deviation(a, b) <= LOOSE * UNITS.get(a.dtype, 0.0) * (1 + size)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 1e-6 * (1 + abs(a)) or a == b
    return type(a) is type(b) and bool(a == b)


def _as_wide(ids: Tensor, other: Tensor) -> Tensor:
    """Ids [B, L] without the columns that the other's do not have, if one id fills them all."""
    if ids.dim() != 2 or other.dim() != 2 or ids.is_floating_point() or ids.dtype == torch.bool:
        return ids
    more = ids[:, other.size(1) :]
    return ids[:, : other.size(1)] if more.numel() and bool((more == more[0, -1]).all()) else ids


def in_short(given: Any) -> str:
    """Shapes and plain numbers."""
    shown = _map(given, lambda x: list(x.shape) if isinstance(x, Tensor) else x)
    return str(shown)[:70]
