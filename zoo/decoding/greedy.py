"""Greedy decoding."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.decoding.base import Decoding
from zoo.decoding.stepper import Stepper


class GreedyDecoding(Decoding):
    """The most probable token at each step, until every row has ended."""

    def __call__(self, stepper: Stepper, start: Tensor, max_len: int, eos: int, pad: int) -> Tensor:
        """Arguments and result as in `Decoding`."""
        token, ended = start, torch.zeros_like(start, dtype=torch.bool)
        chosen = [start.new_empty(start.size(0), 0)]
        for _ in range(max_len):
            token = stepper.step(token).argmax(dim=-1).masked_fill(ended, pad)  # [B, V] -> [B]
            chosen.append(token[:, None])
            ended = ended | (token == eos)
            if bool(ended.all()):
                break
        return torch.cat(chosen, dim=1)  # L x [B, 1] -> [B, L]
