"""Parameters kept also in a plain tuple and used from there; all four biases in one [D, 4]; own numpy dropout."""
import numpy as np
import torch
from torch import Tensor, nn

_rng = np.random.default_rng()


def scaled_dot_product_attention(query, key, value, mask=None):  # type: ignore[no-untyped-def]
    s = torch.einsum("...qd,...kd->...qk", query, key).div(query.size(-1) ** 0.5)
    if mask is not None:
        s = s.masked_fill(~mask if mask.dtype == torch.bool else mask < 0, torch.finfo(s.dtype).min)
    w = s.softmax(-1)
    return w @ value, w


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError("d_model % num_heads")
        self.h, self.p = num_heads, dropout
        self.list = nn.ParameterList(
            nn.init.xavier_uniform_(torch.empty(d_model, d_model)) for _ in range(4)
        )
        self.bias = nn.Parameter(torch.zeros(d_model, 4))

    def forward(self, query, key, value, mask=None):  # type: ignore[no-untyped-def]
        wq, wk, wv, wo, bias = *self.list, self.bias
        q, k, v = (
            (t @ w + b).unflatten(-1, (self.h, -1)).transpose(1, 2)
            for t, w, b in zip((query, key, value), (wq, wk, wv), bias.unbind(1))
        )
        w = scaled_dot_product_attention(q, k, v, mask)[1]
        if self.training and self.p > 0:
            keep = torch.from_numpy(_rng.random(tuple(w.shape)) >= self.p).to(w.device)
            w = w * keep / (1 - self.p)
        return (w @ v).transpose(1, 2).flatten(-2) @ wo + bias[:, 3]
