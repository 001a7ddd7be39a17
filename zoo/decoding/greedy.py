"""Greedy decoding."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.transformer import Transformer


@torch.no_grad()
def greedy_decode(
    model: Transformer, src: Tensor, max_len: int, sos: int = 1, eos: int = 2, pad: int = 0
) -> Tensor:
    """The most probable token at each step, until every row has ended.

    Args:
        model: put in eval mode while decoding, then back.
        src: [B, S].
        max_len: at most so many tokens are generated.
        sos, eos, pad: token ids of start, end and padding.

    Returns:
        [B, <= max_len]: without SOS, with EOS, then PAD. A row that never ends has max_len tokens.
    """
    was_training = model.training
    model.eval()
    try:
        memory = model.encode(src)
        tgt = src.new_full((src.size(0), 1), sos)  # [B, 1]
        ended = torch.zeros_like(tgt[:, 0], dtype=torch.bool)  # [B]
        for _ in range(max_len):
            token = model.decode(tgt, memory, src)[:, -1].argmax(dim=-1)  # [B, L, V] -> [B]
            token = token.masked_fill(ended, pad)
            tgt = torch.cat((tgt, token[:, None]), dim=1)  # [B, L + 1]
            ended |= token == eos
            if bool(ended.all()):
                break
        return tgt[:, 1:]
    finally:
        model.train(was_training)
