"""TorchScript table; in-place on an own clone; the learned table as two halves of columns."""
import torch
from torch import Tensor, nn


@torch.jit.script
def make_table(n: int, d: int) -> Tensor:
    t = torch.arange(n, dtype=torch.float64).unsqueeze(1)
    out = torch.empty([n, d], dtype=torch.float64)
    for i in range((d + 1) // 2):
        a = t.squeeze(1) * (10000.0 ** (-2.0 * float(i) / float(d)))
        out[:, 2 * i] = torch.sin(a)
        if 2 * i + 1 < d:
            out[:, 2 * i + 1] = torch.cos(a)
    return out


class SinusoidalPositions(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        self.register_buffer("_table", torch.empty(0, d_model), persistent=False)
        self.d_model, self.max_len = d_model, max_len

    def forward(self, x):
        b, n, d = x.shape
        if not n <= self.max_len:
            raise ValueError(f"max_len is {self.max_len}, and the input has {n} positions")
        if self._table.shape[0] < n or self._table.dtype != x.dtype or self._table.device != x.device:
            self._table = make_table(n, self.d_model).to(x)
        y = x.clone()
        y += self._table[:n]
        return y


class LearnedPositions(nn.Module):
    def __init__(self, d_model, max_len=512):
        super().__init__()
        self.max_len = max_len
        half = d_model // 2
        self.left = nn.Parameter(torch.randn(max_len, half) * 0.1) if half else None
        self.right = nn.Parameter(torch.randn(max_len, d_model - half) * 0.1)

    def forward(self, x):
        n = x.size(1)
        if n > self.max_len:
            raise ValueError(f"max_len is {self.max_len}, and the input has {n} positions")
        table = self.right if self.left is None else torch.cat([self.left, self.right], dim=1)
        return x + table.index_select(0, torch.arange(n, device=x.device))
