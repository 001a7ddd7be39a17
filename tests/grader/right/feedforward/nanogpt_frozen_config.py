"""nanoGPT manner: a frozen config dataclass, c_fc and c_proj, weights N(0, 0.02), biases zero."""
from __future__ import annotations

import logging
from dataclasses import dataclass, field

import torch
import torch.nn as nn
from torch.nn import functional as F

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class MLPConfig:
    n_embd: int
    n_inner: int
    resid_pdrop: float = 0.0
    init_std: float = field(default=0.02, repr=False)


class MLP(nn.Module):
    def __init__(self, config: MLPConfig):
        super().__init__()
        self.config = config
        self.c_fc = nn.Linear(config.n_embd, config.n_inner, bias=True)
        self.c_proj = nn.Linear(config.n_inner, config.n_embd, bias=True)
        self.dropout = nn.Dropout(config.resid_pdrop)
        self.apply(self._init_weights)
        n_params = sum(p.numel() for p in self.parameters())
        log.debug("number of parameters: %.4fM", n_params / 1e6)

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            torch.nn.init.normal_(module.weight, mean=0.0, std=self.config.init_std)
            torch.nn.init.zeros_(module.bias)

    def forward(self, x: torch.Tensor, **kwargs) -> torch.Tensor:
        x = self.c_fc(x)
        x = F.relu(x, inplace=True)  # its own temporary
        x = self.dropout(x)
        x = self.c_proj(x)
        return x


class FeedForward(MLP):
    def __init__(self, d_model: int, d_ff: int, *, dropout: float = 0.0, **overrides):
        super().__init__(MLPConfig(n_embd=d_model, n_inner=d_ff, resid_pdrop=dropout, **overrides))
