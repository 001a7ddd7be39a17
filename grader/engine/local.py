"""Runs trusted code in this process, through the interface that submissions are driven by.

The reference and the known mistakes run this way, which is how the hidden suite itself is tested.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from grader.core.submission import FirstCall, Gradients, Opaque, Outcome, ParameterInfo, SubmissionError
from grader.core.value_trace import ValueTrace, read_trace
from grader.worker import (
    absent,
    calls,
    components,
    device_trace,
    failures,
    global_state,
    source,
    value_trace,
    values,
)
from grader.worker.parts.base import handed
from grader.worker.parts.kinds import PARTS


class LocalSubmission:
    """Trusted functions and classes, by name.

    Args:
        namespace: what a submission's module would hold.
        filename: the name that its code was compiled under, for the lines of errors.
        device: where the parts run; results come back on the CPU.
    """

    def __init__(
        self, namespace: Mapping[str, Any], *, filename: str | None = None, device: str = "cpu"
    ) -> None:
        self._namespace, self._filename, self._device = namespace, filename, device
        self.first_calls: Mapping[str, FirstCall] = {}
        self._tracing = _Tracing()

    @classmethod
    def from_source(
        cls, text: str, *, filename: str = "attention.py", device: str = "cpu", is_copy: bool = False
    ) -> LocalSubmission:
        """Run a file's text here, as the worker would. For trusted text only.

        Args:
            is_copy: see `grader.worker.source.load`.

        Raises:
            SubmissionError: it is not Python, or raises.
        """
        with _as_submission_error(filename):
            try:
                with global_state.restored(on_import=True):
                    module = source.load(text.encode(), filename, is_copy=is_copy)
            except source.NotPythonError as error:
                found = failures.describe_syntax(error.__cause__ or error, filename)
                raise SubmissionError(**found.fields()) from error
        return cls(vars(module), filename=filename, device=device)

    def has(self, name: str) -> bool:
        return callable(self._namespace.get(name))

    def function(self, name: str) -> LocalFunction:
        """The function `name`. Raises SubmissionError if there is none."""
        with _as_submission_error(self._filename):
            found = components.get(self._namespace, name)
            return LocalFunction(found, self._filename, self._device, self._tracing)

    def construct(
        self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None
    ) -> LocalInstance:
        """Instantiate the class `name`. Raises SubmissionError."""
        with _as_submission_error(self._filename):
            given, named = _handed_over(list(args)), _handed_over(dict(kwargs or {}))
            watched = self._tracing.device_trace
            with self._tracing.recorder or contextlib.nullcontext(), self._tracing.beside:
                module = components.construct(self._namespace, name, given, named, self._device, watched)
            waits = components.waits_for_call(module, (*given, *named.values()))
            if waits and name in self.first_calls:
                first = self.first_calls[name](*args, **(kwargs or {}))
                components.call_first(module, _handed_over(list(first)), self._device, watched)
            return LocalInstance(module, self._filename, self._device, self._tracing)

    def part(
        self,
        kind: str,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        training: bool = True,
    ) -> LocalInstance:
        """One of the judge's own parts."""
        module = components.construct(
            PARTS, kind, _handed_over(list(args)), _handed_over(dict(kwargs or {})), self._device
        ).train(training)
        return LocalInstance(module, self._filename, self._device, self._tracing)

    def trace(self, on: bool) -> list[str]:
        """Begin, or end, to look for tensors made on a fixed device."""
        found = [] if self._tracing.device_trace is None else self._tracing.device_trace.found
        self._tracing.device_trace = device_trace.DeviceTrace(self._filename or "") if on else None
        return found

    def record(self, patches: Mapping[int, Tensor] | None = None) -> None:
        """Begin to record what the submission does, see `grader.worker.value_trace.Recorder`."""
        own = self._namespace if isinstance(self._namespace, dict) else None
        self._tracing.recorder = value_trace.Recorder(self._filename or "", patches, own)

    def beside(self, context: contextlib.AbstractContextManager[Any]) -> None:
        """Enter a context whenever code of the submission runs."""
        self._tracing.beside = context

    def recorded(self) -> ValueTrace:
        """End it. Gives what was recorded."""
        recorder, self._tracing.recorder = self._tracing.recorder, None
        return ValueTrace() if recorder is None else read_trace(*recorder.log())

    @property
    def copies_cpu_s(self) -> float:
        """None: copies run in this process."""
        return 0.0

    def edited(self, text: str) -> LocalSubmission:
        """The file with another text. Raises SubmissionError."""
        with absent.without_scripting():
            name = self._filename or ""
            found = LocalSubmission.from_source(text, filename=name, device=self._device, is_copy=True)
        found.first_calls = self.first_calls
        return found

    def seed(self, seed: int) -> None:
        calls.seed(seed, self._device)

    def close(self) -> None:
        """Nothing to let go."""


