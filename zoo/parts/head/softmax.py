"""The head that gives probabilities, which no loss of the zoo takes."""

from __future__ import annotations

from torch import Tensor

from zoo.parts.head.logits import LogitsHead


class SoftmaxHead(LogitsHead):
    """softmax(x W^T + b). Arguments as in `LogitsHead`.

    A trap, kept to be looked at. A loss that takes these for logits or log-probabilities has next to no gradient:
    they are all near 0 for a large vocabulary, whatever is right, and training stays on a plateau. So the zoo
    rejects it with any loss, unless `build(..., allow=["loss-and-head"])` or `zoo compare translate
    --allow-mismatch` is used. Greedy decoding chooses the same tokens as ever; a beam and a draw take its
    probabilities for logits, and choose others.
    """

    def forward(self, input: Tensor) -> Tensor:
        """x [B, L, D] -> probabilities [B, L, V]."""
        return super().forward(input).softmax(dim=-1)
