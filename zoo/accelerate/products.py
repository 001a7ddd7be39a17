"""Linear maps by oneDNN.

torch has oneDNN on board but hands products of float32 to the BLAS it is built with. Where that is MKL, and the
processor not Intel's, oneDNN takes half the time; on Intel's it takes longer. The operator is not public: what
torch's compiler calls is called here, and where it is missing, or takes other arguments, `AVAILABLE` is False.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.utils.flop_counter import flop_registry, register_flop_formula

from zoo.accelerate.trick import Trick
from zoo.parts.values import has_memory

LARGE = 2**21
"""Multiplications of a product from which oneDNN saves more than its call costs."""


def operator(name: str, *arguments: str) -> Any:
    """An operator of oneDNN's in torch; None if there is none that takes these arguments."""
    found = getattr(torch.ops.mkldnn, name, None) if torch.backends.mkldnn.is_available() else None
    if found is None or "default" not in found.overloads():
        return None
    taken = tuple(one.name for one in found.default._schema.arguments)
    return found.default if taken == arguments else None


_PRODUCT = operator("_linear_pointwise", "X", "W", "B", "attr", "scalars", "algorithm")
AVAILABLE = _PRODUCT is not None


def _flops(x: Sequence[int], weight: Sequence[int], *_rest: object, **_more: object) -> int:
    return 2 * math.prod(x) * weight[0]  # [..., in] times [out, in]


if AVAILABLE and _PRODUCT.overloadpacket not in flop_registry:  # torch counts none for it, so far
    register_flop_formula(_PRODUCT.overloadpacket)(_flops)


def product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x W^T + b: x [..., in], weight [out, in], bias [out] -> [..., out]."""
    out: Tensor = _PRODUCT(x, weight, bias, "none", [], "")  # no activation, which it could add
    return out


def pays() -> bool:
    """Return whether oneDNN is faster here: torch multiplies by MKL, on a processor that MKL was not made for."""
    return AVAILABLE and torch.backends.mkl.is_available() and "intel" not in _vendor().lower()


def _vendor() -> str:
    """The processor's maker; "Intel", which changes nothing, where it is not known."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "Intel"
    return next((line for line in lines if line.startswith("vendor_id")), "Intel")


class QuickLinear(Trick, nn.Linear):
    """`nn.Linear` by oneDNN where the product is large, of float32 and on the CPU, forward and backward.

    `torch.backends.mkldnn.flags(enabled=False)` is respected.
    """

    title = "oneDNN multiplies, in training and inference"

    def forward(self, input: Tensor) -> Tensor:
        """[..., in] -> [..., out]."""
        if not _fits(input, self.weight, self.bias):
            return super().forward(input)
        if not torch.is_grad_enabled():
            return product(input, self.weight, self.bias)
        out: Tensor = _Product.apply(input, self.weight, self.bias)  # type: ignore[no-untyped-call]
        return out


class _Product(torch.autograd.Function):
    """y = x W^T + b;  dx = dy W, dW = dy^T x, db = sum over rows of dy."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return product(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        of_x, of_weight, of_bias = ctx.needs_input_grad
        again = torch.is_grad_enabled()  # these gradients will be differentiated too
        multiply = F.linear if again or not torch.backends.mkldnn.enabled else product
        rows, x = slope.flatten(0, -2), x.flatten(0, -2)  # [..., out] -> [N, out], [..., in] -> [N, in]
        return (
            multiply(slope.contiguous(), weight.t().contiguous()) if of_x else None,  # [..., in]
            multiply(rows.t().contiguous(), x.t().contiguous()) if of_weight else None,  # [out, in]
            rows.sum(0) if of_bias else None,  # [out]
        )


def _fits(x: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    """Return whether these are ordinary tensors of float32 on the CPU that fit together, and large enough."""
    if torch.compiler.is_compiling() or torch.jit.is_tracing():  # type: ignore[attr-defined, no-untyped-call]
        return False
    return (
        AVAILABLE
        and bool(torch.backends.mkldnn.enabled)
        and x.dim() > 1
        and x.numel() > x.size(-1) == weight.size(1) > 0
        and x.numel() * weight.size(0) >= LARGE
        and not torch.is_autocast_enabled("cpu")
        and all(map(_ordinary, (x, weight) if bias is None else (x, weight, bias)))
        and (bias is None or (bias.shape == weight.shape[:1] and bias.is_contiguous()))
    )


def _ordinary(tensor: Tensor) -> bool:
    """No subclass, no derivative that comes along with it, and memory of its own (within `torch.vmap` it has none)."""
    if type(tensor) not in (Tensor, nn.Parameter) or tensor.device.type != "cpu":
        return False
    if tensor.dtype != torch.float32 or forward_ad.unpack_dual(tensor).tangent is not None:
        return False
    return has_memory(tensor)
