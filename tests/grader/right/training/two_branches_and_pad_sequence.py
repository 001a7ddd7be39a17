import math
import torch
import torch.nn.functional as F
from torch import nn


def noam(step, d_model, warmup):
    if step < warmup:
        return float(step / (math.sqrt(d_model) * warmup * math.sqrt(warmup)))
    return 1.0 / math.sqrt(d_model * step)


def train_step(model, optimizer, src, tgt):
    model.train()
    optimizer.zero_grad(set_to_none=False)
    shown = F.pad(tgt, (1, 0), value=1)[:, :-1]
    logits = model(src, shown).transpose(1, 2)
    loss = F.cross_entropy(logits, tgt, ignore_index=0)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return float(loss)


def reverse_words(words):
    ids = [torch.tensor(["~~~abcdefghijklmnopqrstuvwxyz".index(c) for c in w]) for w in words]
    back = [torch.cat([one.flip(0), torch.tensor([2])]) for one in ids]
    pad = nn.utils.rnn.pad_sequence
    return pad(ids, batch_first=True), pad(back, batch_first=True)
