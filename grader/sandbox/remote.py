"""Drives a submission in a worker process, through the interface of `grader.core.submission`.

Nothing that comes back is trusted: every answer is checked here, and what does not fit ends the worker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.core.policy import Uses
from grader.core.submission import (
    FirstCall,
    Gradients,
    Opaque,
    Outcome,
    ParameterInfo,
    SubmissionError,
    tensors,
)
from grader.core.value_trace import ValueTrace, read_trace
from grader.sandbox.link import Link
from grader.sandbox.process import Worker
from grader.worker.calls import EARLIER
from grader.worker.parts.kinds import modules_of
from grader.worker.values import NAMES, Handed, Packer, unpack, unpack_named

MAX_SOURCE = 2**20
MOST_NUMBERS = 2_000_000  # of an instance's parameters, or of a result: the judge keeps and compares them
MAX_COPIES = 2  # processes that edited copies may end


@dataclass(frozen=True)
class Made:
    """The construction of an instance, so that it can be made again in another process."""

    submission: RemoteSubmission
    name: str
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    part: bool


class RemoteSubmission:
    """A learner's file, loaded in a worker, which it owns.

    Args:
        worker: a fresh one.
        source: the file's text.
        filename: the name that errors show.
        again: loads the same file in another process like this one; None where that cannot be done.
        again_for_copies: the same, in the process of all changed copies; None: as `again`.
        uses: where to note uses of a library's own attention; None: they are not looked for.

    Raises:
        SubmissionError: the file is not Python, or what it runs on import failed. The worker is closed.
    """

    def __init__(
        self,
        worker: Worker,
        source: bytes,
        filename: str,
        again: Callable[[], RemoteSubmission] | None = None,
        again_for_copies: Callable[[], RemoteSubmission] | None = None,
        uses: Uses | None = None,
    ) -> None:
        self._link, self.again = Link(worker, uses), again
        self._again_for_copies = again_for_copies or again
        self.first_calls: Mapping[str, FirstCall] = {}
        self._filename = filename
        self._copy: RemoteSubmission | None = None
        self._copies, self._ended_copies_s = 0, 0.0
        self._sent: set[str] = set()  # modules of the judge's parts
        try:
            self._load(source)
        except SubmissionError:
            worker.close()
            raise

    def _load(self, source: bytes, *, copy: bool = False) -> None:
        if len(source) > MAX_SOURCE:
            text = f"{self._filename} has more than 1 MB, which is the most that is read."
            raise SubmissionError("syntax", text)
        request = {"op": "source", "filename": self._filename, "strict": self._link.uses is not None}
        if copy:
            request["copy"] = True
        self._link.send(request, [memoryview(source)], "importing the file")

    @property
    def copies_cpu_s(self) -> float:
        """Seconds of CPU that the processes of changed copies took, as they say."""
        return self._ended_copies_s + (self._copy._link.cpu_s if self._copy is not None else 0.0)

    def edited(self, text: str) -> RemoteSubmission | None:
        """The file with another text, in a process for all such copies; None where that cannot be done.

        Raises:
            SubmissionError: the text does not run.
        """
        if self._copy is None or not self._copy._link.worker.alive:
            if self._again_for_copies is None or self._copies == MAX_COPIES:
                return None
            self._copies += 1
            self._ended_copies_s = self.copies_cpu_s
            self._copy = self._again_for_copies()
            self._copy.first_calls = self.first_calls
        self._copy._load(text.encode(), copy=True)
        return self._copy

    def has(self, name: str) -> bool:
        return self._link.ask(
            {"op": "has", "name": name},
            f"looking for '{name}'",
            lambda answer, _: bool(answer["has"]),
        )

    def function(self, name: str) -> RemoteFunction:
        """The function `name`. Raises SubmissionError if there is none."""
        if not self.has(name):
            raise SubmissionError("missing", f"There is no '{name}' in the file.")
        return RemoteFunction(self._link, {"name": name}, f"calling {name}")

    def construct(
        self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None
    ) -> RemoteInstance:
        """Instantiate the class `name`. Raises SubmissionError."""
        return self._construct(name, args, kwargs, part=False)

    def part(
        self,
        kind: str,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        training: bool = True,
    ) -> RemoteInstance:
        """One of the judge's own parts, to be handed to the submission."""
        for module, text in modules_of(kind).items():
            if module not in self._sent:
                self._link.send({"op": "part", "module": module}, [memoryview(text)], f"preparing {kind}")
                self._sent.add(module)
        return self._construct(kind, args, kwargs, part=True, training=training)

    def _construct(
        self,
        name: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any] | None,
        *,
        part: bool,
        training: bool = True,
    ) -> RemoteInstance:
        packer = Packer()
        kind = {"op": "construct", "name": name, "part": part, "training": training}
        request = {**kind, **_arguments(packer, args, kwargs or {})}
        instance, waits = self._link.ask(
            request,
            f"constructing {name}",
            lambda answer, _: (_whole(answer["instance"]), answer["waits"] is True),
            packer,
        )
        if waits and not part and name in self.first_calls:
            self._call_first(instance, self.first_calls[name](*args, **(kwargs or {})))
        made = Made(self, name, args, kwargs or {}, part)
        return RemoteInstance(self._link, {"instance": instance}, f"in the forward of {name}", made)

    def _call_first(self, instance: int, args: Sequence[Any]) -> None:
        packer = Packer()
        request = {"op": "call_first", "instance": instance, "args": packer.pack(list(args))}
        self._link.ask(request, "calling it for the first time", _nothing, packer)

    def trace(self, on: bool) -> list[str]:
        """Begin, or end, to look for tensors made on a fixed device."""

        def read(answer: dict[str, Any], _found: list[Tensor]) -> list[str]:
            return [str(one)[:100] for one in list(answer["crossings"])[:8]]

        return self._link.ask({"op": "trace", "on": on}, "looking at devices", read)

    def record(self, patches: Mapping[int, Tensor] | None = None) -> None:
        """Begin to record what the submission does, see `grader.worker.value_trace.Recorder`."""
        packer, patches = Packer(), patches or {}
        values = {"numbers": packer.pack([*patches]), "values": packer.pack([*patches.values()])}
        self._link.ask({"op": "record", "on": True, **values}, "recording", _nothing, packer)

    def recorded(self) -> ValueTrace:
        """End it. Gives what was recorded."""

        def read(answer: dict[str, Any], found: list[Tensor]) -> ValueTrace:
            text, numbers = unpack(answer["text"], found, Opaque), unpack(answer["numbers"], found, Opaque)
            if text.dtype != torch.uint8 or text.dim() != 1:
                raise ValueError("a trace without a text")
            return read_trace(text.numpy().tobytes(), numbers)

        return self._link.ask({"op": "record", "on": False}, "recording", read)

    def seed(self, seed: int) -> None:
        """Let the worker do so before the next request."""
        self._link.seed = seed

    def close(self) -> None:
        self._link.worker.close()
        if self._copy is not None:
            self._copy.close()

    def output(self) -> bytes:
        """The beginning of what the submission has printed."""
        return self._link.worker.output()


