
from torch import nn
from torch.nn import functional as F


def shift_right(target, sos=1, length=None):
    return F.pad(target, (1, -1), value=sos)


def sequence_loss(logits, target, pad=0, smoothing=0.0, weight=None):
    criterion = nn.CrossEntropyLoss(weight=weight, ignore_index=pad, label_smoothing=smoothing)
    B, L, V = logits.shape
    return criterion(logits.reshape(B * L, V), target.reshape(B * L))
