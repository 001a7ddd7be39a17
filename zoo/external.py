"""A part from somebody's own file, wrapped so that what goes wrong in it becomes a sentence."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from zoo.errors import ZooError


class ExternalPart(nn.Module):
    """Calls the part; the first of a tuple is its result, which must have the shape of the first argument."""

    def __init__(self, inner: nn.Module, path: str) -> None:
        """`path` is "file.py:Class"."""
        super().__init__()
        self.inner, self.path = inner, path

    def forward(self, x: Tensor, *rest: Any) -> Tensor:
        """x [B, T, D], and what else the axis hands over -> [B, T, D].

        Raises:
            ZooError: the part raised, or its result is no tensor of the shape and dtype of x.
        """
        with_context = f"{self.path}, forward"
        try:
            result = self.inner(x, *rest)
        except ZooError:
            raise
        except Exception as error:
            raise ZooError(f"{with_context}: {_told(error, self.path)}") from error
        if isinstance(result, tuple) and result:
            result = result[0]
        if not isinstance(result, Tensor):
            raise ZooError(f"{with_context}: expected a tensor, got {type(result).__name__}.")
        if result.shape != x.shape:
            raise ZooError(f"{with_context}: expected shape {list(x.shape)}, got {list(result.shape)}.")
        if result.dtype != x.dtype:
            raise ZooError(f"{with_context}: expected dtype {x.dtype}, got {result.dtype}.")
        return result


def construct_external(cls: Callable[..., Any], path: str, *args: Any) -> ExternalPart:
    """Construct `cls(*args)` and wrap it. Raises ZooError with a sentence if that fails."""
    called = f"{path.rpartition(':')[2]}({', '.join(map(repr, args))})"
    try:
        part = cls(*args)
    except Exception as error:
        raise ZooError(f"{path} cannot be constructed as {called}: {_told(error, path)}") from error
    if not isinstance(part, nn.Module):
        raise ZooError(f"{path}: expected a class derived from nn.Module, got {type(part).__name__}.")
    return ExternalPart(part, path)


def _told(error: Exception, path: str) -> str:
    file = path.rpartition(":")[0]
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename.endswith(file)
    ]
    where = f" (line {lines[-1]})" if lines else ""
    if isinstance(error, NotImplementedError):
        return f"not written yet{where}: {error}"
    return f"{type(error).__name__}{where}: {error}"
