"""The head that gives log-probabilities."""

from __future__ import annotations

from torch import Tensor

from zoo.parts.head.logits import LogitsHead


class LogSoftmaxHead(LogitsHead):
    """log softmax(x W^T + b): what the Kullback-Leibler loss takes. Arguments as in `LogitsHead`."""

    def forward(self, input: Tensor) -> Tensor:
        """x [B, L, D] -> log-probabilities [B, L, V]."""
        return super().forward(input).log_softmax(dim=-1)
