"""Training, with gradients from torch.autograd.grad."""

import math
import string

import torch
from torch.nn.utils.rnn import pad_sequence

ID = {letter: number for number, letter in enumerate(string.ascii_lowercase, start=3)}


def noam(step, d_model, warmup):
    if step < warmup:
        factor = step / warmup / math.sqrt(warmup)
    else:
        factor = 1 / math.sqrt(step)
    return factor / math.sqrt(d_model)


def mean_loss(logits, tgt):
    log_probs = logits.log_softmax(-1)
    chosen = torch.take_along_dim(log_probs, tgt[..., None], dim=-1)[..., 0]
    real = tgt > 0
    return -chosen.where(real, torch.zeros_like(chosen)).sum() / real.sum()


def train_step(model, optimizer, src, tgt):
    model.train(True)
    started = torch.nn.functional.pad(tgt, (1, 0), value=1)
    loss = mean_loss(model(src, started[:, :-1]), tgt)
    trained = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
    for p, gradient in zip(trained, torch.autograd.grad(loss, trained, allow_unused=True)):
        p.grad = gradient
    optimizer.step()
    return loss.item()


def batch_of(rows):
    return pad_sequence([torch.tensor(row, dtype=torch.int64) for row in rows], batch_first=True)


def reverse_words(words):
    src = batch_of([[ID[c] for c in word] for word in words])
    tgt = batch_of([[ID[c] for c in word[::-1]] + [2] for word in words])
    return src, tgt
