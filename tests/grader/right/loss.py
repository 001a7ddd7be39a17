"""Right losses in unusual styles: none of these may fail a hidden test."""

from __future__ import annotations

from collections.abc import Mapping

SHIFT = """
import torch
from torch import nn
from torch.nn import functional as F


def shift_right(target, sos=1):
    out = target.new_full(target.shape, sos)
    out[:, 1:] = target[:, :-1]
    return out
"""

RIGHT: Mapping[str, str] = {
    "ids_in_second_place": SHIFT
    + """

def sequence_loss(logits, target, pad=0, smoothing=0.0):
    return F.cross_entropy(logits.transpose(1, 2), target, ignore_index=pad, label_smoothing=smoothing)
""",
    "the_loss_as_a_module": """
from torch import nn
from torch.nn import functional as F


def shift_right(target, sos=1, length=None):
    return F.pad(target, (1, -1), value=sos)


def sequence_loss(logits, target, pad=0, smoothing=0.0, weight=None):
    criterion = nn.CrossEntropyLoss(weight=weight, ignore_index=pad, label_smoothing=smoothing)
    B, L, V = logits.shape
    return criterion(logits.reshape(B * L, V), target.reshape(B * L))
""",
    "log_softmax_and_gather": """
import torch


def shift_right(target, sos=1):
    shifted = torch.roll(target, 1, dims=1)
    shifted[:, 0] = sos
    return shifted


def sequence_loss(logits, target, pad=0, smoothing=0.0):
    logp = torch.log_softmax(logits, dim=-1)
    right = logp.gather(-1, target[..., None])[..., 0]
    token = -(1 - smoothing) * right - smoothing * logp.mean(-1)
    real = target != pad
    return torch.where(real, token, 0).sum() / real.sum()
""",
    "selected_rows_and_logsumexp": """
import torch


def shift_right(target, sos=1):
    first = torch.ones_like(target[:, 0]) * sos
    return torch.stack([first, *target.unbind(1)[:-1]], dim=1)


def sequence_loss(logits, target, pad=0, smoothing=0.0):
    real = target.ne(pad)
    rows, ids = logits[real].double(), target[real]  # [N, V], [N]
    surprise = rows.logsumexp(-1, keepdim=True) - rows
    right = surprise[torch.arange(len(ids), device=ids.device), ids]
    return ((1 - smoothing) * right + smoothing * surprise.mean(-1)).mean().to(logits.dtype)
""",
    "divergence_from_wanted_shares": SHIFT
    + """
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
""",
    "loops_over_sentences": """
import torch
from torch.nn import functional as F


def shift_right(target: torch.Tensor, sos: int = 1) -> torch.Tensor:
    rows = [[sos, *row[:-1]] for row in target.tolist()]
    return torch.tensor(rows, dtype=target.dtype, device=target.device)


def sequence_loss(logits, target, pad=0, smoothing=0.0):
    total, count = logits.new_zeros(()), 0
    for sentence, ids in zip(logits, target):
        for row, token in zip(sentence, ids):
            if token == pad:
                continue
            total = total + F.cross_entropy(row, token, label_smoothing=smoothing)
            count += 1
    return total / count
""",
    "sum_divided_in_float32": SHIFT
    + """

def sequence_loss(logits, target, pad=0, smoothing=0.0):
    logits32 = logits.float() if logits.dtype is torch.bfloat16 else logits
    total = F.cross_entropy(logits32.flatten(end_dim=1), target.flatten(), ignore_index=pad,
                            label_smoothing=smoothing, reduction="sum")
    return (total / (target != pad).count_nonzero()).type_as(logits)
""",
    "ignored_by_minus_100": SHIFT
    + """

def sequence_loss(logits, target, pad=0, smoothing=0.0):
    labels = target.clone()
    labels[labels == pad] = -100
    each = F.cross_entropy(logits.reshape(-1, logits.size(-1)), labels.reshape(-1), label_smoothing=smoothing,
                           reduction="none")
    return each.sum().div((labels != -100).sum())
""",
}
