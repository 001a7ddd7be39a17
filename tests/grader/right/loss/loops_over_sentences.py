
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
