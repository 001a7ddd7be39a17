"""The interface of a component under test, wherever it runs.

Two implementations: `grader.sandbox.remote` drives a learner's code in a worker process;
`grader.engine.local` runs trusted code (the reference, the known mistakes) in this one, which is
how the hidden suite itself is tested.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import torch
from torch import Tensor

ErrorKind = Literal[
    "exception",  # the submission raised; `type_name`, `message` and `line` say what and where
    "not_written",  # NotImplementedError: a stub of the template
    "missing",  # no such function or class in the file
    "syntax",  # the file is not Python
    "timeout",  # over its wall time; the worker was killed
    "died",  # the worker ended by itself (os._exit, a signal, a crash)
    "limit",  # over a limit of CPU time, memory or output
    "global_state",  # a setting of all of torch was changed, and not restored
    "protocol",  # what came back was not an answer
]


class SubmissionError(Exception):
    """The submission's code failed. Everything in it is untrusted text.

    Attributes:
        kind: what happened, one of `ErrorKind`.
        message: the exception's own message, or a sentence of ours for the other kinds.
        type_name: the exception's class name ("RuntimeError"), for kind "exception".
        line: line of the submission's file in which it happened, if known.
        source_line: that line's text, if known.
        fatal: the worker is gone; nothing more can be asked of it.
    """

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        type_name: str = "",
        line: int | None = None,
        source_line: str = "",
        fatal: bool = False,
    ) -> None:
        super().__init__(message)
        self.kind, self.message, self.type_name = kind, message, type_name
        self.line, self.source_line, self.fatal = line, source_line, fatal


@dataclass(frozen=True)
class Opaque:
    """A value that is not a tensor, number, string, None or a container of those."""

    type_name: str


@dataclass
class Outcome:
    """The result of one call.

    `value` is a tree of tensors, tuples, lists, dicts, None, bool, int, float, str and `Opaque`.
    `changed` holds the positions (argument index or keyword) of tensor arguments that the call
    changed in place. `handle` names the call's autograd graph until `backward` or `release`.
    `devices` holds the device type of each tensor of `value` where it was made, in their order.
    """

    value: Any
    changed: tuple[int | str, ...] = ()
    handle: int | None = None
    devices: tuple[str, ...] = ()


@dataclass
class Gradients:
    """Gradients of sum(output * cotangent). None where no gradient arrived."""

    inputs: dict[int | str, Tensor | None] = field(default_factory=dict)
    parameters: dict[str, Tensor | None] = field(default_factory=dict)


@dataclass(frozen=True)
class ParameterInfo:
    """One entry of `named_parameters()` or `named_buffers()`."""

    value: Tensor
    requires_grad: bool
    device: str = "cpu"


class Function(Protocol):
    """A plain function under test."""

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
        """Call it, or a method of it. Instances of the same submission may be among the arguments.

        Args:
            args, kwargs: trees of tensors, plain values and instances.
            grad: the tensor arguments (position or keyword) that require a gradient.
            method: the instance's method to call ("encode"); its forward if there is none.
            record: False calls it under `torch.no_grad()`.
            refilled: call it with the same tensors before, with other numbers in them.

        Raises:
            SubmissionError: whatever went wrong on the submission's side.
        """

    def backward(self, outcome: Outcome, cotangents: Sequence[Tensor | None]) -> Gradients:
        """Gradients of the call, for one cotangent (or None) for each tensor of `outcome.value`,
        in the order of `tensors(outcome.value)`. The graph is released."""

    def release(self, outcome: Outcome) -> None:
        """Drop the call's graph without a backward pass."""


class Instance(Function, Protocol):
    """An `nn.Module` under test. `call` is its `forward`."""

    def parameters(self) -> dict[str, ParameterInfo]: ...

    def buffers(self) -> dict[str, ParameterInfo]: ...

    def load(self, values: Mapping[str, Tensor]) -> None:
        """Overwrite parameters (and buffers) by name, in place, exact shapes."""

    def train(self, *modes: bool) -> None:
        """Put it in train mode (True) or eval mode (False), in one after the other."""

    def to(self, dtype: torch.dtype) -> None: ...

    def close(self) -> None:
        """Forget the instance."""


FirstCall = Callable[..., Sequence[Any]]
"""From the arguments that a class is constructed with to some that its forward takes."""


def one_token(d_model: int, *_rest: Any, **_options: Any) -> list[Tensor]:
    """The `FirstCall` of a class that is constructed with d_model first, and takes x [B, T, D] alone."""
    return [torch.zeros(1, 1, d_model)]


class Submission(Protocol):
    """One learner's file, loaded.

    Attributes:
        first_calls: by class, arguments of a first call. It is made where a class has no parameters before
            (`nn.LazyLinear`). A session sets them, from `FIRST_CALLS` of the exercise's reference.
    """

    first_calls: Mapping[str, FirstCall]

    def has(self, name: str) -> bool: ...

    def function(self, name: str) -> Function: ...

    def construct(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> Instance:
        """Instantiate the class `name`.

        Raises:
            SubmissionError: the constructor's exception, or the result is no nn.Module.
        """

    def part(
        self,
        kind: str,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        training: bool = True,
    ) -> Instance:
        """One of the judge's own parts (`grader.worker.parts`), made where the submission runs, to be handed to it; in
        train mode or not."""

    def trace(self, on: bool) -> list[str]:
        """Begin (or end) to look for tensors made on a fixed device; what was found since it began, with lines."""

    def seed(self, seed: int) -> None:
        """Seed torch's and Python's random generators where the submission runs."""

    def close(self) -> None: ...


def tensors(value: Any) -> list[Tensor]:
    """The tensors of a value tree, depth first, in order."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, Mapping):
        return [found for item in value.values() for found in tensors(item)]
    if isinstance(value, (tuple, list)):
        return [found for item in value for found in tensors(item)]
    return []
