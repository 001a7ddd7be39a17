import math
import torch
import torch.nn.functional as F
from torch import nn


def noam(step, d_model, warmup):
    if step < warmup:
        return float(step / (math.sqrt(d_model) * warmup * math.sqrt(warmup)))
    return 1.0 / math.sqrt(d_model * step)


class Loss(nn.Module):
    def forward(self, logits, target):
        each = nn.functional.nll_loss(
            F.log_softmax(logits.reshape(-1, logits.size(-1)), -1), target.reshape(-1), reduction="none"
        )
        weight = (target.reshape(-1) > 0).to(each.dtype)
        return (each * weight).sum() / weight.sum()


def train_step(model, optimizer, src, tgt):
    model.train(True)
    optimizer.zero_grad(set_to_none=True)
    with torch.enable_grad():
        loss = Loss()(model(src, torch.roll(tgt, 1, dims=1).index_fill(1, tgt.new_tensor([0]), 1)), tgt)
        loss.backward()
    optimizer.step()
    return loss.detach().cpu().item()


def fill(rows):
    longest = max([len(row) for row in rows])
    return torch.stack([torch.tensor(row + [0] * (longest - len(row)), dtype=torch.long) for row in rows])


def reverse_words(words):
    table = {chr(97 + i): 3 + i for i in range(26)}
    src = fill([[table[c] for c in word] for word in words])
    tgt = fill([[table[c] for c in reversed(word)] + [2] for word in words])
    return src, tgt
