"""The device of a model, and errors for too little memory on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from zoo.core.errors import ZooError

DEVICES = ("auto", "cpu", "cuda")
TOO_MUCH = (
    "can't allocate memory",
    "not enough memory",
    "Storage size calculation overflowed",
    "Overflow when unpacking",
    "integer multiplication overflow",
)
"""Texts of torch's errors, which have no class of their own, when a tensor does not fit into memory."""


class MemoryLimitError(ZooError):
    """A model or a batch that does not fit into memory."""


def resolve_device(name: str) -> torch.device:
    """The device meant by "auto" (CUDA where there is one), "cpu" or "cuda".

    Raises:
        ZooError: another name, or CUDA where torch sees none.
    """
    if name not in DEVICES:
        raise ZooError(f"There is no device '{name}'. Expected {', '.join(DEVICES[:-1])} or {DEVICES[-1]}.")
    there = torch.cuda.is_available()
    if name == "cuda" and not there:
        raise ZooError("There is no CUDA device that torch can use here. Take --device=cpu, or auto.")
    return torch.device("cuda" if name == "cuda" or (name == "auto" and there) else "cpu")


@contextmanager
def memory_limit(advice: str) -> Iterator[None]:
    """Turn "out of memory" in the block into MemoryLimitError with `advice`, which begins with a capital."""
    try:
        yield
    except (MemoryError, torch.OutOfMemoryError) as error:
        raise MemoryLimitError(f"That does not fit into memory. {advice}") from error
    except (RuntimeError, TypeError, OverflowError) as error:
        if not any(words in str(error) for words in TOO_MUCH):
            raise
        raise MemoryLimitError(f"That does not fit into memory. {advice}") from error
