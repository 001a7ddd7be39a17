"""The head that gives logits."""

from __future__ import annotations

from torch import Tensor, nn


class LogitsHead(nn.Linear):
    """x W^T + b: Vaswani et al. 2017, section 3.4. The softmax is left to the loss and to the decoding.

    With `softcap` c a logit y becomes c tanh(y / c), between -c and c: Gemma Team 2024 (Gemma 2), section 2,
    arXiv:2408.00118, with c = 30.
    """

    def __init__(self, d_model: int, tgt_vocab: int, bias: bool = True, softcap: float | None = None) -> None:
        """Width D, target vocabulary V, whether there is a bias, and the cap, if any."""
        super().__init__(d_model, tgt_vocab, bias=bias)
        self.softcap = softcap

    def forward(self, x: Tensor) -> Tensor:
        """x [B, L, D] -> [B, L, V]."""
        logits = super().forward(x)
        return logits if self.softcap is None else self.softcap * (logits / self.softcap).tanh()
