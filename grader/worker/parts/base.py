"""The base of all of the judge's parts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

MOST_CALLS = 128  # noted; an honest submission makes a few, or one for each row of a batch


def weight(*shape: int) -> nn.Parameter:
    """A weight, to be kept under a name that begins with `judge_`."""
    return nn.Parameter(torch.zeros(shape))


_noting = [True]


@contextmanager
def unnoted() -> Iterator[None]:
    """No calls are noted: with checkpoints, the backward pass makes those of the forward pass again."""
    _noting.append(False)
    try:
        yield
    finally:
        _noting.pop()


class Part(nn.Module):
    """A part that notes what it was called with, but for `unnoted`.

    Its weights are called `judge_...`, so that the judge tells them from the submission's own among the parameters of
    what they were handed to. They are 0 until the judge loads others.
    """

    def __init__(self) -> None:
        super().__init__()
        self._calls: list[dict[str, Tensor]] = []

    def note(self, **tensors: Tensor | None) -> None:
        """Keep a copy of a call's tensors; None is left out."""
        if _noting[-1] and len(self._calls) < MOST_CALLS:
            kept = {name: x.detach().clone() for name, x in tensors.items() if isinstance(x, Tensor)}
            self._calls.append(kept)

    def recorded(self) -> list[dict[str, Tensor]]:
        """Return what was noted since the last time, call by call."""
        calls, self._calls = self._calls, []
        return calls

    def mode(self) -> str:
        """ "train" if that is the mode of all that it is made of, else "eval"."""
        return "train" if all(one.training for one in self.modules()) else "eval"

    def handed(self) -> Any:
        """Return what the submission is given in its place."""
        return self


def handed(module: nn.Module) -> Any:
    """Return what a submission is given when this module is an argument: a part may stand for something else."""
    return module.handed() if isinstance(module, Part) else module
