"""The learning rate, one training step and the data of word reversal, in steps that a known mistake replaces.

The learning rate is that of "Attention Is All You Need", section 5.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

PAD, SOS, EOS, FIRST_LETTER = 0, 1, 2, 3
Rows = list[list[int]]


def rate(step: float, d_model: float, warmup: float) -> float:
    """d_model^-0.5 min(step^-0.5, step warmup^-1.5)."""
    return float(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))


def shifted(tgt: Tensor) -> Tensor:
    """SOS, then tgt without its last column."""
    return torch.cat([torch.full_like(tgt[:, :1], SOS), tgt[:, :-1]], 1)  # [B, L]


def mean_loss(logits: Tensor, tgt: Tensor) -> Tensor:
    """Cross-entropy, the mean over what is not PAD."""
    return F.cross_entropy(logits.flatten(0, 1), tgt.flatten(), ignore_index=PAD)


def one_step(_model: Any, optimizer: Any, loss: Callable[[], Tensor]) -> Tensor:
    """The loss before the step."""
    optimizer.zero_grad()
    found = loss()
    found.backward()
    optimizer.step()
    return found


def padded(rows: Rows, width: int = 0) -> Tensor:
    """Rows filled up with PAD on the right, as wide as the longest."""
    width = width or max(map(len, rows))
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows])  # [B, T]


@dataclass(frozen=True)
class Steps:
    """All three functions. `dataclasses.replace` makes a mistake of it."""

    NAMES: ClassVar[Mapping[str, str]] = {
        "rate": "learning rate", "shift": "decoder input", "ask": "logits", "target": "target", "loss": "loss",
        "words": "words", "letter": "id of a letter", "source": "source ids", "spelled": "target ids",
        "pad_source": "padded source", "pad_target": "padded target",
    }  # fmt: skip

    rate: Callable[[float, float, float], Any] = rate

    mode: Callable[[Any], object] = lambda model: model.train()
    shift: Callable[[Tensor], Tensor] = shifted
    ask: Callable[[Any, Tensor, Tensor], Tensor] = lambda model, src, tgt: model(src, tgt)
    target: Callable[[Tensor], Tensor] = lambda tgt: tgt
    loss: Callable[[Tensor, Tensor], Tensor] = mean_loss
    step: Callable[[Any, Any, Callable[[], Tensor]], Any] = one_step
    after: Callable[[Any, Any], object] = lambda _model, _optimizer: None
    say: Callable[[Any], Any] = lambda loss: loss.item()

    words: Callable[[Sequence[str]], Sequence[str]] = lambda words: words
    letter: Callable[[str], int] = lambda letter: ord(letter) - ord("a") + FIRST_LETTER
    source: Callable[[list[int]], list[int]] = lambda ids: ids
    spelled: Callable[[list[int]], list[int]] = lambda ids: [*reversed(ids), EOS]
    pad_source: Callable[[Rows], Tensor] = padded
    pad_target: Callable[[Rows], Tensor] = padded
    pair: Callable[[Tensor, Tensor], Any] = lambda src, tgt: (src, tgt)

    def train(self, model: Any, optimizer: Any, src: Tensor, tgt: Tensor) -> Any:
        """One step; the loss before it."""
        self.mode(model)

        def loss() -> Tensor:
            return self.loss(self.ask(model, src, self.shift(tgt)), self.target(tgt))

        found = self.step(model, optimizer, loss)
        self.after(model, optimizer)
        return self.say(found)

    def reverse(self, words: Sequence[str]) -> Any:
        """Words as ids, and their letters backwards."""
        rows = [[self.letter(letter) for letter in word] for word in self.words(words)]
        src = self.pad_source([self.source(row) for row in rows])
        return self.pair(src, self.pad_target([self.spelled(row) for row in rows]))


REFERENCE = Steps()


def namespace(steps: Steps) -> dict[str, Any]:
    """Return the names that a file with these steps defines."""

    def noam(step: int, d_model: int, warmup: int) -> Any:
        return steps.rate(step, d_model, warmup)

    def train_step(model: Any, optimizer: Any, src: Tensor, tgt: Tensor) -> Any:
        return steps.train(model, optimizer, src, tgt)

    def reverse_words(words: Sequence[str]) -> Any:
        return steps.reverse(words)

    return {"noam": noam, "train_step": train_step, "reverse_words": reverse_words}
