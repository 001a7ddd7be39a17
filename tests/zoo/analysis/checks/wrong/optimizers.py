"""Optimizers with one thing wrong each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from tests.zoo.analysis.checks.support import wrong


class Descent(torch.optim.SGD):
    """Right."""

    def __init__(self, params: Iterable[nn.Parameter], lr: float) -> None:
        super().__init__(params, lr=lr, momentum=0.5)


@wrong("optimizer", "has every parameter of a model in exactly one group", "is in 0 groups")
class OptimizerWithoutBiases(Descent):
    def __init__(self, params: Iterable[nn.Parameter], lr: float) -> None:
        super().__init__([p for p in params if p.ndim > 1], lr)


@wrong("optimizer", "ten steps lower a quadratic loss of every parameter", "goes from")
class OptimizerThatAscends(torch.optim.SGD):
    def __init__(self, params: Iterable[nn.Parameter], lr: float) -> None:
        super().__init__(params, lr=lr, maximize=True)


@wrong("optimizer", "uses the learning rate of its parameter groups", "at a rate of 0 changes")
class OptimizerThatKeepsItsRate(Descent):
    def __init__(self, params: Iterable[nn.Parameter], lr: float) -> None:
        super().__init__(params, lr)
        self.lr = lr

    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            group["lr"] = self.lr
        return super().step(closure)


@wrong(
    "optimizer", "resumes from a saved state with the same steps", "differs after a step from a saved state"
)
class OptimizerWithoutState(Descent):
    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "state": {}}
