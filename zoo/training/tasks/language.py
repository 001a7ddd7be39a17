"""Going on with a text: what GPT is trained on (Radford et al. 2018, section 3.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zoo.core.errors import CombinationError, ZooError
from zoo.core.tasks import NO_INPUTS, Inputs
from zoo.training.tasks.base import EOS, PAD, Aligned, AlignedData, padded
from zoo.training.tasks.texts import (
    HELD_OUT,
    Characters,
    from_json,
    make_vocabulary,
    read_texts,
    split,
    to_json,
)

if TYPE_CHECKING:
    import torch

    from zoo.training.translation.tokenizer import Subwords


class TextData(AlignedData):
    """Text as one long row of ids, of which training draws windows; the last tenth of each file is held out.

    Attributes:
        vocabulary: characters, or subwords.
        training, held_out: ids, with EOS between the texts of files.
    """

    vocabulary: Characters | Subwords
    training: Sequence[int] = ()
    held_out: Sequence[int] = ()
    more = 1
    glance = 32
    how = "given the highest probability"
    """Tokens that a window has beyond the length of a row."""

    def __init__(self, inputs: Inputs = NO_INPUTS) -> None:
        """Reads the files, and makes a vocabulary of them. Raises ZooError as `read_texts` and `Subwords` do."""
        texts = read_texts(inputs)
        self._use(make_vocabulary(texts, inputs.subwords))
        parts = [[self.vocabulary.encode(part) for part in split(text)] for text in texts]
        self.training, self.held_out = (_joined([part[side] for part in parts]) for side in (0, 1))

    def _use(self, vocabulary: Characters | Subwords) -> None:
        self.vocabulary, self.src_vocab, self.tgt_vocab = (
            vocabulary,
            vocabulary.vocab_size,
            vocabulary.vocab_size,
        )

    def saved(self) -> Mapping[str, Any]:
        """The vocabulary."""
        return to_json(self.vocabulary)

    @classmethod
    def restored(cls, saved: Mapping[str, Any]) -> Any:
        """A task with this vocabulary, and no text."""
        made = cls.__new__(cls)
        made._use(from_json(saved))
        return made

    def check_length(self) -> None:
        """Raises CombinationError if the part to train on, or the held-out part, does not fill a window."""
        if not self.training:  # restored from a checkpoint
            return
        window = self.length + self.more
        if len(self.training) < window:
            fits = len(self.training) - self.more
            way = f", or --max-len {min(fits, 2 ** max(fits, 1).bit_length() // 2)}" if fits > 1 else ""
            raise CombinationError(
                f"The text is too short: without the last tenth, which is held out, it has {len(self.training):,} "
                f"tokens, and a window of max_len={self.length} takes {window:,}. Use a longer text{way}."
            )
        if len(self.held_out) < 2:
            raise CombinationError(
                f"The text is too short: one token in {HELD_OUT} is held out, which is {len(self.held_out)}, and a "
                "score takes two."
            )

    def windows(self, generator: torch.Generator, batch_size: int) -> Iterator[torch.Tensor]:
        """Windows of the training text, each from anywhere: [B, length + more]."""
        import torch

        tokens, size = torch.tensor(self.training), self.length + self.more
        all_windows = tokens.unfold(0, size, 1)  # [N] -> [N - size + 1, size], a view
        while True:
            yield all_windows[torch.randint(len(all_windows), (batch_size,), generator=generator)]

    def held_out_rows(self) -> Iterator[Sequence[int]]:
        """The held-out text in windows side by side, the last one shorter."""
        for start in range(0, len(self.held_out) - self.more, self.length):
            yield self.held_out[start : start + self.length + self.more]


class Language(TextData):
    """The next token at every position, in windows of max_len tokens."""

    assembly = "decoder"
    instead = (
        "The task language continues a text token by token, which takes a decoder: use assembly=decoder, as the "
        "preset gpt-tiny has. An encoder can be trained on the task mask."
    )
    scored = "next tokens of held-out text"
    goal = 0.5

    def batches(self, generator: torch.Generator, batch_size: int) -> Iterator[Aligned]:
        """Windows of the training text; what is to be given is the next token."""
        for window in self.windows(generator, batch_size):
            yield Aligned(window[:, :-1], window[:, 1:])  # [B, T + 1] -> 2 x [B, T]

    def held_out_batches(self, batch_size: int) -> Iterator[Aligned]:
        """Every token of the held-out text but the first is asked for once, from those before it in its window."""
        rows = list(self.held_out_rows())
        for start in range(0, len(rows), batch_size):
            window = padded(rows[start : start + batch_size])
            yield Aligned(window[:, :-1], window[:, 1:])  # [B, T + 1] -> 2 x [B, T]

    def read(self, text: str) -> tuple[list[int], list[str]]:
        """Its tokens. Raises ZooError as `Characters.encode` does."""
        ids = self.vocabulary.encode(text)
        return ids, [self.vocabulary.decode([i]) for i in ids]

    def size(self, ids: Sequence[int]) -> int:
        """Bytes in UTF-8 of the text that ids stand for."""
        return sum(len(self.vocabulary.decode(part).encode()) for part in _parts(ids))

    def answers(self, model: Any, texts: Sequence[str]) -> list[str]:
        """Raises ZooError: it answers nothing."""
        raise ZooError('The task language continues a text. Use `zoo generate DIR "Once"`.')


def _joined(texts: Sequence[Sequence[int]]) -> list[int]:
    """Texts in one row, EOS between them."""
    return [token for text in texts for token in (EOS, *text)][1:]


def _parts(ids: Sequence[int]) -> list[list[int]]:
    """Ids without PAD, cut at EOS."""
    parts: list[list[int]] = [[]]
    for token in ids:
        if token == EOS:
            parts.append([])
        elif token != PAD:
            parts[-1].append(token)
    return parts
