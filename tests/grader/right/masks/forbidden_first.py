
import math

import torch

# Thinks in "may not", and turns it round at the very end.


def _is_padding(tokens, pad):
    return tokens == pad


def _is_future(size, device):
    return torch.triu(torch.ones(size, size, device=device), diagonal=1) > 0


def padding_mask(tokens, pad=0):
    return ~_is_padding(tokens, pad).view(tokens.size(0), 1, 1, tokens.size(1))


def causal_mask(size, device=None):
    return torch.logical_not(_is_future(size, device)).reshape(1, 1, size, size)


def decoder_mask(tokens, pad=0):
    hidden = _is_padding(tokens, pad)[:, None, None, :] | _is_future(tokens.size(1), tokens.device)
    return hidden.logical_not()


def to_additive(mask, dtype=torch.float32):
    return torch.zeros_like(mask, dtype=dtype).masked_fill_(mask.logical_not(), -math.inf)
