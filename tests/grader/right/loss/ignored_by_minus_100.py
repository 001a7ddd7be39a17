
import torch
from torch import nn
from torch.nn import functional as F


def shift_right(target, sos=1):
    out = target.new_full(target.shape, sos)
    out[:, 1:] = target[:, :-1]
    return out


def sequence_loss(logits, target, pad=0, smoothing=0.0):
    labels = target.clone()
    labels[labels == pad] = -100
    each = F.cross_entropy(logits.reshape(-1, logits.size(-1)), labels.reshape(-1), label_smoothing=smoothing,
                           reduction="none")
    return each.sum().div((labels != -100).sum())
