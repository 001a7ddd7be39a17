
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
