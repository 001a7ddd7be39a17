"""A clock for searches: seconds of CPU as on a processor that has nothing else to do.

Where other programs share a core, the same work takes up to four times the CPU time, and on an old processor too. What
a search finds must not depend on that: its limits are kept in seconds of this clock.
"""

from __future__ import annotations

import ast
import time

import torch

USUAL_S = 0.0035  # that the piece of work below takes
AGAIN_S = 0.5  # of CPU, after which the processor's speed is measured once more
SLOWEST = 4.0  # a processor that seems slower than this many times the usual one is counted as that
ROUNDS = 3
CODE = "def f(x):\n" + "    y = [g(x, k=i) for i in range(3) if i > 1]\n" * 6


def _work() -> None:
    """What searches do, in small: parse, compile, and compute with small tensors."""
    values = torch.ones(2, 2, 5, 4, device="cpu", dtype=torch.float32)
    for _ in range(ROUNDS):
        compile(ast.parse(CODE), "<work>", "exec")
        for _ in range(4 * ROUNDS):
            weights = torch.softmax(values @ values.transpose(-2, -1), dim=-1)
            torch.allclose(weights @ values, values)


class WorkClock:
    """CPU time of this process, divided by how many times as long as usual the processor takes now."""

    def __init__(self) -> None:
        self._seconds, self._until = 0.0, time.process_time()
        self._slowness, self._measured = 1.0, -AGAIN_S

    def slowness(self) -> float:
        """How many times as long as usual work takes now; at least 1."""
        begun = time.process_time()
        if begun - self._measured >= AGAIN_S:
            with torch.no_grad():
                _work()
            self._measured = time.process_time()
            self._slowness = min(max((self._measured - begun) / USUAL_S, 1.0), SLOWEST)
            self._until += self._measured - begun  # this was no work of a search
        return self._slowness

    def seconds(self) -> float:
        """Of work, since some time in the past."""
        slowness = self.slowness()
        now = time.process_time()
        self._seconds += (now - self._until) / slowness
        self._until = now
        return self._seconds


clock = WorkClock()
