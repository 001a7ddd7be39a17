"""Attention by the angle between query and key."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.parts.attention.base import WeightedAttention, masked_softmax

EPSILON = 1e-4
"""The least length that a vector is divided by; float16 holds the gradient there too."""


class QKNormAttention(WeightedAttention):
    """softmax(g Q' K'^T) V, where q' = q / |q| and k' = k / |k| in each head, and g is one learned number.

    A score is a cosine times g, so that it cannot grow without bound; g starts as log2(L^2 - L) for
    sequences of length L. Henry et al. 2020, section 3, arXiv:2010.04245.
    """

    def __init__(
        self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True, length: int = 128
    ) -> None:
        """
        Args:
            length: a typical length L of the sequences; the paper takes the 97.5th percentile.

        Other arguments as in `zoo.parts.attention.base.MultiHeadAttention`.

        Raises:
            ValueError: H does not divide D, or length is less than 2.
        """
        super().__init__(d_model, num_heads, dropout, bias)
        if length < 2:
            raise ValueError(f"length={length}: expected at least 2.")
        self.scale = nn.Parameter(torch.tensor(math.log2(length**2 - length)))  # g

    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries and keys have length 1 in each head; a cache keeps such keys."""
        q, k, v = super().project(query, key, value)
        return F.normalize(q, dim=-1, eps=EPSILON), F.normalize(k, dim=-1, eps=EPSILON), v

    def project_query(self, query: Tensor) -> Tensor:
        """The query alone, of length 1 in each head."""
        return F.normalize(super().project_query(query), dim=-1, eps=EPSILON)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """heads [B, H, Tq, d] and weights [B, H, Tq, Tk]."""
        weights = masked_softmax(self.scale * q @ k.transpose(-2, -1), mask)  # [B, H, Tq, Tk]
        return self.dropout(weights) @ v, weights
