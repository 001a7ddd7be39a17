"""Greedy decoding that says nothing twice."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.parts.decoding.greedy import GreedyDecoding


class NoRepeatDecoding(GreedyDecoding):
    """The most probable token that completes no run of `n` tokens which the answer holds already.

    Paulus et al. 2017, section 2.5, arXiv:1705.04304, with n=3. The end may always come.
    """

    def __init__(self, n: int = 3) -> None:
        """
        Args:
            n: length of the n-grams that may not be repeated; 1 lets every token come once.

        Raises:
            ValueError: n is below 1.
        """
        if n < 1:
            raise ValueError(f"n={n}: expected runs of at least 1 token.")
        self.n = n

    def allowed(self, output: Tensor, so_far: Tensor, eos: int) -> Tensor:
        """Return where the last n - 1 tokens stood before, what followed them then may not follow now."""
        if so_far.size(1) < self.n:
            return output
        runs = so_far.unfold(1, self.n, 1)  # [B, L] -> [B, L - n + 1, n]
        last = so_far[:, so_far.size(1) - self.n + 1 :]  # [B, n - 1]
        again = (runs[..., :-1] == last[:, None]).all(-1)  # [B, L - n + 1]
        said = torch.zeros_like(output, dtype=torch.int64).scatter_add_(1, runs[..., -1], again.long())
        ends = torch.arange(output.size(-1), device=output.device) == eos  # [V]
        return output.masked_fill((said > 0) & ~ends, float("-inf"))
