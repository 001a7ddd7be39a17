"""Spelling English words backwards: the smallest task that needs positions, masks and both attentions."""

from __future__ import annotations

import hashlib
import reprlib
from collections.abc import Sequence
from pathlib import Path

from zoo.core.errors import ZooError
from zoo.training.tasks.base import EOS, TaskData

LETTERS = "abcdefghijklmnopqrstuvwxyz"
FIRST = 3  # id of "a"; 0, 1 and 2 are PAD, SOS and EOS
IDS = {letter: FIRST + place for place, letter in enumerate(LETTERS)}
SHORTEST, LONGEST = 3, 10
HELD_OUT = 20  # one word in so many


class Reverse(TaskData):
    """word -> drow, over English words of 3 to 10 letters.

    Which words are held out depends on the word alone (its SHA-256), so that no seed and no change of
    the list moves a word from one side to the other.
    """

    src_vocab = tgt_vocab = FIRST + len(LETTERS)
    max_len = LONGEST + 1

    def __init__(self) -> None:
        """Reads the word list."""
        words = Path(__file__).with_name("words.txt").read_text(encoding="ascii").split()
        places = {word: int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big") for word in words}
        self.training = tuple(word for word in words if places[word] % HELD_OUT)
        unseen = (word for word in words if places[word] % HELD_OUT == 0)
        self.held_out = tuple(sorted(unseen, key=places.__getitem__))

    def encode(self, text: str) -> list[int]:
        """A word as ids. Raises ZooError for other characters and other lengths than 3 to 10."""
        for character in text:
            if character not in IDS:
                advice = " Write it in small letters." if character.lower() in IDS else ""
                raise ZooError(
                    f"{reprlib.repr(text)}: the character {character!r} is not one of a to z.{advice}"
                )
        if not SHORTEST <= len(text) <= LONGEST:
            raise ZooError(f"{reprlib.repr(text)} has {len(text)} letters: expected {SHORTEST} to {LONGEST}.")
        return self.encode_answer(text)

    def answer(self, text: str) -> str:
        """The word backwards."""
        return text[::-1]

    def encode_answer(self, answer: str) -> list[int]:
        """Letters as ids."""
        return [IDS[letter] for letter in answer]

    def decode(self, ids: Sequence[int]) -> str:
        """Letters up to EOS; an id that is no letter shows as "?"."""
        ended = list(ids).index(EOS) if EOS in ids else len(ids)
        return "".join(LETTERS[i - FIRST] if 0 <= i - FIRST < len(LETTERS) else "?" for i in ids[:ended])
