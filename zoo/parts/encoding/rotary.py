"""Queries and keys rotated by their position."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from zoo.parts.encoding.base import Encoding, Positions

FEWEST, MOST = 1, 32
"""YaRN: turns within the original length up to which a pair is slowed in full, and from which not at all."""
LOW, HIGH = 1, 4
"""Turns within the original length from which a pair is slowed less, and not at all: Llama 3."""


class RotaryPositions(Encoding):
    """Pair i of a query or key at position t is rotated by the angle t * base^(-2i/d), in every head.

    (x[2i], x[2i+1]) -> (x[2i] cos a - x[2i+1] sin a, x[2i] sin a + x[2i+1] cos a)

    The product of a rotated query and a rotated key depends only on their distance. The embedding is
    unchanged. Su et al. 2021 (RoFormer), section 3.2.2, arXiv:2104.09864.

    With `fraction`, only the first numbers of a head are rotated, d of them, the rest is position-free: GPT-J
    (Wang and Komatsuzaki 2021) and GPT-NeoX (Black et al. 2022, section 2.1.1, arXiv:2204.06745).

    With `scaling`, a model serves texts s = `factor` times as long as the `original` length L it was trained on.
    The frequency f of a pair, which turns r = L f / (2 pi) times within L, depends on `scaling`:

        linear  f / s
        ntk     base s^(d/(d-2)) instead of base
        yarn    (1 - g) f / s + g f, g = (r - 1) / (32 - 1)
        llama3  (1 - g) f / s + g f, g = (r - 1) / (4 - 1)

    where g is at least 0 and at most 1; with yarn, q and k are multiplied by 0.1 ln(s) + 1. Papers on `scaling`:
    linear, Chen et al. 2023, arXiv:2306.15595; NTK and YaRN, Peng et al. 2023, sections 3.1, 3.2 and 3.4,
    arXiv:2309.00071; llama3, the published code of Llama 3.1.
    """

    cos: Tensor
    sin: Tensor

    def __init__(
        self,
        d_model: int,
        max_len: int,
        head_dim: int,
        base: float = 10000.0,
        fraction: float = 1.0,
        scaling: str = "none",
        factor: float = 1.0,
        original: int | None = None,
    ) -> None:
        """
        Args:
            d_model: width D of the model.
            max_len: longest sequence.
            head_dim: width d of a head.
            base: the wavelengths run from 2 pi to base * 2 pi.
            fraction: share of a head that is rotated.
            scaling: none, linear, ntk, yarn or llama3.
            factor: s, how many times longer texts may be than in training.
            original: L, the longest text of the training; max_len / s if not given.

        Raises:
            ValueError: the width to rotate is odd or 0.
        """
        super().__init__(max_len)
        width = int(head_dim * fraction)
        if width % 2 or not width:
            if fraction == 1:
                raise ValueError(f"head_dim={head_dim}, but pairs are rotated: expected an even head_dim.")
            raise ValueError(
                f"fraction={fraction:g} of head_dim={head_dim} is {width}, but pairs are rotated: expected an even "
                f"number of at least 2, such as fraction={2 * max(width // 2, 1) / head_dim:g}."
            )
        frequency = scaled(width, base, scaling, factor, original or max_len / factor)
        position = torch.arange(max_len, dtype=torch.float64)[:, None]  # [T] -> [T, 1]
        angle = position * frequency  # [T, 1] * [d/2] -> [T, d/2]
        size = 0.1 * math.log(factor) + 1 if scaling == "yarn" else 1.0
        self.register_buffer("cos", (size * angle.cos()).to(torch.get_default_dtype()), persistent=False)
        self.register_buffer("sin", (size * angle.sin()).to(torch.get_default_dtype()), persistent=False)

    def positions(self, num_queries: int, num_keys: int, like: Tensor) -> Positions:
        """Turns the last `num_queries` of `num_keys` positions. Raises ValueError if num_keys > max_len."""
        rows = slice(num_keys - num_queries, self.check_length(num_keys))
        return Turned(self.cos[rows].to(like), self.sin[rows].to(like))


def scaled(width: int, base: float, scaling: str, factor: float, original: float) -> Tensor:
    """The frequency of each pair, in radians per position: float64 [width / 2]."""
    even = torch.arange(0, width, 2, dtype=torch.float64)
    if scaling == "ntk" and width > 2:
        base = base * factor ** (width / (width - 2))
    frequency = base ** -(even / width)
    if scaling == "linear":
        return frequency / factor
    if scaling in ("yarn", "llama3"):
        # pairs that turn seldom within the original length are slowed in full, those that turn often not at all
        least, most = (FEWEST, MOST) if scaling == "yarn" else (LOW, HIGH)
        turns = original * frequency / (2 * math.pi)
        kept = ((turns - least) / (most - least)).clamp(0, 1)
        return (1 - kept) * frequency / factor + kept * frequency
    return frequency


class Turned(Positions):
    """Turns queries and keys by the angles of their positions."""

    def __init__(self, cos: Tensor, sin: Tensor) -> None:
        """Cosine and sine of each position and pair, [T, d/2]: the first d numbers of a head are rotated."""
        self.cos, self.sin = cos, sin

    def rotate(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """q [B, H, T, d] and k [B, Hk, T, d], rotated, each in its own dtype."""
        return self._turn(q), self._turn(k)

    def _turn(self, x: Tensor) -> Tensor:
        width = 2 * self.cos.size(-1)
        if width < x.size(-1):
            return torch.cat([self._turn(x[..., :width]), x[..., width:]], dim=-1)  # [B, H, T, d]
        first, second = x.unflatten(-1, (-1, 2)).unbind(-1)  # [B, H, T, d] -> 2 x [B, H, T, d/2]
        rotated = (first * self.cos - second * self.sin, first * self.sin + second * self.cos)
        back = torch.stack(rotated, dim=-1).flatten(-2)  # 2 x [B, H, T, d/2] -> [B, H, T, d]
        return back.to(x.dtype)  # under autocast the angles are float32, and x is not
