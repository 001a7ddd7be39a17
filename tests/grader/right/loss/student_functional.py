"""The loss from logsumexp, on the tokens alone."""

import torch


def shift_right(target, sos=1):
    return torch.nn.functional.pad(target, (1, 0), value=sos)[:, :-1]


def tokens_only(logits, target, pad):
    """[N, V] and [N]: the positions that count."""
    real = target != pad
    return logits[real], target[real]


def sequence_loss(logits, target, pad=0, smoothing=0.0):
    rows, ids = tokens_only(logits, target, pad)
    rows = rows.to(torch.promote_types(rows.dtype, torch.float32))
    v = rows.size(-1)
    wanted = torch.full_like(rows, smoothing / v)
    wanted.scatter_add_(1, ids[:, None], torch.full_like(rows[:, :1], 1 - smoothing))
    # -sum w * (x - lse) = lse - sum w * x, because the w sum to 1
    losses = rows.logsumexp(-1) - torch.einsum("nv,nv->n", wanted, rows)
    return losses.mean().to(logits.dtype)
