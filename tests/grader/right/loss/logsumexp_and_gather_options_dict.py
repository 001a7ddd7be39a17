"""Optional arguments only through **options (pad, smoothing, sos); logsumexp minus gathered logit minus mean logit, no softmax at all."""

import torch


def shift_right(target, **options):
    sos = options.pop("sos", 1)
    start = torch.full((len(target), 1), sos).type_as(target)
    return torch.hstack([start, target[:, : target.shape[1] - 1]])


def sequence_loss(logits, target, **options):
    pad = options.get("pad", 0)
    eps = options.get("smoothing", 0.0)
    counts = target.ne(pad)
    z = logits.to(torch.float64)
    right = z.gather(2, target.where(counts, target.new_zeros(())).unsqueeze(2)).squeeze(2)
    # - sum wanted * (z - lse) = lse - (1 - e) z_right - e mean(z)
    nll = z.logsumexp(2) - (1 - eps) * right - eps * z.mean(2)
    return nll.where(counts, 0.0).sum().div(counts.sum()).type_as(logits)
