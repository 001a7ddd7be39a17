"""Losses with one thing wrong each."""

from __future__ import annotations

from torch import Tensor, nn

from tests.zoo.analysis.checks.support import wrong
from zoo.parts.loss.cross_entropy import CrossEntropyLoss

KEPT = "does not modify its inputs"


@wrong("loss", "is a finite scalar, in float32, float64 and bfloat16", "Expected one number")
class LossOfEach(CrossEntropyLoss):
    def forward(self, output: Tensor, labels: Tensor) -> Tensor:
        return nn.functional.cross_entropy(output.flatten(0, 1), labels.flatten(), reduction="none")


@wrong(
    "loss",
    "the gradient is finite, reaches every token, and is 0 at padding",
    "What is answered at padding counts",
)
class LossOfPadding(CrossEntropyLoss):
    def forward(self, output: Tensor, labels: Tensor) -> Tensor:
        return nn.functional.cross_entropy(output.flatten(0, 1), labels.flatten())


@wrong(
    "loss", "the gradient is finite, reaches every token, and is 0 at padding", "at some word does not count"
)
class LossOfTheFirst(CrossEntropyLoss):
    def forward(self, output: Tensor, labels: Tensor) -> Tensor:
        return super().forward(output[:, :1], labels[:, :1])


@wrong("loss", "the loss is lower for a better answer", "With the right words more probable")
class LossTheOtherWayRound(CrossEntropyLoss):
    def forward(self, output: Tensor, labels: Tensor) -> Tensor:
        return -super().forward(output, labels)


@wrong("loss", "is a mean over words", "is not their mean")
class LossAsASum(CrossEntropyLoss):
    def forward(self, output: Tensor, labels: Tensor) -> Tensor:
        return super().forward(output, labels) * (labels != self.pad).sum()


@wrong("loss", "is a mean over words", "More padding changes the loss")
class LossOverAllPlaces(CrossEntropyLoss):
    def forward(self, output: Tensor, labels: Tensor) -> Tensor:
        return super().forward(output, labels) * (labels != self.pad).sum() / labels.numel()


@wrong("loss", KEPT, "changed in place")
class LossInPlace(CrossEntropyLoss):
    def forward(self, output: Tensor, labels: Tensor) -> Tensor:
        value = super().forward(output, labels)
        labels.clamp_(min=1)
        return value
