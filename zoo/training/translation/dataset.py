"""Sentence pairs as token ids, ready to be batched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from zoo.training.tasks.base import Batch
from zoo.training.translation.batching import make_batch
from zoo.training.translation.corpus import Corpora, Corpus, limited
from zoo.training.translation.tokenizer import Subwords

Ids = tuple[list[int], list[int]]


class Tokenizers(NamedTuple):
    """Of source and target; the same object twice where both share a vocabulary."""

    src: Subwords
    tgt: Subwords


@dataclass(frozen=True)
class Dataset:
    """Pairs, and their ids, source and target without EOS, in the same order."""

    corpus: Corpus
    ids: Sequence[Ids]

    @property
    def lengths(self) -> list[tuple[int, int]]:
        """Tokens of source, and of target with its EOS."""
        return [(len(src), len(tgt) + 1) for src, tgt in self.ids]

    def batch(self, indices: Sequence[int]) -> Batch:
        """These pairs as a padded batch."""
        return make_batch([self.ids[i] for i in indices])


class Datasets(NamedTuple):
    """What is trained on, and what decides when to stop; what is scored at the end stays text."""

    train: Dataset
    valid: Dataset


def encoded(corpus: Corpus, tokenizers: Tokenizers, max_len: int) -> Dataset:
    """The pairs that fit into `max_len` tokens, EOS included; the others are counted in the corpus's report.

    Raises ZooError if none is left.
    """
    src = tokenizers.src.encode_all([pair.src for pair in corpus.pairs])
    tgt = tokenizers.tgt.encode_all([pair.tgt for pair in corpus.pairs])
    ids = list(zip(src, tgt, strict=True))
    kept = [one for one in ids if max(len(one[0]), len(one[1]) + 1) <= max_len]
    return Dataset(limited(corpus, Dataset(corpus, ids).lengths, max_len), kept)


def datasets(corpora: Corpora, tokenizers: Tokenizers, max_len: int) -> Datasets:
    """Return what training needs of the corpora."""
    return Datasets(*(encoded(one, tokenizers, max_len) for one in (corpora.train, corpora.valid)))
