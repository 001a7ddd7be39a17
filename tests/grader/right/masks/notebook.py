"""Notebook manner: lambdas and walrus operators, a mask narrowed by `&=`, a mask filled in place."""

import torch

NINF = -float("inf")
key_rows = lambda ok: ok[:, None, None]  # noqa: E731


def padding_mask(tokens, pad=0):
    return key_rows(~(tokens == pad))


def causal_mask(size, device=None):
    m = torch.ones(n := size, n, device=device).triu_(1)
    return (m == 0).view(1, 1, n, n)


def decoder_mask(tokens, pad=0):
    b, n = (tok := tokens).shape
    m = causal_mask(n, tok.device).repeat(b, 1, 1, 1)
    m &= padding_mask(tok, pad)
    return m


def to_additive(mask, dtype=torch.float32):
    a = torch.empty(mask.shape, dtype=dtype, device=mask.device).fill_(NINF)
    a[mask] = 0
    return a
