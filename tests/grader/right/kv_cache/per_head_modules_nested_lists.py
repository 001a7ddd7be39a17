"""One small module per head with a cache of its own; the cache is a tuple of per-head dicts; the output matrix is cut by head too."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class SingleHead(nn.Module):
    def __init__(self, d_model, d_head):
        super().__init__()
        self.q = nn.Linear(d_model, d_head)
        self.k = nn.Linear(d_model, d_head, bias=False)
        self.v = nn.Linear(d_model, d_head)
        self.o = nn.Linear(d_head, d_model, bias=False)

    def forward(self, x, memory):
        k, v = self.k(x), self.v(x)
        memory = {
            "k": k if memory is None else torch.concat([memory["k"], k], dim=1),
            "v": v if memory is None else torch.concat([memory["v"], v], dim=1),
        }
        y = F.scaled_dot_product_attention(self.q(x), memory["k"], memory["v"])
        return self.o(y), memory


class CachedAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be a multiple of num_heads")
        self.heads = nn.ModuleDict({f"head{i}": SingleHead(d_model, d_model // num_heads) for i in range(num_heads)})
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x, cache):
        memories = cache or (None,) * len(self.heads)
        results, memories = zip(*(head(x, m) for head, m in zip(self.heads.values(), memories)))
        return sum(results) + self.bias, memories
