"""Shared by the optimizers of the zoo."""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor, nn

LR_FACTOR = "lr_factor"
"""Key of a parameter group: what the rate of a training is multiplied by for it; 1 where it is missing."""


def matrices(model: nn.Module) -> list[nn.Parameter]:
    """The matrices inside the layers of `model`: not embeddings, tables of positions, head, norms and biases."""
    found = {
        id(p): p
        for stack in getattr(model, "stacks", ())
        for p in model.get_submodule(f"{stack}.layers").parameters()
        if p.ndim == 2
    }
    return list(found.values())


def fusable(params: Iterable[Tensor]) -> bool:
    """Return whether torch's fused kernel of Adam can be used: on the CPU and on CUDA, for floating-point numbers."""
    return all(p.device.type in ("cpu", "cuda") and p.is_floating_point() for p in params)
