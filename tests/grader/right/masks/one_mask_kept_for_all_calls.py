"""One mask for all calls, as fairseq keeps its own: made anew for another device, or when a larger one is needed."""

import torch

_future = torch.empty(0, 0, dtype=torch.bool)  # [size, size], True above the diagonal


def future_mask(size, device):
    global _future
    if _future.device != device or _future.size(0) < size:
        _future = torch.ones(size, size, dtype=torch.bool, device=device).triu(diagonal=1)
    return _future[:size, :size]


def padding_mask(tokens, pad=0):
    return (tokens != pad).unsqueeze(1).unsqueeze(1)  # [B, 1, 1, L]


def causal_mask(size, device=None):
    device = torch.device(device) if device is not None else torch.get_default_device()
    return ~future_mask(size, device)[None, None]


def decoder_mask(tokens, pad=0):
    return padding_mask(tokens, pad) & ~future_mask(tokens.size(-1), tokens.device)


def to_additive(mask, dtype=torch.float32):
    zeros = torch.zeros(mask.size(), dtype=dtype, device=mask.device)
    return zeros.masked_fill(~mask, float("-inf"))
