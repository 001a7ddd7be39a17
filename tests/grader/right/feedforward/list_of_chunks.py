"""d_ff in two halves, each with its own layers; their outputs add up (as tensor-parallel code does)."""
import torch
from torch import nn
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        a = d_ff // 2
        self.ups = nn.ModuleList([nn.Linear(d_model, n) for n in (a, d_ff - a)])
        self.downs = nn.ModuleList([nn.Linear(n, d_model, bias=False) for n in (a, d_ff - a)])
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.drop = nn.Dropout(dropout)
    def forward(self, x):
        return sum(down(self.drop(torch.relu(up(x)))) for up, down in zip(self.ups, self.downs)) + self.bias
