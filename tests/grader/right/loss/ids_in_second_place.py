
import torch
from torch import nn
from torch.nn import functional as F


def shift_right(target, sos=1):
    out = target.new_full(target.shape, sos)
    out[:, 1:] = target[:, :-1]
    return out


def sequence_loss(logits, target, pad=0, smoothing=0.0):
    return F.cross_entropy(logits.transpose(1, 2), target, ignore_index=pad, label_smoothing=smoothing)
