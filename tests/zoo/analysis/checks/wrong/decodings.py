"""Decodings with one thing wrong each."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tests.zoo.analysis.checks.support import wrong
from zoo.parts.decoding.greedy import GreedyDecoding
from zoo.parts.decoding.stepper import Stepper

ROWS = "rows of a batch are independent"


@wrong("decoding", "chooses the token of which the model is certain", "The model is certain of")
class TheLeastProbable(GreedyDecoding):
    def __call__(self, stepper: Stepper, start: Tensor, max_len: int, eos: int, pad: int) -> Tensor:
        tokens = super().__call__(stepper, start, max_len, eos, pad)
        return tokens.where((tokens == eos) | (tokens == pad), tokens.new_tensor(3))


@wrong("decoding", "a row is padded after its end", "After the end there is more")
class SpeaksOn(GreedyDecoding):
    def __call__(self, stepper: Stepper, start: Tensor, max_len: int, eos: int, pad: int) -> Tensor:
        tokens = super().__call__(stepper, start, max_len, eos, pad)
        return tokens.where(tokens != pad, tokens.new_tensor(eos))


@wrong("decoding", "a row is padded after its end", "The longest answer has 5 tokens, but 8 are given")
class NeverStops(GreedyDecoding):
    def __call__(self, stepper: Stepper, start: Tensor, max_len: int, eos: int, pad: int) -> Tensor:
        tokens = super().__call__(stepper, start, max_len, eos, pad)
        return nn.functional.pad(tokens, (0, max_len - tokens.size(1)), value=pad)


@wrong("decoding", "answers are at most max_len tokens", "Expected shape [4, at most 1], got [4, 2]")
class OneTooMany(GreedyDecoding):
    def __call__(self, stepper: Stepper, start: Tensor, max_len: int, eos: int, pad: int) -> Tensor:
        return super().__call__(stepper, start, max_len + 1, eos, pad)


@wrong(
    "decoding",
    "answers are tokens of the vocabulary, whatever the model",
    "that is not in the vocabulary",
)
class BeyondTheVocabulary(GreedyDecoding):
    def __call__(self, stepper: Stepper, start: Tensor, max_len: int, eos: int, pad: int) -> Tensor:
        return super().__call__(stepper, start, max_len, eos, pad) + 11


@wrong("decoding", "gives the same answers with a cache", "the answers are others")
class ForgetsToReorderTheCache(GreedyDecoding):
    def __call__(self, stepper: Stepper, start: Tensor, max_len: int, eos: int, pad: int) -> Tensor:
        stepper.step(start)
        if stepper.caches is not None:
            stepper.caches[-1].self_attention.select(torch.arange(start.size(0)).flip(0))
        return super().__call__(stepper, start, max_len, eos, pad)


@wrong("decoding", ROWS, "A row alone is answered otherwise")
class EndsTogether(GreedyDecoding):
    def __call__(self, stepper: Stepper, start: Tensor, max_len: int, eos: int, pad: int) -> Tensor:
        return super().__call__(stepper, start, max(1, max_len - start.size(0)), eos, pad)


@wrong("decoding", "in a model: generates answers", "not in the vocabulary")
class AnswersBeyond(BeyondTheVocabulary):
    pass
