"""A learned bias for each distance."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from zoo.encodings.base import Encoding, Positions
from zoo.encodings.bias import Bias


class T5Positions(Encoding):
    """table[bucket(j - i), h] is added to the score of query i and key j in head h.

    Small distances have a bucket each, larger ones share, in logarithmic steps up to max_distance, and all
    beyond share the last. In the encoder half of the buckets are for keys to the left and half for keys to
    the right; in the decoder, which sees no later key, all are for the left. One table serves all layers of
    a stack. Raffel et al. 2020 (T5), section 2.1, arXiv:1910.10683.
    """

    def __init__(
        self,
        d_model: int,
        max_len: int,
        num_heads: int,
        causal: bool,
        buckets: int = 32,
        max_distance: int = 128,
        std: float = 0.02,
    ) -> None:
        """
        Args:
            d_model: width D.
            max_len: longest sequence.
            num_heads: heads H.
            causal: whether no query sees a later key.
            buckets: how many there are; even, and at least 4.
            max_distance: from which on all distances share the last bucket.
            std: standard deviation of the initial table.

        Raises:
            ValueError: buckets is odd, or there are no distances left to share buckets.
        """
        super().__init__(max_len)
        if buckets % 2 or buckets < 4:
            raise ValueError(f"buckets={buckets}: expected an even number of at least 4.")
        if max_distance <= buckets:
            raise ValueError(f"max_distance={max_distance}: expected more than buckets={buckets}.")
        self.causal, self.buckets, self.max_distance = causal, buckets, max_distance
        self.table = nn.Parameter(torch.empty(buckets, num_heads).normal_(std=std))

    def positions(self, num_queries: int, num_keys: int, like: Tensor) -> Positions:
        """For the last `num_queries` of `num_keys` positions. Raises ValueError if num_keys > max_len."""
        keys = torch.arange(self.check_length(num_keys), device=like.device)
        offset = keys - keys[-num_queries:, None]  # [Tk] - [Tq, 1] -> [Tq, Tk]
        bias = self.table[
            relative_bucket(offset, self.causal, self.buckets, self.max_distance)
        ]  # [Tq, Tk, H]
        return Bias(bias.permute(2, 0, 1)[None].to(like.dtype))  # [Tq, Tk, H] -> [1, H, Tq, Tk]


def relative_bucket(offset: Tensor, causal: bool, buckets: int, max_distance: int) -> Tensor:
    """The bucket of each offset j - i of a key from its query: int64, 0 .. buckets - 1."""
    if causal:
        shift, distance = torch.zeros_like(offset), (-offset).clamp(min=0)
    else:
        buckets //= 2
        shift, distance = (offset > 0) * buckets, offset.abs()
    exact = buckets // 2
    steps = (distance.clamp(min=1) / exact).log() / math.log(max_distance / exact) * (buckets - exact)
    shared = (exact + steps.long()).clamp(max=buckets - 1)
    return shift + torch.where(distance < exact, distance, shared)
