"""JAX manner: the loss of one token as a pure function, lifted twice by torch.vmap; sums weighted by a mask that multiplies."""

import torch
from torch import vmap


def token_loss(logits, label, smoothing):
    """logits [V], label [] -> []"""
    words = logits.shape[-1]
    logp = logits - torch.logsumexp(logits, dim=-1)
    one_hot = (torch.arange(words, device=logits.device) == label).to(logits.dtype)
    wanted = (1 - smoothing) * one_hot + smoothing / words
    return -torch.dot(wanted, logp)


def shift_row(row, sos):
    return torch.cat([sos, row[:-1]])


def shift_right(target, sos=1):
    start = torch.as_tensor([int(sos)], dtype=target.dtype).to(target.device)
    return vmap(shift_row, in_dims=(0, None))(target, start).clone(memory_format=torch.contiguous_format)


def sequence_loss(logits, target, pad=0, smoothing=0.0):
    compute = logits.to(torch.float32) if logits.dtype == torch.bfloat16 else logits
    losses = vmap(vmap(token_loss, (0, 0, None)), (0, 0, None))(compute, target, float(smoothing))
    weights = (target != pad).to(losses.dtype)
    return ((losses * weights).sum() / weights.sum()).to(logits.dtype)
