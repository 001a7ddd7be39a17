"""Heads with one thing wrong each."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tests.zoo.analysis.checks.support import wrong
from zoo.parts.head.logits import LogitsHead

KEPT = "does not modify its inputs"


@wrong("head", "gives one score per token, in float32, float64 and bfloat16", "Expected shape [3, 5, 11]")
class HeadOfOneMore(LogitsHead):
    def __init__(self, d_model: int, tgt_vocab: int) -> None:
        super().__init__(d_model, tgt_vocab + 1)


@wrong("head", "gives log-probabilities, if it declares so", "do not sum to 1", output="log-probs")
class DeclaresLogProbabilities(LogitsHead):
    pass


@wrong("head", "gives log-probabilities, if it declares so", "declares logits, but gives log-probabilities")
class LogSoftmaxUndeclared(LogitsHead):
    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input).log_softmax(-1)


@wrong("head", "treats every position independently", "among others")
class HeadOverTime(LogitsHead):
    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input - input.mean(1, keepdim=True))


@wrong("head", "takes the table of a tied embedding as its weight", "Expected `weight`")
class HeadInAHouse(nn.Sequential):
    def __init__(self, d_model: int, tgt_vocab: int) -> None:
        super().__init__(nn.Linear(d_model, tgt_vocab))


@wrong("head", "takes the table of a tied embedding as its weight", "gives the same")
class HeadWithACopy(LogitsHead):
    def __init__(self, d_model: int, tgt_vocab: int) -> None:
        super().__init__(d_model, tgt_vocab)
        self.own = nn.Linear(d_model, tgt_vocab)

    def forward(self, input: Tensor) -> Tensor:
        return self.own(input)  # type: ignore[no-any-return]


@wrong(
    "head", "gradients are finite and reach the input and every parameter", "No gradient reaches own.weight"
)
class HeadWithASpare(LogitsHead):
    def __init__(self, d_model: int, tgt_vocab: int) -> None:
        super().__init__(d_model, tgt_vocab)
        self.own = nn.Linear(d_model, tgt_vocab)


@wrong("head", KEPT, "changed in place")
class HeadInPlace(LogitsHead):
    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input if torch.is_grad_enabled() else input.mul_(2))
