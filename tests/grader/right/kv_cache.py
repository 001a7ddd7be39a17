"""Right cached attentions in unusual styles: none of these may fail a hidden test."""

from __future__ import annotations

from collections.abc import Mapping

HEAD = "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"

RIGHT: Mapping[str, str] = {
    "packed_and_a_dict": HEAD
    + """

class CachedAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("d_model must be a multiple of num_heads")
        self.h = num_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.proj = nn.Linear(d_model, d_model)

    def forward(self, x, cache):
        q, k, v = (t.unflatten(-1, (self.h, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        if cache is None:
            cache = {}
        else:
            k, v = torch.cat((cache["k"], k), -2), torch.cat((cache["v"], v), -2)
        cache["k"], cache["v"] = k, v
        out = F.scaled_dot_product_attention(q, k, v)
        return self.proj(out.transpose(1, 2).flatten(2)), cache
""",
    "lists_detached_and_no_bias": HEAD
    + """

class CachedAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("d_model must be a multiple of num_heads")
        self.h = num_heads
        self.wo = nn.Linear(d_model, d_model, bias=False)
        self.wv = nn.Linear(d_model, d_model, bias=False)
        self.wk = nn.Linear(d_model, d_model, bias=False)
        self.wq = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, cache=None):
        past = [] if cache is None else cache
        past = past + [(self.wk(x), self.wv(x))]
        B, _, D = x.shape
        q = self.wq(x).view(B, self.h, D // self.h)
        k = torch.stack([one[0] for one in past]).view(len(past), B, self.h, -1)
        v = torch.stack([one[1] for one in past]).view(len(past), B, self.h, -1)
        weights = torch.einsum("bhd,tbhd->bht", q, k).div((D / self.h) ** 0.5).softmax(-1)
        out = self.wo(torch.einsum("bht,tbhd->bhd", weights, v).reshape(B, 1, D))
        return out, past[:-1] + [(past[-1][0].detach(), past[-1][1].detach())]
""",
    "buffers_that_grow": HEAD
    + """

class Cache:
    def __init__(self, x, room=2):
        self.used = 0
        self.k = x.new_zeros(x.size(0), room, x.size(2))
        self.v = x.new_zeros(x.size(0), room, x.size(2))

    def grow(self):
        self.k = torch.cat([self.k, torch.zeros_like(self.k)], 1)
        self.v = torch.cat([self.v, torch.zeros_like(self.v)], 1)


class CachedAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("d_model must be a multiple of num_heads")
        self.heads = num_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x, cache):
        cache = Cache(x) if cache is None else cache
        if cache.used == cache.k.size(1):
            cache.grow()
        t = cache.used
        new_k, new_v = self.k_proj(x), self.v_proj(x)
        k = torch.cat([cache.k[:, :t].clone(), new_k], 1)
        v = torch.cat([cache.v[:, :t].clone(), new_v], 1)
        with torch.no_grad():
            cache.k[:, t : t + 1] = new_k
            cache.v[:, t : t + 1] = new_v
        cache.used = t + 1
        parts = zip(*(y.chunk(self.heads, -1) for y in (self.q_proj(x), k, v)))
        outs = []
        for q_h, k_h, v_h in parts:
            outs.append((q_h @ k_h.mT / math.sqrt(q_h.size(-1))).softmax(-1) @ v_h)
        return self.out_proj(torch.cat(outs, -1)), cache
""",
    "all_inputs_again_and_a_warning": HEAD
    + """

import warnings

warnings.warn("a warning of the learner's file", stacklevel=1)


class CachedAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("d_model must be a multiple of num_heads")
        self.num_heads, self.width = num_heads, d_model // num_heads
        self.into = nn.Parameter(torch.empty(3, d_model, d_model))
        self.out = nn.Parameter(torch.empty(d_model, d_model))
        for matrix in (*self.into, self.out):
            nn.init.xavier_uniform_(matrix.data)

    def forward(self, x, cache):
        seen = x if cache is None else torch.cat([cache, x], dim=1)
        q, k, v = (seen @ self.into[i].T for i in range(3))
        cut = lambda y: y.reshape(*y.shape[:2], self.num_heads, self.width).permute(0, 2, 1, 3)
        scores = cut(q) @ cut(k).transpose(2, 3) * self.width**-0.5
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
        heads = scores.masked_fill(future, -math.inf).softmax(-1) @ cut(v)
        return (heads.permute(0, 2, 1, 3).flatten(2) @ self.out.T)[:, -1:], seen
""",
}
