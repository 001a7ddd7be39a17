
import math

import torch
from torch import nn
from torch.nn import functional as F


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.W_1 = nn.Parameter(torch.randn(d_model, d_ff) / math.sqrt(d_model))
        self.b_1 = nn.Parameter(torch.zeros(d_ff))
        self.W_2 = nn.Parameter(torch.randn(d_ff, d_model) / math.sqrt(d_ff))
        self.b_2 = nn.Parameter(torch.zeros(d_model))
        self.p = dropout

    def forward(self, x):
        hidden = torch.clamp(x @ self.W_1 + self.b_1, min=0)
        return F.dropout(hidden, self.p, training=self.training) @ self.W_2 + self.b_2
