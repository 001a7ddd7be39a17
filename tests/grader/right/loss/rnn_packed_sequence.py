"""RNN-people's: padding dropped row by row, rows joined by pack_sequence, then one cross_entropy; F.pad shift; further option with a default."""

import itertools

import torch
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_sequence


def shift_right(target, sos=1, reverse=False):
    moved = F.pad(target, (1, 0), value=sos)
    return moved[..., :-1].contiguous()


def sequence_loss(logits, target, pad=0, smoothing=0.0):
    filled = [(z[ids != pad], ids[ids != pad]) for z, ids in zip(logits.unbind(0), target.unbind(0))]
    filled = list(itertools.filterfalse(lambda pair: pair[1].numel() == 0, filled))
    z = pack_sequence([pair[0] for pair in filled], enforce_sorted=False).data
    ids = pack_sequence([pair[1] for pair in filled], enforce_sorted=False).data
    return F.cross_entropy(z, ids, ignore_index=-100, label_smoothing=float(smoothing))
