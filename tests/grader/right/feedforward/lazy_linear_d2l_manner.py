"""d2l.ai manner: two nn.LazyLinear, the sizes of the inputs are found out in the first call."""
import torch
from torch import nn


class PositionWiseFFN(nn.Module):
    """The positionwise feed-forward network."""

    def __init__(self, ffn_num_hiddens, ffn_num_outputs, dropout):
        super().__init__()
        self.dense1 = nn.LazyLinear(ffn_num_hiddens)
        self.relu = nn.ReLU()
        self.drop = nn.Dropout(dropout)
        self.dense2 = nn.LazyLinear(ffn_num_outputs)

    def forward(self, X):
        return self.dense2(self.drop(self.relu(self.dense1(X))))


class FeedForward(PositionWiseFFN):
    def __init__(self, d_model, d_ff, *, dropout=0.0):
        super().__init__(d_ff, d_model, dropout)

    def forward(self, x):
        assert x.dim() == 3, f"expected [B, T, D], got {tuple(x.shape)}"
        return super().forward(x)


if __name__ == "__main__":
    ffn = FeedForward(4, 8)
    ffn.eval()
    print(ffn(torch.ones((2, 3, 4)))[0])
