"""Learning rate, one step, and the words."""

import torch
import torch.nn.functional as F

PAD = 0
SOS = 1
EOS = 2
FIRST_LETTER = 3


def noam(step, d_model, warmup):
    rising = step / warmup**1.5
    falling = 1 / step**0.5
    return min(rising, falling) / d_model**0.5


def decoder_input(tgt):
    shifted = tgt.roll(1, dims=1)
    shifted[:, 0] = SOS
    return shifted


def train_step(model, optimizer, src, tgt):
    model.train()
    optimizer.zero_grad()
    logits = model(src, decoder_input(tgt))
    vocabulary = logits.size(-1)
    loss = F.cross_entropy(logits.reshape(-1, vocabulary), tgt.reshape(-1), ignore_index=PAD)
    loss.backward()
    optimizer.step()
    return float(loss.detach())


def to_ids(word):
    return [ord(letter) - ord("a") + FIRST_LETTER for letter in word]


def pad_rows(rows):
    longest = max(len(row) for row in rows)
    table = torch.full((len(rows), longest), PAD)
    for i, row in enumerate(rows):
        table[i, : len(row)] = torch.tensor(row)
    return table


def reverse_words(words):
    src_rows = []
    tgt_rows = []
    for word in words:
        ids = to_ids(word)
        src_rows.append(ids)
        backwards = list(reversed(ids))
        tgt_rows.append(backwards + [EOS])
    return pad_rows(src_rows), pad_rows(tgt_rows)
