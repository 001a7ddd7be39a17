"""Masks in one expression each."""

import torch


def padding_mask(tokens, pad=0):
    return tokens.ne(pad).unsqueeze(-2).unsqueeze(-2)


def causal_mask(size, device=None):
    future = torch.full((size, size), 1, dtype=torch.uint8, device=device).triu(1)
    return future.eq(0).view(1, 1, size, size)


def decoder_mask(tokens, pad=0):
    keys = tokens.ne(pad)  # [B, T]
    table = keys.unsqueeze(1).repeat(1, tokens.size(1), 1)  # a row of keys for each query
    return table.tril().unsqueeze(1)


def to_additive(mask, dtype=torch.float32):
    return mask.to(dtype).log()  # log 1 = 0, log 0 = -inf
