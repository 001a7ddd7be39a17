"""A whole model that can be trained, and an optimizer: for a training step, or decoding, that a learner wrote."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .base import Part
from .working_stacks import WorkingDecoder, WorkingEncoder, WorkingPositions


class _Tables(nn.Module):
    def __init__(self, vocab: int, d_model: int) -> None:
        super().__init__()
        self.src_table, self.tgt_table = nn.Embedding(vocab, d_model), nn.Embedding(vocab, d_model)


class Reverser(Part):
    """The whole model: token ids to logits. PAD is 0."""

    def __init__(self, vocab: int, d_model: int, num_heads: int, d_ff: int, max_len: int) -> None:
        super().__init__()
        self.embeddings = _Tables(vocab, d_model)
        self.positions = WorkingPositions(d_model, max_len)
        self.encoder, self.decoder = (
            WorkingEncoder(d_model, num_heads, d_ff),
            WorkingDecoder(d_model, num_heads, d_ff),
        )
        self.head = nn.Linear(d_model, vocab)

    def encode(self, src: Tensor) -> Tensor:
        """src [B, S] -> memory [B, S, D]."""
        memory: Tensor = self.encoder(
            self.positions(self.embeddings.src_table(src)), (src != 0)[:, None, None]
        )
        return memory

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        """tgt [B, L], memory [B, S, D], src [B, S] -> logits [B, L, V]."""
        length = tgt.size(1)
        causal = torch.ones(length, length, dtype=torch.bool, device=tgt.device).tril()
        tgt_mask = causal & (tgt != 0)[:, None, None]  # [B, 1, L, L]
        x = self.positions(self.embeddings.tgt_table(tgt))
        logits: Tensor = self.head(self.decoder(x, memory, (src != 0)[:, None, None], tgt_mask))
        return logits

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """src [B, S], tgt [B, L] -> logits [B, L, V]."""
        return self.decode(tgt, self.encode(src), src)


class Trainer(Part):
    """An AdamW optimizer over a module, which is what the submission is given; the judge sets its rate."""

    def __init__(
        self, module: nn.Module, betas: tuple[float, float], eps: float, weight_decay: float
    ) -> None:
        super().__init__()
        self._optimizer = torch.optim.AdamW(
            module.parameters(), lr=0.0, betas=(betas[0], betas[1]), eps=eps, weight_decay=weight_decay
        )

    def handed(self) -> torch.optim.Optimizer:
        """The optimizer."""
        return self._optimizer

    def set_rate(self, rate: float) -> None:
        """For the next step."""
        for group in self._optimizer.param_groups:
            group["lr"] = rate
