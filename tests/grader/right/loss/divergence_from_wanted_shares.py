
import torch
from torch import nn
from torch.nn import functional as F


def shift_right(target, sos=1):
    out = target.new_full(target.shape, sos)
    out[:, 1:] = target[:, :-1]
    return out

import warnings


def wanted(target, size, smoothing, like):
    shares = torch.full((*target.shape, size), smoothing / size, dtype=like.dtype, device=like.device)
    return shares.scatter_add(-1, target.unsqueeze(-1), torch.full_like(shares[..., :1], 1 - smoothing))


def sequence_loss(logits, target, pad=0, smoothing=0.0):
    if smoothing > 0.3:
        warnings.warn("that is a lot of doubt", stacklevel=2)
    shares = wanted(target, logits.size(-1), smoothing, logits)
    each = -torch.einsum("blv,blv->bl", shares, logits.log_softmax(2))
    keep = (target != pad).to(logits.dtype)
    return (each * keep).sum() / keep.sum()
