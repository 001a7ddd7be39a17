"""A solution of `training.py`: short, plain, and correct in edge cases."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

PAD, SOS, EOS = 0, 1, 2


def noam(step: int, d_model: int, warmup: int) -> float:
    """The learning rate of "Attention Is All You Need", section 5.3; `step` starts at 1."""
    return float(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))


def train_step(model: nn.Module, optimizer: torch.optim.Optimizer, src: Tensor, tgt: Tensor) -> float:
    """One step of teacher forcing on src ids [B, S] and tgt ids [B, L]; the loss before the step."""
    model.train()
    start = torch.full_like(tgt[:, :1], SOS)  # [B, 1]
    logits = model(src, torch.cat([start, tgt[:, :-1]], dim=1))  # [B, L, V]
    loss = F.cross_entropy(logits.flatten(0, 1), tgt.flatten(), ignore_index=PAD)
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
