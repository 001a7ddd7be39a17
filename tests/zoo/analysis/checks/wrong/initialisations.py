"""Initialisations with one thing wrong each."""

from __future__ import annotations

import torch
from torch import Tensor

from tests.zoo.analysis.checks.support import wrong
from zoo.parts.init.xavier import XavierInit


@wrong("init", "fills matrices in place with finite numbers", "leaves the matrix as it was")
class InitOfACopy(XavierInit):
    def matrix(self, name: str, value: Tensor) -> None:
        super().matrix(name, value.clone())


@wrong("init", "draws from torch's generator", "one seed does not give the same weights twice")
class InitWithItsOwnGenerator(XavierInit):
    generator = torch.Generator()

    def matrix(self, name: str, value: Tensor) -> None:
        value.normal_(generator=self.generator)


@wrong("init", "draws from torch's generator", "two seeds give the same weights")
class InitOfOne(XavierInit):
    def matrix(self, name: str, value: Tensor) -> None:
        value.fill_(0.1)


@wrong("init", "fills biases and tables with finite numbers, or leaves them unchanged", "contains NaN")
class InitWithNan(XavierInit):
    def bias(self, name: str, value: Tensor, fan_in: int) -> None:
        value.fill_(float("nan"))


@wrong("init", "the weights are neither huge nor close to 0", "has standard deviation")
class InitOfTheRootForgotten(XavierInit):
    def matrix(self, name: str, value: Tensor) -> None:
        value.normal_(std=value.size(1))
