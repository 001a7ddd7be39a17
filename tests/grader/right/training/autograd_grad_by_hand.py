"""JAX manner: value_and_grad through torch.autograd.grad, gradients written into p.grad by hand; NamedTuple for the batch."""

import math
from typing import NamedTuple

import torch


class Pair(NamedTuple):
    src: torch.Tensor
    tgt: torch.Tensor


def noam(step, d_model, warmup):
    log_step, log_warmup = math.log(step), math.log(warmup)
    return math.exp(-0.5 * math.log(d_model) + min(-0.5 * log_step, log_step - 1.5 * log_warmup))


def loss_fn(model, src, tgt):
    start = torch.full((tgt.shape[0], 1), 1, dtype=tgt.dtype, device=tgt.device)
    logits = model(src, torch.cat((start, tgt[:, :-1]), -1))
    right = logits.gather(-1, tgt.unsqueeze(-1)).squeeze(-1)
    nll = logits.logsumexp(-1) - right
    real = tgt != 0
    return nll.masked_fill(~real, 0).sum() / real.sum()


def value_and_grad(function, params):
    def run(*args):
        value = function(*args)
        return value.detach(), torch.autograd.grad(value, params, allow_unused=True)

    return run


def train_step(model, optimizer, src, tgt):
    model.train(True)
    everything = [p for group in optimizer.param_groups for p in group["params"]]
    for p in everything:
        p.grad = None
    params = [p for p in everything if p.requires_grad]
    value, grads = value_and_grad(loss_fn, params)(model, src, tgt)
    for p, g in zip(params, grads):
        p.grad = g
    optimizer.step()
    return value.item()


def reverse_words(words):
    longest = max((len(word) for word in words), default=0)
    src = [[ord(c) - 94 for c in word] + [0] * (longest - len(word)) for word in words]
    tgt = [[ord(c) - 94 for c in reversed(word)] + [2] + [0] * (longest - len(word)) for word in words]
    return Pair(
        torch.tensor(src, dtype=torch.int64).reshape(len(src), longest),
        torch.tensor(tgt, dtype=torch.int64).reshape(len(tgt), longest + 1),
    )
