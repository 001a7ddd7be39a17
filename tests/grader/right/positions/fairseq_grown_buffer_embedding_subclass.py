"""fairseq manner: a non-persistent buffer made and grown in forward; LearnedPositions inherits from nn.Embedding and calls super().forward."""

import math
from typing import Any, Optional

import torch
from torch import Tensor, nn


class SinusoidalPositions(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000, init_size: int = 4, **kwargs: Any):
        super().__init__()
        self.embedding_dim = d_model
        self.max_positions = max_len
        self.init_size = init_size
        self.register_buffer("weights", None, persistent=False)
        self.weights: Optional[Tensor]

    @staticmethod
    def get_embedding(num_embeddings: int, embedding_dim: int) -> Tensor:
        exponent = torch.arange(0, embedding_dim, 2, dtype=torch.double) / embedding_dim
        freq = torch.exp(exponent * -math.log(10000))
        angle = torch.arange(num_embeddings, dtype=torch.double).unsqueeze(1) * freq.unsqueeze(0)
        emb = torch.stack([angle.sin(), angle.cos()], dim=2).view(num_embeddings, -1)
        return emb[:, :embedding_dim] if embedding_dim % 2 else emb

    def forward(self, x: Tensor) -> Tensor:
        bsz, seq_len, _ = x.size()
        if seq_len > self.max_positions:
            raise ValueError(f"{seq_len} > {self.max_positions} positions")
        w = self.weights
        if w is None or w.size(0) < seq_len or w.dtype != x.dtype or w.device != x.device:
            size = max(self.init_size, 2 * seq_len)
            self.weights = self.get_embedding(size, self.embedding_dim).to(x)
        positions = torch.arange(seq_len, device=x.device).expand(bsz, seq_len)
        return x + self.weights.index_select(0, positions.reshape(-1)).view(bsz, seq_len, -1).detach()


class LearnedPositions(nn.Embedding):
    def __init__(self, d_model: int, max_len: int = 512):
        super().__init__(max_len, d_model)
        nn.init.normal_(self.weight, mean=0, std=d_model**-0.5)

    def forward(self, x: Tensor) -> Tensor:
        seq_len = x.size(1)
        if seq_len > self.num_embeddings:
            raise ValueError(f"{seq_len} > {self.num_embeddings} positions")
        positions = x.new_tensor(range(seq_len), dtype=torch.long)
        return super().forward(positions) + x
