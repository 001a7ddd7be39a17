"""Losses of the sequence-to-sequence library."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class LossConfig:
    pad: int = 0
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.smoothing < 1.0:
            raise ValueError(f"smoothing must be in [0, 1), got {self.smoothing}")

    @property
    def confidence(self) -> float:
        return 1.0 - self.smoothing


class TokenLoss:
    """Cross-entropy of each token against a (smoothed) target distribution."""

    def __init__(self, config: LossConfig) -> None:
        self.config = config

    @staticmethod
    def log_probabilities(logits: Tensor) -> Tensor:
        wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
        return wide.log_softmax(dim=-1)

    @staticmethod
    def nll(log_probs: Tensor, ids: Tensor) -> Tensor:
        """- log p of the right ids, [N]."""
        return -log_probs.gather(1, ids.unsqueeze(1)).squeeze(1)

    @staticmethod
    def uniform(log_probs: Tensor) -> Tensor:
        """Cross-entropy against the uniform distribution, [N]."""
        return -log_probs.mean(dim=1)

    def __call__(self, logits: Tensor, ids: Tensor) -> Tensor:
        """logits [N, V], ids [N] -> [N]."""
        log_probs = self.log_probabilities(logits)
        nll = self.nll(log_probs, ids)
        if self.config.smoothing == 0.0:
            return nll
        uniform = self.uniform(log_probs)
        return self.config.confidence * nll + self.config.smoothing * uniform


@dataclass
class MaskedMean:
    """Mean of the entries for which `mask` is True."""

    mask: Tensor

    @property
    def count(self) -> Tensor:
        return self.mask.sum().clamp(min=1)

    def __call__(self, values: Tensor) -> Tensor:
        assert values.shape == self.mask.shape
        kept = torch.where(self.mask, values, torch.zeros_like(values))
        return kept.sum() / self.count


def shift_right(target: Tensor, sos: int = 1) -> Tensor:
    assert target.dim() == 2, f"expected [B, L], got {tuple(target.shape)}"
    shifted = torch.empty_like(target)
    shifted[:, 0] = sos
    shifted[:, 1:] = target[:, :-1]
    return shifted


def sequence_loss(logits: Tensor, target: Tensor, pad: int = 0, smoothing: float = 0.0) -> Tensor:
    assert logits.shape[:-1] == target.shape, "one row of logits for each id"
    config = LossConfig(pad, smoothing)
    vocab = logits.size(-1)
    flat_logits = logits.reshape(-1, vocab)
    flat_target = target.reshape(-1)
    valid = flat_target != config.pad
    safe = torch.where(valid, flat_target, torch.zeros_like(flat_target))
    per_token = TokenLoss(config)(flat_logits, safe)
    loss = MaskedMean(valid)(per_token)
    return loss.to(logits.dtype)
