"""nanoGPT manner: two branches for the schedule, F.cross_entropy flattened with ignore_index, zero_grad(set_to_none=True) before and after."""

import torch
from torch.nn import functional as F

stoi = {ch: i + 3 for i, ch in enumerate("abcdefghijklmnopqrstuvwxyz")}
encode = lambda s: [stoi[c] for c in s]


def noam(step, d_model, warmup):
    # 1) linear warmup for warmup steps
    if step < warmup:
        return float(d_model**-0.5 * step * warmup**-1.5)
    # 2) after that, decay with the root
    return float(d_model**-0.5 * step**-0.5)


def train_step(model, optimizer, src, tgt):
    model.train()
    optimizer.zero_grad(set_to_none=True)
    x = torch.cat([torch.ones_like(tgt[:, :1]), tgt[:, :-1]], dim=1)
    logits = model(src, x)
    loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), tgt.reshape(-1), ignore_index=0)
    loss.backward()
    optimizer.step()
    # flush the gradients as soon as we can, no need for this memory anymore
    optimizer.zero_grad(set_to_none=True)
    return loss.item()


def reverse_words(words):
    xs = [encode(w) for w in words]
    ys = [encode(w[::-1]) + [2] for w in words]

    def batch(rows):
        out = torch.zeros(len(rows), max(map(len, rows), default=0), dtype=torch.long)
        for i, row in enumerate(rows):
            out[i, : len(row)] = torch.tensor(row, dtype=torch.long)
        return out

    return batch(xs), batch(ys)
