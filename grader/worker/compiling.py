"""Lets a submission run as it is written where it asks for `torch.compile`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch


@contextlib.contextmanager
def without_compiling() -> Iterator[None]:
    """While it is entered, `torch.compile` gives back what it is given.

    What it computes is the same, and a worker has neither a compiler nor the minutes that it takes.
    """
    compiles = torch.compile
    torch.compile = _as_it_is
    try:
        yield
    finally:
        torch.compile = compiles


@contextlib.contextmanager
def without_scripting() -> Iterator[None]:
    """While it is entered, `torch.jit.script` gives back what it is given.

    For changed copies of a file: what TorchScript makes of nonsense may end the process.
    """
    scripts = torch.jit.script
    torch.jit.script = _as_it_is  # type: ignore[assignment]
    try:
        yield
    finally:
        torch.jit.script = scripts


def _as_it_is(model: Any = None, **_options: Any) -> Any:
    """`torch.compile` or `torch.jit.script`, as a function or as a decorator with options."""
    return model if model is not None else lambda decorated: decorated
