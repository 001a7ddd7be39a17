"""Texts in, translations out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch

from zoo.models.transformer import Model
from zoo.parts.decoding.base import Decoding
from zoo.parts.decoding.generate import generate
from zoo.parts.decoding.greedy import GreedyDecoding
from zoo.training.tasks.base import EOS, PAD, SOS, padded
from zoo.training.translation.dataset import Tokenizers

LONGER = 50
"""So many tokens more than its source a translation may have: Vaswani et al. 2017, section 6.1."""


ROWS = 256
"""Most texts at a time: a step of a beam scores the whole vocabulary for each of its answers to each of them."""


class Translations(NamedTuple):
    """Translations in the order of the texts, and the indices of texts of which only the beginning was translated."""

    texts: list[str]
    cut: list[int]


@dataclass
class Translator:
    """A model with its tokenizers.

    A text of nothing but whitespace has the empty translation. Of a text with more than `max_len` tokens only the
    first `max_len` are translated, and the answer says of which this was so. Texts are batched by length.

    Attributes:
        model: on `device`; its mode is left as it was.
        max_len: longest sequence that the model takes.
        tokens: a batch has at most so many places.
        cached: as in `zoo.parts.decoding.stepper.Stepper`; the answers are the same.
    """

    model: Model
    tokenizers: Tokenizers
    max_len: int
    device: torch.device
    tokens: int = 4096
    cached: bool | None = None

    def __call__(self, texts: Sequence[str], decoding: Decoding | None = None, seed: int = 0) -> Translations:
        """The translations of `texts`; greedily if no decoding is given, `seed` is for those that draw."""
        ids = self.tokenizers.src.encode_all(texts)
        cut = [i for i, one in enumerate(ids) if len(one) > self.max_len]
        ids = [one[: self.max_len] if text.strip() else [] for one, text in zip(ids, texts, strict=True)]
        found = [""] * len(texts)
        with torch.random.fork_rng(devices=[self.device] if self.device.type == "cuda" else []):
            torch.manual_seed(seed)
            for indices in self._batches(ids):
                for index, text in zip(
                    indices, self._translated([ids[i] for i in indices], decoding), strict=True
                ):
                    found[index] = text
        return Translations(found, cut)

    def _batches(self, ids: Sequence[Sequence[int]]) -> Iterator[list[int]]:
        """Indices of texts that have tokens, by length, the longest first."""
        order = sorted((i for i in range(len(ids)) if ids[i]), key=lambda i: -len(ids[i]))
        while order:
            rows = min(ROWS, max(1, self.tokens // len(ids[order[0]])))
            yield order[:rows]
            order = order[rows:]

    def _translated(self, ids: Sequence[Sequence[int]], decoding: Decoding | None) -> list[str]:
        src = padded(ids).to(self.device)  # [B, S]
        longest = min(self.max_len, src.size(1) + LONGER)
        rows = generate(
            self.model,
            src,
            longest,
            decoding or GreedyDecoding(),
            sos=SOS,
            eos=EOS,
            pad=PAD,
            cached=self.cached,
        )
        return [self.tokenizers.tgt.decode(row) for row in rows.tolist()]
