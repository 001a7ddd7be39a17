"""A factory that gives a scripted module."""
import torch
from torch import nn

class _Net(nn.Module):
    def __init__(self, d_model: int, d_ff: int, dropout: float):
        super().__init__()
        self.l1 = nn.Linear(d_model, d_ff)
        self.l2 = nn.Linear(d_ff, d_model)
        self.drop = nn.Dropout(dropout)
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.l2(self.drop(torch.relu(self.l1(x))))

def FeedForward(d_model, d_ff, *, dropout=0.0):
    return torch.jit.script(_Net(d_model, d_ff, dropout))
