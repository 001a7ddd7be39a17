"""Finds where a class keeps its weights by experiment, where neither names nor shapes say it.

A scenario's script is run on the submission and on the right code, with values of our own for all parameters, up to the
first call, see `grader.engine.counterparts`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from grader.core.submission import Function, Instance, ParameterInfo, Submission, SubmissionError, tensors
from grader.engine.client import Client
from grader.engine.counterparts import counterparts
from grader.engine.layout import Layout
from grader.engine.projection_names import role_of
from grader.engine.projections import ROLES
from grader.engine.readings import Wanted
from grader.engine.scenario import Free, Scenario

MOST_NUMBERS = 500_000  # of parameters
OF_A_CALL = ("grad", "cotangent", "names", "first")  # arguments of `Client.call`, not of the submission


class _Over(Exception):
    """The script has done what it was run for."""


class _Probe(Client):
    """Fills one component's parameters with values of an experiment, and looks at the gradients of the first call.

    Args:
        scenario: its component's parameters are filled.
        as_they_are: they are the submission's, and not to be read in any way.
        values: of all that take part, in order [N]; none to look at the parameters alone.
        without: names of those that take no part: they are 0.
        number: of the experiment; it decides on the gradient of the result.

    Attributes:
        layout: the parameters by name: the submission's own, or the right code's by the names that are wanted.
        starts: first values, by the code's own names.
        optional: names that a submission need not have.
        scale: how large the weights are that the script itself gives.
        found: gradients of what takes part, in order [N]; None if there are none.
    """

    def __init__(
        self,
        submission: Submission,
        scenario: Scenario,
        *,
        as_they_are: bool,
        values: Tensor | None = None,
        without: Collection[str] = (),
        number: int = 0,
        seed: int = 0,
        free: Free | None = None,
    ) -> None:
        super().__init__(
            submission, rounding=scenario.dtype, dtype=torch.float64, pick=self._take, seed=seed, free=free
        )
        self._component, self._as_they_are, self._values = scenario.component, as_they_are, values
        self._without, self._number = without, number
        self._callee: Instance | None = None
        self.layout = Layout({}, {})
        self.starts: Mapping[str, Tensor] = {}
        self.optional: set[str] = set()
        self.scale = 0.3
        self.found: Tensor | None = None

    def names(self) -> list[str]:
        """Those that take part."""
        return [name for name in self.layout.index if name not in self._without]

    def make(self, name: str, *args: Any, training: bool = False, **kwargs: Any) -> Instance:
        return super().make(name, *args, training=training and name != self._component, **kwargs)

    def _take(self, component: str, found: Sequence[Layout]) -> Layout:
        if component != self._component:
            return found[0]
        self.layout = _as_they_are(found[0].shapes) if self._as_they_are else found[0]
        return self.layout

    def load(
        self, component: str, instance: Instance, wanted: Sequence[Wanted], weights: Mapping[str, Tensor]
    ) -> None:
        self.optional = {one.name for one in wanted if one.optional}
        super().load(component, instance, wanted, weights)

    def load_projections(
        self, component: str, instance: Instance, width: int, heads: int, weights: Mapping[str, Tensor]
    ) -> Layout:
        self.optional = {f"{role}.bias" for role in ROLES}
        return super().load_projections(component, instance, width, heads, weights)

    def _fill(
        self,
        instance: Instance,
        found: Layout,
        weights: Mapping[str, Tensor],
        own: Mapping[str, ParameterInfo],
        zero: Collection[str] = (),
    ) -> None:
        if found is not self.layout:
            super()._fill(instance, found, weights, own, zero)
            return
        self.starts = {name: info.value for name, info in own.items()}
        given = torch.cat([torch.zeros(2), *(value.flatten() for value in weights.values())])
        self.scale = float(given.std()) or self.scale
        if self._values is None:
            raise _Over
        parts = self._values.split([found.index[name].numel() for name in self.names()])
        named = {
            name: part.view(found.index[name].shape) for name, part in zip(self.names(), parts, strict=True)
        }
        instance.load(found.write(named, {n: torch.zeros_like(x) for n, x in self.starts.items()}))
        self._callee = instance

    def call(self, callee: Function, *args: Any, method: str = "", **kwargs: Any) -> dict[str, Tensor | str]:
        if callee is not self._callee:
            return super().call(callee, *args, method=method, **kwargs)
        made: dict[int, Tensor] = {}
        named = {name: value for name, value in kwargs.items() if name not in OF_A_CALL}
        outcome = callee.call(self.cast(args, made), self.cast(named, made), method=method)
        results = tensors(outcome.value)
        if outcome.handle is not None and results:
            draws = torch.Generator().manual_seed(self._number)
            cotangent = torch.randn(results[0].shape, generator=draws).to(results[0].dtype)
            arrived = callee.backward(outcome, [cotangent, *[None] * (len(results) - 1)])
            found = self.layout.read(arrived.parameters)
            self.found = torch.cat([found[name].flatten().double() for name in self.names()])
        raise _Over


def _as_they_are(shapes: Mapping[str, torch.Size]) -> Layout:
    """A class's parameters as a layout of their own."""
    index, start = {}, 0
    for name, shape in shapes.items():
        index[name] = torch.arange(start, start + shape.numel()).view(shape)
        start += shape.numel()
    return Layout(shapes, index)


