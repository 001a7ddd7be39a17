"""Annotated-Transformer / PyTorch-tutorial manner: div_term = exp(log), a [1, max_len, D] float32 buffer; learned table of shape [1, max_len, D]."""

import math

import torch
import torch.nn as nn


class SinusoidalPositions(nn.Module):
    "Implement the PE function."

    def __init__(self, d_model, max_len=5000):
        super(SinusoidalPositions, self).__init__()
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * -(math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term[: d_model // 2])
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        if x.size(1) > self.pe.size(1):
            raise ValueError(f"sequence of {x.size(1)} is longer than max_len {self.pe.size(1)}")
        return x + self.pe[:, : x.size(1)].requires_grad_(False)


class LearnedPositions(nn.Module):
    def __init__(self, d_model, max_len=512):
        super(LearnedPositions, self).__init__()
        self.pe = nn.Parameter(torch.zeros(1, max_len, d_model))
        nn.init.trunc_normal_(self.pe, std=0.02)

    def forward(self, x):
        length = x.size(1)
        if length > self.pe.size(1):
            raise ValueError(f"sequence of {length} is longer than max_len {self.pe.size(1)}")
        return x + self.pe[:, :length]
