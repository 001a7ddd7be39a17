import math
import torch
import torch.nn.functional as F
from torch import nn


import warnings

warnings.warn("a warning of the learner's file", stacklevel=1)


def noam(step, d_model, warmup):
    return math.pow(d_model, -0.5) * min(math.pow(step, -0.5), step * math.pow(warmup, -1.5))


def shift(tgt):
    return torch.cat((torch.ones(len(tgt), 1, dtype=tgt.dtype, device=tgt.device), tgt), 1)[:, :-1]


def train_step(model, optimizer, src, tgt):
    model.train()
    criterion = nn.CrossEntropyLoss(ignore_index=0)

    def closure():
        optimizer.zero_grad()
        loss = criterion(model(src, shift(tgt)).flatten(end_dim=1), tgt.reshape(-1))
        loss.backward()
        return loss

    return float(optimizer.step(closure).item())


def reverse_words(words):
    width = max(map(len, words))
    code = lambda text: [0 if c == " " else 2 if c == "." else ord(c) - ord("a") + 3 for c in text]
    src = [code(word.ljust(width)) for word in words]
    tgt = [code((word[::-1] + ".").ljust(width + 1)) for word in words]
    return torch.LongTensor(src), torch.LongTensor(tgt)
