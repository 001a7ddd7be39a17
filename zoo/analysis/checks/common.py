"""Shared parts of properties: comparing tensors, and properties of several axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from zoo.analysis.checks.base import DoesNotHold, describe_error
from zoo.analysis.checks.part import Part

DTYPES = (torch.float32, torch.float64, torch.bfloat16)
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4, torch.bfloat16: 1e-1}
"""The largest difference that is put down to rounding, relative to the largest number compared, or to 1."""

Call = Callable[[Any], Tensor]
"""What a module is tried with."""


def tensor(result: object, part: Part) -> Tensor:
    """The tensor that a call gave; of a user's own part it may be the first of a tuple, as where models are built."""
    if part.variant.is_file and isinstance(result, tuple) and result:
        result = result[0]
    if not isinstance(result, Tensor):
        raise DoesNotHold(f"Expected a tensor, got {type(result).__name__}.")
    return result


def shaped(result: object, shape: Sequence[int], dtype: torch.dtype, part: Part) -> Tensor:
    """The tensor that a call gave, if it has this shape and dtype, and finite numbers."""
    got = tensor(result, part)
    if tuple(got.shape) != tuple(shape):
        raise DoesNotHold(f"Expected shape {list(shape)}, got {list(got.shape)}.")
    if got.dtype != dtype:
        raise DoesNotHold(f"Expected {_short(dtype)}, as its input has, got {_short(got.dtype)}.")
    return finite(got, "Its output")


def finite(got: Tensor, what: str) -> Tensor:
    """`got` itself, if all its numbers are finite; `what` is the subject of the sentence."""
    if not torch.isfinite(got).all():
        kind = "NaN" if torch.isnan(got).any() else "infinity"
        raise DoesNotHold(f"{what} contains {kind}.")
    return got


def same(got: Tensor, expected: Tensor, sentence: str) -> None:
    """Raises DoesNotHold unless they are equal up to rounding: `sentence`, and by how much."""
    if got.shape != expected.shape:
        raise DoesNotHold(f"{sentence}: shape {list(got.shape)} in place of {list(expected.shape)}.")
    finite(got, f"{sentence}: it")
    far = distance(got, expected)
    if not far <= TOLERANCE.get(expected.dtype, 0) * max(1.0, _largest(expected)):
        raise DoesNotHold(f"{sentence}, by up to {far:.2g}.")


def moved(got: Tensor, expected: Tensor) -> bool:
    """Return whether they differ by more than rounding explains."""
    if got.shape != expected.shape:
        return True
    return not distance(got, expected) <= TOLERANCE.get(expected.dtype, 0) * 1e-2


def distance(got: Tensor, expected: Tensor) -> float:
    """The largest difference; 0 for nothing."""
    return (got.detach() - expected.detach()).abs().max().item() if got.numel() else 0.0


def _largest(values: Tensor) -> float:
    return values.detach().abs().max().item() if values.numel() else 0.0


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def in_dtypes(part: Part, attempt: Callable[[torch.dtype], None]) -> None:
    """Try something in float32, float64 and bfloat16; what goes wrong is said with the dtype."""
    for dtype in DTYPES:
        try:
            attempt(dtype)
        except (Exception, SystemExit) as error:
            raise DoesNotHold(f"In {_short(dtype)}: {describe_error(error, part.file)}") from error


def keeps_dtype(part: Part, shapes: Sequence[tuple[int, ...]]) -> None:
    """Tensors of these shapes come out with the shape and dtype they went in with."""

    def attempt(dtype: torch.dtype) -> None:
        module = part.make().to(dtype)
        for shape in shapes:
            x = torch.randn(shape).to(dtype)
            shaped(module(x), shape, dtype, part)

    in_dtypes(part, attempt)


def inputs_kept(module: Any, inputs: Sequence[Tensor]) -> None:
    """A call leaves its inputs as they were."""
    before = [one.clone() for one in inputs]
    with torch.no_grad():
        module(*inputs)
    for number, (now, then) in enumerate(zip(inputs, before, strict=True), 1):
        if not torch.equal(now, then):
            raise DoesNotHold(f"Argument {number} of {len(before)} was changed in place.")


def steady(call: Call, module: nn.Module, other: Callable[[Any], object]) -> None:
    """In eval mode the same input gives the same output, whatever was computed in between."""
    module.eval()
    first = call(module)
    if moved(call(module), first):
        raise DoesNotHold("In eval mode, two calls with the same input differ.")
    other(module)
    if moved(call(module), first):
        raise DoesNotHold("The answer to an input changes after a call with another input.")


def drops_in_train_mode_only(part: Part, call: Call) -> None:
    """dropout=0.5 makes two calls differ in train mode, and changes nothing in eval mode."""
    without, dropping = part.module(dropout=0.0), part.module(dropout=0.5)
    dropping.load_state_dict(without.state_dict())
    same(call(dropping.eval()), call(without.eval()), "In eval mode, dropout=0.5 changes the output")
    dropping.train()
    if not moved(call(dropping), call(dropping)):
        raise DoesNotHold("In train mode, dropout=0.5 does nothing: two calls give the same.")
    finite(call(dropping), "With dropout=0.5 in train mode, its output")


def gradients(module: nn.Module, out: Tensor, inputs: Sequence[tuple[str, Tensor]] = ()) -> None:
    """Gradients of `out` are finite, and reach every parameter and every input named."""
    if not out.requires_grad:
        raise DoesNotHold("Its output does not depend on anything in a way that torch can follow.")
    (out * torch.randn_like(out)).sum().backward()
    named = [(name, p) for name, p in module.named_parameters() if p.requires_grad]
    for name, leaf in [*named, *inputs]:
        if leaf.grad is None:
            raise DoesNotHold(f"No gradient reaches {name}.")
        finite(leaf.grad, f"The gradient of {name}")
    for name, leaf in inputs:
        if not leaf.grad.abs().max() > 0:  # type: ignore[union-attr]
            raise DoesNotHold(f"The gradient of {name} is 0: the output does not depend on it.")


def vectors_alone(part: Part, module: Any, x: Tensor) -> None:
    """Each vector of x [B, T, D] is treated by itself: alone it gives what it gives among the others."""
    module.eval()
    together = tensor(module(x), part)
    for row in range(x.size(0)):
        for place in range(x.size(1)):
            one = tensor(module(x[row : row + 1, place : place + 1]), part)
            there = together[row : row + 1, place : place + 1]
            same(one, there, "A vector alone gives another result than among others")


def refuses(attempt: Callable[[], object], what: str) -> None:
    """`attempt` raises ValueError; `what` is what it tries, as the subject of the sentence."""
    try:
        attempt()
    except ValueError:
        return
    except Exception as error:
        raise DoesNotHold(f"{what} raises {type(error).__name__}, not ValueError.") from error
    raise DoesNotHold(f"{what} raises no ValueError.")
