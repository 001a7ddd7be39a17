"""Adam."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from zoo.parts.optimizer.base import fusable


class Adam(torch.optim.Adam):
    """torch's Adam in one fused kernel: Kingma and Ba 2015, algorithm 1, arXiv:1412.6980.

        w = w - lr m / (sqrt(v) + eps)

    m and v are the mean gradient and its mean square, as in `AdamW`. Weight decay, 0 unless it is asked for, is added
    to the gradient (L2) and goes through both means, so that weights with large gradients shrink less; in AdamW all
    shrink alike.
    """

    def __init__(
        self,
        params: Iterable[nn.Parameter],
        lr: float,
        beta1: float,
        beta2: float,
        eps: float,
        weight_decay: float = 0.0,
    ) -> None:
        """All numbers but weight_decay are those of the recipe, unless options say otherwise."""
        params = list(params)
        super().__init__(
            params, lr=lr, betas=(beta1, beta2), eps=eps, weight_decay=weight_decay, fused=fusable(params)
        )
