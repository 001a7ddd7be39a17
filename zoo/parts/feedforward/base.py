"""The base class of feed-forward networks with two matrices."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn


class FeedForward(nn.Module, ABC):
    """act(x W_1 + b_1) W_2 + b_2 at every position by itself; variants differ in `activate`.

    Vaswani et al. 2017, section 3.3, equation 2.
    """

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0) -> None:
        """
        Args:
            d_model: width D of input and output.
            d_ff: inner width.
            dropout: probability after the activation, in train mode.
        """
        super().__init__()
        self.up_proj = nn.Linear(d_model, d_ff)
        self.down_proj = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """x [..., D] -> [..., D]."""
        return self.down_proj(self.dropout(self.activate(self.up_proj(x))))  # type: ignore[no-any-return]

    @abstractmethod
    def activate(self, x: Tensor) -> Tensor:
        """The activation, elementwise: [..., d_ff] -> [..., d_ff]."""
