"""einops: tokens are flattened by a Rearrange layer, bare matrices stand input x output as in the paper."""
import math

import torch
import torch.nn.functional as F
from einops import einsum, rearrange
from einops.layers.torch import Rearrange
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.flatten = Rearrange("b t d -> (b t) d")
        self.w_in = nn.Parameter(torch.empty(d_model, d_ff))
        self.b_in = nn.Parameter(torch.zeros(d_ff))
        self.w_out = nn.Parameter(torch.empty(d_ff, d_model))
        self.b_out = nn.Parameter(torch.zeros(d_model))
        self.p = dropout
        for w in (self.w_in, self.w_out):
            nn.init.uniform_(w, -1 / math.sqrt(w.shape[0]), 1 / math.sqrt(w.shape[0]))

    def forward(self, x):
        batch = x.shape[0]
        tokens = self.flatten(x)
        hidden = einsum(tokens, self.w_in, "n d, d f -> n f") + self.b_in
        hidden = F.dropout(hidden.clamp(min=0), self.p, training=self.training)
        out = einsum(hidden, self.w_out, "n f, f d -> n d") + self.b_out
        return rearrange(out, "(b t) d -> b t d", b=batch)
