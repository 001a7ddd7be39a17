"""A part from somebody's own file, wrapped so that what goes wrong in it becomes a sentence."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from zoo.embeddings.base import Embeddings
from zoo.errors import ZooError
from zoo.masks.base import MaskForm


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
        return _call(self.path, "forward", self.inner, (x, *rest), x.shape, x.dtype)


class ExternalEmbeddings(Embeddings):
    """Calls the `src` and `tgt` of the part, whose results must be vectors for the tokens."""

    inner: Any

    def __init__(self, inner: nn.Module, path: str, d_model: int) -> None:
        """`path` is "file.py:Class"."""
        super().__init__()
        self.inner, self.path, self.d_model = inner, path, d_model

    def src(self, tokens: Tensor) -> Tensor:
        """[B, S] -> [B, S, D]. Raises ZooError as `ExternalPart` does."""
        return _call(self.path, "src", self.inner.src, (tokens,), (*tokens.shape, self.d_model))

    def tgt(self, tokens: Tensor) -> Tensor:
        """[B, L] -> [B, L, D]. Raises ZooError as `ExternalPart` does."""
        return _call(self.path, "tgt", self.inner.tgt, (tokens,), (*tokens.shape, self.d_model))


class ExternalMask(MaskForm):
    """Calls the `encode` and `decode` of the part, which must keep the mask's shape."""

    def __init__(self, inner: Any, path: str) -> None:
        """`path` is "file.py:Class"."""
        self.inner, self.path = inner, path

    def encode(self, keep: Tensor, dtype: torch.dtype) -> Tensor:
        """The part's form of `keep`. Raises ZooError as `ExternalPart` does."""
        return _call(self.path, "encode", self.inner.encode, (keep, dtype), keep.shape)

    def decode(self, mask: Tensor) -> Tensor:
        """The keep mask that `mask` stands for. Raises ZooError as `ExternalPart` does."""
        return _call(self.path, "decode", self.inner.decode, (mask,), mask.shape, torch.bool)


def construct_external(cls: Callable[..., Any], axis: str, path: str, *args: Any) -> nn.Module | ExternalMask:
    """Construct `cls(*args)` and wrap it. Raises ZooError with a sentence if that fails."""
    called = f"{path.rpartition(':')[2]}({', '.join(map(_shown, args))})"
    try:
        part = cls(*args)
    except Exception as error:
        raise ZooError(f"{path} cannot be constructed as {called}: {_told(error, path)}") from error
    for method in {"mask": ("encode", "decode"), "embedding": ("src", "tgt")}.get(axis, ()):
        if not callable(getattr(part, method, None)):
            raise ZooError(f"{path}: expected a method '{method}', as `zoo list {axis}` says; there is none.")
    if axis == "mask":
        return ExternalMask(part, path)
    if not isinstance(part, nn.Module):
        raise ZooError(f"{path}: expected a class derived from nn.Module, got {type(part).__name__}.")
    return ExternalEmbeddings(part, path, args[-1]) if axis == "embedding" else ExternalPart(part, path)


def _shown(argument: object) -> str:
    return repr(argument) if isinstance(argument, (int, float)) else "..."


def _call(
    path: str,
    method: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    shape: Sequence[int],
    dtype: torch.dtype | None = None,
) -> Tensor:
    """The result of a call into somebody's own file, which must have this shape (and dtype)."""
    where = f"{path}, {method}"
    try:
        result = function(*args)
    except ZooError:
        raise
    except Exception as error:
        raise ZooError(f"{where}: {_told(error, path)}") from error
    if isinstance(result, tuple) and result:
        result = result[0]
    if not isinstance(result, Tensor):
        raise ZooError(f"{where}: expected a tensor, got {type(result).__name__}.")
    if tuple(result.shape) != tuple(shape):
        raise ZooError(f"{where}: expected shape {list(shape)}, got {list(result.shape)}.")
    if dtype is not None and result.dtype != dtype:
        raise ZooError(f"{where}: expected dtype {dtype}, got {result.dtype}.")
    return result


def _told(error: Exception, path: str) -> str:
    file = path.rpartition(":")[0]
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename.endswith(file)
    ]
    where = f" (line {lines[-1]})" if lines else ""
    if isinstance(error, NotImplementedError):
        return f"not written yet{where}: {error}"
    return f"{type(error).__name__}{where}: {error}"
