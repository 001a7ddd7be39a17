"""All sublayers of a layer side by side."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from zoo.parts.norm.base import NormPlacement, Sublayer


class ParallelNorm(NormPlacement):
    """x = x + sum_i dropout(f_i(norm(x))): every sublayer gets the same norm(x), from one norm.

    Chowdhery et al. 2022 (PaLM), section 2, arXiv:2204.02311, after GPT-J. In a decoder layer the
    cross-attention stands beside the self-attention too: its queries do not know yet what the same layer's
    self-attention finds. The stream itself is never normed, so a stack ends in one more norm.
    """

    def __init__(self, make_norm: Callable[[], nn.Module], num_sublayers: int, dropout: float = 0.0) -> None:
        """Arguments as in `NormPlacement`; `make_norm` is called once."""
        super().__init__(make_norm, 1, dropout)
        self.num_sublayers = num_sublayers

    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        """x [B, T, D] -> [B, T, D]. Raises ValueError for another number of sublayers."""
        if len(sublayers) != self.num_sublayers:
            raise ValueError(
                f"The placement was made for {self.num_sublayers} sublayers, but got {len(sublayers)}."
            )
        normed = self.norms[0](x)
        for sublayer in sublayers:
            x = x + self.dropout(sublayer(normed))
        return x
