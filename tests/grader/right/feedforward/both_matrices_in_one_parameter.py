
import torch
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.w = nn.Parameter(torch.randn(2, d_model, d_ff) / d_model**0.5)
        self.b1, self.b2 = nn.Parameter(torch.zeros(d_ff)), nn.Parameter(torch.zeros(d_model))
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        return self.drop((x @ self.w[0] + self.b1).relu()) @ self.w[1].T + self.b2
