"""A learned bias for each distance."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from zoo.parts.encoding.base import Encoding, Positions
from zoo.parts.encoding.bias import Bias, offsets


class T5Positions(Encoding):
    """table[bucket(j - i), h] is added to the score of query i and key j in head h.

    Small distances have a bucket each, larger ones share, in logarithmic steps up to max_distance, and all
    beyond share the last. In the encoder half of the buckets are for keys to the left and half for keys to
    the right; in the decoder, which sees no later key, all are for the left. One table serves all layers of
    a stack. Raffel et al. 2020 (T5), section 2.1, arXiv:1910.10683.
    """

    starts: Tensor

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
        self.causal = causal
        starts = bucket_starts(buckets if causal else buckets // 2, max_distance)
        self.register_buffer("starts", torch.tensor(starts), persistent=False)
        self.table = nn.Parameter(torch.empty(buckets, num_heads).normal_(std=std))

    def positions(self, num_queries: int, num_keys: int, like: Tensor) -> Positions:
        """For the last `num_queries` of `num_keys` positions. Raises ValueError if num_keys > max_len."""
        offset = offsets(num_queries, self.check_length(num_keys), like.device)  # [Tq, Tk]
        bias = self.table[relative_bucket(offset, self.starts, self.causal)]  # [Tq, Tk, H]
        return Bias(bias.permute(2, 0, 1)[None].to(like.dtype))  # [Tq, Tk, H] -> [1, H, Tq, Tk]


def bucket_starts(buckets: int, max_distance: int) -> list[int]:
    """The smallest distance of each of one side's buckets but the first: buckets - 1 of them, rising.

    Distances below buckets // 2 have a bucket each; from there on starts grow by one factor up to
    max_distance. Whole numbers, so that no rounding on a device or in a dtype moves a distance.
    """
    alone = buckets // 2
    steps, growth = buckets - alone, max_distance / alone
    shared = [math.ceil(alone * growth ** (step / steps) * (1 - 1e-12)) for step in range(steps)]
    return [*range(1, alone), *shared]


def relative_bucket(offset: Tensor, starts: Tensor, causal: bool) -> Tensor:
    """The bucket of each offset j - i of a key from its query: int64.

    Keys to the right of their query share the first bucket where `causal`, and have buckets of their own,
    as many again, where not.
    """
    distance = (-offset).clamp(min=0) if causal else offset.abs()
    bucket = torch.bucketize(distance, starts, right=True)
    return bucket if causal else bucket + (offset > 0) * (starts.numel() + 1)
