"""The base class of the norms."""

from __future__ import annotations

import torch
from torch import Tensor


def widened(x: Tensor) -> Tensor:
    """x in float32 if its type is half as wide, else x itself: sums of squares overflow float16 soon."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
