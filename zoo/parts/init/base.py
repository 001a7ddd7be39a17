"""The base class of initializations, and the tensors that they apply to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

import torch
from torch import Tensor, nn

BRANCHES = ("v_proj.weight", "out_proj.weight", "up_proj.weight", "gate_proj.weight", "down_proj.weight")
"""The parameters that a norm placement's `gain` applies to: all that a sublayer's output is proportional to."""


class Init(ABC):
    """Fills matrices and biases, one at a time, from torch's global generator."""

    @abstractmethod
    def matrix(self, name: str, value: Tensor) -> None:
        """Fill the weight [out, in] of a linear map, in place; `name` is that in `state_dict`."""

    def bias(self, name: str, value: Tensor, fan_in: int) -> None:
        """Fill its bias [out], in place: zeros."""
        value.zero_()

    def table(self, name: str, value: Tensor) -> None:  # noqa: B027 - most leave tables alone
        """Fill an embedding table [V, D], in place; it keeps what its variant drew."""


def initialise(model: nn.Module, init: Init, skip: Iterable[str] = ()) -> None:
    """Fill the linear maps and embedding tables of `model`.

    Works on `state_dict`, in which every attention names its weights alike: one seed gives the same
    weights whichever variant holds them. Norms, positions, what a variant adds of its own, parts from a
    user's own file, and the names in `skip` keep what they started with.
    """
    state, skipped = model.state_dict(), set(skip)
    with torch.no_grad():
        for name, value in sorted(state.items()):  # variants store them in different orders
            weight = f"{name.removesuffix('bias')}weight"
            if name in skipped or ".inner." in name or "_positions." in name:
                continue
            if name.startswith("embeddings."):
                init.table(name, value)
            elif name.endswith(".weight") and value.dim() == 2:
                init.matrix(name, value)
            elif name.endswith(".bias") and weight in state and state[weight].dim() == 2:
                init.bias(name, value, state[weight].size(1))
    model.load_state_dict(state)


def scale_branches(layer: nn.Module, gain: float) -> None:
    """Multiply the weights behind every sublayer's output by `gain`."""
    if gain == 1.0:
        return
    state = layer.state_dict()
    with torch.no_grad():
        for name, value in state.items():
            if name.endswith(BRANCHES):
                value *= gain
    layer.load_state_dict(state)
