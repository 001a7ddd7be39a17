"""Positions: waves of many lengths, or a table to learn."""

import torch
from torch import nn


class SinusoidalPositions(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        self.max_len = max_len
        columns = [self.wave(column, d_model, max_len) for column in range(d_model)]
        table = torch.stack(columns, dim=1)
        self.register_buffer("waves", table.unsqueeze(0).float())  # [1, max_len, D]

    @staticmethod
    def wave(column, d_model, max_len):
        """One column of the table: sine if it is even, cosine if it is odd."""
        pair = column // 2
        frequency = 10000.0 ** (-2 * pair / d_model)
        angles = torch.arange(max_len, dtype=torch.float64) * frequency
        return torch.sin(angles) if column % 2 == 0 else torch.cos(angles)

    def forward(self, x):
        steps = x.shape[1]
        if steps > self.max_len:
            raise ValueError(f"{steps} positions, only {self.max_len} are there")
        return x + self.waves[:, :steps]


class LearnedPositions(nn.Module):
    def __init__(self, d_model, max_len=512):
        super().__init__()
        self.rows = nn.Embedding(max_len, d_model)

    def forward(self, x):
        steps = x.shape[1]
        if steps > self.rows.num_embeddings:
            raise ValueError(f"{steps} positions, only {self.rows.num_embeddings} are there")
        index = torch.arange(steps, device=x.device)
        return x + self.rows(index)
