"""Telling classes of text apart, from the first position of an encoder (Devlin et al. 2018, section 4.1)."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zoo.core.errors import CombinationError, ZooError
from zoo.core.tasks import NO_INPUTS, Inputs
from zoo.training.tasks.base import PAD, SOS, SPECIAL, Aligned, AlignedData, padded
from zoo.training.tasks.texts import Characters, from_json, make_vocabulary, read_text, to_json

if TYPE_CHECKING:
    import torch

    from zoo.training.translation.tokenizer import Subwords

LETTERS = "abcd"
SHORTEST, LONGEST = 5, 15
DRAWN = 20_000
HELD_OUT = 10  # one text in so many


class Classify(AlignedData):
    """A class for each text: SOS, then the text; at SOS the class is to be given, elsewhere nothing.

    Files have a line for each text: its label, a tab, the text. Which are held out depends on the text alone (its
    SHA-256), one in ten. Without a file, texts are rows of the letters a to d, and the class is the most frequent one.

    Attributes:
        classes: labels; class i is the token i + 3.
        training, held_out: pairs of a class's number and a text.
    """

    assembly = "encoder"
    instead = (
        "The task classify reads a whole text and gives its class, which takes an encoder: use assembly=encoder, as "
        "the preset bert-tiny has."
    )

    def __init__(self, inputs: Inputs = NO_INPUTS) -> None:
        """Reads the files. Raises ZooError for a line without a label, a single class, or what `read_text` refuses."""
        pairs = [pair for path in inputs.files for pair in _read(path)] if inputs.files else letters()
        pairs = list(dict.fromkeys(pairs))
        labels = sorted({label for label, _ in pairs})
        if len(labels) < 2:
            raise ZooError(f"All texts have the same label, {labels[0]!r}. Use texts of two classes or more.")
        self._use(make_vocabulary([text for _, text in pairs], inputs.subwords), labels)
        places = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") for _, text in pairs]
        known = [
            (labels.index(label), text, place) for (label, text), place in zip(pairs, places, strict=True)
        ]
        self.training = [(label, text) for label, text, place in known if place % HELD_OUT]
        unseen = sorted((one for one in known if one[2] % HELD_OUT == 0), key=lambda one: one[2])
        self.held_out = [(label, text) for label, text, _ in unseen]
        if not self.training or not self.held_out:
            raise ZooError(
                f"{len(pairs)} texts are too few: one in {HELD_OUT} is held out, by chance. Use a hundred or more."
            )

    def _use(self, vocabulary: Characters | Subwords, classes: Sequence[str]) -> None:
        self.vocabulary, self.classes = vocabulary, tuple(classes)
        self.tgt_vocab = SPECIAL + len(classes)
        self.src_vocab = max(vocabulary.vocab_size, self.tgt_vocab)  # one table may serve both

    def saved(self) -> Mapping[str, Any]:
        """Vocabulary and classes."""
        return {**to_json(self.vocabulary), "classes": list(self.classes)}

    @classmethod
    def restored(cls, saved: Mapping[str, Any]) -> Any:
        """A task with these, and no texts."""
        made = cls.__new__(cls)
        made._use(from_json(saved), [str(one) for one in saved["classes"]])
        made.training = made.held_out = []
        return made

    def label(self, token: int) -> str:
        """The class that a token stands for; "?" for one that is none."""
        place = token - SPECIAL
        return self.classes[place] if 0 <= place < len(self.classes) else "?"

    def check_length(self) -> None:
        """Raises CombinationError if most texts are longer than a row; the others are cut."""
        longest = sorted(len(self.vocabulary.encode(text)) for _, text in self.training[:1000])
        if longest and longest[len(longest) // 2] > self.length - 1:
            raise CombinationError(
                f"max_len={self.length} is too small for the task: half of the texts have more than "
                f"{longest[len(longest) // 2] - 1} tokens. Use --max-len {longest[-1] + 1}."
            )

    def rows(self, pairs: Sequence[tuple[int, str]]) -> Aligned:
        """Texts and their classes."""
        src = padded([[SOS, *self.vocabulary.encode(text)][: self.length] for _, text in pairs])
        tgt = src.new_full(src.shape, PAD)
        tgt[:, 0] = src.new_tensor([SPECIAL + label for label, _ in pairs])  # [B]
        return Aligned(src, tgt)

    def batches(self, generator: torch.Generator, batch_size: int) -> Iterator[Aligned]:
        """Endless batches of training texts, each drawn by `generator`."""
        import torch

        while True:
            drawn = torch.randint(len(self.training), (batch_size,), generator=generator)
            yield self.rows([self.training[i] for i in drawn.tolist()])

    def held_out_batches(self, batch_size: int) -> Iterator[Aligned]:
        """All held-out texts."""
        for start in range(0, len(self.held_out), batch_size):
            yield self.rows(self.held_out[start : start + batch_size])

    def read(self, text: str) -> tuple[list[int], list[str]]:
        """SOS, where the class is given, and its tokens. Raises ZooError as `Characters.encode` does."""
        ids = self.vocabulary.encode(text)
        return [SOS, *ids], ["<s>", *(self.vocabulary.decode([i]) for i in ids)]

    def answers(self, model: Any, texts: Sequence[str]) -> list[str]:
        """The most probable class of each text, with its probability. Raises ZooError for unknown characters."""
        import torch

        device, found = next(model.parameters()).device, []
        for text in texts:
            tokens = self.rows([(0, text)]).src.to(device)
            with torch.no_grad():
                scores = model(tokens)[0, 0, SPECIAL : SPECIAL + len(self.classes)]  # [1, T, V] -> [C]
            share, best = scores.softmax(-1).max(-1)
            found.append(f"{self.classes[int(best)]} ({float(share):.0%})")
        return found


def _read(path: str) -> Iterator[tuple[str, str]]:
    """Labels and texts of a file. Raises ZooError."""
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not line.strip():
            continue
        label, tab, text = line.partition("\t")
        if not tab or not label.strip() or not text.strip():
            raise ZooError(f"'{path}', line {number}: expected a label, a tab and a text, got {line[:40]!r}.")
        yield label.strip(), text.strip()


def letters() -> list[tuple[str, str]]:
    """Rows of letters from a to d, each with the one that it has most of; none where two share that place."""
    draws, pairs = random.Random(0), []
    for _ in range(DRAWN):
        text = "".join(draws.choices(LETTERS, k=draws.randint(SHORTEST, LONGEST)))
        most, second = sorted(map(text.count, LETTERS), reverse=True)[:2]
        if most > second:
            pairs.append((max(LETTERS, key=text.count), text))
    return pairs
