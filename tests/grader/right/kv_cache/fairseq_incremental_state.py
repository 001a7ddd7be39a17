import torch
import torch.nn as nn
import torch.nn.functional as F

# fairseq's MultiheadAttention, cut down to incremental self-attention.


class CachedAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.embed_dim = d_model
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        if self.head_dim * num_heads != d_model:
            raise ValueError("embed_dim must be divisible by num_heads")
        self.scaling = self.head_dim**-0.5
        # key, query, value projections for all heads, but in a batch
        self.c_attn = nn.Linear(d_model, 3 * d_model)
        self.c_proj = nn.Linear(d_model, d_model)
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.xavier_uniform_(self.c_attn.weight, gain=2**-0.5)
        nn.init.xavier_uniform_(self.c_proj.weight)
        nn.init.zeros_(self.c_attn.bias)
        nn.init.zeros_(self.c_proj.bias)

    def _get_input_buffer(self, incremental_state):
        if incremental_state is None or "attn_state" not in incremental_state:
            return {}
        return incremental_state["attn_state"]

    def _set_input_buffer(self, incremental_state, buffer):
        new_state = dict(incremental_state) if incremental_state is not None else {}
        new_state["attn_state"] = buffer
        return new_state

    def forward(self, x, cache=None):
        incremental_state = cache
        bsz, tgt_len, embed_dim = x.size()
        q, k, v = self.c_attn(x).split(embed_dim, dim=2)
        q = q * self.scaling

        # flat heads: [bsz * num_heads, length, head_dim]
        q = q.reshape(bsz, tgt_len, self.num_heads, self.head_dim).transpose(1, 2).flatten(0, 1)
        k = k.reshape(bsz, tgt_len, self.num_heads, self.head_dim).transpose(1, 2).flatten(0, 1)
        v = v.reshape(bsz, tgt_len, self.num_heads, self.head_dim).transpose(1, 2).flatten(0, 1)

        saved_state = self._get_input_buffer(incremental_state)
        if "prev_key" in saved_state:
            # saved states are stored with shape (bsz, num_heads, seq_len, head_dim)
            prev_key = saved_state["prev_key"].view(bsz * self.num_heads, -1, self.head_dim)
            k = torch.cat([prev_key, k], dim=1)
            prev_value = saved_state["prev_value"].view(bsz * self.num_heads, -1, self.head_dim)
            v = torch.cat([prev_value, v], dim=1)
        buffer = {
            "prev_key": k.view(bsz, self.num_heads, -1, self.head_dim),
            "prev_value": v.view(bsz, self.num_heads, -1, self.head_dim),
        }
        incremental_state = self._set_input_buffer(incremental_state, buffer)

        attn_weights = torch.bmm(q, k.transpose(1, 2))
        attn_weights = F.softmax(attn_weights, dim=-1)
        attn = torch.bmm(attn_weights, v)
        attn = attn.view(bsz, self.num_heads, tgt_len, self.head_dim).transpose(1, 2)
        attn = attn.reshape(bsz, tgt_len, embed_dim)
        return self.c_proj(attn), incremental_state
