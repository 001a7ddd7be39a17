"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from zoo.parts.optimizer.base import LR_FACTOR


class SGD(torch.optim.SGD):
    """torch's SGD (Robbins and Monro 1951), with Nesterov's momentum as in Sutskever et al. 2013, section 2.

        b = momentum b + g;  w = w - lr_factor lr (g + momentum b)

    A step is as large as the gradient is, so that rates are larger than AdamW's, whose steps are of one size.
    """

    def __init__(
        self,
        params: Iterable[nn.Parameter],
        lr: float,
        momentum: float = 0.9,
        nesterov: bool = True,
        weight_decay: float = 0.0,
        lr_factor: float = 10.0,
    ) -> None:
        """
        Args:
            params: of the model.
            lr: the recipe's rate.
            momentum: share of the previous step that is kept; 0 is plain SGD.
            nesterov: whether to use Nesterov momentum; without momentum it makes no difference.
            weight_decay: share of the weights that is added to the gradient.
            lr_factor: what `lr` is multiplied by, in this training and all its steps.
        """
        super().__init__(
            params,
            lr=lr * lr_factor,
            momentum=momentum,
            nesterov=nesterov and momentum > 0,
            weight_decay=weight_decay,
        )
        for group in self.param_groups:
            group[LR_FACTOR] = lr_factor
