"""Calls a learner's code on copies, notices changes in place, and runs the backward pass."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from .device_trace import DeviceTrace
from .failures import FailureError
from .global_state import restored
from .parts.base import unnoted
from .values import Opaque, plain, tensors

Position = int | str
EARLIER = "an earlier result"  # in place of an argument that was changed
_equal = torch.equal  # bound before a submission runs that may replace it


@dataclass
class Graph:
    """A call's autograd graph: its outputs, and the leaves that the caller asked about."""

    outputs: list[Tensor]
    leaves: dict[Position, Tensor]


@dataclass
class Answer:
    """The result of a call: a plain value, what it changed (arguments, `EARLIER`), and its graph, if any."""

    value: Any
    changed: tuple[Position, ...]
    graph: Graph | None


class _Copies:
    """Copies tensors once each: the same tensor given twice arrives as the same tensor twice."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.made: dict[int, tuple[Tensor, Tensor, Tensor | None]] = {}  # original, copy, leaf

    def of(self, value: Any, grad: bool) -> Any:
        if isinstance(value, Tensor):
            return self._of_tensor(value, grad)[1]
        if isinstance(value, Mapping):
            return {key: self.of(item, grad) for key, item in value.items()}
        if isinstance(value, (tuple, list)):
            return type(value)(self.of(item, grad) for item in value)
        return value

    def share(self, value: Tensor) -> bool:
        """Whether one of the copies has the same memory."""
        address = value.untyped_storage().data_ptr()
        return any(copy.untyped_storage().data_ptr() == address for _, copy, _ in self.made.values())

    def leaf(self, value: Tensor) -> Tensor | None:
        return self.made[id(value)][2]

    def changed(self, value: Any) -> bool:
        if isinstance(value, Tensor):
            original, copy, _ = self.made[id(value)]
            return not same_content(original, copy)
        if isinstance(value, Mapping):
            return any(self.changed(item) for item in value.values())
        return isinstance(value, (tuple, list)) and any(self.changed(item) for item in value)

    def fill_otherwise(self) -> None:
        """Other numbers into the copies: those of each in the opposite order."""
        for original, copy, _ in self.made.values():
            copy.detach().copy_(original.flip(tuple(range(original.dim()))))

    def fill(self) -> None:
        """Their own numbers into the copies again."""
        for original, copy, _ in self.made.values():
            copy.detach().copy_(original)

    def _of_tensor(self, value: Tensor, grad: bool) -> tuple[Tensor, Tensor, Tensor | None]:
        if (found := self.made.get(id(value))) is None:
            original = value.detach().to(self.device)
            leaf = original.detach().requires_grad_() if grad else None
            # The learner gets a copy that is no leaf: a change in place is seen, and does not raise.
            copy = (original if leaf is None else leaf).clone()
            found = self.made[id(value)] = (original, copy, leaf)
        return found


class _Seed(torch.autograd.Function):
    """A scalar whose gradient is a given cotangent. `backward(gradient)` would do, but imports sympy (0.3 s of CPU)."""

    @staticmethod
    def forward(ctx: Any, output: Tensor, cotangent: Tensor) -> Tensor:
        ctx.cotangent = cotangent
        return output.new_zeros(())

    @staticmethod
    def backward(ctx: Any, one: Tensor) -> tuple[Tensor, None]:
        return ctx.cotangent * one, None


def same_content(a: Tensor, b: Tensor) -> bool:
    """Return whether two tensors are the same, bit by bit. NaN equals NaN here."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    a, b = a.detach(), b.detach()
    return _equal(a, b) or _equal(_raw(a), _raw(b))


def _raw(x: Tensor) -> Tensor:
    return x.contiguous().reshape(-1).view(torch.uint8)  # [bytes]


