"""nn.MultiheadAttention inside, with the mask inverted and made [B*H, Tq, Tk]; the function is a functools.partial."""

import functools
import logging
import warnings

import torch
from torch import nn

log = logging.getLogger(__name__)
log.debug("module loaded")


def _attention(query, key, value, mask=None, *, dim):
    scores = torch.einsum("...qd,...kd->...qk", query, key) / query.shape[-1] ** 0.5
    if mask is not None:
        hidden = mask.logical_not() if mask.dtype is torch.bool else mask.ne(0)
        scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=dim)
    return torch.einsum("...qk,...kd->...qd", weights, value), weights


scaled_dot_product_attention = functools.partial(_attention, dim=-1)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"embed_dim must be divisible by num_heads, got {d_model} and {num_heads}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.mha = nn.MultiheadAttention(d_model, num_heads, dropout=dropout, batch_first=True)

    def forward(self, query, key, value, mask=None):
        if mask is None:
            return self.mha(query, key, value, need_weights=False)[0]
        b, h, tq, tk = query.shape[0], self.mha.num_heads, query.shape[1], key.shape[1]
        allowed = (mask if mask.dtype is torch.bool else mask == 0).expand(b, h, tq, tk)
        # torch gives nan for a row without a key: let such a row look at everything; keys nobody sees are blanked
        empty = ~allowed.any(-1, keepdim=True)
        unseen = ~allowed.any(-2).any(1)
        key = key.masked_fill(unseen[..., None], 0.0)
        value = value.masked_fill(unseen[..., None], 0.0)
        blocked = ~(allowed | empty)
        return self.mha(query, key, value, attn_mask=blocked.reshape(b * h, tq, tk), need_weights=False)[0]