class _Tracing:
    """Whether tensors made on a fixed device are looked for, or values recorded, for all that a submission has."""

    device_trace: device_trace.DeviceTrace | None = None
    recorder: value_trace.Recorder | None = None
    beside: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()


class LocalFunction:
    """A function, called on copies."""

    def __init__(
        self, function: Any, filename: str | None, device: str, tracing: _Tracing | None = None
    ) -> None:
        self._function, self._filename, self._device = function, filename, device
        self._tracing = tracing or _Tracing()
        self._module = function if isinstance(function, nn.Module) else None
        self._graphs: dict[int, calls.Graph] = {}
        self._calls = 0

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
        with _as_submission_error(self._filename):
            function = getattr(self._function, method) if method else self._function
            given, named = _handed_over(list(args)), _handed_over(dict(kwargs or {}))
            with self._tracing.recorder or contextlib.nullcontext(), self._tracing.beside:
                answer = calls.call(
                    function,
                    given,
                    named,
                    grad,
                    device=self._device,
                    record=record,
                    refilled=refilled,
                    device_trace=self._tracing.device_trace,
                )
        handle = None
        if answer.graph is not None:
            handle = self._calls = self._calls + 1
            self._graphs[handle] = answer.graph
        devices = tuple(tensor.device.type for tensor in values.tensors(answer.value))
        return Outcome(_own(answer.value), answer.changed, handle, devices)

    def backward(self, outcome: Outcome, cotangents: Sequence[Tensor | None]) -> Gradients:
        graph = self._graphs.pop(outcome.handle) if outcome.handle is not None else calls.Graph([], {})
        with _as_submission_error(self._filename):
            inputs, parameters = calls.backward(graph, cotangents, self._module)
        return Gradients(_own(inputs), _own(parameters))

    def release(self, outcome: Outcome) -> None:
        if outcome.handle is not None:
            self._graphs.pop(outcome.handle, None)


class LocalInstance(LocalFunction):
    """An `nn.Module`, called on copies."""

    def __init__(
        self, module: nn.Module, filename: str | None, device: str, tracing: _Tracing | None = None
    ) -> None:
        super().__init__(module, filename, device, tracing)
        self.module = module

    def parameters(self) -> dict[str, ParameterInfo]:
        return self._infos(self.module.named_parameters())

    def buffers(self) -> dict[str, ParameterInfo]:
        return self._infos(self.module.named_buffers())

    def load(self, values: Mapping[str, Tensor]) -> None:
        with _as_submission_error(self._filename):
            calls.load(self.module, values)

    def train(self, *modes: bool) -> None:
        with _as_submission_error(self._filename):
            for mode in modes:
                self.module.train(mode)

    def to(self, dtype: torch.dtype) -> None:
        with _as_submission_error(self._filename):
            self.module.to(dtype)

    def close(self) -> None:
        self._graphs.clear()

    def _infos(self, entries: Iterator[tuple[str, Tensor]]) -> dict[str, ParameterInfo]:
        with _as_submission_error(self._filename):
            return {
                name: ParameterInfo(_own(value), value.requires_grad, value.device.type)
                for name, value in calls.dense(entries)
            }


@contextlib.contextmanager
def _as_submission_error(filename: str | None) -> Iterator[None]:
    """Let the code run as it would in a worker: its warnings are its own, its exceptions are described."""
    try:
        with (
            warnings.catch_warnings(),
            torch.enable_grad(),
            absent.without_compiling(),
            absent.without_threads(),
        ):
            warnings.simplefilter("ignore")
            yield
    except SubmissionError:
        raise
    except (Exception, SystemExit) as error:
        raise SubmissionError(**failures.describe(error, filename).fields()) from error


def _handed_over(value: Any) -> Any:
    """The same tree with what each instance stands for, and tensors in one piece, as frames carry them."""
    if isinstance(value, LocalInstance):
        return handed(value.module)
    if isinstance(value, Tensor):
        return value.contiguous()
    if isinstance(value, dict):
        return {key: _handed_over(item) for key, item in value.items()}
    return type(value)(_handed_over(item) for item in value) if isinstance(value, (tuple, list)) else value


def _own(value: Any) -> Any:
    """The same tree with tensors of the judge's own."""
    if isinstance(value, Tensor):
        return value.detach().cpu().clone()
    if isinstance(value, values.Opaque):
        return Opaque(value.type_name)
    if isinstance(value, dict):
        return {key: _own(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(_own(item) for item in value)
    return value
