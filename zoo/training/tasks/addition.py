"""Adding numbers as rows of digits: what a model can do once it carries something from position to position."""

from __future__ import annotations

import hashlib
import reprlib
from collections.abc import Sequence

from zoo.core.errors import ZooError
from zoo.training.tasks.base import EOS, SPECIAL, TaskData

SIGNS = "0123456789+"
IDS = {sign: SPECIAL + place for place, sign in enumerate(SIGNS)}
LARGEST = 99
HELD_OUT = 10  # one sum in so many


class Add(TaskData):
    """58+67 -> 125, over all sums of two numbers of one or two digits.

    Which sums are held out depends on the sum alone (its SHA-256).
    """

    src_vocab = tgt_vocab = SPECIAL + len(SIGNS)
    max_len = 2 * len(str(LARGEST)) + 1

    def __init__(self) -> None:
        """All 10,000 sums."""
        texts = [f"{a}+{b}" for a in range(LARGEST + 1) for b in range(LARGEST + 1)]
        places = {text: int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") for text in texts}
        self.training = tuple(text for text in texts if places[text] % HELD_OUT)
        unseen = (text for text in texts if places[text] % HELD_OUT == 0)
        self.held_out = tuple(sorted(unseen, key=places.__getitem__))

    def encode(self, text: str) -> list[int]:
        """A sum as ids. Raises ZooError for anything but two numbers from 0 to 99 with a plus between them."""
        numbers = text.split("+")
        if len(numbers) != 2 or not all(
            one.isascii() and one.isdecimal() and len(one) <= len(str(LARGEST)) for one in numbers
        ):
            raise ZooError(f"{reprlib.repr(text)}: expected two numbers from 0 to {LARGEST}, as in 58+67.")
        return self.encode_answer(text)

    def answer(self, text: str) -> str:
        """The sum."""
        return str(sum(map(int, text.split("+"))))

    def encode_answer(self, answer: str) -> list[int]:
        """Digits as ids."""
        return [IDS[sign] for sign in answer]

    def decode(self, ids: Sequence[int]) -> str:
        """Digits up to EOS; an id that is none shows as "?"."""
        ended = list(ids).index(EOS) if EOS in ids else len(ids)
        return "".join(SIGNS[i - SPECIAL] if 0 <= i - SPECIAL < len(SIGNS) else "?" for i in ids[:ended])
