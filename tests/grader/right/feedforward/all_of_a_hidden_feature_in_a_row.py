"""The feed-forward network as a key-value memory (Geva et al. 2021): one row of a table for each neuron."""
import torch
from torch import nn
from torch.nn import functional as F


class FeedForward(nn.Module):
    """cells [d_ff, 2 D + 1]: of each neuron, its value (row of W_2), its threshold (b_1), its key (column of W_1)."""

    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.cuts = (d_model, 1, d_model)
        self.cells = nn.Parameter(torch.empty(d_ff, sum(self.cuts)))
        self.background = nn.Parameter(torch.zeros(d_model))  # b_2
        self.rate = dropout
        value, threshold, key = self.cells.detach().split(self.cuts, dim=1)
        nn.init.kaiming_normal_(key, nonlinearity="relu")
        nn.init.zeros_(threshold)
        nn.init.kaiming_normal_(value, mode="fan_out", nonlinearity="linear")

    def forward(self, x):
        value, threshold, key = self.cells.split(self.cuts, dim=1)
        match = F.linear(x, key, threshold.squeeze(1)).clamp_min(0)
        match = F.dropout(match, self.rate, training=self.training)
        return self.background + match @ value