class RemoteFunction:
    """A function in a worker."""

    def __init__(self, link: Link, target: dict[str, Any], doing: str) -> None:
        self._link, self._target, self._doing = link, target, doing

    def call(
        self,
        args: Sequence[Any],
        kwargs: Mapping[str, Any] | None = None,
        *,
        grad: Sequence[int | str] = (),
        method: str = "",
        record: bool = True,
        watch: bool = True,
        refilled: bool = False,
        values: Mapping[str, Tensor] | None = None,
    ) -> Outcome:
        """Call it, as in `component.Function`.

        Args:
            record: False calls it under `torch.no_grad()`.
            refilled: call it with the same tensors before, with other numbers in them.
            watch: look for arguments changed in place.
            values: parameters and buffers to overwrite before.
        """
        packer = Packer()
        kwargs = kwargs or {}
        request = {
            "op": "call",
            **self._target,
            **_arguments(packer, args, kwargs),
            "grad": list(grad),
            "method": method,
            "record": record,
            "watch": watch,
            "refilled": refilled,
        }
        if values:
            request["values"] = packer.pack_named(values)
        given = {*range(len(args)), *kwargs, *([EARLIER] if refilled else [])}

        def read(answer: dict[str, Any], found: list[Tensor]) -> Outcome:
            value = unpack(answer["value"], found, Opaque)
            if (numbers := sum(x.numel() for x in tensors(value))) > MOST_NUMBERS:
                text = f"it returned {numbers:,} numbers, where {MOST_NUMBERS:,} are the most"
                raise SubmissionError("limit", text)
            changed, handle, devices = answer["changed"], answer["handle"], answer["devices"]
            exact = isinstance(changed, list) and all(type(one) in (int, str) for one in changed)
            if not exact or not given.issuperset(changed):
                raise ValueError("what was not given is changed")
            if not isinstance(devices, list) or len(devices) != len(tensors(value)):
                raise ValueError("not one device for each tensor")
            names = tuple(device if device in ("cpu", "cuda") else "elsewhere" for device in devices)
            return Outcome(value, tuple(changed), None if handle is None else _whole(handle), names)

        outcome = self._link.ask(request, self._doing, read, packer)
        outcome_inputs = {
            position: _shape(args[position] if isinstance(position, int) else kwargs[position])
            for position in grad
        }
        self._link.watch(outcome, outcome_inputs)
        return outcome

    def backward(self, outcome: Outcome, cotangents: Sequence[Tensor | None]) -> Gradients:
        """Gradients of the call, as in `component.Function`. An argument that was given at several positions has
        its whole gradient at each of them."""
        if outcome.handle is None:
            return Gradients()
        shapes = self._link.unwatch(outcome)
        if shapes is None:
            raise ValueError("the graph of this call was used or released before")
        packer = Packer()
        request = {
            "op": "backward",
            **self._target,
            "handle": outcome.handle,
            "cotangents": packer.pack(list(cotangents)),
        }

        def read(answer: dict[str, Any], found: list[Tensor]) -> Gradients:
            inputs = dict(_input_gradient(pair, found, shapes) for pair in answer["inputs"])
            if inputs.keys() != shapes.keys():
                raise ValueError("gradients of other arguments than were asked for")
            parameters = unpack_named(answer["parameters"], found)
            known = self._shapes()
            for name, gradient in parameters.items():
                _check_shape(gradient, known.get(name))
            return Gradients(inputs, parameters)

        return self._link.ask(
            request, self._doing.replace("in the forward", "in the backward", 1), read, packer
        )

    def release(self, outcome: Outcome) -> None:
        if outcome.handle is not None and self._link.unwatch(outcome) is not None:
            self._link.dropped.append(outcome.handle)

    def _shapes(self) -> Mapping[str, torch.Size]:
        return {}


