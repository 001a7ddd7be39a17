"""Goes through a sequence one position a call, with a cache whose form is the learner's own business."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from .base import Part


def numbers_in(value: Any, depth: int = 0) -> int:
    """Return how many numbers the tensors in a cache hold: tuples, lists, dicts and objects are looked into."""
    if isinstance(value, Tensor):
        return value.numel()
    if depth > 6 or value is None or isinstance(value, (str, bytes, int, float, type)):
        return 0
    if isinstance(value, Mapping):
        return sum(numbers_in(item, depth + 1) for item in value.values())
    if isinstance(value, (tuple, list)):
        return sum(numbers_in(item, depth + 1) for item in value)
    return numbers_in(getattr(value, "__dict__", None), depth + 1)


class Stepper(Part):
    """Calls `module(x_t, cache)` for one position after the other. The cache stays here, whatever it is."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module
        self._kept: list[Any] = []  # in a list: a cache may be a module, and is no part of this one

    def _pair(self, result: Any) -> tuple[Tensor, Any]:
        try:
            if isinstance(result, Tensor):
                raise TypeError
            out, cache = result
        except (TypeError, ValueError):
            raise TypeError(
                f"forward must give two things, out and cache; it gave a {type(result).__name__}"
            ) from None
        if not isinstance(out, Tensor):
            raise ValueError(f"the first of the two results must be the output; it is a {type(out).__name__}")
        return out, cache

    def _steps(self, x: Tensor, cache: Any = None) -> tuple[list[Tensor], Any]:
        outs = []
        for position in range(x.size(1)):
            out, cache = self._pair(self.module(x[:, position : position + 1], cache))
            outs.append(out)
        return outs, cache

    def forward(self, x: Tensor) -> Tensor:
        """x [B, T, D] -> the outputs of all steps [B, T, D]."""
        return torch.cat(self._steps(x)[0], 1)

    def by_keyword(self, x: Tensor) -> Tensor:
        """As forward, with the arguments by keyword."""
        cache, outs = None, []
        for position in range(x.size(1)):
            out, cache = self._pair(self.module(x=x[:, position : position + 1], cache=cache))
            outs.append(out)
        return torch.cat(outs, 1)  # [B, T, D]

    def go_on(self, x: Tensor, first: bool) -> Tensor:
        """One step of a sequence that is not known yet: x [B, 1, D] -> [B, 1, D]; the cache is kept for the next.

        Args:
            first: whether a sequence begins.
        """
        out, cache = self._pair(self.module(x, None if first else self._kept[0]))
        self._kept[:] = [cache]
        return out

    def growth(self, x: Tensor) -> str:
        """Return whether the cache grows over the steps of x [B, T, D]: "no" if it has one position, then no more.

        A cache with room for more from the start, or of a form that cannot be looked into, counts as growing.
        """
        outs, cache = self._steps(x[:, :1])
        before = numbers_in(cache)
        few = 0 < before <= 2 * outs[0].numel()  # a key and a value for each sentence
        _, cache = self._steps(x[:, 1:], cache)
        return "no" if few and numbers_in(cache) <= before else "yes"

    def last(self, history: Tensor, x: Tensor) -> Tensor:
        """The last step alone: history [B, T-1, D], x [B, 1, D] -> [B, 1, D]."""
        return self._steps(x, self._steps(history)[1])[0][0]

    def again(self, x: Tensor, y: Tensor) -> Tensor:
        """x [B, T, D] first, then y [B, T, D] from the start: what comes out of y."""
        self._steps(x)
        return self(y)  # type: ignore[no-any-return]

    def interleaved(self, x: Tensor, y: Tensor) -> Tensor:
        """Two sequences in turns, a step of x [B, T, D], a step of y [C, T, D] -> all outputs [(B + C) T D]."""
        caches: list[Any] = [None, None]
        outs: list[Tensor] = []
        for position in range(x.size(1)):
            for side, sequence in enumerate((x, y)):
                step, caches[side] = self._steps(sequence[:, position : position + 1], caches[side])
                outs.append(step[0].flatten())
        return torch.cat(outs)