def found_by_experiment(
    scenario: Scenario, submission: Submission, right_code: Submission, *, seed: int, free: Free | None = None
) -> Layout | None:
    """Where the submission keeps the weights that the right code has; None if its numbers are not the same ones.

    Args:
        scenario: one that fills the parameters of its component, and calls it.
        free: what the contract leaves free, as the submission has it.

    Raises:
        SubmissionError: the worker is gone.
    """

    def run(code: Submission, **options: Any) -> _Probe:
        with torch.random.fork_rng(devices=[]):
            probe = _Probe(code, scenario, seed=seed, free=free, **options)
            try:
                scenario.ask(probe)
            except _Over:
                pass
            except SubmissionError as error:
                if error.fatal:
                    raise
            finally:
                with contextlib.suppress(SubmissionError):
                    probe.close()
        return probe

    def gradients(code: Submission, options: Mapping[str, Any], values: Tensor, number: int) -> Tensor | None:
        return run(code, values=values, number=number, **options).found

    ours, theirs = run(submission, as_they_are=True), run(right_code, as_they_are=False)
    for without, less in _of_one_size(ours, theirs):
        wanted = {name: where.shape for name, where in theirs.layout.index.items() if name not in less}
        sizes = [shape.numel() for shape in wanted.values()]
        positions = counterparts(
            partial(gradients, submission, {"as_they_are": True, "without": without}),
            partial(gradients, right_code, {"as_they_are": False, "without": less}),
            sum(sizes),
            scale=theirs.scale,
            seed=seed,
        )
        if positions is not None:
            index = ours.layout.index
            places = torch.cat([where.flatten() for name, where in index.items() if name not in without])
            parts = places[positions].split(sizes)
            found = Layout(
                ours.layout.shapes,
                {name: part.view(shape) for (name, shape), part in zip(wanted.items(), parts, strict=True)},
                zeros=without,
            )
            return found if _is_plausible(found) else None
    return None


def _of_one_size(ours: _Probe, theirs: _Probe) -> Iterator[tuple[Collection[str], Collection[str]]]:
    """Names of both that may be left out, so that equally many numbers remain: what starts at 0, and what is free."""

    def left(probe: _Probe, without: Collection[str]) -> int:
        return sum(where.numel() for name, where in probe.layout.index.items() if name not in without)

    zeros = [name for name, value in ours.starts.items() if not value.any()]
    free = [name for name in theirs.layout.index if name in theirs.optional]
    for less in (some for size in range(len(free) + 1) for some in combinations(free, size)):
        for without in dict.fromkeys([(), tuple(zeros)]):
            if 0 < left(ours, without) == left(theirs, less) <= MOST_NUMBERS:
                yield without, less


def _is_plausible(found: Layout) -> bool:
    """Whether the layout says the same as the learner's names, and as the order in usual shapes.

    A matrix alone, or several on top of one another, have their rows and columns in order: other orders are mistakes,
    such as heads whose features take turns.
    """
    for name, where in found.index.items():
        homes = found.homes(name)
        role = name.partition(".")[0]
        if role in ROLES and any(role_of(home) not in (None, role) for home in homes):
            return False
        shape = [size for size in found.shapes[homes[0]] if size > 1]
        usual = len(homes) == 1 and (len(shape) == 2 or shape == list(where.shape))
        if usual and any(where.dim() > dim and bool((where.diff(dim=dim) < 0).any()) for dim in (0, 1)):
            return False
    return True
