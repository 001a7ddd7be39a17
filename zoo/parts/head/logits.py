"""The head that gives logits."""

from __future__ import annotations

from torch import nn


class LogitsHead(nn.Linear):
    """x W^T + b: Vaswani et al. 2017, section 3.4. The softmax is left to the loss and to the decoding."""

    def __init__(self, d_model: int, tgt_vocab: int, bias: bool = True) -> None:
        """Width D, target vocabulary V, and whether there is a bias."""
        super().__init__(d_model, tgt_vocab, bias=bias)
