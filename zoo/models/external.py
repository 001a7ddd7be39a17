"""A part from somebody's own file, wrapped so that what goes wrong in it becomes a sentence."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from zoo.core.errors import ZooError, message_of
from zoo.models.transformer import Model
from zoo.parts.embedding.base import Embeddings
from zoo.parts.loss.base import SequenceLoss
from zoo.parts.mask.base import MaskForm
from zoo.parts.masking.base import Masking


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


class ExternalHead(ExternalPart):
    """Calls the part, whose result must be scores of the next token."""

    def __init__(self, inner: nn.Module, path: str, tgt_vocab: int) -> None:
        """`path` is "file.py:Class"."""
        super().__init__(inner, path)
        self.tgt_vocab = tgt_vocab

    def forward(self, x: Tensor, *rest: Any) -> Tensor:
        """x [B, L, D] -> [B, L, V]. Raises ZooError as `ExternalPart` does."""
        return _call(self.path, "forward", self.inner, (x,), (*x.shape[:-1], self.tgt_vocab), x.dtype)


class ExternalLoss(SequenceLoss):
    """Calls the part, whose result must be one number."""

    def __init__(self, inner: nn.Module, path: str, pad: int) -> None:
        """`path` is "file.py:Class"."""
        super().__init__(pad)
        self.inner, self.path = inner, path

    def forward(self, output: Tensor, labels: Tensor) -> Tensor:
        """Return what the head gave, [B, L, V], and labels [B, L] -> scalar. Raises ZooError as `ExternalPart` does."""
        return _call(self.path, "forward", self.inner, (output, labels), ())


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
    """Calls the `encode` and `decode` of the part, which must give tensors."""

    def __init__(self, inner: Any, path: str) -> None:
        """`path` is "file.py:Class"."""
        self.inner, self.path = inner, path

    def encode(self, keep: Tensor, dtype: torch.dtype) -> Tensor:
        """The part's form of `keep`. Raises ZooError as `ExternalPart` does."""
        return _call(self.path, "encode", self.inner.encode, (keep, dtype))

    def decode(self, mask: Tensor, num_keys: int) -> Tensor:
        """The keep mask that `mask` encodes. Raises ZooError as `ExternalPart` does."""
        return _call(self.path, "decode", self.inner.decode, (mask, num_keys), dtype=torch.bool)


class ExternalMasking(Masking):
    """Calls the `src` and `tgt` of the part, which must give bool tensors or None."""

    def __init__(self, inner: Any, path: str, pad: int) -> None:
        """`path` is "file.py:Class"."""
        super().__init__(pad)
        self.inner, self.path = inner, path

    def src(self, tokens: Tensor) -> Tensor | None:
        """tokens [B, S] -> [B, 1, 1, S] or None. Raises ZooError as `ExternalPart` does."""
        return self._mask("src", tokens)

    def tgt(self, tokens: Tensor, num_queries: int) -> Tensor | None:
        """tokens [B, L] -> [B, 1, num_queries, L] or None. Raises ZooError as `ExternalPart` does."""
        return self._mask("tgt", tokens, num_queries)

    def _mask(self, method: str, *args: Any) -> Tensor | None:
        result = _raw_call(self.path, method, getattr(self.inner, method), args)
        return None if result is None else _checked(f"{self.path}, {method}", result, dtype=torch.bool)


class ExternalCallable:
    """Calls the part, or a method of it, as it is: a schedule, a decoding, an initialisation."""

    def __init__(self, inner: Any, path: str) -> None:
        """`path` is "file.py:Class"."""
        self.inner, self.path = inner, path

    def __call__(self, *args: Any) -> Any:
        """Return what the part gives. Raises ZooError if it raises."""
        return _raw_call(self.path, "__call__", self.inner, args)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        return lambda *args: _raw_call(self.path, name, method, args)


ABSTRACT = "__isabstractmethod__"  # how `abc.abstractmethod` marks a function


def missing_methods(cls: Callable[..., Any]) -> str:
    """A sentence on the abstract methods that a class leaves unwritten; "" if there are none."""
    names = sorted(getattr(cls, "__abstractmethods__", ()))
    if not names:
        return ""
    first = [one for one in getattr(cls, "__mro__", ()) if getattr(vars(one).get(names[0]), ABSTRACT, False)]
    base = first[-1]
    several = "methods" if len(names) > 1 else "method"
    return (
        f"class {cls.__name__} has no {several} {' and '.join(map(repr, names))}, which its base "
        f"{base.__module__}.{base.__name__} leaves to it"
    )


