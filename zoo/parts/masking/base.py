"""The base class of masking policies, and the canonical masks of an encoder-decoder."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor


class Masking(ABC):
    """A masking policy: which positions are hidden from which. Masks are bool, True = may be attended to."""

    def __init__(self, pad: int = 0) -> None:
        """`pad` is the token id of padding, on both sides."""
        self.pad = pad

    @abstractmethod
    def src(self, tokens: Tensor) -> Tensor | None:
        """Return which source positions may be attended to: tokens [B, S] -> [B, 1, 1, S], or None for all."""

    @abstractmethod
    def tgt(self, tokens: Tensor, num_queries: int) -> Tensor | None:
        """Return which target positions the last `num_queries` of them may attend to.

        tokens [B, L] -> broadcasts to [B, 1, num_queries, L], or None for all.
        """

    def real(self, tokens: Tensor) -> Tensor | None:
        """Return which positions of tokens [B, T] are seen by others, or used: [B, T]; None for all.

        What is computed at the rest may be left out.
        """
        return None


def padding_keep(tokens: Tensor, pad: int) -> Tensor:
    """Return which keys are no padding: tokens [B, T] -> bool [B, 1, 1, T], True = may be attended to."""
    return (tokens != pad)[:, None, None, :]  # [B, T] -> [B, 1, 1, T]


def causal_keep(num_queries: int, num_keys: int, device: torch.device | None = None) -> Tensor:
    """Each of the last `num_queries` of `num_keys` positions sees itself and what came before.

    bool [1, 1, Tq, Tk], True = may be attended to; aligned at the lower right, as cached keys need it
    (pytorch/pytorch#108108). Vaswani et al. 2017, section 3.2.3.
    """
    keep = torch.ones(num_queries, num_keys, dtype=torch.bool, device=device)
    return keep.tril(num_keys - num_queries)[None, None]  # [Tq, Tk] -> [1, 1, Tq, Tk]
