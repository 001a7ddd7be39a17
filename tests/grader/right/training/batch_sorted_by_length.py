"""The batch is sorted by length first."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

PAD, SOS, EOS = 0, 1, 2


def noam(step: int, d_model: int, warmup: int) -> float:
    """The learning rate of "Attention Is All You Need", section 5.3; `step` starts at 1."""
    return float(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))


def train_step(model, optimizer, src, tgt):
    model.train()
    start = torch.full_like(tgt[:, :1], SOS)
    given = torch.cat([start, tgt[:, :-1]], 1)
    order = (tgt != PAD).sum(1).argsort(descending=True)  # longest first
    loss = F.cross_entropy(model(src[order], given[order]).flatten(0, 1), tgt[order].flatten(), ignore_index=PAD)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def _padded(rows: Sequence[Sequence[int]]) -> Tensor:
    width = max(map(len, rows), default=0)
    return torch.tensor([[*row, *[PAD] * (width - len(row))] for row in rows], dtype=torch.long)  # [B, width]


def reverse_words(words: Sequence[str]) -> tuple[Tensor, Tensor]:
    """Words of a..z -> src ids (letters) and tgt ids (letters reversed, EOS), both padded on the right."""
    letters = [[ord(letter) - ord("a") + 3 for letter in word] for word in words]
    return _padded(letters), _padded([[*row[::-1], EOS] for row in letters])
