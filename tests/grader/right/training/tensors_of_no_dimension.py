"""Rates and losses come back as detached tensors without a dimension: rates in float64."""

import torch
from torch import nn


def noam(step, d_model, warmup):
    step = torch.tensor(step, dtype=torch.float64)
    return d_model**-0.5 * torch.minimum(step**-0.5, step * warmup**-1.5)


def train_step(model, optimizer, src, tgt):
    model.train()
    optimizer.zero_grad()
    begin = torch.full_like(tgt[:, :1], 1)
    logits = model(src, torch.cat([begin, tgt[:, :-1]], dim=1))
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), tgt.flatten(), ignore_index=0)
    loss.backward()
    optimizer.step()
    return loss.detach()


def reverse_words(words):
    rows = [[ord(letter) - 94 for letter in word] for word in words]
    longest = max(map(len, rows))
    src = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    tgt = torch.tensor([row[::-1] + [2] + [0] * (longest - len(row)) for row in rows])
    return src, tgt
