
import torch
from torch import nn


class FeedForward(nn.Module):
    """"Another way of describing this is as two convolutions with kernel size 1" (the paper, section 3.3)."""

    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.conv1 = nn.Conv1d(d_model, d_ff, kernel_size=1)
        self.conv2 = nn.Conv1d(d_ff, d_model, kernel_size=1)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        h = self.conv1(x.transpose(1, 2)).relu()
        return self.conv2(self.dropout(h)).transpose(1, 2)
