
import math
import torch
from torch import nn
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value, mask=None):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, -1e9)
        else:
            scores = scores + mask.clamp(min=-1e9)
    weights = F.softmax(scores, dim=-1)
    output = torch.matmul(weights, value)
    return output, weights



class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model={d_model} is not a multiple of num_heads={num_heads}")
        self.D, self.H, self.d, self.p = d_model, num_heads, d_model // num_heads, dropout
        D, H, d = self.D, self.H, self.d

        names = ("query", "key", "value")
        self.parts = nn.ModuleList(nn.ModuleDict({n: nn.Linear(D, d) for n in names}) for _ in range(H))
        self.fc = nn.Linear(D, D)

    def forward(self, query, key, value, mask=None):
        def run(name, x):
            return torch.stack([part[name](x) for part in self.parts], 1)
        return self.fc(self.join(self.attend(run("query", query), run("key", key), run("value", value), mask)))

    def attend(self, q, k, v, mask):
        w = scaled_dot_product_attention(q, k, v, mask)[1]
        return F.dropout(w, self.p, self.training) @ v

    def heads(self, x):
        return x.unflatten(-1, (self.H, self.d)).transpose(1, 2)

    def join(self, x):
        return x.transpose(1, 2).flatten(2)
