"""Both matrices in one parameter [2, d_ff, D], both biases in one vector [d_ff + D]."""
import torch
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.matrices = nn.Parameter(torch.randn(2, d_ff, d_model) * (d_model * d_ff) ** -0.25)
        self.biases = nn.Parameter(torch.zeros(d_ff + d_model))
        self.sizes = d_ff, d_model
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        w1, w2 = self.matrices
        b1, b2 = self.biases.split(self.sizes)
        return self.drop((x @ w1.T + b1).relu()) @ w2 + b2
