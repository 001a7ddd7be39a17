"""oneDNN's product of float32 matrices on the CPU.

torch has oneDNN on board but hands products of float32 to the BLAS it is built with, MKL, which is slower on many
a processor. What its compiler calls instead is called here. These operators are not public: where they are
missing, or take other arguments than they do now, `AVAILABLE` is False.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import flop_registry, register_flop_formula


def _operator(name: str, *arguments: str) -> Any:
    found = getattr(torch.ops.mkldnn, name, None) if torch.backends.mkldnn.is_available() else None
    if found is None or "default" not in found.overloads():
        return None
    taken = tuple(one.name for one in found.default._schema.arguments)
    return found.default if taken == arguments else None


_PRODUCT = _operator("_linear_pointwise", "X", "W", "B", "attr", "scalars", "algorithm")
_PACK = _operator("_reorder_linear_weight", "self", "batch_size")
AVAILABLE = _PRODUCT is not None and _PACK is not None


def _flops(x: Sequence[int], weight: Sequence[int], *_rest: object, **_more: object) -> int:
    return 2 * math.prod(x) * weight[0]  # [..., in] times [out, in]


if AVAILABLE and _PRODUCT.overloadpacket not in flop_registry:  # torch counts none for it, so far
    register_flop_formula(_PRODUCT.overloadpacket)(_flops)


def product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x W^T + b without gradients: x [..., in], weight [out, in] as it is or packed, bias [out] -> [..., out]."""
    out: Tensor = _PRODUCT(x, weight, bias, "none", [], "")  # no activation, which it could add
    return out


def pack(weight: Tensor, rows: int) -> Tensor:
    """A weight [out, in] arranged for `product`, best for so many rows; takes no other operation."""
    packed: Tensor = _PACK(weight.detach(), rows)
    return packed


def is_packed(weight: Tensor) -> bool:
    """Whether it comes from `pack`."""
    return weight.layout is not torch.strided
