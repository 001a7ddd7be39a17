"""The files that a training reads, and reading them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.core.errors import ZooError
from zoo.training.translation.corpus import Corpora, Corpus, Report, read_aligned, read_tsv
from zoo.training.translation.toy import toy_corpora

PARTS = ("train", "valid", "test")


@dataclass(frozen=True)
class Sources:
    """The files of each part: none, one TSV, or two aligned files. No files at all stand for the toy languages.

    Raises ZooError if some parts are given, but not both training and validation text.
    """

    train: tuple[Path, ...] = ()
    valid: tuple[Path, ...] = ()
    test: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        if bool(self.train) != bool(self.valid) or (self.test and not self.train):
            absent = "training" if not self.train else "validation"
            raise ZooError(
                f"There is no {absent} text. Give training and validation text, or neither, for the toy languages."
            )

    def read(self) -> Corpora:
        """The pairs; those of a test text that is not given are none. Raises ZooError as the corpus does."""
        if not self.train:
            return toy_corpora()
        test = read(self.test) if self.test else Corpus((), Report(0))
        return Corpora(read(self.train), read(self.valid), test)

    def to_json(self) -> dict[str, Any]:
        """A JSON object with absolute paths; `from_json` reads it back."""
        return {part: [str(path.resolve()) for path in getattr(self, part)] for part in PARTS}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Sources:
        """From `to_json`'s object."""
        return cls(*(tuple(map(Path, data[part])) for part in PARTS))


def read(paths: tuple[Path, ...]) -> Corpus:
    """The pairs of one TSV, or of two aligned files. Raises ZooError as the corpus does."""
    return read_tsv(*paths) if len(paths) == 1 else read_aligned(*paths)


def digest(corpora: Corpora) -> str:
    """A hash of training and validation pairs, by which a run knows its text again."""
    summed = hashlib.sha256()
    for corpus in (corpora.train, corpora.valid):
        for pair in corpus.pairs:
            summed.update("\t".join(pair).encode(errors="surrogatepass") + b"\n")
        summed.update(b"\n")
    return summed.hexdigest()
