"""AdamW."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from zoo.parts.optimizer.base import fusable


class AdamW(torch.optim.AdamW):
    """torch's AdamW in one fused kernel: Loshchilov and Hutter 2019, arXiv:1711.05101.

    m = beta1 m + (1 - beta1) g and v = beta2 v + (1 - beta2) g^2, both divided by 1 - beta^t, are the mean gradient
    and its mean square. Weight decay does not go through them, as in Adam, but shrinks the weights by itself:

        w = w - lr (m / (sqrt(v) + eps) + weight_decay w)
    """

    def __init__(
        self,
        params: Iterable[nn.Parameter],
        lr: float,
        beta1: float,
        beta2: float,
        eps: float,
        weight_decay: float,
    ) -> None:
        """All numbers are those of the recipe, unless options say otherwise."""
        params = list(params)
        super().__init__(
            params, lr=lr, betas=(beta1, beta2), eps=eps, weight_decay=weight_decay, fused=fusable(params)
        )
