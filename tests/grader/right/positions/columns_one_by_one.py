import torch
from torch import Tensor, nn


def check(n, most):
    if n > most:
        raise ValueError(f"the sentence is too long: {n} words, max_len is {most}")


class SinusoidalPositions(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000) -> None:
        super().__init__()
        self.width = d_model
        self.longest = max_len
        # double first, the angles of late positions are big
        t = torch.arange(max_len, dtype=torch.float64)
        columns = []
        for c in range(d_model):
            columns.append(self.column(t, c))
        # a list of columns, so they stand side by side: dim=1
        self.register_buffer("table", torch.stack(columns, dim=1).float())

    def wave(self, c):
        # column 0 and 1 are a pair, 2 and 3 are a pair, ... a pair has one wave length
        pair = c - c % 2
        return 10000 ** (pair / self.width)

    def column(self, t, c):
        angle = t / self.wave(c)
        if c % 2 == 0:
            return torch.sin(angle)
        return torch.cos(angle)

    def forward(self, x: Tensor) -> Tensor:
        b, n, d = x.shape
        check(n, self.longest)
        p = self.table[:n].to(x.dtype)
        sentences = []
        for i in range(b):
            sentences.append(x[i] + p)
        return torch.stack(sentences)


class LearnedPositions(nn.Module):
    def __init__(self, d_model: int, max_len: int = 512) -> None:
        super().__init__()
        self.longest = max_len
        # position number 7 is like a word number 7
        self.rows = nn.Embedding(max_len, d_model)

    def forward(self, x: Tensor) -> Tensor:
        n = x.size(1)
        check(n, self.longest)
        numbers = torch.arange(n, device=x.device)
        p = self.rows(numbers)  # [T, D]
        return x + p
