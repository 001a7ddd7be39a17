"""Muon for matrices, AdamW for the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import nn

from zoo.parts.optimizer.adamw import AdamW
from zoo.parts.optimizer.base import LR_FACTOR


class Muon(torch.optim.Optimizer):
    """torch's Muon for the matrices of the layers, AdamW for embeddings, head, norms and biases.

    The momentum of a matrix is replaced by the orthogonal matrix next to it, which has all singular values at 1 and
    so moves all directions alike: of B = U S V^T that is U V^T, which a few Newton-Schulz steps come close to
    (Jordan et al. 2024, https://kellerjordan.github.io/posts/muon). Its numbers are then as large as those of an AdamW
    step: 0.2 sqrt(max(out, in)) U V^T, so that AdamW's rate serves for both (Liu et al. 2025, section 2.2,
    arXiv:2502.16982). Weight decay is AdamW's.
    """

    def __init__(
        self,
        params: Iterable[nn.Parameter],
        lr: float,
        beta1: float,
        beta2: float,
        eps: float,
        weight_decay: float,
        matrices: Sequence[nn.Parameter],
        momentum: float = 0.95,
        ns_steps: int = 5,
        lr_factor: float = 1.0,
    ) -> None:
        """
        Args:
            params: of the model.
            lr, weight_decay: the recipe's.
            beta1, beta2, eps: the recipe's, for what is not a matrix.
            matrices: those of `params`, [out, in], that Muon moves.
            momentum: of the matrices, Nesterov's.
            ns_steps: Newton-Schulz steps.
            lr_factor: what `lr` is multiplied by for the matrices.

        Raises:
            ValueError: torch has no Muon.
        """
        if not hasattr(torch.optim, "Muon"):
            raise ValueError(
                f"torch {torch.__version__} has no Muon, which came with torch 2.9. Use optimizer=adamw, or update "
                "torch."
            )
        chosen = {id(p) for p in matrices}
        rest = [p for p in params if id(p) not in chosen]
        self.inner: list[torch.optim.Optimizer] = []
        if matrices:
            muon = torch.optim.Muon(
                matrices,
                lr=lr * lr_factor,
                weight_decay=weight_decay,
                momentum=momentum,
                ns_steps=ns_steps,
                adjust_lr_fn="match_rms_adamw",
            )
            muon.param_groups[0][LR_FACTOR] = lr_factor
            self.inner.append(muon)
        if rest:
            self.inner.append(AdamW(rest, lr, beta1, beta2, eps, weight_decay))
        super().__init__([group for one in self.inner for group in one.param_groups], {})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> Any:
        """Both steps. `closure`, if any, computes the loss again, once, and its value is returned."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for one, group in zip(self.inner, self.param_groups, strict=True):
            one.param_groups, one.state = [group], self.state  # `load_state_dict` makes new ones
            one.step()
        return loss
