"""A norm on both sides of the sublayer."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from zoo.parts.norm.base import NormPlacement, Sublayer


class SandwichNorm(NormPlacement):
    """x = x + dropout(norm'(f(norm(x)))): what a sublayer is given is normed, and what it adds too.

    Ding et al. 2021 (CogView), arXiv:2105.13290; Kim et al. 2025 study the same placement as Peri-LN,
    arXiv:2502.02732. Two norms a sublayer; the stream itself is never normed, so a stack ends in one more.
    """

    def __init__(self, make_norm: Callable[[], nn.Module], num_sublayers: int, dropout: float = 0.0) -> None:
        """Arguments as in `NormPlacement`."""
        super().__init__(make_norm, num_sublayers, dropout)
        self.branch_norms = nn.ModuleList(make_norm() for _ in range(num_sublayers))

    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        """x [B, T, D] -> [B, T, D]. Raises ValueError for another number of sublayers."""
        for norm, branch_norm, sublayer in zip(self.norms, self.branch_norms, sublayers, strict=True):
            x = x + self.dropout(branch_norm(sublayer(norm(x))))
        return x
