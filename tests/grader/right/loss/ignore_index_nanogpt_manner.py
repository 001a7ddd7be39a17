"""nanoGPT manner: flatten, F.cross_entropy with ignore_index and label_smoothing; shift by torch.cat with new_full."""

import torch
from torch.nn import functional as F


def shift_right(target, sos=1):
    first = target.new_full((target.size(0), 1), int(sos))
    return torch.cat((first, target[:, :-1]), dim=1)


def sequence_loss(logits, target, pad=0, smoothing=0.0):
    return F.cross_entropy(
        logits.reshape(-1, logits.size(-1)),
        target.reshape(-1),
        ignore_index=int(pad),
        label_smoothing=float(smoothing),
    )
