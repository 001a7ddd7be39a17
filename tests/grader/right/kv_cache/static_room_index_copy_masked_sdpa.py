"""Static-cache manner: fixed room, index_copy at a position kept as a 0-d tensor, SDPA over the whole room under a length mask; more room is padded on when needed."""

import torch
import torch.nn.functional as F
from torch import nn

BLOCK = 8


class CachedAttention(nn.Module):
    def __init__(self, d_model, num_heads, block=BLOCK):
        if d_model % num_heads != 0:
            raise ValueError(f"cannot divide {d_model} by {num_heads}")
        super().__init__()
        self.num_heads = num_heads
        self.block = block
        self.in_proj_weight = nn.Parameter(torch.empty(3 * d_model, d_model))
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = nn.Linear(d_model, d_model)
        nn.init.xavier_uniform_(self.in_proj_weight)

    def forward(self, x, cache):
        qkv = F.linear(x, self.in_proj_weight, self.in_proj_bias)
        q, k, v = qkv.unflatten(-1, (3, self.num_heads, -1)).permute(2, 0, 3, 1, 4)
        if cache is None:
            shape = k.shape[:2] + (self.block,) + k.shape[3:]
            cache = (k.new_zeros(shape), v.new_zeros(shape), torch.tensor(0, device=x.device))
        keys, values, at = cache
        if int(at) == keys.shape[2]:
            keys, values = (F.pad(t, (0, 0, 0, self.block)) for t in (keys, values))
        where = at.view(1)
        keys = keys.index_copy(2, where, k)
        values = values.index_copy(2, where, v)
        written = torch.arange(keys.shape[2], device=x.device) <= at
        y = F.scaled_dot_product_attention(q, keys, values, attn_mask=written[None, None, None, :])
        return self.out_proj(y.transpose(1, 2).flatten(2)), (keys, values, at + 1)
