"""Notebook manner: roll and overwrite, logsumexp on the tokens that count, `*=` and `+=`."""

import torch


def shift_right(target, sos=1):
    t = target.roll(1, -1)
    t[:, 0] = sos
    return t


def sequence_loss(logits, target, pad=0, smoothing=0.0):
    z, t = logits, target
    V, dt = z.shape[-1], z.dtype
    if dt == torch.bfloat16: z = z.float()
    ok = t != pad
    z, t = z[ok], t[ok]
    lse = z.logsumexp(-1)
    l = lse - z.gather(-1, t[:, None])[:, 0]
    if smoothing:
        l *= 1 - smoothing
        l += smoothing * (lse - z.sum(-1) / V)
    return l.mean().to(dt)
