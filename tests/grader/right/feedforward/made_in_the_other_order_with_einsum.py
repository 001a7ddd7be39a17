
import torch
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.shift_out = nn.Parameter(torch.rand(d_model))
        self.out = nn.Parameter(torch.randn(d_model, d_ff) * d_ff ** -0.5)
        self.shift_in = nn.Parameter(torch.rand(d_ff))
        self.into = nn.Parameter(torch.randn(d_model, d_ff) * d_model ** -0.5)
        self.drop = nn.Dropout(p=dropout)

    def forward(self, x):
        h = torch.einsum("...d,df->...f", x, self.into) + self.shift_in
        h = torch.maximum(h, torch.zeros_like(h))
        return torch.einsum("...f,df->...d", self.drop(h), self.out) + self.shift_out
