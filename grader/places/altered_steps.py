"""Right operations with one thing other: over another axis, with another activation or reduction, done twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from grader.places.right_runs import MOST_NUMBERS, Step
from grader.places.vocabulary import BINARY, REDUCTIONS

ACTIVATIONS = (
    "relu",
    "gelu",
    "silu",
    "softplus",
    "elu",
    "relu6",
    "leaky_relu",
    "tanh",
    "sigmoid",
    "exp",
    "log",
    "selu",
)
REDUCING = ("mean", "sum", "median", "amax", "amin", "std", "var", "prod", "norm")


def altered_steps(step: Step) -> Iterator[tuple[str, tuple[Any, ...], Mapping[str, Any], Tensor, str]]:
    """A right step with one thing other: operation, arguments, what it gives, and words behind it."""
    out = step.out
    first = step.args[0] if step.args and isinstance(step.args[0], Tensor) else None
    for op, args, kwargs in _others(step):
        found = _computed(op, args, kwargs)
        if found is not None:
            yield op, args, kwargs, found, ""
    if first is None or not out.is_floating_point():
        if out.dtype == torch.bool:
            yield step.op, step.args, step.kwargs, ~out, ", inverted"
        return
    yield step.op, step.args, step.kwargs, -out, ", with the wrong sign"
    if first.shape == out.shape:
        yield step.op, step.args, step.kwargs, out + first, ", plus its input"
        twice = _computed(step.op, (out, *step.args[1:]), step.kwargs)
        if twice is not None and not torch.equal(twice, out):
            yield step.op, step.args, step.kwargs, twice, ", done twice"
    if out.dim() > 1 and out.size(-1) == out.size(-2):
        yield step.op, step.args, step.kwargs, out.transpose(-1, -2), ", transposed"


def _others(step: Step) -> Iterator[tuple[str, tuple[Any, ...], Mapping[str, Any]]]:
    args, kwargs, op = step.args, step.kwargs, step.op
    first = args[0] if args and isinstance(args[0], Tensor) else None
    if first is None:
        return
    if op in REDUCTIONS:
        dim = kwargs.get(
            "dim", kwargs.get("axis", args[1] if len(args) > 1 and type(args[1]) is int else None)
        )
        keep = {"keepdim": True} if kwargs.get("keepdim") else {}
        dims = [
            d
            for d in range(-first.dim(), 0)
            if dim is not None and d != (dim if dim < 0 else dim - first.dim())
        ]
        for other in dims:
            yield op, (first,), {"dim": other, **keep}
        for name in REDUCING:
            if name != op and dim is not None and op not in ("softmax", "log_softmax", "cumsum"):
                yield name, (first,), {"dim": dim, **keep}
        if op in ("softmax", "log_softmax"):
            yield ("log_softmax" if op == "softmax" else "softmax"), (first,), {"dim": dim}
            yield "sigmoid", (first,), {}
    elif op in ACTIVATIONS or op in ("sqrt", "rsqrt", "sin", "cos"):
        names = ACTIVATIONS if op in ACTIVATIONS else ("sqrt", "rsqrt", "sin", "cos", "square", "log", "exp")
        for name in names:
            if name != op:
                yield name, (first,), {}
    elif op in ("add", "sub", "mul", "div", "matmul", "and", "or") and len(args) > 1:
        for name in ("and", "or") if op in ("and", "or") else ("add", "sub", "mul", "div"):
            if name != op and op != "matmul":
                yield name, tuple(args[:2]), {}
        yield op, (args[1], args[0]), {}
    elif op in ("tril", "triu"):
        for name in ("tril", "triu"):
            for diagonal in (-1, 0, 1):
                yield name, (first,), {"diagonal": diagonal}


def _computed(op: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Tensor | None:
    names = {"and": "logical_and", "or": "logical_or", "max": "amax", "min": "amin", "not": "logical_not"}
    function = getattr(torch, names.get(op, op), None) or getattr(F, op, None)
    if function is None:
        return None
    try:
        with torch.no_grad():
            found = function(*args, **kwargs)
    except (RuntimeError, TypeError, ValueError, IndexError):
        return None
    found = found[0] if isinstance(found, tuple) else found
    return found if isinstance(found, Tensor) and found.numel() <= MOST_NUMBERS else None


def family(op: str) -> str:
    if op in BINARY and op not in ("matmul",):
        return "binary"
    if op in REDUCTIONS:
        return "reduction"
    return "activation" if op in ACTIVATIONS or op in ("sqrt", "rsqrt", "square", "sin", "cos") else ""
