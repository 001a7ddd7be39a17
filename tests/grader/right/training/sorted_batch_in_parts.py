"""The batch goes through the model in parts of four rows, the longest first; gradients add up to one step."""

import torch
from torch.nn import functional as F

PAD, SOS, EOS = 0, 1, 2
ROWS = 4


def noam(step, d_model, warmup):
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def train_step(model, optimizer, src, tgt):
    model.train()
    optimizer.zero_grad()
    lengths = (tgt != PAD).sum(1)
    order, count = lengths.argsort(descending=True), lengths.sum()
    src, tgt = src[order], tgt[order]
    inputs = F.pad(tgt, (1, 0), value=SOS)[:, :-1]
    total = 0.0
    for sources, given, wanted in zip(src.split(ROWS), inputs.split(ROWS), tgt.split(ROWS)):
        logits = model(sources, given)
        loss = F.cross_entropy(logits.transpose(1, 2), wanted, ignore_index=PAD, reduction="sum") / count
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total


def reverse_words(words):
    ids = [[ord(letter) - ord("a") + 3 for letter in word] for word in words]

    def padded(rows):
        width = max(map(len, rows), default=0)
        return torch.tensor([row + [PAD] * (width - len(row)) for row in rows], dtype=torch.long)

    return padded(ids), padded([row[::-1] + [EOS] for row in ids])
