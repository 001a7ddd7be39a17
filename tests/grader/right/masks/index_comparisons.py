
import torch


def padding_mask(tokens, pad=0):
    return tokens.ne(pad).unsqueeze(1).unsqueeze(2)


def causal_mask(size, device=None):
    t = torch.arange(size, device=device)
    return (t[None, :] <= t[:, None])[None, None]


def decoder_mask(tokens, pad=0):
    t = torch.arange(tokens.shape[-1], device=tokens.device)
    return (t[:, None] >= t)[None, None] & padding_mask(tokens, pad)


def to_additive(mask, dtype=torch.float32):
    keep = torch.zeros((), dtype=dtype, device=mask.device)
    return torch.where(mask, keep, torch.full_like(keep, float("-inf")))
