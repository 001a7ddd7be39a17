"""Right training steps in unusual styles: none of these may fail a hidden test."""

from __future__ import annotations

from collections.abc import Mapping

HEAD = "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"

RIGHT: Mapping[str, str] = {
    "two_branches_and_pad_sequence": HEAD
    + """

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
""",
    "mean_by_hand": HEAD
    + """

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
""",
    "class_weights_hide_pad": HEAD
    + """

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
""",
    "closure_and_a_warning": HEAD
    + """

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
""",
}
