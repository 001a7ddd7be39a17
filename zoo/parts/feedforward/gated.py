"""The base class of gated feed-forward networks."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn


class GatedFeedForward(nn.Module, ABC):
    """(act(x W) * (x V)) W_2 at every position by itself; variants differ in `activate`.

    Shazeer 2020, arXiv:2002.05202, with W `gate_proj`, V `up_proj`, W_2 `down_proj`. Three matrices: the
    paper takes 2/3 of the usual d_ff, for as many parameters as without a gate; here d_ff is taken as given.
    """

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0, bias: bool = False) -> None:
        """
        Args:
            d_model: width D of input and output.
            d_ff: inner width.
            dropout: probability after the product, in train mode.
            bias: whether the three maps have biases; the paper's have none.
        """
        super().__init__()
        self.gate_proj = nn.Linear(d_model, d_ff, bias=bias)
        self.up_proj = nn.Linear(d_model, d_ff, bias=bias)
        self.down_proj = nn.Linear(d_ff, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """x [..., D] -> [..., D]."""
        inner = self.activate(self.gate_proj(x)) * self.up_proj(x)  # [..., d_ff]
        return self.down_proj(self.dropout(inner))  # type: ignore[no-any-return]

    @abstractmethod
    def activate(self, x: Tensor) -> Tensor:
        """The activation of the gate, elementwise: [..., d_ff] -> [..., d_ff]."""
