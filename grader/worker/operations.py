"""The operations that a worker offers to the judge."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from . import calls, components, device_trace, source
from .absent import without_scripting
from .failures import FailureError
from .global_state import restored
from .library import LibraryUses
from .parts.base import Part, handed
from .value_trace import Recorder
from .values import DTYPES, Opaque, Packer, tensors, unpack, unpack_named, unpack_tensors

MAX_GRAPHS = 256  # the oldest is dropped beyond; a training step of six layers keeps 18

_cpu_s = time.process_time  # as it was before a submission could replace it

_Request = dict[str, Any]
_Answer = dict[str, Any]


class Operations:
    """A submission, its instances, and the autograd graphs of its calls. One method an operation."""

    def __init__(self, device: str) -> None:
        self.filename = ""
        self._device = device
        self._namespace: dict[str, Any] = {}
        self._parts: dict[str, Any] = {}  # the judge's own, as far as it has sent them
        self._instances: dict[int, nn.Module] = {}
        self._shapes: dict[int, dict[str, torch.Size]] = {}  # of parameters, as the judge was told
        self._graphs: dict[int, calls.Graph] = {}
        self._made = 0
        self._found: list[Tensor] = []
        self._device_trace: device_trace.DeviceTrace | None = None
        self._recorder: Recorder | None = None
        self._library: LibraryUses | None = None
        self._is_copy = False
        self._begun_s = _cpu_s()
        self._operations: dict[str, Callable[[_Request, Packer], _Answer]] = {
            "has": self._has,
            "construct": self._construct,
            "call_first": self._call_first,
            "state": self._state,
            "load": self._load,
            "train": self._train,
            "to": self._to,
            "call": self._call,
            "backward": self._backward,
            "trace": self._trace,
            "record": self._record,
        }

    def run(self, request: _Request, body: bytearray, packer: Packer) -> _Answer:
        """Carry out one request. Tensors of the answer are left in `packer`.

        Raises:
            source.NotPythonError: the submission does not compile.
            BaseException: whatever the submission raises.
        """
        if request["op"] == "source":
            self.filename, self._is_copy = request["filename"], bool(request.get("copy"))
            self._library = LibraryUses(self.filename) if request.get("strict") else None
        as_written = without_scripting() if self._is_copy else contextlib.nullcontext()
        with self._library or contextlib.nullcontext(), as_written:
            return self._carry_out(request, body, packer)

    def noted(self) -> _Answer:
        """Return the fields of every response: the seconds of CPU so far (`cpu_s`), without those of the start; uses
        of a library's attention, if they are not allowed."""
        found = [] if self._library is None else self._library.uses()
        return {"cpu_s": _cpu_s() - self._begun_s, **({"library": found} if found else {})}

    def _carry_out(self, request: _Request, body: bytearray, packer: Packer) -> _Answer:
        if request["op"] == "part":
            self._parts |= vars(source.load_part(bytes(body), request["module"]))
            return {}
        if request["op"] == "source":
            with restored(on_import=True):
                loaded = source.load(bytes(body), self.filename, is_copy=self._is_copy)
                self._namespace = vars(loaded)
            return {}
        self._found = unpack_tensors(request["tensors"], body)
        for number in request.get("drop", ()):
            self._graphs.pop(number, None)
            self._instances.pop(number, None)
            self._shapes.pop(number, None)
        if "seed" in request:
            calls.seed(request["seed"], self._device)
        recorded = request["op"] in ("construct", "call")
        try:
            with (recorded and self._recorder) or contextlib.nullcontext():
                return self._operations[request["op"]](request, packer)
        finally:
            self._found = []

    def _unpack(self, packed: Any) -> Any:
        return unpack(packed, self._found, Opaque, instance=lambda number: handed(self._instances[number]))

    def _named(self, packed: Any) -> dict[str, Tensor]:
        return {name: value for name, value in unpack_named(packed, self._found).items() if value is not None}

    def _has(self, request: _Request, packer: Packer) -> _Answer:
        return {"has": callable(self._namespace.get(request["name"]))}

    def _construct(self, request: _Request, packer: Packer) -> _Answer:
        args, kwargs = self._unpack(request["args"]), self._unpack(request["kwargs"])
        namespace = self._parts if request.get("part") else self._namespace
        module = components.construct(
            namespace, request["name"], args, kwargs, self._device, self._device_trace
        )
        if not request["training"]:  # of the judge's own parts only
            module.train(False)
        self._made += 1
        self._instances[self._made] = module
        waits = components.waits_for_call(module, (*args, *kwargs.values()))
        return {"instance": self._made, "waits": waits}

    def _call_first(self, request: _Request, packer: Packer) -> _Answer:
        module, args = self._instances[request["instance"]], self._unpack(request["args"])
        components.call_first(module, args, self._device, self._device_trace)
        return {}

    def _state(self, request: _Request, packer: Packer) -> _Answer:
        module = self._instances[request["instance"]]
        entries = module.named_parameters() if request["which"] == "parameters" else module.named_buffers()
        named = dict(calls.dense(entries))
        _check_names(module, named)
        if request["which"] == "parameters":
            self._shapes[request["instance"]] = {name: value.shape for name, value in named.items()}
        return {
            "values": packer.pack_named(named),
            "entries": [[name, value.requires_grad, value.device.type] for name, value in named.items()],
        }

    def _load(self, request: _Request, packer: Packer) -> _Answer:
        calls.load(self._instances[request["instance"]], self._named(request["values"]))
        return {}

    def _train(self, request: _Request, packer: Packer) -> _Answer:
        for mode in request["modes"]:
            self._instances[request["instance"]].train(mode)
        return {}

    def _to(self, request: _Request, packer: Packer) -> _Answer:
        self._instances[request["instance"]].to(DTYPES[request["dtype"]])
        return {}

    def _call(self, request: _Request, packer: Packer) -> _Answer:
        if "instance" in request:
            module = self._instances[request["instance"]]
            if "values" in request:
                calls.load(module, self._named(request["values"]))
            function: Callable[..., Any] = getattr(module, request["method"]) if request["method"] else module
        else:
            function = components.get(self._namespace, request["name"])
        answer = calls.call(
            function,
            self._unpack(request["args"]),
            self._unpack(request["kwargs"]),
            request["grad"],
            device=self._device,
            record=request["record"],
            watch=request["watch"],
            refilled=request["refilled"],
            device_trace=self._device_trace,
        )
        handle = None if answer.graph is None else self._keep(answer.graph)
        devices = [tensor.device.type for tensor in tensors(answer.value)]
        return {
            "value": packer.pack(answer.value),
            "changed": answer.changed,
            "handle": handle,
            "devices": devices,
        }

    def _keep(self, graph: calls.Graph) -> int:
        self._made += 1
        self._graphs[self._made] = graph
        if len(self._graphs) > MAX_GRAPHS:
            del self._graphs[next(iter(self._graphs))]
        return self._made

    def _backward(self, request: _Request, packer: Packer) -> _Answer:
        graph = self._graphs.pop(request["handle"], None)
        if graph is None:
            raise FailureError(
                "protocol", "the graph of this call is gone: too many calls wait for their backward pass"
            )
        module = self._instances.get(request.get("instance", 0))
        inputs, parameters = calls.backward(graph, self._unpack(request["cotangents"]), module)
        _check_shapes(parameters, self._shapes.get(request.get("instance", 0), {}))
        return {
            "inputs": [[name, packer.pack(gradient)] for name, gradient in inputs.items()],
            "parameters": packer.pack_named(parameters),
        }

    def _trace(self, request: _Request, packer: Packer) -> _Answer:
        found = [] if self._device_trace is None else self._device_trace.found
        follow = (
            request["on"] and self._device == "cpu"
        )  # on a GPU what is on the wrong device raises by itself
        self._device_trace = device_trace.DeviceTrace(self.filename) if follow else None
        return {"crossings": found}

    def _record(self, request: _Request, packer: Packer) -> _Answer:
        if request["on"]:
            numbers = self._unpack(request["numbers"])
            patches = dict(zip(numbers, self._unpack(request["values"]), strict=True))
            self._recorder = Recorder(self.filename, patches, self._namespace)
            return {}
        recorder, self._recorder = self._recorder or Recorder(self.filename), None
        text, numbers = recorder.log()
        return {
            "text": packer.pack(torch.frombuffer(bytearray(text), dtype=torch.uint8)),
            "numbers": packer.pack(numbers),
        }


def _check_names(module: nn.Module, named: dict[str, Tensor]) -> None:
    """Raise FailureError if a parameter that is none of the judge's has a name by which those are known."""
    names = [name for name in named if name.rpartition(".")[2].startswith("judge_")]
    if names:
        parts = [one for one in module.modules() if isinstance(one, Part)]
        judges = {id(value) for one in parts for value in (*one._parameters.values(), *one._buffers.values())}
        taken = next((name for name in names if id(named[name]) not in judges), None)
        if taken is not None:
            raise FailureError(
                "protocol", f"'{taken}' begins with judge_, as the names of the grader's own do."
            )


def _check_shapes(gradients: dict[str, Tensor | None], shapes: dict[str, torch.Size]) -> None:
    """Raise FailureError if a parameter no longer has the shape that it was listed with."""
    for name, gradient in gradients.items():
        before = shapes.get(name)
        if gradient is not None and before is not None and gradient.shape != before:
            raise FailureError(
                "protocol",
                f"your code changed the shape of the parameter '{name}' from {list(before)} to {list(gradient.shape)}",
            )
