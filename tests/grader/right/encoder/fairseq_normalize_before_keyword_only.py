"""fairseq manner: normalize_before, F.dropout, every option keyword-only, parts and layers called by keyword."""
import logging
from typing import Callable, Optional

import torch.nn.functional as F
from torch import Tensor, nn

logger = logging.getLogger(__name__)


class EncoderLayer(nn.Module):
    def __init__(self, self_attention, feed_forward, d_model, *, dropout=0.0, norm="post", **unused):
        super().__init__()
        self.embed_dim = d_model
        self.self_attn = self_attention
        self.self_attn_layer_norm = nn.LayerNorm(self.embed_dim)
        self.dropout = dropout
        self.normalize_before = norm == "pre"
        self.ffn = feed_forward
        self.final_layer_norm = nn.LayerNorm(self.embed_dim)
        if unused:
            logger.info("unused options: %s", sorted(unused))

    def maybe_layer_norm(self, layer_norm, x, before=False, after=False):
        assert before ^ after
        if after ^ self.normalize_before:
            return layer_norm(x)
        return x

    def forward(self, x: Tensor, *, src_mask: Optional[Tensor] = None) -> Tensor:
        residual = x
        x = self.maybe_layer_norm(self.self_attn_layer_norm, x, before=True)
        x = self.self_attn(query=x, key=x, value=x, mask=src_mask)
        x = F.dropout(x, p=self.dropout, training=self.training)
        x = residual + x
        x = self.maybe_layer_norm(self.self_attn_layer_norm, x, after=True)

        residual = x
        x = self.maybe_layer_norm(self.final_layer_norm, x, before=True)
        x = self.ffn(x)
        x = F.dropout(x, p=self.dropout, training=self.training)
        x = residual + x
        x = self.maybe_layer_norm(self.final_layer_norm, x, after=True)
        return x


class Encoder(nn.Module):
    def __init__(self, make_layer: Callable[[], nn.Module], num_layers: int, d_model: int, *, norm: str = "post"):
        super().__init__()
        self.layers = nn.ModuleList([])
        self.layers.extend([make_layer() for i in range(num_layers)])
        if norm == "pre":
            self.layer_norm = nn.LayerNorm(d_model)
        else:
            self.layer_norm = None

    def forward(self, x: Tensor, *, src_mask: Optional[Tensor] = None) -> Tensor:
        for layer in self.layers:
            x = layer(x=x, src_mask=src_mask)
        if self.layer_norm is not None:
            x = self.layer_norm(x)
        return x
