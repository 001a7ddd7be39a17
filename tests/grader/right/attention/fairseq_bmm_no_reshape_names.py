"""fairseq/BART manner: time first, batch and heads folded, baddbmm for the scores, packed key/value matrix as a bare parameter; hand-made dropout."""

from typing import Dict, Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor] = None, **unused):
    lead = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2])
    tq, tk = query.size(-2), key.size(-2)
    q = query.expand(lead + query.shape[-2:]).reshape(-1, tq, query.size(-1))
    k = key.expand(lead + key.shape[-2:]).reshape(-1, tk, key.size(-1))
    v = value.expand(lead + value.shape[-2:]).reshape(-1, tk, value.size(-1))
    scores = torch.baddbmm(q.new_empty(1), q, k.transpose(1, 2), beta=0, alpha=q.size(-1) ** -0.5)
    dead = None
    if mask is not None:
        bias = mask if mask.is_floating_point() else q.new_zeros(mask.shape).masked_fill(~mask, float("-inf"))
        bias = bias.expand(lead + (tq, tk)).reshape(-1, tq, tk)
        dead = bias.isneginf().all(-1, keepdim=True)
        scores = (torch.nan_to_num(scores) + bias).masked_fill(dead, 0.0)
    weights = F.softmax(scores, dim=-1, dtype=torch.float64 if scores.dtype == torch.float64 else torch.float32)
    weights = weights.type_as(scores)
    if dead is not None:
        weights = weights.masked_fill(dead, 0.0)
    output = torch.bmm(weights, v)
    return output.reshape(lead + (tq, value.size(-1))), weights.reshape(lead + (tq, tk))


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True):
        super().__init__()
        self.embed_dim = d_model
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        if self.head_dim * num_heads != self.embed_dim:
            raise ValueError("embed_dim must be divisible by num_heads")
        self.scaling = self.head_dim**-0.5
        self.p = dropout
        self.q_weight = nn.Parameter(torch.empty(d_model, d_model))
        self.kv_weight = nn.Parameter(torch.empty(2 * d_model, d_model))
        self.in_bias = nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self):
        for w in (self.q_weight, self.kv_weight, self.out_proj.weight):
            nn.init.orthogonal_(w)

    def _fold(self, x: Tensor) -> Tensor:
        t, b, _ = x.shape
        return x.contiguous().view(t, b * self.num_heads, self.head_dim).transpose(0, 1)

    def _dropout(self, w: Tensor) -> Tensor:
        if not self.training or self.p <= 0:
            return w
        if self.p >= 1:
            return torch.zeros_like(w) * w
        keep = torch.rand(w.shape, device=w.device) >= self.p
        return w * keep / (1 - self.p)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        tgt_len, bsz, _ = query.size()
        src_len = key.size(0)
        bias: Dict[str, Tensor] = dict(zip("qkv", self.in_bias.chunk(3)))
        wk, wv = self.kv_weight.chunk(2)
        q = self._fold(F.linear(query, self.q_weight, bias["q"]))
        k = self._fold(F.linear(key, wk, bias["k"]))
        v = self._fold(F.linear(value, wv, bias["v"]))
        if mask is not None:
            mask = mask.expand(bsz, self.num_heads, tgt_len, src_len).reshape(-1, tgt_len, src_len)
        _, weights = scaled_dot_product_attention(q, k, v, mask=mask)
        attn = torch.bmm(self._dropout(weights), v)
        attn = attn.transpose(0, 1).reshape(tgt_len, bsz, self.embed_dim)
        return self.out_proj(attn).transpose(0, 1)
