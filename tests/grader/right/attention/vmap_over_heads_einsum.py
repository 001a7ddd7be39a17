"""JAX manner: pure functions on a dict of parameters, einsum with three-dimensional weights [D, H, d], torch.vmap over the heads."""

import math
from functools import partial

import torch
from torch import nn


def logits_to_weights(logits, allowed):
    big_neg = torch.finfo(logits.dtype).min
    logits = torch.where(allowed, logits, torch.full_like(logits, big_neg))
    return torch.exp(logits - torch.logsumexp(logits, dim=-1, keepdim=True))


def attention_weights(query, key, allowed):
    logits = torch.einsum("...qd,...kd->...qk", query, key) * (1.0 / math.sqrt(query.shape[-1]))
    return logits_to_weights(logits, allowed)


def everything(query, key):
    return torch.ones((query.shape[-2], key.shape[-2]), dtype=torch.bool).to(query.device)


def scaled_dot_product_attention(query, key, value, mask=None):
    allowed = everything(query, key) if mask is None else (mask == 0 if mask.is_floating_point() else mask)
    weights = attention_weights(query, key, allowed)
    return torch.einsum("...qk,...kd->...qd", weights, value), weights


def init_params(d_model, num_heads):
    d = d_model // num_heads
    normal = partial(torch.normal, 0.0, d_model ** -0.5)
    return {
        "wq": normal((d_model, num_heads, d)),
        "wk": normal((d_model, num_heads, d)),
        "wv": normal((d_model, num_heads, d)),
        "wo": normal((num_heads, d, d_model)),
    }


def apply(params, query, key, value, allowed, rate, train):
    q = torch.einsum("btD,Dhd->hbtd", query, params["wq"])
    k = torch.einsum("btD,Dhd->hbtd", key, params["wk"])
    v = torch.einsum("btD,Dhd->hbtd", value, params["wv"])
    full = allowed.expand(query.shape[0], q.shape[0], query.shape[1], key.shape[1])
    weights = torch.vmap(attention_weights, in_dims=(0, 0, 1))(q, k, full)
    weights = nn.functional.dropout(weights, rate, train)
    context = torch.vmap(torch.matmul)(weights, v)
    return torch.einsum("hbtd,hdD->btD", context, params["wo"])


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be a multiple of num_heads")
        self.rate = dropout
        self.params = nn.ParameterDict(init_params(d_model, num_heads))

    def forward(self, query, key, value, mask=None):
        allowed = everything(query, key) if mask is None else (mask == 0 if mask.is_floating_point() else mask)
        return apply(self.params, query, key, value, allowed, self.rate, self.training)