def call(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    grad: Sequence[Position] = (),
    *,
    device: str = "cpu",
    record: bool = True,
    watch: bool = True,
    refilled: bool = False,
    device_trace: DeviceTrace | None = None,
) -> Answer:
    """Call `function` on copies of the arguments.

    Args:
        function: the learner's.
        args, kwargs: trees of tensors and plain values; the tensors are left as they are.
        grad: positions and keywords of the tensors that require a gradient.
        device: where the copies live.
        record: False runs under `torch.no_grad()`.
        watch: look for arguments changed in place.
        refilled: call it with the same copies before, with other numbers in them; what that gives must stay as it is.
        device_trace: entered while the learner's code runs.
    """
    given: dict[Position, Any] = dict(enumerate(args)) | dict(kwargs)
    copies, earlier = _Copies(device), list[tuple[Tensor, Tensor]]()
    with torch.set_grad_enabled(record):
        for position in grad:  # first, so that a tensor given twice has its leaf
            copies.of(given[position], grad=True)
        positional = [copies.of(value, grad=False) for value in args]
        # the last one first: what is given by keyword is known by its name, not by its place
        named = {name: copies.of(item, grad=False) for name, item in [*kwargs.items()][::-1]}
        if refilled:
            copies.fill_otherwise()
            with restored():
                before = plain(function(*positional, **named))
            earlier = [(x, x.detach().clone()) for x in tensors(before) if not copies.share(x)]
            copies.fill()
        with restored(), device_trace or contextlib.nullcontext():
            result = function(*positional, **named)
        if device_trace is not None:
            device_trace.look(result)
        value = plain(result)
    changed = tuple(position for position, item in given.items() if watch and copies.changed(item))
    if not all(same_content(now, then) for now, then in earlier):
        changed = *changed, EARLIER
    outputs = list(tensors(value)) if record else []
    if not any(output.requires_grad for output in outputs):
        return Answer(value, changed, None)
    leaves = {position: leaf for position in grad if (leaf := copies.leaf(given[position])) is not None}
    return Answer(value, changed, Graph(outputs, leaves))


def backward(
    graph: Graph, cotangents: Sequence[Tensor | None], module: nn.Module | None
) -> tuple[dict[Position, Tensor | None], dict[str, Tensor | None]]:
    """Gradients of sum(output * cotangent): by argument, and by parameter of `module`.

    A tensor that stood at several positions has its whole gradient at each of them.
    """
    parameters = {} if module is None else state(module, "_parameters")
    leaves = [*graph.leaves.values(), *parameters.values()]
    for leaf in leaves:
        leaf.grad = None
    seeds = [
        _Seed.apply(output, cotangent.to(output.device))  # type: ignore[no-untyped-call]
        for output, cotangent in zip(graph.outputs, cotangents, strict=True)
        if cotangent is not None and output.requires_grad
    ]
    if seeds:
        with restored(), unnoted():
            torch.autograd.backward(seeds)
    inputs = {position: _dense(leaf.grad) for position, leaf in graph.leaves.items()}
    found = {name: _dense(parameter.grad) for name, parameter in parameters.items()}
    for leaf in leaves:
        leaf.grad = None
    return inputs, found


def _dense(gradient: Tensor | None) -> Tensor | None:
    """An embedding's gradient may be sparse."""
    return gradient.to_dense() if gradient is not None and gradient.is_sparse else gradient


def dense(entries: Iterable[tuple[str, Tensor]]) -> Iterator[tuple[str, Tensor]]:
    """The same parameters or buffers. Raises FailureError if one is not a plain tensor."""
    for name, value in entries:
        if isinstance(odd := plain(value), Opaque):
            raise FailureError("protocol", f"'{name}' must be a plain tensor, and is a {odd.type_name}")
        yield name, value


def state(module: nn.Module, which: str, *, repeat: bool = False) -> dict[str, Tensor]:
    """Return what `named_parameters` or `named_buffers` list, in their order, at a third of their cost.

    Args:
        which: "_parameters" or "_buffers".
        repeat: list what is shared under each of its names, not only the first.
    """
    found: dict[str, Tensor] = {}
    seen = {id(module)}  # modules and parameters

    def walk(part: nn.Module, prefix: str) -> None:
        for name, value in getattr(part, which).items():
            if value is not None and (repeat or id(value) not in seen):
                seen.add(id(value))
                found[prefix + name] = value
        for name, child in part._modules.items():
            if child is not None and (repeat or id(child) not in seen):
                seen.add(id(child))
                walk(child, f"{prefix}{name}.")

    walk(module, "")
    return found


def load(module: nn.Module, values: Mapping[str, Tensor]) -> None:
    """Overwrite parameters and buffers by name, in place.

    Raises:
        KeyError: the module has no such parameter or buffer.
        ValueError: a shape differs.
    """
    own = {**state(module, "_parameters", repeat=True), **state(module, "_buffers")}
    with torch.no_grad():
        for name, value in values.items():
            if name not in own:
                raise KeyError(f"the module has no parameter or buffer '{name}'")
            if own[name].shape != value.shape:
                raise ValueError(f"'{name}': expected {list(own[name].shape)}, got {list(value.shape)}")
            own[name].copy_(value)


def seed(number: int, device: str) -> None:
    """Seed Python's and torch's random generators. `torch.manual_seed` asks every kind of device, which takes 5 ms."""
    random.seed(number)
    torch.default_generator.manual_seed(number)
    if device == "cuda":
        torch.cuda.manual_seed_all(number)
