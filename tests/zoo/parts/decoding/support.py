"""Models that say what a test tells them to, and searches that are too slow to be wrong."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from zoo.core.plugins import get_registry
from zoo.parts.decoding.base import Decoding
from zoo.parts.decoding.generate import generate

PAD, SOS, EOS = 0, 1, 2
IDS = {"sos": SOS, "eos": EOS, "pad": PAD}

DECODINGS = [variant.name for variant in get_registry().variants("decoding")]
CERTAIN = ("greedy", "no-repeat", "beam")
"""Those that draw nothing."""


def decoding(name: str, **options: Any) -> Decoding:
    return get_registry().get("decoding", name).load()(**options)  # type: ignore[no-any-return]


class Fake(nn.Module):
    """What a stepper asks of a model; it keeps what it was asked."""

    stacks = ("encoder", "decoder")
    cacheable = False

    def __init__(self) -> None:
        super().__init__()
        self.encoded: list[Tensor] = []
        self.seen: list[Tensor] = []

    def encode(self, src: Tensor) -> Tensor:
        self.encoded.append(src)
        return src.double()[..., None]  # [B, S] -> [B, S, 1]

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor, caches: None = None) -> Tensor:
        assert not self.training
        assert not torch.is_grad_enabled()
        assert torch.equal(memory[..., 0], src.double())  # they move together
        self.seen.append(tgt)
        return torch.stack([self.scores(*row) for row in zip(src.tolist(), tgt.tolist(), strict=True)])

    def scores(self, src: list[int], tgt: list[int]) -> Tensor:
        """What comes after each token: [S], [L] -> [L, V]."""
        raise NotImplementedError


class Script(Fake):
    """Source [b] is answered with script[b], whatever else is chosen."""

    def __init__(self, *script: list[int], vocabulary: int = 10) -> None:
        super().__init__()
        self.script, self.vocabulary = script, vocabulary

    def scores(self, src: list[int], tgt: list[int]) -> Tensor:
        told = torch.tensor(self.script[src[0]][: len(tgt)])
        return 9.0 * nn.functional.one_hot(told, self.vocabulary).double()


class Table(Fake):
    """A random distribution for every source and every beginning, the same each time."""

    def __init__(self, vocabulary: int, seed: int = 0, spread: float = 1.5) -> None:
        super().__init__()
        self.vocabulary, self.seed, self.spread = vocabulary, seed, spread

    def after(self, src: list[int], begun: list[int]) -> Tensor:
        """Logits of the next token, [V]."""
        chance = random.Random(f"{self.seed} {src} {begun}")
        return torch.tensor([chance.gauss(0, self.spread) for _ in range(self.vocabulary)]).double()

    def scores(self, src: list[int], tgt: list[int]) -> Tensor:
        assert tgt[0] == SOS
        last = self.after(src, tgt[1:])
        return last.expand(len(tgt), -1)  # a stepper looks at the last position only


class Given(Fake):
    """Probabilities by beginning, as in {(): [..], (3,): [..]}; evenly spread where none are given."""

    def __init__(self, vocabulary: int, probabilities: dict[tuple[int, ...], list[float]]) -> None:
        super().__init__()
        self.vocabulary, self.probabilities = vocabulary, probabilities

    def scores(self, src: list[int], tgt: list[int]) -> Tensor:
        even = [1 / self.vocabulary] * self.vocabulary
        last = torch.tensor(self.probabilities.get(tuple(tgt[1:]), even)).double().log()
        return last.expand(len(tgt), -1)


class Answer(NamedTuple):
    """Tokens with EOS, the sum of their log-probabilities, and whether EOS is there."""

    tokens: tuple[int, ...]
    total: float
    ended: bool

    def score(self, length_penalty: float) -> float:
        return self.total / ((5 + len(self.tokens)) / 6) ** length_penalty


def log_probs(model: nn.Module, src: list[int], begun: tuple[int, ...]) -> list[float]:
    """log p of every next token but PAD, by the model itself; -inf for PAD, which is never chosen."""
    sources = torch.tensor([src])
    with torch.no_grad():
        memory = model.encode(sources)  # type: ignore[operator]
        output = model.decode(torch.tensor([[SOS, *begun]]), memory, sources, None)  # type: ignore[operator]
    scores = output[0, -1].double()
    scores[PAD] = -math.inf
    return scores.log_softmax(-1).tolist()  # type: ignore[no-any-return]


def continuations(model: nn.Module, src: list[int], answer: Answer, eos: int = EOS) -> list[Answer]:
    """The answer with every next token that is possible, or itself if it has ended."""
    if answer.ended:
        return [answer]
    return [
        Answer((*answer.tokens, token), answer.total + log_p, token == eos)
        for token, log_p in enumerate(log_probs(model, src, answer.tokens))
        if log_p > -math.inf
    ]


def all_answers(model: nn.Module, src: list[int], max_len: int, eos: int = EOS) -> list[Answer]:
    """Every answer there is: those that end, and those that are cut at max_len."""
    return searched(model, src, 10**9, max_len, eos)


def searched(model: nn.Module, src: list[int], size: int, max_len: int, eos: int = EOS) -> list[Answer]:
    """The beam at the end of a search that never stops early, one source and one list at a time."""
    beam = [Answer((), 0.0, False)]
    for _ in range(max_len):
        grown = itertools.chain.from_iterable(continuations(model, src, answer, eos) for answer in beam)
        beam = sorted(grown, key=lambda answer: -answer.total)[:size]
    return beam


def best(answers: list[Answer], length_penalty: float) -> list[int]:
    return list(max(answers, key=lambda answer: answer.score(length_penalty)).tokens)


def decode(model: Any, src: Tensor, how: Decoding, max_len: int, **ids: Any) -> list[list[int]]:
    """Answers without the padding behind EOS; fails if anything else stands there."""
    eos, pad = ids.get("eos", EOS), ids.get("pad", PAD)
    rows = generate(model.eval(), src, max_len, how, **{**IDS, **ids})
    assert rows.dtype == src.dtype
    assert rows.size(0) == src.size(0)
    assert rows.size(1) <= max_len
    answers = []
    for row in rows.tolist():
        end = row.index(eos) + 1 if eos in row else len(row)
        assert row[end:] == [pad] * (len(row) - end)
        assert eos in row or len(row) == max_len
        answers.append(row[:end])
    return answers


def total(model: nn.Module, src: list[int], tokens: list[int]) -> float:
    """The sum of the log-probabilities of an answer."""
    return math.fsum(log_probs(model, src, tuple(tokens[:n]))[token] for n, token in enumerate(tokens))
