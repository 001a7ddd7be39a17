"""Finds functions and classes in a submission's namespace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import nn

from .failures import FailureError


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
    namespace: Mapping[str, Any], name: str, args: Sequence[Any], kwargs: Mapping[str, Any], device: str
) -> nn.Module:
    """Instantiate the class `name`, on `device`.

    Raises:
        FailureError: there is none.
        TypeError: it makes no nn.Module.
        BaseException: whatever its constructor raises.
    """
    module = get(namespace, name)(*args, **kwargs)
    if not isinstance(module, nn.Module):
        raise TypeError(f"'{name}' must be a subclass of torch.nn.Module; it made a {type(module).__name__}")
    return module.to(device)
