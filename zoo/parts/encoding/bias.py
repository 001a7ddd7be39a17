"""Positions that act on the scores by the distance of a query and a key."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.parts.encoding.base import Positions


class Bias(Positions):
    """Adds a bias that depends on head and positions alone, the same for every query's content."""

    def __init__(self, values: Tensor) -> None:
        """`values` broadcasts to [B, H, Tq, Tk]."""
        self.values = values

    def bias(self, q: Tensor) -> Tensor:
        """The bias, in q's dtype."""
        return self.values.to(q.dtype)


def offsets(num_queries: int, num_keys: int, device: torch.device) -> Tensor:
    """j - i of every key j and each i of the last `num_queries` of `num_keys` positions: int64 [Tq, Tk]."""
    keys = torch.arange(num_keys, device=device)
    return keys - keys[num_keys - num_queries :, None]  # [Tk] - [Tq, 1] -> [Tq, Tk]
