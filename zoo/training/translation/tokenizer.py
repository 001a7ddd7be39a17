"""Subwords: text as token ids and back, by a tokenizer trained here or by any `tokenizer.json`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal, get_args

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from zoo.core.errors import ZooError, unknown_name
from zoo.core.files import reporting_os_errors, write_whole
from zoo.training.tasks.base import EOS

SPECIAL = 3
"""PAD, SOS and EOS are the ids 0, 1 and 2; id i of the file is i + 3 here."""

Model = Literal["bpe", "unigram"]
BYTES = sorted(pre_tokenizers.ByteLevel.alphabet())


class Subwords:
    """A tokenizer of the `tokenizers` library, with PAD, SOS and EOS in front of its own tokens.

    No text, not even "<eos>", is ever read as one of the three: they stand outside the library's vocabulary. What
    the library's file calls special (`<|endoftext|>`, say) is plain text too.

    One that was trained here works on UTF-8 bytes, so every text comes back unchanged: Chinese, emoji, whitespace,
    characters that were not in the training text. Byte-pair encoding is that of Sennrich et al. 2016 on bytes
    (Radford et al. 2019); unigram that of Kudo 2018.

    Attributes:
        content: the text of the `tokenizer.json`, to the letter.
        vocab_size: number of ids, PAD, SOS and EOS included: rows of an embedding.
    """

    def __init__(self, content: str) -> None:
        """The tokenizer that `content`, the text of a `tokenizer.json`, describes.

        Whatever the file says, nothing is cut or padded, and no special token is read from text. Raises ZooError if
        it describes none.
        """
        try:
            tokenizer = Tokenizer.from_str(content)
        except Exception as error:  # noqa: BLE001 the library raises Exception itself
            raise ZooError(
                f"This is not a tokenizer: {error}. Expected a `tokenizer.json` of the tokenizers library."
            ) from None
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        ids = tokenizer.get_vocab(with_added_tokens=True).values()
        if not ids:
            raise ZooError("This tokenizer has no tokens. Give one that was trained.")
        self.content = content
        self.vocab_size = SPECIAL + max(ids) + 1
        self._tokenizer = tokenizer

    @classmethod
    def train(cls, texts: Iterable[str], vocab_size: int, model: Model = "bpe") -> Subwords:
        """Subwords of at most `vocab_size` tokens, PAD, SOS and EOS included, that suit `texts`.

        The same texts give the same BPE tokens every time. Unigram scores differ a little from one start of Python to
        the next, as the library visits words in an order of its own: save it, and load it.

        Raises:
            ZooError: `vocab_size` does not hold the 256 bytes, there is no such model, a text is no Unicode, or all
                are empty.
        """
        smallest = SPECIAL + len(BYTES)
        if vocab_size < smallest:
            raise ZooError(
                f"A vocabulary of {vocab_size} is too small: PAD, SOS, EOS and the 256 bytes alone are {smallest}."
            )
        if model not in get_args(Model):
            raise unknown_name("tokenizer model", model, get_args(Model))
        shared: dict[str, Any] = {
            "vocab_size": vocab_size - SPECIAL,
            "initial_alphabet": BYTES,
            "show_progress": False,
        }
        trainer: trainers.Trainer
        if model == "bpe":
            tokenizer, trainer = Tokenizer(models.BPE()), trainers.BpeTrainer(min_frequency=2, **shared)
        else:
            tokenizer, trainer = Tokenizer(models.Unigram()), trainers.UnigramTrainer(**shared)
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        known = list(map(_checked, texts))
        if not any(known):
            raise ZooError("There is no text to learn subwords from. Give at least one sentence.")
        tokenizer.train_from_iterator(known, trainer)
        return cls(tokenizer.to_str(pretty=True))

    @classmethod
    def load(cls, path: Path) -> Subwords:
        """The tokenizer of a `tokenizer.json`, ours or a downloaded one. Raises ZooError if it is none."""
        with reporting_os_errors(f"The tokenizer '{path}' cannot be read"):
            data = path.read_bytes()
        try:
            return cls(data.decode())
        except (ZooError, UnicodeDecodeError) as error:
            raise ZooError(f"The tokenizer '{path}' cannot be used. {error}") from None

    def save(self, path: Path) -> None:
        """Write a `tokenizer.json` that `load` reads, in one step. Raises ZooError if it cannot be written."""
        with reporting_os_errors(f"The tokenizer cannot be saved as '{path}'"):
            write_whole(path, self.content.encode())

    def encode(self, text: str) -> list[int]:
        """A text as ids, without SOS and EOS. Raises ZooError for a text that is no Unicode."""
        return self.encode_all([text])[0]

    def encode_all(self, texts: Iterable[str]) -> list[list[int]]:
        """Many texts at once, each as `encode` gives it."""
        checked = list(map(_checked, texts))
        try:
            encoded = self._tokenizer.encode_batch_fast(checked, add_special_tokens=False)
        except Exception as error:
            raise ZooError(f"This tokenizer cannot read the text: {error}.") from error
        return [[i + SPECIAL for i in one.ids] for one in encoded]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids up to EOS, without PAD and SOS. Bytes that are no UTF-8 show as "�"."""
        said = takewhile(EOS.__ne__, ids)
        return self._tokenizer.decode([i - SPECIAL for i in said if i >= SPECIAL], skip_special_tokens=False)

    def length(self, text: str) -> int:
        """Return how many tokens a text has, without SOS and EOS."""
        return len(self.encode(text))

    def __eq__(self, other: object) -> bool:
        """Return whether both have the same file."""
        return isinstance(other, Subwords) and self.content == other.content

    __hash__ = None  # type: ignore[assignment]


def _checked(text: str) -> str:
    """`text` itself. Raises ZooError if UTF-8 cannot hold it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ZooError(
            f"{text[:60]!r} is not valid Unicode: the character at {error.start} is half of a surrogate pair. "
            "Was it decoded with another encoding than UTF-8?"
        ) from None
    return text
