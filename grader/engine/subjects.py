"""Who answers a case: a submission, or the reference's steps (right ones or mistaken ones)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from grader.core.submission import Function, Instance, Outcome, Submission, SubmissionError, tensors
from grader.engine.cases import Case, Observation, described, failed
from grader.engine.layout import Layout
from grader.exercises.attention.reference import INPUTS, Call, Steps

FUNCTION, CLASS = "scaled_dot_product_attention", "MultiHeadAttention"


class Subject(Protocol):
    """Anything a case can be put to."""

    def run(self, case: Case) -> Observation:
        """The digested answer. What the subject raises is an observation too."""


class Submitted:
    """A learner's code. Its class is asked through the layout of its parameters."""

    def __init__(self, submission: Submission) -> None:
        self.submission = submission
        self.layouts: dict[tuple[int, int], Layout] = {}

    def run(self, case: Case) -> Observation:
        try:
            return case.digested(self._function(case) if case.part == "function" else self._class(case))
        except SubmissionError as error:
            if error.fatal or error.kind in ("not_written", "missing"):
                raise
            return failed(error)

    def _function(self, case: Case) -> Observation:
        function = self.submission.function(FUNCTION)
        self.submission.seed(case.seed)
        if case.earlier is not None:
            function.call(case.earlier.arguments(), case.earlier.options())
        return _asked(function, case, None)

    def _class(self, case: Case) -> Observation:
        layout = self.layouts[case.d_model, case.heads]
        instance = self.instance(case, layout)
        try:
            self.submission.seed(case.seed)
            if case.earlier is not None:
                instance.call(case.earlier.arguments(), case.earlier.options())
            return _asked(instance, case, layout)
        finally:
            instance.close()

    def instance(self, case: Case, layout: Layout) -> Instance:
        """A fresh instance with the case's weights, dtype and mode."""
        extra = {"dropout": case.dropout} if case.dropout else {}
        instance = self.submission.construct(CLASS, (case.d_model, case.heads), extra)
        try:
            if layout.parameters:
                instance.load(layout.from_canonical({n: w.float() for n, w in case.weights.items()}))
            if case.dtype != torch.float32:
                instance.to(case.dtype)
            instance.train(case.training)
        except SubmissionError:
            instance.close()
            raise
        return instance


def _asked(subject: Function, case: Case, layout: Layout | None) -> Observation:
    """Call, and go backward if the case has cotangents."""
    grad = (0, 1, 2) if case.cotangents is not None else ()
    outcome = subject.call(case.arguments(), case.options(), grad=grad)
    seen = described(case.part, outcome)
    if case.cotangents is None or not seen.values:
        return seen
    if outcome.handle is None:
        return _with_gradients(seen, {}, {}, case)
    gradients = subject.backward(outcome, _cotangents(case, outcome, seen))
    inputs = {INPUTS[i]: g for i, g in gradients.inputs.items() if isinstance(i, int) and i < len(INPUTS)}
    parameters = {} if layout is None else layout.to_canonical(gradients.parameters)
    return _with_gradients(seen, inputs, parameters, case)


def _all_arguments(case: Case) -> list[Tensor]:
    """Query, key, value and, where there is one, the mask."""
    return [*case.arguments(), *case.options().values()]


def _cotangents(case: Case, outcome: Outcome, seen: Observation) -> list[Tensor | None]:
    """The case's cotangents, for each tensor that came back and has the shape they are made for."""
    wanted = case.cotangents or (None, None)
    given: list[Tensor | None] = []
    for position, value in enumerate(tensors(outcome.value)):
        cotangent = wanted[position] if position < len(seen.values) else None
        fits = cotangent is not None and cotangent.shape == value.shape
        given.append(cotangent.to(value.dtype) if cotangent is not None and fits else None)
    return given


def _with_gradients(
    seen: Observation, inputs: Mapping[str, Tensor | None], weights: Mapping[str, Tensor | None], case: Case
) -> Observation:
    """Add the gradients; one that did not arrive counts as zero."""
    values = dict(seen.values)
    for name, x in zip(INPUTS, case.inputs, strict=True):
        arrived = inputs.get(name)
        values[f"gradient of {name}"] = (
            case.rounded(torch.zeros_like(x)) if arrived is None else arrived.detach()
        )
    for name, x in case.weights.items():
        arrived = weights.get(name)
        values[f"gradient of {name}"] = (
            case.rounded(torch.zeros_like(x)) if arrived is None else arrived.detach()
        )
    return Observation(seen.form, values, seen.changed, seen.error)


class Patched:
    """The reference's steps, run here. They are trusted, and fail like a learner's code."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps

    def run(self, case: Case) -> Observation:
        try:
            with warnings.catch_warnings(), torch.random.fork_rng(devices=[], enabled=case.dropout > 0):
                warnings.simplefilter("ignore")
                if case.dropout:
                    torch.manual_seed(case.seed)
                return case.digested(self._answer(case))
        except (RuntimeError, ValueError, TypeError, LookupError, AssertionError) as error:
            return failed(SubmissionError("exception", str(error), type_name=type(error).__name__))

    def _answer(self, case: Case) -> Observation:
        memory: dict[str, Any] = {}
        weights = {n: case.rounded(w).requires_grad_() for n, w in case.weights.items()}
        if case.earlier is not None:
            self._once(case.earlier, _all_arguments(case.earlier), weights, memory)
        arguments, leaves = _all_arguments(case), []
        kept = [x.clone() for x in arguments]
        if case.cotangents is not None:
            leaves = [x.requires_grad_() for x in arguments[:3]]
            # As in the worker: a copy goes in, so that a change in place is seen, and does not raise.
            arguments = [x.clone() for x in arguments]
        value = self._once(case, arguments, weights, memory)
        pairs = zip(arguments, kept, strict=True)
        changed = tuple(i for i, (now, before) in enumerate(pairs) if not torch.equal(now, before))
        seen = described(case.part, Outcome(value, changed))
        return seen if case.cotangents is None else self._backward(case, value, seen, leaves, weights)

    def _once(
        self, case: Case, arguments: Sequence[Tensor], weights: Mapping[str, Tensor], memory: dict[str, Any]
    ) -> Any:
        query, key, value, *rest = arguments
        call = Call(
            query,
            key,
            value,
            rest[0] if rest else None,
            case.heads,
            weights,
            case.dropout,
            case.training,
            memory,
        )
        with torch.set_grad_enabled(case.cotangents is not None):
            return self.steps.function(call) if case.part == "function" else self.steps.multi_head(call)

    def _backward(
        self, case: Case, value: Any, seen: Observation, leaves: list[Tensor], weights: Mapping[str, Tensor]
    ) -> Observation:
        given = _cotangents(case, Outcome(value), seen)
        pairs = [
            (x, g) for x, g in zip(tensors(value), given, strict=True) if g is not None and x.requires_grad
        ]
        sources = [*leaves, *weights.values()]
        found: Sequence[Tensor | None] = [None] * len(sources)
        if pairs:
            found = torch.autograd.grad(
                [x for x, _ in pairs], sources, [g for _, g in pairs], allow_unused=True
            )
        arrived = dict(zip([*INPUTS, *weights], found, strict=True))
        return _with_gradients(seen, arrived, {n: arrived[n] for n in weights}, case)
