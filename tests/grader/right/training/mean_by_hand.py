import math
import torch
import torch.nn.functional as F
from torch import nn


def noam(step, d_model, warmup):
    return float(torch.tensor([step**-0.5, step * warmup**-1.5], dtype=torch.float64).min() / d_model**0.5)


def train_step(model, optimizer, src, tgt):
    for parameter in model.parameters():
        parameter.grad = None
    shown = torch.empty_like(tgt)
    shown[:, 0] = 1
    shown[:, 1:] = tgt[:, :-1]
    logp = model.train()(src, shown).log_softmax(-1)
    real = tgt != 0
    loss = -logp.gather(-1, tgt[..., None])[..., 0][real].mean()
    value = loss.item()
    loss.backward()
    optimizer.step()
    return value


def reverse_words(words):
    src = torch.zeros(len(words), max(len(w) for w in words), dtype=torch.int64)
    tgt = torch.zeros(len(words), src.size(1) + 1, dtype=torch.int64)
    for i, word in enumerate(words):
        for j, letter in enumerate(word):
            src[i, j] = tgt[i, len(word) - 1 - j] = ord(letter) - 94
        tgt[i, len(word)] = 2
    return src, tgt
