"""Linear maps, by the kernel that is fastest for the case."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd import forward_ad

from zoo.parts import fixed_weights, onednn
from zoo.parts.values import has_memory

LARGE = 2**25
"""Multiplications of a product from which oneDNN saves more than its call costs."""


class Linear(nn.Linear):
    """`nn.Linear`, x W^T + b, by `linear`."""

    def forward(self, input: Tensor) -> Tensor:
        """[..., in] -> [..., out]."""
        return linear(input, self.weight, self.bias)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`F.linear`; without gradients, large products of float32 on the CPU are oneDNN's.

    Within `zoo.parts.fixed_weights.FixedWeights`, a weight that is used over and over is rearranged.

    Args:
        x: [..., in].
        weight: [out, in].
        bias: [out].

    Returns:
        [..., out].
    """
    if _recorded() or x.dim() == 0 or weight.dim() != 2:
        return F.linear(x, weight, bias)
    fixed = fixed_weights.current()
    large = x.numel() * weight.size(0) >= LARGE
    if not large and (fixed is None or weight.numel() < fixed_weights.HEAVY):
        return F.linear(x, weight, bias)
    if not onednn.AVAILABLE or not torch.backends.mkldnn.enabled or not _plain(x, weight, bias):
        return F.linear(x, weight, bias)
    rows = x.numel() // x.size(-1)
    if fixed is not None:
        weight = fixed.arranged(weight, rows)
    if onednn.is_packed(weight) or (large and rows > 1):
        return onednn.product(x, weight, bias)
    return F.linear(x, weight, bias)


def _recorded() -> bool:
    """Whether what is done now is to be understood later, for which it must be torch's own product."""
    if torch.compiler.is_compiling() or torch.is_grad_enabled():
        return True
    return torch.jit.is_tracing()  # type: ignore[attr-defined, no-untyped-call, no-any-return]


def _plain(x: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    """Whether these are ordinary tensors of float32 on the CPU that fit together."""
    return (
        not torch.is_autocast_enabled("cpu")
        and all(map(_ordinary, (x, weight) if bias is None else (x, weight, bias)))
        and x.size(-1) == weight.size(1) > 0
        and (bias is None or (bias.shape == weight.shape[:1] and bias.is_contiguous()))
    )


def _ordinary(tensor: Tensor) -> bool:
    """No subclass, no derivative that comes along with it, and memory of its own (within `torch.vmap` it has none)."""
    if type(tensor) not in (Tensor, nn.Parameter) or tensor.device.type != "cpu":
        return False
    if tensor.dtype != torch.float32 or forward_ad.unpack_dual(tensor).tangent is not None:
        return False
    return has_memory(tensor)
