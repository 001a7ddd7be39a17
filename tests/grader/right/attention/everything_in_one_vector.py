"""All weights, then all biases, in one vector; the function gives a list."""

import torch
from torch import nn
from torch.nn import functional as F


def scaled_dot_product_attention(query, key, value, *, mask=None):
    scores = torch.div(torch.matmul(query, key.mT), query.shape[-1] ** 0.5)
    if mask is not None:
        allowed = mask if mask.dtype == torch.bool else torch.eq(mask, 0.0)
        scores = torch.where(allowed, scores, torch.full_like(scores, torch.finfo(scores.dtype).min))
    weights = torch.softmax(scores, dim=-1)
    return [torch.matmul(weights, value), weights]


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model={d_model} cannot be split into {num_heads} heads")
        self.d_model, self.num_heads, self.rate = d_model, num_heads, dropout
        weights = torch.empty(4 * d_model**2).uniform_(-1, 1) * (3 / d_model) ** 0.5
        self.theta = nn.Parameter(torch.cat((weights, torch.zeros(4 * d_model))))

    def linear(self, x, i):
        size = self.d_model**2
        biases = self.theta[4 * size :]
        weight = self.theta[i * size : (i + 1) * size].view(self.d_model, self.d_model)
        return F.linear(x, weight, biases[i * self.d_model : (i + 1) * self.d_model])

    def heads(self, x, i):
        return self.linear(x, i).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        v = self.heads(value, 2)
        _, weights = scaled_dot_product_attention(self.heads(query, 0), self.heads(key, 1), v, mask=mask)
        mixed = F.dropout(weights, self.rate, self.training) @ v
        return self.linear(mixed.transpose(1, 2).flatten(2), 3)
