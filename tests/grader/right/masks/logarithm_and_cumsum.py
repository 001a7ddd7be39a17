"""Tricks: the causal table is a cumulative sum of the identity, the additive mask is the logarithm of the boolean one, AND is a product of integers."""

import torch


def padding_mask(tokens, pad=0):
    return (tokens - pad).bool().unsqueeze(1).unsqueeze(2)


def causal_mask(size, device=None):
    # column j is 0 above the diagonal and 1 from there on down
    return torch.eye(size, device=device).cumsum(0).view(1, 1, size, size) > 0.5


def decoder_mask(tokens, pad=0):
    future_free = causal_mask(tokens.size(1), tokens.device).long()
    return (padding_mask(tokens, pad).long() * future_free).bool()


def to_additive(mask, dtype=torch.float32):
    return mask.to(dtype).log()
