"""A beginner: nested loops with math.sin and math.cos at every call, and a ParameterList with one vector for each position."""

import math

import torch
import torch.nn as nn

print("positions.py is being imported")


class SinusoidalPositions(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        self.d_model = d_model
        self.max_len = max_len

    def forward(self, x):
        batch_size, seq_len, d = x.shape
        if seq_len > self.max_len:
            raise ValueError("Sorry, too long: " + str(seq_len) + " but max_len is " + str(self.max_len))
        rows = []
        for pos in range(seq_len):
            row = []
            for i in range(0, self.d_model, 2):
                angle = pos / (10000 ** (i / self.d_model))
                row.append(math.sin(angle))
                if i + 1 < self.d_model:
                    row.append(math.cos(angle))
            rows.append(row)
        pe = torch.tensor(rows, dtype=torch.float64)
        pe = pe.type(x.dtype).to(x.device)
        out = x.clone()
        for b in range(batch_size):
            out[b] += pe
        return out


class LearnedPositions(nn.Module):
    def __init__(self, d_model, max_len=512):
        super().__init__()
        self.max_len = max_len
        self.vectors = nn.ParameterList()
        for _ in range(max_len):
            self.vectors.append(nn.Parameter(torch.randn(d_model) * 0.1))

    def forward(self, x):
        seq_len = x.shape[1]
        if seq_len > self.max_len:
            raise ValueError("Sorry, too long: " + str(seq_len) + " but max_len is " + str(self.max_len))
        table = torch.stack(list(self.vectors))
        return x + table[0:seq_len, :].unsqueeze(0)


test = SinusoidalPositions(4)(torch.zeros(1, 2, 4))
print("row 1 should be about 0.841 0.540 0.010 1.000:", test[0, 1])
