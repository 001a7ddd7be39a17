"""What a scenario works with: one submission, in one dtype, and the ways to ask it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.core.submission import Function as Callee
from grader.core.submission import Instance, Outcome, ParameterInfo, Submission, tensors
from grader.engine.readings import Reading, Wanted, own_parameters, readings, written

Pick = Callable[[str, Sequence[Reading]], Reading]


def likeliest(_component: str, found: Sequence[Reading]) -> Reading:
    """The first reading."""
    return found[0]


class Desk:
    """See the module. One a run of a scenario; `close` lets go of what was made.

    Args:
        submission: the learner's file, the reference or a mistake.
        rounding: the scenario's dtype: all numbers are rounded to it first.
        dtype: in which numbers are handed over; float64 for the right answer.
        pick: chooses among the readings of a class's parameters.
        seed: for the random generators where the submission runs.

    Attributes:
        unread: see `grader.engine.scenario.Seen`.
    """

    def __init__(
        self,
        submission: Submission,
        *,
        rounding: torch.dtype = torch.float32,
        dtype: torch.dtype | None = None,
        pick: Pick = likeliest,
        seed: int = 0,
    ) -> None:
        self.submission, self.rounding = submission, rounding
        self.dtype = rounding if dtype is None else dtype
        self.unread = False
        self._pick, self._seed = pick, seed
        self._made: list[Instance] = []
        self._wanted: dict[int, tuple[Reading, Sequence[Wanted]]] = {}
        submission.seed(seed)

    def seed(self, offset: int = 0) -> None:
        """Seed the random generators where the submission runs."""
        self.submission.seed(self._seed + offset)

    def given(self, value: Any) -> Any:
        """A tree of tensors as they are handed over: floats rounded and in the desk's dtype, copies."""
        if isinstance(value, Tensor):
            if not value.is_floating_point():
                return value.clone()
            return value.to(torch.float32).to(self.rounding).to(self.dtype).clone()
        if isinstance(value, dict):
            return {key: self.given(item) for key, item in value.items()}
        return type(value)(self.given(item) for item in value) if isinstance(value, (tuple, list)) else value

    def function(self, name: str) -> Callee:
        """A function of the submission. Raises SubmissionError if there is none."""
        return self.submission.function(name)

    def make(self, name: str, *args: Any, training: bool = False, **kwargs: Any) -> Instance:
        """Construct a class of the submission, in the desk's dtype, in eval mode unless `training`."""
        made = self._kept(self.submission.construct(name, args, kwargs))
        made.train(training)
        return made

    def part(self, kind: str, *args: Any, weights: Mapping[str, Tensor] | None = None) -> Instance:
        """One of the judge's parts (`grader.worker.parts`), with weights by their names less `judge_`."""
        part = self._kept(self.submission.part(kind, args, training=False))
        if weights is not None:
            self.load_part(part, weights)
        return part

    def load_part(self, part: Instance, weights: Mapping[str, Tensor]) -> None:
        """Load a part's weights; "inner.q" is its `inner.judge_q`."""
        named = {}
        for name, value in weights.items():
            home, dot, last = name.rpartition(".")
            named[f"{home}{dot}judge_{last}"] = self.given(value)
        part.load(named)

    def _kept(self, instance: Instance) -> Instance:
        self._made.append(instance)
        if self.dtype != torch.float32:
            instance.to(self.dtype)
        return instance

    def load(
        self, component: str, instance: Instance, wanted: Sequence[Wanted], weights: Mapping[str, Tensor]
    ) -> None:
        """Find the wanted parameters among the learner's own, and load their values.

        Own parameters that are none of them get values too, so that they show.
        """
        own = own_parameters(instance.parameters())
        reading = self._pick(component, readings(own, wanted))
        missing = [one for one in wanted if one.name not in reading and not one.optional]
        numbers = sum(info.value.numel() for info in own.values())
        self.unread |= bool(missing) and numbers == sum(math.prod(one.shape) for one in wanted)
        self._wanted[id(instance)] = (reading, wanted)
        values = written(reading, {name: self.given(weights[name]) for name in reading})
        extra = torch.Generator().manual_seed(len(own))
        for name, info in own.items():
            if name not in values:
                values[name] = self.given(torch.randn(info.value.shape, generator=extra) * 0.5)
        instance.load(values)

    def choose(self, component: str, found: Sequence[Any]) -> Any:
        """One of several readings of a class's parameters, of whatever kind: the one that comes out right."""
        return self._pick(component, found)

    def call(
        self,
        callee: Callee,
        *args: Any,
        grad: Sequence[int | str] = (),
        cotangent: Tensor | None = None,
        method: str = "",
        single: bool = False,
        **kwargs: Any,
    ) -> dict[str, Tensor | str]:
        """Call, and say what came back: "output" (of a tuple, its first tensor), what was changed in place.

        Args:
            grad: arguments to which gradients are asked for ("gradient of 0"), by position or keyword; those
                of the wanted parameters come with them.
            cotangent: of the output's shape; needed for gradients.
            method: of an instance, in place of its forward.
            single: a tuple is no output, but a "result" in words.
        """
        outcome = callee.call(self.given(args), self.given(kwargs), grad=grad, method=method)
        answer = said(outcome, single=single)
        if cotangent is None:
            callee.release(outcome)
            return answer
        given = self.given(cotangent)
        found = tensors(outcome.value)
        if not found or found[0].shape != given.shape or outcome.handle is None:
            callee.release(outcome)
            return {**answer, "gradients": "none"}
        arrived = callee.backward(outcome, [given.to(found[0].dtype), *[None] * (len(found) - 1)])
        for position, gradient in arrived.inputs.items():
            like = args[position] if isinstance(position, int) else kwargs[position]
            answer[f"gradient of {position}"] = _or_zero(gradient, like)
        reading, wanted = self._wanted.get(id(callee), ({}, ()))
        shapes = {one.name: one.shape for one in wanted}
        for name, slot in reading.items():
            gradient = slot.find(arrived.parameters)
            there = torch.zeros(slot.shape) if gradient is None else gradient
            answer[f"gradient of {name}"] = slot.read(there, shapes[name]).to(self.dtype)
        return answer

    def close(self) -> None:
        """Let go of everything that was made."""
        for instance in self._made:
            instance.close()
        self._made.clear()


def said(outcome: Outcome, *, single: bool = False) -> dict[str, Tensor | str]:
    """The output, as a tensor or in words, and which arguments were changed in place. Of a tuple, its first tensor."""
    value = outcome.value
    if not single and isinstance(value, (tuple, list)) and value and isinstance(value[0], Tensor):
        value = value[0]
    answer: dict[str, Tensor | str] = {}
    if isinstance(value, Tensor):
        answer["output"] = value
    else:
        answer["result"] = in_words(value)
    if outcome.changed:
        answer["changed in place"] = ", ".join(f"argument {position}" for position in outcome.changed)
    return answer


def in_words(value: object) -> str:
    """What came back in place of a tensor."""
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    return f"a {getattr(value, 'type_name', type(value).__name__)}"


def _or_zero(gradient: Tensor | None, like: Tensor) -> Tensor:
    return torch.zeros_like(like) if gradient is None else gradient


def parameter_facts(parameters: Mapping[str, ParameterInfo]) -> dict[str, str]:
    """How many numbers a learner's own parameters hold, and how many of them are trained."""
    own = own_parameters(parameters)
    trained = sum(p.value.numel() for p in own.values() if p.requires_grad)
    return {"own parameters": str(sum(p.value.numel() for p in own.values())), "trained": str(trained)}
