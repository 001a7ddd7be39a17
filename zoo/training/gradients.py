"""Gradient norms by depth, for the record of a training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from zoo.models.transformer import Model
from zoo.training.record import PREFIX


class GradientNorms:
    """The norm of the gradient in each block of a model, in the order in which data passes through them."""

    def __init__(self, model: Model) -> None:
        positions = [part for name, part in model.named_children() if name.endswith("_positions")]
        blocks: dict[str, Sequence[nn.Module]] = {"embeddings": [model.embeddings, *positions]}
        for stack in model.stacks:
            layers: Any = model.get_submodule(f"{stack}.layers")
            blocks |= {f"{stack} {i}": [layer] for i, layer in enumerate(layers, 1)}
        blocks["head"] = [model.head]
        self._parameters = {
            name: [p for module in modules for p in module.parameters()] for name, modules in blocks.items()
        }

    @property
    def columns(self) -> tuple[str, ...]:
        """Names for a log's columns."""
        return tuple(PREFIX + name for name in self._parameters)

    @torch.no_grad()
    def __call__(self) -> list[float]:
        """The norm of each block's gradient as it is now; 0 where there is none."""
        norms = []
        for parameters in self._parameters.values():
            gradients = [p.grad for p in parameters if p.grad is not None]
            norms.append(torch.nn.utils.get_total_norm(gradients) if gradients else torch.zeros(()))
        device = next(iter(norms)).device
        return torch.stack([norm.to(device) for norm in norms]).tolist()
