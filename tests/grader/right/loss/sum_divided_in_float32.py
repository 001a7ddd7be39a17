
import torch
from torch import nn
from torch.nn import functional as F


def shift_right(target, sos=1):
    out = target.new_full(target.shape, sos)
    out[:, 1:] = target[:, :-1]
    return out


def sequence_loss(logits, target, pad=0, smoothing=0.0):
    logits32 = logits.float() if logits.dtype is torch.bfloat16 else logits
    total = F.cross_entropy(logits32.flatten(end_dim=1), target.flatten(), ignore_index=pad,
                            label_smoothing=smoothing, reduction="sum")
    return (total / (target != pad).count_nonzero()).type_as(logits)