class RemoteInstance(RemoteFunction, Handed):
    """An `nn.Module` in a worker. It can be passed as an argument of a call."""

    def __init__(self, link: Link, target: dict[str, Any], doing: str, made: Made) -> None:
        super().__init__(link, target, doing)
        self.made = made
        self.device, self.number = link.worker.device, target["instance"]
        self._known: dict[str, torch.Size] = {}

    def parameters(self) -> dict[str, ParameterInfo]:
        infos = self._state("parameters")
        self._known = {name: info.value.shape for name, info in infos.items()}
        return infos

    def buffers(self) -> dict[str, ParameterInfo]:
        return self._state("buffers")

    def load(self, values: Mapping[str, Tensor]) -> None:
        packer = Packer()
        request = {"op": "load", **self._target, "values": packer.pack_named(values)}
        self._link.ask(request, "loading weights into it", _nothing, packer)

    def train(self, *modes: bool) -> None:
        self._link.ask({"op": "train", **self._target, "modes": modes}, "setting its mode", _nothing)

    def to(self, dtype: torch.dtype) -> None:
        self._link.ask({"op": "to", **self._target, "dtype": NAMES[dtype]}, "changing its dtype", _nothing)

    def close(self) -> None:
        """Let the worker forget the instance, with the next request."""
        self._link.dropped.append(self.number)

    def _shapes(self) -> Mapping[str, torch.Size]:
        return self._known

    def _state(self, which: str) -> dict[str, ParameterInfo]:
        def read(answer: dict[str, Any], found: list[Tensor]) -> dict[str, ParameterInfo]:
            values, infos = unpack_named(answer["values"], found), {}
            numbers = sum(value.numel() for value in values.values() if value is not None)
            if numbers > MOST_NUMBERS:
                text = f"its {which} hold {numbers:,} numbers, where {MOST_NUMBERS:,} are the most"
                raise SubmissionError("limit", text)
            for name, requires_grad, device in answer["entries"]:
                value = values.get(name)
                if value is None:
                    raise ValueError("a parameter that is not a tensor")
                infos[name] = ParameterInfo(
                    value, requires_grad is True, "cpu" if device == "cpu" else "cuda"
                )
            return infos

        return self._link.ask({"op": "state", **self._target, "which": which}, f"listing its {which}", read)


def _arguments(packer: Packer, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {"args": packer.pack(list(args)), "kwargs": packer.pack(dict(kwargs))}


def _input_gradient(
    pair: Any, found: list[Tensor], shapes: Mapping[int | str, torch.Size]
) -> tuple[int | str, Tensor | None]:
    position, packed = pair
    gradient = unpack(packed, found, Opaque)
    if gradient is not None and not isinstance(gradient, Tensor):
        raise ValueError("a gradient that is not a tensor")
    _check_shape(gradient, shapes.get(position))
    return position, gradient


def _check_shape(gradient: Tensor | None, expected: torch.Size | None) -> None:
    if gradient is not None and expected is not None and gradient.shape != expected:
        raise ValueError(f"a gradient of shape {list(gradient.shape)}, expected {list(expected)}")


def _shape(value: Any) -> torch.Size:
    """The shape of an argument whose gradient is asked for. Raises TypeError if it can have none."""
    if not isinstance(value, Tensor) or not value.is_floating_point():
        raise TypeError(f"only a floating-point tensor has a gradient, not {type(value).__name__}")
    return value.shape


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise ValueError("not a whole number")
    return value


def _nothing(answer: dict[str, Any], found: list[Tensor]) -> None:
    """An answer that says only that it is done."""
