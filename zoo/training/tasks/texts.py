"""Texts from files, and their characters or subwords as token ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from zoo.core.errors import ZooError
from zoo.core.files import reporting_os_errors
from zoo.core.tasks import Inputs
from zoo.training.tasks.base import EOS, SPECIAL

if TYPE_CHECKING:
    from zoo.training.translation.tokenizer import Subwords

ALICE = Path(__file__).with_name("alice.txt")
HELD_OUT = 10
"""The last one in so many characters of every text is held out."""


class Vocabulary(Protocol):
    """Text as ids from 3 on, and back."""

    vocab_size: int

    def encode(self, text: str) -> list[int]:
        """A text as ids, without SOS and EOS. Raises ZooError for one that cannot be written so."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids up to EOS."""


class Characters:
    """One id for each character.

    Attributes:
        characters: those that there are, in order; the first has id 3.
        vocab_size: how many ids, the three special ones included.
    """

    def __init__(self, characters: str) -> None:
        self.characters, self.vocab_size = characters, SPECIAL + len(characters)
        self._ids = {character: SPECIAL + place for place, character in enumerate(characters)}

    @classmethod
    def of(cls, texts: Iterable[str]) -> Characters:
        """All characters of some texts, sorted."""
        return cls("".join(sorted(set().union(*texts))))

    def encode(self, text: str) -> list[int]:
        """A text as ids. Raises ZooError for a character that there is none for."""
        for character in text:
            if character not in self._ids:
                known = "".join(one for one in self.characters if one.isprintable())
                raise ZooError(
                    f"The character {character!r} is not in the text that the model was trained on. It knows "
                    f"{len(self.characters)} characters: {known}"
                )
        return [self._ids[character] for character in text]

    def decode(self, ids: Sequence[int]) -> str:
        """Characters up to EOS; an id that is none shows as "\\ufffd"."""
        last = self.vocab_size
        return "".join(
            self.characters[i - SPECIAL] if SPECIAL <= i < last else "\ufffd"
            for i in takewhile(EOS.__ne__, ids)
        )


def make_vocabulary(texts: Sequence[str], subwords: int | None) -> Characters | Subwords:
    """Characters of texts, or so many byte-pair subwords trained on them. Raises ZooError as `Subwords.train` does."""
    if subwords is None:
        return Characters.of(texts)
    from zoo.training.translation.tokenizer import Subwords

    return Subwords.train(texts, subwords)


def to_json(vocabulary: Characters | Subwords) -> dict[str, str]:
    """Return a JSON object of which `from_json` makes an equal vocabulary."""
    if isinstance(vocabulary, Characters):
        return {"characters": vocabulary.characters}
    return {"tokenizer": vocabulary.content}


def from_json(saved: Mapping[str, Any]) -> Characters | Subwords:
    """A vocabulary from `to_json`'s object. Raises KeyError, TypeError or ZooError for anything else."""
    if "characters" in saved:
        return Characters("" + saved["characters"])
    from zoo.training.translation.tokenizer import Subwords

    return Subwords(saved["tokenizer"])


def read_texts(inputs: Inputs) -> list[str]:
    """The texts of the files, of the one that comes with the zoo if there are none.

    Raises:
        ZooError: a file cannot be read, is empty, or is not text in UTF-8.
    """
    return [read_text(path) for path in inputs.files or (ALICE,)]


def read_text(path: str | Path) -> str:
    """One text, with line ends as they are in Python. Raises as `read_texts` does."""
    with reporting_os_errors(f"'{path}' cannot be read"):
        if Path(path).is_dir():
            raise ZooError(f"'{path}' is a directory. Name the files in it, as in `{path}/*.txt`.")
        data = Path(path).read_bytes()
    if b"\0" in data:
        raise ZooError(f"'{path}' is not a text: it contains null bytes. Use plain text in UTF-8.")
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ZooError(
            f"'{path}' is not text in UTF-8: byte {error.start} is {data[error.start]:#04x}. Convert it, for example "
            "with `iconv -t UTF-8`."
        ) from error
    if not text.strip():
        raise ZooError(f"'{path}' is empty. Use a file with text.")
    return text


def split(text: str) -> tuple[str, str]:
    """The part to train on, and the last tenth, which is held out."""
    cut = len(text) - len(text) // HELD_OUT
    return text[:cut], text[cut:]
