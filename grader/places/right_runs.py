"""The operations of right runs, with the names of the reference's steps."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from grader.core.value_trace import Event, Odd, Plain
from grader.engine.local import LocalSubmission
from grader.engine.scenario import Free, Scenario
from grader.engine.subject import Subject, run
from grader.places.alignment import RightValues, labelled
from grader.places.vocabulary import canonical

MOST_STEPS = 400
MOST_NUMBERS = 2**14  # in a value that is computed with
TORCH = str(Path(torch.__file__).parent)
PARTS = str(Path("worker") / "parts")
PART = "part"  # what a call into other code is, as an operation
SEVERAL = frozenset(
    {"median", "max", "min", "sort", "topk", "chunk", "split", "unbind", "mode", "cummax", "tensor_split"}
)
SOLUTION = "solution.py"


@dataclass(frozen=True, eq=False)
class Step:
    """An operation of a right run. Tensors in `args` and `kwargs` are as they were then."""

    op: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    out: Tensor


@dataclass
class RightRun:
    """The operations of a right run, which tensors have names, and its plain values with theirs."""

    steps: list[Step] = field(default_factory=list)
    labels: dict[int, str] = field(default_factory=dict)  # by id of a tensor
    labelled: list[tuple[str, Tensor]] = field(default_factory=list)
    plain: list[tuple[str, Plain]] = field(default_factory=list)

    def label(self, name: str, value: Any) -> None:
        """Note what a step of the reference gave."""
        if isinstance(value, Tensor):
            self.labels.setdefault(id(value), name)
            self.labelled.append((name, value))
        elif isinstance(value, (tuple, list)) and any(isinstance(one, Tensor) for one in value):
            for one in value[:4]:
                self.label(name, one)
        elif isinstance(value, (float, str, list, tuple)):
            self.plain.append((name, listed(value)))

    def part(self, inputs: Sequence[Tensor | None], out: Tensor | None) -> None:
        """Note a call into other code."""
        if out is not None:
            self.steps.append(Step(PART, tuple(x for x in inputs if x is not None), {}, out))

    @cached_property
    def makers(self) -> dict[int, Step]:
        """The step that made a tensor, by its id; not one that gave back what it was given, as dropout in eval mode."""
        made = [step for step in self.steps if not any(x is step.out for x in step.args)]
        return {id(step.out): step for step in reversed(made)}


class Labels(RightValues):
    """Takes the names of the reference's steps."""

    def __init__(self, run: RightRun) -> None:
        super().__init__()
        self._run = run

    def add(self, name: str, value: Any, *, function: str = "") -> None:
        self._run.label(name, value)


class Operations(TorchFunctionMode):
    """While it is entered, every torch call is a step of the run."""

    def __init__(self, run: RightRun) -> None:
        super().__init__()
        self._run = run

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if len(self._run.steps) >= MOST_STEPS or _in_part():
            return result
        out = result[0] if isinstance(result, tuple) and result and isinstance(result[0], Tensor) else result
        name = getattr(func, "__name__", "")
        if name == "__get__":
            name = getattr(getattr(func, "__self__", None), "__name__", name)
        if isinstance(out, Tensor) and out.numel() <= MOST_NUMBERS and out.layout == torch.strided:
            self._run.steps.append(Step(canonical(name), tuple(args), dict(kwargs or {}), out))
        return result


def right_runs(
    subject: Subject, scenario: Scenario, free: Free, solution: str, *, exact: bool, seed: int
) -> list[RightRun]:
    """A scenario, run on the reference in named steps and on the solution. Args: solution: its text, or ""."""
    found = [RightRun()]
    steps = labelled(subject.bases[0], Labels(found[0]))
    submissions = [LocalSubmission(subject.namespace(steps))]
    if solution:
        found.append(RightRun())
        submissions.append(LocalSubmission.from_source(solution, filename=SOLUTION))
        submissions[-1].record()
    for right, submission in zip(found, submissions, strict=True):
        submission.beside(Operations(right))
        run(scenario, submission, exact=exact, seed=seed, free=free or None)
        trace = submission.recorded()
        for event in trace.events:
            if event.kind == "call" and merged(event):
                right.part(
                    [trace.values[v].numbers for v in event.inputs], trace.values[event.outputs[0]].numbers
                )
            for name, item in event.names.items() if event.kind != "given" else ():
                right.plain.append((name, item))
            right.plain += [(event.name, item) for item in event.result if event.kind == "return"]
    return found


def merged(event: Event) -> bool:
    """Return whether an event is a call into other code that makes several operations."""
    return len(event.outputs) > 1 and canonical(event.name) not in SEVERAL


def _in_part() -> bool:
    """Return whether a torch call is made by one of the judge's own parts."""
    frame = sys._getframe(2)
    while frame.f_back is not None and TORCH in frame.f_code.co_filename:
        frame = frame.f_back
    return PARTS in frame.f_code.co_filename


def listed(value: Any) -> Plain:
    if isinstance(value, (tuple, list)):
        return [listed(one) for one in value]
    return value if isinstance(value, (int, float, str, bool)) or value is None else Odd(type(value).__name__)
