"""A solution of `feedforward.py`: short, plain, and correct in edge cases."""

from torch import Tensor, nn


class FeedForward(nn.Module):
    """max(0, x W1 + b1) W2 + b2, at each position ("Attention Is All You Need", section 3.3).

    Args:
        d_model: width D of the input and the output.
        d_ff: width of the hidden layer.
        dropout: dropout probability, after the ReLU, in training mode only.
    """

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """x [B, T, D] -> [B, T, D]."""
        hidden = self.dropout(self.up(x).relu())  # [B, T, d_ff]
        output: Tensor = self.down(hidden)
        return output
