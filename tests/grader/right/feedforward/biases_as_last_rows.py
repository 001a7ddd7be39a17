# homogeneous coordinates: the last row of each matrix is the bias
import torch
from torch import nn


def one(x):
    return torch.cat([x, torch.ones_like(x[..., :1])], -1)


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.W1 = nn.Parameter(torch.randn(d_model + 1, d_ff) / d_model**0.5)
        self.W2 = nn.Parameter(torch.randn(d_ff + 1, d_model) / d_ff**0.5)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        return one(self.drop(torch.relu(one(x) @ self.W1))) @ self.W2
