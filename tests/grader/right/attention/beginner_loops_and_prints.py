"""A beginner: prints at import, a loop over sentences and heads, the softmax written out and the mask multiplied in after exp."""

import math

import torch
import torch.nn as nn

print("hello from my attention!")
torch.manual_seed(42)


def make_allowed(mask, scores):
    # everything becomes ones and zeros
    if mask is None:
        return torch.ones_like(scores)
    if mask.dtype == torch.bool:
        ones = mask.float()
    else:
        ones = (mask == 0).float()
    return ones.expand(scores.shape).type_as(scores)


def my_softmax(scores, ones):
    # biggest allowed score in each row (so that exp does not explode)
    biggest = torch.where(ones > 0, scores, torch.tensor(-1e38).type_as(scores))
    biggest = torch.max(biggest, dim=-1, keepdim=True).values.detach()
    safe = torch.where(ones > 0, scores - biggest, torch.zeros_like(scores))
    e = torch.exp(safe) * ones
    total = torch.sum(e, dim=-1, keepdim=True)
    return e / (total + (total == 0).type_as(total))


def scaled_dot_product_attention(query, key, value, mask=None):
    d_k = query.shape[-1]
    scores = torch.matmul(query, torch.transpose(key, -2, -1)) / math.sqrt(d_k)
    weights = my_softmax(scores, make_allowed(mask, scores))
    output = torch.matmul(weights, value)
    return output, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super(MultiHeadAttention, self).__init__()
        self.d_model = d_model
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        if self.head_dim * num_heads != d_model:
            raise ValueError("Embedding size needs to be divisible by heads")
        self.fc_q = nn.Linear(d_model, d_model)
        self.fc_k = nn.Linear(d_model, d_model)
        self.fc_v = nn.Linear(d_model, d_model)
        self.fc_o = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        Q = self.fc_q(query)
        K = self.fc_k(key)
        V = self.fc_v(value)
        sentences = []
        for b in range(Q.shape[0]):
            heads = []
            for h in range(self.num_heads):
                cols = slice(h * self.head_dim, (h + 1) * self.head_dim)
                m = mask
                if mask is not None and mask.dim() == 4:
                    m = mask[b if mask.shape[0] > 1 else 0][h if mask.shape[1] > 1 else 0]
                _, w = scaled_dot_product_attention(Q[b, :, cols], K[b, :, cols], V[b, :, cols], mask=m)
                w = self.dropout(w)
                heads.append(torch.matmul(w, V[b, :, cols]))
            sentences.append(torch.cat(heads, dim=1))
        return self.fc_o(torch.stack(sentences))


# quick test, always runs
_o, _w = scaled_dot_product_attention(torch.ones(1, 2), torch.ones(3, 2), torch.ones(3, 1))
print("weights must be a third each:", _w)
assert abs(_w.sum().item() - 1) < 1e-5
