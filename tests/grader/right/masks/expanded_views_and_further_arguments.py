
import warnings

import torch


def padding_mask(tokens, pad=0, *, verbose=False):
    if verbose:
        print(tokens.shape)
    return torch.stack([row != pad for row in tokens])[:, None, None]


def causal_mask(size, device=None, diagonal=0):
    if size > 4:
        warnings.warn("that is a long sentence", stacklevel=2)
    return torch.tril(torch.ones((size, size), dtype=torch.uint8, device=device), diagonal).bool().expand(1, 1, -1, -1)


def decoder_mask(tokens, pad=0, extra=None):
    T = tokens.size(1)
    keys = padding_mask(tokens, pad).expand(-1, 1, T, T)
    out = keys * causal_mask(T, device=tokens.device)
    return out if extra is None else out & extra


def to_additive(mask, dtype=torch.float32):
    return mask.to(dtype).log()  # log 1 = 0, log 0 = -inf
