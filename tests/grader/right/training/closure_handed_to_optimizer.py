"""The loss is a closure handed to optimizer.step(closure); NLLLoss after log_softmax; pad_sequence; noam as a callable class instance."""

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

PAD, SOS, EOS = 0, 1, 2


class NoamRate:
    """Can be called with the names of the exercise."""

    def __call__(self, step, d_model, warmup, factor=1.0):
        return float(factor) * float(d_model) ** (-0.5) * min(float(step) ** (-0.5), float(step) * float(warmup) ** (-1.5))


noam = NoamRate()


def train_step(model, optimizer, src, tgt):
    model.train()
    criterion = nn.NLLLoss(ignore_index=PAD)
    decoder_input = nn.functional.pad(tgt, (1, -1), value=SOS)

    def closure():
        optimizer.zero_grad()
        scores = model(src, decoder_input).log_softmax(dim=-1)
        loss = criterion(scores.flatten(0, 1), tgt.flatten())
        loss.backward()
        return loss

    return optimizer.step(closure).item()


def reverse_words(words):
    letters = [torch.tensor([ord(c) - ord("a") + 3 for c in word], dtype=torch.long) for word in words]
    eos = torch.tensor([EOS])
    src = pad_sequence(letters, batch_first=True, padding_value=PAD)
    tgt = pad_sequence([torch.cat([ids.flip(0), eos]) for ids in letters], batch_first=True, padding_value=PAD)
    return src, tgt
