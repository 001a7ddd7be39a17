"""Looking at the values of tensors, where that can be done."""

from __future__ import annotations

import torch
from torch import Tensor


def has_memory(tensor: Tensor) -> bool:
    """Return whether a tensor has memory of its own; what `torch.vmap` and `torch.func.grad` work on has none."""
    try:
        tensor.data_ptr()
    except RuntimeError:
        return False
    return True


def within_func(tensor: Tensor) -> bool:
    """Return whether `torch.vmap` or `torch.func.grad` is at work; not asked while a model is compiled or exported."""
    return not (torch.compiler.is_compiling() or has_memory(tensor))


def readable(tensor: Tensor) -> bool:
    """Return whether code may read tensor values: not while a model is compiled or exported, nor in `vmap`."""
    return not torch.compiler.is_compiling() and has_memory(tensor)


def require(condition: Tensor, message: str) -> None:
    """Raises ValueError (RuntimeError where compiled or exported) unless `condition` [] holds.

    Within `torch.vmap` nothing can be raised, and nothing is.
    """
    if torch.compiler.is_compiling():  # no branch on a value there
        torch._assert_async(condition, message)
    elif has_memory(condition) and not condition:
        raise ValueError(message)