METHODS = {
    "mask": ("encode", "decode"),
    "embedding": ("src", "tgt"),
    "masking": ("src", "tgt"),
    "init": ("matrix", "bias", "table"),
    "schedule": ("__call__",),
    "decoding": ("__call__",),
}
"""The methods that a part must have if it is not a function of one tensor."""
PLAIN = ("mask", "masking", "init", "schedule", "optimizer", "decoding")
"""Axes whose parts are no modules."""


def construct_external(cls: Callable[..., Any], axis: str, path: str, *args: Any) -> Any:
    """Construct `cls(*args)` and wrap it. Raises ZooError with a sentence if that fails."""
    if missing := missing_methods(cls):
        raise ZooError(f"{path} cannot be constructed: {missing}.")
    called = f"{path.rpartition(':')[2]}({', '.join(map(_describe_argument, args))})"
    try:
        positional, named = _fitted(cls, args)
        part = cls(*positional, **named)
    except (Exception, SystemExit) as error:
        raise ZooError(f"{path} cannot be constructed as {called}: {_format_error(error, path)}") from error
    for method in METHODS.get(axis, ()):
        if not callable(getattr(part, method, None)):
            raise ZooError(f"{path}: expected a method '{method}' (see `zoo list {axis}`).")
    if axis not in PLAIN and not isinstance(part, nn.Module):
        raise ZooError(f"{path}: expected a class derived from nn.Module, got {type(part).__name__}.")
    if axis == "assembly" and not isinstance(part, Model):
        raise ZooError(
            f"{path}: expected a class derived from zoo.models.transformer.Model, got {type(part).__name__}."
        )
    if axis == "optimizer" and not isinstance(part, torch.optim.Optimizer):
        raise ZooError(
            f"{path}: expected a class derived from torch.optim.Optimizer, got {type(part).__name__}."
        )
    return _wrapped(part, axis, path, args)


def _wrapped(part: Any, axis: str, path: str, args: tuple[Any, ...]) -> Any:
    if axis == "assembly":
        return part
    if axis == "optimizer":
        step = part.step
        part.step = lambda *args: _raw_call(path, "step", step, args)
        return part
    if axis in ("init", "schedule", "decoding"):
        return ExternalCallable(part, path)
    if axis == "mask":
        return ExternalMask(part, path)
    last = {
        "masking": ExternalMasking,
        "embedding": ExternalEmbeddings,
        "head": ExternalHead,
        "loss": ExternalLoss,
    }
    return last[axis](part, path, args[-1]) if axis in last else ExternalPart(part, path)


def _describe_argument(argument: object) -> str:
    return repr(argument) if isinstance(argument, (int, float)) else "..."


def _call(
    path: str,
    method: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    shape: Sequence[int] | None = None,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """The tensor (or first of a tuple) that a call into somebody's own file gives, of this shape and dtype."""
    return _checked(f"{path}, {method}", _raw_call(path, method, function, args), shape, dtype)


def _checked(
    where: str, result: Any, shape: Sequence[int] | None = None, dtype: torch.dtype | None = None
) -> Tensor:
    if isinstance(result, tuple) and result:
        result = result[0]
    if not isinstance(result, Tensor):
        raise ZooError(f"{where}: expected a tensor, got {type(result).__name__}.")
    if shape is not None and tuple(result.shape) != tuple(shape):
        raise ZooError(f"{where}: expected shape {list(shape)}, got {list(result.shape)}.")
    if dtype is not None and result.dtype != dtype:
        raise ZooError(f"{where}: expected dtype {dtype}, got {result.dtype}.")
    return result


def _raw_call(path: str, method: str, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    try:
        positional, named = _fitted(function.forward if isinstance(function, nn.Module) else function, args)
        return function(*positional, **named)
    except ZooError:
        raise
    except (Exception, SystemExit) as error:
        raise ZooError(f"{path}, {method}: {_format_error(error, path)}") from error


def _fitted(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments as `function` takes them: what is beyond its positional parameters goes to the keyword-only ones."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a builtin without a signature
        return args, {}
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        return args, {}
    count = sum(one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) for one in parameters)
    keywords = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]
    if len(args) > count + len(keywords):  # too many in any case: the call itself says so
        return args, {}
    return args[:count], dict(zip(keywords, args[count:], strict=False))


def _format_error(error: BaseException, path: str) -> str:
    file = path.rpartition(":")[0]
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename.endswith(file)
    ]
    where = f" (line {lines[-1]})" if lines else ""
    if isinstance(error, NotImplementedError):
        return f"not written yet{where}: {message_of(error)}"
    return f"{type(error).__name__}{where}: {message_of(error)}"
