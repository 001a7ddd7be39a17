"""Right bases of an exercise, the first of which notes where another one would have done something else.

A known mistake is tried on top of each base. Where, in a run on the first one, each step in which another base differs
gives exactly what the other's would have given, the mistake on top of that one gives the same answer, and need not run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor


class Bases:
    """Steps of an exercise's reference, see `grader.engine.subject.Subject.bases`.

    Attributes:
        steps: the first with steps that are watched, then the others as they are.
        unlike: numbers of those that would have done something else, since this was emptied.
    """

    def __init__(self, bases: Sequence[Any]) -> None:
        first, *others = self.steps = list(bases)
        self._always = {n for n, one in enumerate(others, 1) if not _is_comparable(first, one)}
        self.unlike = set(self._always)
        watched: dict[str, dict[int, Callable[..., Any]]] = {}
        for number, one in enumerate(others, 1):
            for name in () if number in self._always else _differing(first, one):
                watched.setdefault(name, {})[number] = getattr(one, name)
        if watched:
            noting = {name: self._noting(getattr(first, name), some) for name, some in watched.items()}
            self.steps[0] = dataclasses.replace(first, **noting)

    def begin(self) -> None:
        """Forget what was noted: another run begins."""
        self.unlike = set(self._always)

    def _noting(
        self, step: Callable[..., Any], others: Mapping[int, Callable[..., Any]]
    ) -> Callable[..., Any]:
        """The first base's step, which compares what it gives with what the others' would give."""

        def noted(*given: Any, **named: Any) -> Any:
            try:
                found = step(*given, **named)
            except Exception:
                self.unlike |= others.keys()  # which may say something else, or not raise
                raise
            unlike = self.unlike
            with torch.random.fork_rng(devices=[]):
                for number, other in others.items():
                    if number in unlike:
                        continue
                    try:
                        its = other(*given, **named)
                    except Exception:  # noqa: BLE001 - what a mistake made of its input may be nothing it can work on
                        its = Exception
                    if its is found:
                        continue
                    if not identical(found, its):
                        unlike.add(number)
                    elif isinstance(found, Tensor) and found.requires_grad:
                        found.register_hook(
                            lambda _, number=number: unlike.add(number)
                        )  # through equal values
            return found

        return noted


def _is_comparable(first: Any, other: Any) -> bool:
    """Return whether two bases are data classes of a kind that differ in functions only."""
    if not dataclasses.is_dataclass(first) or type(first) is not type(other):
        return False
    return all(callable(getattr(one, name)) for name in _differing(first, other) for one in (first, other))


def _differing(first: Any, other: Any) -> list[str]:
    names = [field.name for field in dataclasses.fields(first) if field.init]
    return [name for name in names if getattr(first, name) is not getattr(other, name)]


def identical(a: Any, b: Any) -> bool:
    """Whether two values are the same to the last bit; tensors are so too in whether gradients flow through them.

    Tensors in lists through which gradients flow must be one and the same.
    """
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, Tensor):
        if a.requires_grad != b.requires_grad or a.dtype != b.dtype or a.shape != b.shape:
            return False
        return bool(torch.equal(a, b)) or bool(((a == b) | (a.isnan() & b.isnan())).all())
    if isinstance(a, dict):
        return list(a) == list(b) and identical([*a.values()], [*b.values()])
    if isinstance(a, (list, tuple)):
        flows = any(
            isinstance(x, Tensor) and x.requires_grad and x is not y for x, y in zip(a, b, strict=False)
        )
        return len(a) == len(b) and not flows and all(map(identical, a, b))
    return bool(a == b)
