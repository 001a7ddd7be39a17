"""Which positions may look at which (True = may)."""

import torch


def padding_mask(tokens, pad=0):
    batch, length = tokens.shape
    is_token = torch.logical_not(torch.eq(tokens, pad))
    return is_token.reshape(batch, 1, 1, length)


def causal_mask(size, device=None):
    position = torch.arange(size, device=device)
    query_at = position.unsqueeze(1)  # a column: one row of the table for each query
    key_at = position.unsqueeze(0)
    not_later = key_at <= query_at
    return not_later[None, None]


def decoder_mask(tokens, pad=0):
    length = tokens.shape[-1]
    no_future = causal_mask(length, device=tokens.device)
    no_padding = padding_mask(tokens, pad=pad)
    return torch.logical_and(no_future, no_padding)


def to_additive(mask, dtype=torch.float32):
    zero = torch.zeros((), dtype=dtype, device=mask.device)
    minus_infinity = torch.full((), float("-inf"), dtype=dtype, device=mask.device)
    return torch.where(mask, zero, minus_infinity)
