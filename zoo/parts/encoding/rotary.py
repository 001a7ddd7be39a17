"""Queries and keys rotated by their position."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.parts.encoding.base import Encoding, Positions


class RotaryPositions(Encoding):
    """Pair i of a query or key at position t is rotated by the angle t * base^(-2i/d), in every head.

    (x[2i], x[2i+1]) -> (x[2i] cos a - x[2i+1] sin a, x[2i] sin a + x[2i+1] cos a)

    The product of a rotated query and a rotated key depends only on their distance. The embedding is
    unchanged. Su et al. 2021 (RoFormer), section 3.2.2, arXiv:2104.09864.
    """

    cos: Tensor
    sin: Tensor

    def __init__(self, d_model: int, max_len: int, num_heads: int, base: float = 10000.0) -> None:
        """
        Args:
            d_model: width D of the model.
            max_len: longest sequence.
            num_heads: heads H; their width d = D / H is even.
            base: the wavelengths run from 2 pi to base * 2 pi.

        Raises:
            ValueError: d is odd.
        """
        super().__init__(max_len)
        width = d_model // num_heads
        if width % 2:
            raise ValueError(f"head_dim={width}, but pairs are rotated: expected an even head_dim.")
        even = torch.arange(0, width, 2, dtype=torch.float64)
        position = torch.arange(max_len, dtype=torch.float64)[:, None]  # [T] -> [T, 1]
        angle = position / base ** (even / width)  # [T, 1] / [d/2] -> [T, d/2]
        self.register_buffer("cos", angle.cos().to(torch.get_default_dtype()), persistent=False)
        self.register_buffer("sin", angle.sin().to(torch.get_default_dtype()), persistent=False)

    def positions(self, num_queries: int, num_keys: int, like: Tensor) -> Positions:
        """Turns the last `num_queries` of `num_keys` positions. Raises ValueError if num_keys > max_len."""
        rows = slice(num_keys - num_queries, self.check_length(num_keys))
        return Turned(self.cos[rows].to(like), self.sin[rows].to(like))


class Turned(Positions):
    """Turns queries and keys by the angles of their positions."""

    def __init__(self, cos: Tensor, sin: Tensor) -> None:
        """Cosine and sine of each position and pair: [T, d/2]."""
        self.cos, self.sin = cos, sin

    def rotate(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """q [B, H, T, d] and k [B, Hk, T, d], rotated, each in its own dtype."""
        return self._turn(q), self._turn(k)

    def _turn(self, x: Tensor) -> Tensor:
        first, second = x.unflatten(-1, (-1, 2)).unbind(-1)  # [B, H, T, d] -> 2 x [B, H, T, d/2]
        rotated = (first * self.cos - second * self.sin, first * self.sin + second * self.cos)
        back = torch.stack(rotated, dim=-1).flatten(-2)  # 2 x [B, H, T, d/2] -> [B, H, T, d]
        return back.to(x.dtype)  # under autocast the angles are float32, and x is not
