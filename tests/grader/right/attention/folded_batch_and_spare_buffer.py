
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

        self.register_buffer("scale", torch.tensor(d ** -0.5))
        self.WQ, self.WK, self.WV, self.WO = (nn.Linear(D, D) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        B, Tq, Tk = query.size(0), query.size(1), key.size(1)
        q, k, v = (self.heads(f(x)).flatten(0, 1) for f, x in ((self.WQ, query), (self.WK, key), (self.WV, value)))
        s = torch.bmm(q * self.scale, k.transpose(1, 2)).view(B, self.H, Tq, Tk)
        if mask is not None:
            s = s.masked_fill(~(mask if mask.dtype == torch.bool else mask == 0), torch.finfo(s.dtype).min)
        w = F.dropout(s.softmax(-1), self.p, self.training).view(-1, Tq, Tk)
        return self.WO(self.join(torch.bmm(w, v).view(B, self.H, Tq, self.d)))

    def attend(self, q, k, v, mask):
        w = scaled_dot_product_attention(q, k, v, mask)[1]
        return F.dropout(w, self.p, self.training) @ v

    def heads(self, x):
        return x.unflatten(-1, (self.H, self.d)).transpose(1, 2)

    def join(self, x):
        return x.transpose(1, 2).flatten(2)
