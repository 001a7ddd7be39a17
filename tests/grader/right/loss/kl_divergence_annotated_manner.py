"""Annotated-Transformer manner: a LabelSmoothing module over true_dist and nn.KLDivLoss, with the entropy added back to get cross-entropy."""

import torch
import torch.nn as nn


class LabelSmoothing(nn.Module):
    "Implement label smoothing, as cross_entropy understands it: smoothing / size on every id."

    def __init__(self, size, padding_idx, smoothing=0.0):
        super(LabelSmoothing, self).__init__()
        self.criterion = nn.KLDivLoss(reduction="sum")
        self.padding_idx = padding_idx
        self.confidence = 1.0 - smoothing
        self.smoothing = smoothing
        self.size = size

    def forward(self, x, target):
        assert x.size(1) == self.size
        true_dist = torch.zeros_like(x, requires_grad=False)
        true_dist.fill_(self.smoothing / self.size)
        inside = target.masked_fill(target == self.padding_idx, 0).unsqueeze(1)
        true_dist.scatter_add_(1, inside, torch.full_like(inside, self.confidence, dtype=x.dtype))
        true_dist.masked_fill_((target == self.padding_idx).unsqueeze(1), 0)
        # KL(p || q) = H(p, q) - H(p), and wanted is H(p, q)
        entropy = -torch.xlogy(true_dist, true_dist).sum()
        return self.criterion(x, true_dist) + entropy


def shift_right(target, sos=1):
    moved = torch.zeros_like(target)
    moved[:, 1:] = target[:, :-1].clone()
    moved[:, 0] = sos
    return moved


def sequence_loss(logits, target, pad=0, smoothing=0.0):
    ntokens = (target != pad).sum()
    criterion = LabelSmoothing(logits.size(-1), pad, smoothing)
    wide = logits if logits.dtype == torch.float64 else logits.float()
    x = torch.log_softmax(wide, dim=-1).contiguous().view(-1, logits.size(-1))
    return (criterion(x, target.contiguous().view(-1)) / ntokens).to(logits.dtype)
