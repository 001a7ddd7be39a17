"""HF / BART manner: hidden_states and residual, options keyword-only, unknown ones swallowed; parts called wholly by keyword."""
from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

logger = logging.getLogger(__name__)


class DecoderLayer(nn.Module):
    def __init__(
        self,
        self_attention: nn.Module,
        cross_attention: nn.Module,
        feed_forward: nn.Module,
        d_model: int,
        *,
        dropout: float = 0.0,
        norm: str = "post",
        **kwargs: Any,
    ):
        super().__init__()
        self.config = SimpleNamespace(d_model=d_model, dropout=dropout, normalize_before=norm == "pre", **kwargs)
        self.self_attn = self_attention
        self.self_attn_layer_norm = nn.LayerNorm(d_model)
        self.encoder_attn = cross_attention
        self.encoder_attn_layer_norm = nn.LayerNorm(d_model)
        self.fc = feed_forward
        self.final_layer_norm = nn.LayerNorm(d_model)

    def _finish(self, residual: torch.Tensor, hidden_states: torch.Tensor, layer_norm: nn.Module) -> torch.Tensor:
        hidden_states = nn.functional.dropout(hidden_states, p=self.config.dropout, training=self.training)
        hidden_states = residual + hidden_states
        return hidden_states if self.config.normalize_before else layer_norm(hidden_states)

    def _start(self, hidden_states: torch.Tensor, layer_norm: nn.Module) -> torch.Tensor:
        return layer_norm(hidden_states) if self.config.normalize_before else hidden_states

    def forward(
        self,
        x: torch.Tensor,
        memory: torch.Tensor,
        *,
        src_mask: torch.Tensor | None = None,
        tgt_mask: torch.Tensor | None = None,
        **kwargs: Any,
    ) -> torch.Tensor:
        hidden_states = x

        # Self Attention
        residual = hidden_states
        hidden_states = self._start(hidden_states, self.self_attn_layer_norm)
        hidden_states = self.self_attn(query=hidden_states, key=hidden_states, value=hidden_states, mask=tgt_mask)
        hidden_states = self._finish(residual, hidden_states, self.self_attn_layer_norm)

        # Cross-Attention Block
        residual = hidden_states
        hidden_states = self._start(hidden_states, self.encoder_attn_layer_norm)
        hidden_states = self.encoder_attn(mask=src_mask, key=memory, value=memory, query=hidden_states)
        hidden_states = self._finish(residual, hidden_states, self.encoder_attn_layer_norm)

        # Fully Connected
        residual = hidden_states
        hidden_states = self._start(hidden_states, self.final_layer_norm)
        hidden_states = self.fc(hidden_states)
        return self._finish(residual, hidden_states, self.final_layer_norm)


class Decoder(nn.Module):
    def __init__(self, make_layer, num_layers: int, d_model: int, *, norm: str = "post", **kwargs: Any):
        super().__init__()
        self.layers = nn.ModuleList([make_layer() for _ in range(num_layers)])
        self.layer_norm = nn.LayerNorm(d_model) if norm == "pre" else None
        self.gradient_checkpointing = False
        logger.debug("%d decoder layers", len(self.layers))

    def forward(
        self,
        x: torch.Tensor,
        memory: torch.Tensor,
        *,
        src_mask: torch.Tensor | None = None,
        tgt_mask: torch.Tensor | None = None,
        output_hidden_states: bool = False,
    ):
        hidden_states = x
        all_hidden_states = ()
        for idx, decoder_layer in enumerate(self.layers):
            all_hidden_states += (hidden_states,)
            hidden_states = decoder_layer(hidden_states, memory, tgt_mask=tgt_mask, src_mask=src_mask)
        if self.layer_norm:
            hidden_states = self.layer_norm(hidden_states)
        return (hidden_states, all_hidden_states) if output_hidden_states else hidden_states
