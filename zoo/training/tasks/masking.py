"""Filling in hidden tokens: what BERT is trained on (Devlin et al. 2018, section 3.1, arXiv:1810.04805)."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from zoo.core.errors import ZooError
from zoo.training.tasks.base import PAD, SPECIAL, Aligned, padded
from zoo.training.tasks.language import TextData
from zoo.training.tasks.texts import Characters

if TYPE_CHECKING:
    import torch

    from zoo.training.translation.tokenizer import Subwords

HIDDEN, MASKED, REPLACED = 0.15, 0.8, 0.1
"""Share of the tokens that are chosen; of these, shares that become MASK, and another token. The rest stays."""
MARK = "[MASK]"


class Mask(TextData):
    """The token that belongs at each of 15 % of the positions, chosen at random; at least at one of every row.

    Of those, 80 % are hidden by the token MASK, the last of the vocabulary; 10 % are replaced by another token; 10 %
    stay as they are, so that what is not hidden has to be read too. What is to be given elsewhere does not count.
    """

    assembly = "encoder"
    instead = (
        "The task mask fills in tokens from both sides, which takes an encoder: use assembly=encoder, as the preset "
        "bert-tiny has. A decoder can be trained on the task language."
    )
    scored = "hidden tokens of held-out text"
    goal = 0.5
    more = 0

    def _use(self, vocabulary: Characters | Subwords) -> None:
        super()._use(vocabulary)
        self.mask = vocabulary.vocab_size
        self.src_vocab = self.tgt_vocab = vocabulary.vocab_size + 1

    def hide(self, tokens: torch.Tensor, generator: torch.Generator) -> Aligned:
        """Tokens [B, T] with some hidden, and those, PAD elsewhere: both [B, T]."""
        import torch

        def draw() -> torch.Tensor:
            return torch.rand(tokens.shape, generator=generator)

        real = tokens != PAD
        order = draw().masked_fill(~real, 2.0)
        chosen = (order < HIDDEN) | (order == order.amin(dim=1, keepdim=True))
        fate, others = draw(), torch.randint(SPECIAL, self.mask, tokens.shape, generator=generator)
        hidden = tokens.masked_fill(chosen & (fate < MASKED), self.mask)
        hidden = torch.where(chosen & (fate >= MASKED) & (fate < MASKED + REPLACED), others, hidden)
        return Aligned(hidden, tokens.masked_fill(~chosen, PAD))

    def batches(self, generator: torch.Generator, batch_size: int) -> Iterator[Aligned]:
        """Windows of the training text, with other characters hidden each time."""
        for window in self.windows(generator, batch_size):
            yield self.hide(window, generator)

    def held_out_batches(self, batch_size: int) -> Iterator[Aligned]:
        """The held-out text in windows side by side, the same tokens hidden in every run."""
        import torch

        generator, rows = torch.Generator().manual_seed(0), list(self.held_out_rows())
        for start in range(0, len(rows), batch_size):
            yield self.hide(padded(rows[start : start + batch_size]), generator)

    def read(self, text: str) -> tuple[list[int], list[str]]:
        """Its tokens, with MASK for every [MASK]. Raises ZooError as `Characters.encode` does."""
        first, *others = [self.vocabulary.encode(part) for part in text.split(MARK)]
        ids = [*first, *(token for part in others for token in (self.mask, *part))]
        return ids, [MARK if i == self.mask else self.vocabulary.decode([i]) for i in ids]

    def answers(self, model: Any, texts: Sequence[str]) -> list[str]:
        """Texts with the most probable token in the place of every [MASK].

        Raises:
            ZooError: a text has no [MASK], is too long for the model, or has a character that it does not know.
        """
        import torch

        found = []
        for text in texts:
            if MARK not in text:
                raise ZooError(
                    f"{reprlib.repr(text)} has no {MARK}. Write it where a token is to be filled in."
                )
            ids, _ = self.read(text)
            if len(ids) > self.length:
                raise ZooError(
                    f"The text has {len(ids)} tokens, and the model takes {self.length}. Shorten it."
                )
            tokens = torch.tensor([ids], device=next(model.parameters()).device)
            with torch.no_grad():
                scores = model(tokens)[0, :, SPECIAL : self.mask]  # [1, T, V] -> [T, V]: no special token
            best = (scores.argmax(-1) + SPECIAL).tolist()
            filled = [best[i] if token == self.mask else token for i, token in enumerate(ids)]
            found.append(self.vocabulary.decode(filled))
        return found
