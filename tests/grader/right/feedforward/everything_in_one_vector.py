"""All weights in one vector."""
import torch
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.d_model, self.d_ff, self.drop = d_model, d_ff, nn.Dropout(dropout)
        self.theta = nn.Parameter(torch.randn(2 * d_model * d_ff + d_model + d_ff) * d_model**-0.5)

    def forward(self, x):
        d, f = self.d_model, self.d_ff
        w1, b1, w2, b2 = self.theta.split([d * f, f, d * f, d])
        return nn.functional.linear(self.drop(nn.functional.linear(x, w1.view(f, d), b1).relu()), w2.view(d, f), b2)
