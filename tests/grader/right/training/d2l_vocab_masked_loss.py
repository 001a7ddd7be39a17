"""d2l and PyTorch-tutorial manner: a Vocab class, nn.CrossEntropyLoss subclassed with weights, module-level loss object, enable_grad guard, factor keyword-only."""

import torch
from torch import nn

SPECIALS = ["<pad>", "<bos>", "<eos>"]


class Vocab:
    def __init__(self, tokens):
        self.idx_to_token = SPECIALS + list(tokens)
        self.token_to_idx = {token: idx for idx, token in enumerate(self.idx_to_token)}

    def __len__(self):
        return len(self.idx_to_token)

    def __getitem__(self, tokens):
        if not isinstance(tokens, (list, tuple)):
            return self.token_to_idx[tokens]
        return [self[token] for token in tokens]


class MaskedSoftmaxCELoss(nn.CrossEntropyLoss):
    """The softmax cross-entropy loss with masks."""

    def forward(self, pred, label, weights):
        self.reduction = "none"
        unweighted = super().forward(pred.permute(0, 2, 1), label)
        return (unweighted * weights).sum() / weights.sum()


vocab = Vocab("abcdefghijklmnopqrstuvwxyz")
loss = MaskedSoftmaxCELoss()


def truncate_pad(line, num_steps, padding_token):
    if len(line) > num_steps:
        return line[:num_steps]
    return line + [padding_token] * (num_steps - len(line))


def noam(step, d_model, warmup, *, factor=1):
    return float(factor * (d_model ** (-0.5) * min(step ** (-0.5), step * warmup ** (-1.5))))


@torch.enable_grad()
def train_step(model, optimizer, src, tgt):
    model.train()
    optimizer.zero_grad()
    bos = torch.tensor([vocab["<bos>"]] * tgt.shape[0], device=tgt.device).reshape(-1, 1)
    dec_input = torch.cat([bos, tgt[:, :-1]], 1)  # Teacher forcing
    Y_hat = model(src, dec_input)
    l = loss(Y_hat, tgt, (tgt != vocab["<pad>"]).to(Y_hat.dtype))
    l.sum().backward()  # Make the loss scalar for `backward`
    optimizer.step()
    with torch.no_grad():
        return float(l.sum())


def reverse_words(words):
    source = [vocab[list(word)] for word in words]
    target = [vocab[list(word[::-1]) + ["<eos>"]] for word in words]
    batch = []
    for lines in (source, target):
        num_steps = max(len(line) for line in lines)
        batch.append(torch.tensor([truncate_pad(line, num_steps, vocab["<pad>"]) for line in lines], dtype=torch.int64))
    return tuple(batch)
