"""Finds tensors that are made on a fixed device, on a machine that has one device only.

On a GPU, `mask & torch.ones(3, 3)` fails: the ones are made on the CPU. Here nothing fails, so tensors that are made
without saying on which device are marked, marks are passed on, and a marked tensor that meets an unmarked one in an
operation is a crossing: it would have raised. What torch allows across devices (single numbers, indices, copies) is let
pass.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

_MARK = "_made_on_a_fixed_device"
_MOST = 8
RESULT = "what the call gives"
ASKED_FOR = (
    "cpu:0"  # a name of the one device that nobody writes by accident: where it is used, it was handed on
)
# what tensors give as their device while they are followed: the marked ones, and the others
_ELSEWHERE, _HERE = torch.device("cpu"), torch.device(ASKED_FOR)
_MODULE_FILE = nn.Module.to.__code__.co_filename
_LOADING_FILE = torch._utils._rebuild_tensor_v2.__code__.co_filename
_DEVICE_OF = Tensor.device.__get__
_CHECKS_OF_DEVICE = (Tensor.is_cuda.__get__, Tensor.is_cpu.__get__, Tensor.get_device)  # type: ignore[attr-defined]
_MAKERS = frozenset(
    getattr(torch, name)
    for name in (
        "arange", "empty", "eye", "full", "linspace", "logspace", "ones", "rand", "randint", "randn", "randperm",
        "range", "tensor", "tril_indices", "triu_indices", "zeros", "as_tensor", "asarray", "scalar_tensor",
    )
)  # fmt: skip
# These give tensors on the CPU, and torch tells no mode of it.
_UNSEEN = {name: getattr(torch, name) for name in ("from_numpy", "frombuffer")}
# Of a second tensor these take the shape alone.
_OF_SHAPE = frozenset({"expand_as", "reshape_as", "view_as"})
# These take tensors of several devices, or move one.
_ACROSS = frozenset({
    "__setitem__", "copy_", "cuda", "index_put_", "index_put", "__get__",
    "_pack_padded_sequence", "tensor_split",
})  # fmt: skip


class DeviceTrace(TorchFunctionMode):
    """While it is entered, marked tensors are followed.

    Args:
        filename: of the submission: lines of this file are told.

    Attributes:
        found: what met what, as text, with the line.
    """

    def __init__(self, filename: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._constructing = False
        self._filename, self._unknown = filename, False

    def __enter__(self) -> DeviceTrace:
        for name, make in _UNSEEN.items():
            setattr(torch, name, lambda *args, _make=make, **kwargs: _marked(_make(*args, **kwargs)))
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *raised: Any) -> None:
        for name, make in _UNSEEN.items():
            setattr(torch, name, make)
        super().__exit__(*raised)  # type: ignore[no-untyped-call]

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if func == _DEVICE_OF:  # a mask that is kept for another device is known by it
            return _ELSEWHERE if hasattr(args[0], _MARK) else _HERE
        result = func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        if func in _CHECKS_OF_DEVICE:
            # what the code would do on another device cannot be seen here
            self._unknown = self._unknown or sys._getframe(1).f_code.co_filename == self._filename
            return result
        if name == "type" and isinstance(result, str):
            return result if hasattr(args[0], _MARK) else _TypeName(result)
        if sys._getframe(1).f_code.co_filename == _LOADING_FILE:  # to where it was when it was saved
            return result
        if func in _MAKERS and not any(isinstance(x, Tensor) for x in args[:1]):  # those stay where they are
            return _marked(result) if _fixed(kwargs.get("device")) else result
        if name == "to" and sys._getframe(1).f_code.co_filename == _MODULE_FILE:
            return _unmarked(args[0], result)  # of `module.to(...)`: from where it has the device is not seen
        if name in ("to", "type", "type_as", "cpu"):
            return _moved(name, args, kwargs, result)
        if name in _ACROSS:
            return result
        among = list(
            _tensors(args[:1] if name in ("__getitem__", *_OF_SHAPE) else (args, kwargs))
        )  # an index may be elsewhere
        operands = [x for x in among if x.dim() > 0]
        fixed = [x for x in operands if hasattr(x, _MARK)]
        if fixed and len(fixed) < len(operands):
            self._note(name)
        elif fixed:
            return _marked(result)
        return result

    @contextlib.contextmanager
    def while_constructing(self) -> Iterator[None]:
        """Enter it for a constructor: all is where it is made, also what moves later, so that nothing is a crossing."""
        self._constructing = True
        try:
            with self:
                yield
        finally:
            self._constructing = False

    def look(self, result: Any) -> None:
        """Note it if what a call gave is on a fixed device."""
        if not self._unknown and any(hasattr(x, _MARK) for x in _tensors((result,))):
            self.found.append(RESULT)

    def _note(self, name: str) -> None:
        if self._unknown or self._constructing:
            return
        frame = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename != self._filename:
            frame = frame.f_back  # type: ignore[assignment]
        where = "" if frame is None else f" in line {frame.f_lineno}"
        if len(self.found) < _MOST and (text := f"{name.strip('_')}{where}") not in self.found:
            self.found.append(text)


class _TypeName(str):
    """What `x.type()` gives for a tensor that is not marked: `y.type(x.type())` is where x is."""


def forgive(module: nn.Module) -> None:
    """Return what a module has registered moves with it: it is no longer of a fixed device."""
    _unmarked(*module.parameters(), *module.buffers(), None)


def _unmarked(*tensors: Any) -> Any:
    """The last of them, none of them marked."""
    for tensor in tensors:
        if hasattr(tensor, _MARK):
            delattr(tensor, _MARK)
    return tensors[-1]


def _fixed(device: object) -> bool:
    if device is None:
        return True
    named = isinstance(device, (str, torch.device)) and not isinstance(device, _TypeName)
    return named and str(device) != ASKED_FOR


def _moved(name: str, args: Sequence[Any], kwargs: Mapping[str, Any], result: Tensor) -> Tensor:
    """The result of a call that may move a tensor: marked by where it goes, or as before."""
    targets = [*args[1:], *kwargs.values()]
    if name == "cpu" or any(isinstance(t, (str, torch.device)) and _fixed(t) for t in targets):
        return _marked(result.view_as(result))  # type: ignore[no-any-return] # on one device: the tensor itself
    if any(isinstance(target, (str, torch.device, Tensor)) for target in targets):
        return result.view_as(result) if hasattr(result, _MARK) else result
    return _marked(result) if hasattr(args[0], _MARK) else result


def _marked(value: Any) -> Any:
    for tensor in _tensors((value,)):
        if tensor.dim() > 0:
            setattr(tensor, _MARK, True)
    return value


def _tensors(values: Iterable[Any]) -> Iterable[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from _tensors(value)
        elif isinstance(value, dict):
            yield from _tensors(value.values())
