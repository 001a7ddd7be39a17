"""Finds functions and classes in a submission's namespace."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from . import calls
from .device_trace import DeviceTrace, forgive
from .failures import FailureError
from .global_state import restored
from .parts.base import Part


def get(namespace: Mapping[str, Any], name: str) -> Callable[..., Any]:
    """The function or class `name`. Raises FailureError if there is none."""
    if name not in namespace:
        raise FailureError("missing", f"There is no '{name}' in the file.")
    found = namespace[name]
    if not callable(found):
        raise FailureError(
            "missing", f"'{name}' is neither a function nor a class, but {type(found).__name__}"
        )
    return found  # type: ignore[no-any-return]


def construct(
    namespace: Mapping[str, Any],
    name: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    device: str,
    device_trace: DeviceTrace | None = None,
) -> nn.Module:
    """Instantiate the class `name`, on `device`.

    Args:
        device_trace: entered while the constructor runs. What the module registers moves with it, and is forgiven.

    Raises:
        FailureError: there is none.
        TypeError: it makes no nn.Module.
        BaseException: whatever its constructor raises.
    """
    with restored(), device_trace.while_constructing() if device_trace else contextlib.nullcontext():
        module = get(namespace, name)(*args, **dict([*kwargs.items()][::-1]))  # known by names alone
    if not isinstance(module, nn.Module):
        raise TypeError(f"'{name}' must be a subclass of torch.nn.Module; it made a {type(module).__name__}")
    forgive(module)
    registered = (*calls.state(module, "_parameters").values(), *calls.state(module, "_buffers").values())
    return module if all(x.device.type == device for x in registered) else module.to(device)


def waits_for_call(module: nn.Module, given: Iterable[Any]) -> bool:
    """Return whether a module's parameters are made when it is called (`nn.LazyLinear`), as far as can be seen before.

    Args:
        given: what it was constructed with. Who is handed layers and has no parameters has not registered them.
    """
    parameters = calls.state(module, "_parameters").values()
    if any(map(is_lazy, parameters)):
        return True
    return not parameters and not any(map(callable, given))


def call_first(
    module: nn.Module, args: Sequence[Any], device: str, device_trace: DeviceTrace | None = None
) -> None:
    """Call a module once, so that it makes its parameters. It is as if it had not been called, but for these.

    An error is raised if parameters are not made then. Else it is raised when the module is asked something, if it
    comes again.

    Args:
        args: of its forward; tensors are moved to `device`, and floats, like the module, to the dtype of the parts
            that it was handed.
        device_trace: entered while the module is called.
    """
    ready = [p.dtype for p in module.parameters() if not is_lazy(p) and p.is_floating_point()]
    dtype = ready[0] if ready else torch.float32
    given = [x.to(device) if isinstance(x, Tensor) else x for x in args]
    given = [x.to(dtype) if isinstance(x, Tensor) and x.is_floating_point() else x for x in given]
    mode, modes = module.training, {part: part.training for part in module.modules()}
    module.to(dtype).eval()
    watching = device_trace or contextlib.nullcontext()
    try:
        with torch.no_grad(), restored(), watching:
            module(*given)
    except Exception:
        if any(map(is_lazy, module.parameters())):
            raise
    for part in module.modules():
        part.training = modes.get(part, mode)
        if isinstance(part, Part):
            part.recorded()
