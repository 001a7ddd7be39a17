"""Notebook manner: names of one letter, packed weights cut by chunk and split, a softmax by hand, `if` on one line."""

import torch
import torch.nn as nn
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value, mask=None):
    q, k, v = query, key, value
    s = (q @ k.mT) * k.shape[-1] ** -0.5
    if mask is None:
        w = s.softmax(-1)
        return w @ v, w
    if mask.is_floating_point():
        mask = mask > -1
    s = s.masked_fill(~mask, -1e30)
    s = s - s.amax(-1, keepdim=True).detach()
    e = s.exp() * mask
    z = e.sum(-1, keepdim=True)
    w = e / z.clamp(min=1e-9)
    return w @ v, w


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        D, H = d_model, num_heads
        if D % H: raise ValueError(f"{D} columns, {H} heads")
        self.D, self.H, self.p = D, H, dropout
        self.W = nn.Parameter(torch.randn(3 * D, D) * D**-0.5)
        self.b = nn.Parameter(torch.zeros(3 * D))
        self.o = nn.Linear(D, D)

    def qkv(self, q, k, v):
        D = self.D
        if q is k and k is v:
            return F.linear(q, self.W, self.b).chunk(3, -1)
        if k is v:
            kv = F.linear(k, self.W[D:], self.b[D:])
            return F.linear(q, self.W[:D], self.b[:D]), *kv.split(D, -1)
        return [F.linear(t, w, b) for t, w, b in zip((q, k, v), self.W.split(D), self.b.split(D))]

    def forward(self, query, key, value, mask=None):
        q, k, v = query, key, value
        B, T, D = q.shape
        S, d = k.size(1), D // self.H
        q, k, v = self.qkv(q, k, v)
        q = q.reshape(B, T, self.H, d).transpose(1, 2)
        k = k.reshape(B, S, self.H, d).transpose(1, 2)
        v = v.reshape(B, S, self.H, d).transpose(1, 2)
        y, w = scaled_dot_product_attention(q, k, v, mask)
        if self.training and self.p:
            y = F.dropout(w, self.p) @ v
        return self.o(y.transpose(1, 2).reshape(B, T, D))
