"""Properties of a decoding strategy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from zoo.analysis.checks.base import DoesNotApply, DoesNotHold, Properties
from zoo.analysis.checks.part import EOS, PAD, SOS, VOCAB, Part, ragged, words
from zoo.models.transformer import Model
from zoo.parts.decoding.generate import generate

PROPERTIES = holds = Properties()
STEPS = 8
SEEDS = range(1, 5)


class Scripted(nn.Module):
    """A model that is certain: it answers row b with the words script[b], then EOS.

    Rows are told apart by their source, whose first token is the number of the script.
    """

    stacks = ("encoder", "decoder")
    cacheable = False

    def __init__(self, scripts: Sequence[Sequence[int]]) -> None:
        super().__init__()
        self.scripts = scripts

    def encode(self, src: Tensor) -> Tensor:
        """[B, S] -> [B, S, 1]."""
        return src[:, :, None].float()

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor, caches: None = None) -> Tensor:
        """[B, L] -> log-probabilities [B, L, V]."""
        scores = torch.zeros(*tgt.shape, VOCAB)
        for row, number in enumerate(src[:, 0].tolist()):
            script = [*self.scripts[number], EOS]
            for place in range(tgt.size(1)):
                scores[row, place, script[place] if place < len(script) else PAD] = 100.0
        return scores.log_softmax(-1)  # which will do for logits too


def certain(part: Part, max_len: int = STEPS) -> tuple[Tensor, list[list[int]]]:
    """Its answers for a model that is certain, and the scripts that it should read out."""
    scripts = [[4, 7, 5], [9], [], [3, 10, 6, 8]]
    src = torch.arange(len(scripts))[:, None]
    answers = generate(Scripted(scripts), src, max_len, part.make(), sos=SOS, eos=EOS, pad=PAD)  # type: ignore[arg-type]
    return _checked(answers, len(scripts), max_len), scripts


def _checked(answers: Any, rows: int, max_len: int) -> Tensor:
    if not isinstance(answers, Tensor):
        raise DoesNotHold(f"Expected a tensor, got {type(answers).__name__}.")
    if answers.dim() != 2 or answers.size(0) != rows or answers.size(1) > max_len:
        raise DoesNotHold(f"Expected shape [{rows}, at most {max_len}], got {list(answers.shape)}.")
    if answers.dtype != torch.int64:
        raise DoesNotHold(f"Expected int64 tokens, got {answers.dtype}.")
    if answers.numel() and not (answers.min() >= 0 and answers.max() < VOCAB):
        raise DoesNotHold("There is a token that is not in the vocabulary.")
    return answers


def speaking(part: Part, seed: int) -> Model:
    """A random model that never says padding of its own accord."""
    model, pad = part.model(seed), torch.tensor([PAD])
    model.head.register_forward_hook(lambda _head, _inputs, scores: scores.index_fill(-1, pad, -1e4))
    return model


def answers_of(
    part: Part, src: Tensor, seed: int, max_len: int = STEPS, cached: bool | None = None
) -> Tensor:
    """Its answers to `src` from a random model; random draws start from one seed."""
    model = speaking(part, seed)
    torch.manual_seed(0)
    return _checked(generate(model, src, max_len, part.make(), cached=cached), src.size(0), max_len)


@holds("chooses the token of which the model is certain")
def reads_out(part: Part) -> None:
    """Word by word, then the end."""
    answers, scripts = certain(part)
    for answer, script in zip(answers.tolist(), scripts, strict=True):
        expected = [*script, EOS]
        if answer[: len(expected)] != expected:
            raise DoesNotHold(f"The model is certain of {expected}, but the answer is {answer}.")


@holds("a row is padded after its end")
def padded(part: Part) -> None:
    """And it stops when all rows have ended."""
    answers, scripts = certain(part)
    for answer, script in zip(answers.tolist(), scripts, strict=True):
        if EOS in answer and any(token != PAD for token in answer[answer.index(EOS) + 1 :]):
            raise DoesNotHold(f"After the end there is more: {answer}.")
        if EOS not in answer and len(answer) > len(script):
            raise DoesNotHold(f"There is no end: {answer}.")
    longest = max(map(len, scripts)) + 1
    if answers.size(1) > longest:
        raise DoesNotHold(f"The longest answer has {longest} tokens, but {answers.size(1)} are given.")


@holds("answers are at most max_len tokens")
def limited(part: Part) -> None:
    """A row that has not ended then is cut, without an end."""
    for max_len in (1, 2, 4):
        answers, scripts = certain(part, max_len)
        for answer, script in zip(answers.tolist(), scripts, strict=True):
            if answer != [*script, EOS, *[PAD] * max_len][: len(answer)]:
                raise DoesNotHold(f"With max_len={max_len}, {[*script, EOS]} is answered as {answer}.")


@holds("answers are tokens of the vocabulary, whatever the model")
def tokens(part: Part) -> None:
    """Random models, sources with padding."""
    for seed in SEEDS:
        answers_of(part, ragged(words(4, 5)), seed)


@holds("gives the same answers with a cache")
def cached(part: Part) -> None:
    """Random models; rows may be reordered and dropped on the way."""
    for seed in SEEDS:
        src = ragged(words(4, 5))
        if not part.model(seed).cacheable:
            raise DoesNotApply("The model that uses it does not support a cache.")
        both = [answers_of(part, src, seed, cached=cached) for cached in (True, False)]
        if not torch.equal(*both):
            raise DoesNotHold("With cached keys and values, the answers are others.")


@holds("rows of a batch are independent")
def rows(part: Part) -> None:
    """Each row alone is answered as in the batch."""
    src = ragged(words(4, 5))
    if _draws(part, src):
        raise DoesNotApply("It draws at random.")
    for seed in SEEDS:
        together = answers_of(part, src, seed)
        for row in range(src.size(0)):
            one = answers_of(part, src[row : row + 1], seed)[0]
            width = one.size(0)
            if not torch.equal(together[row, :width], one) or (together[row, width:] != PAD).any():
                raise DoesNotHold("A row alone is answered otherwise than in a batch.")


def _draws(part: Part, src: Tensor) -> bool:
    """Return whether answers depend on the random generator."""
    for seed in SEEDS:
        model, results = speaking(part, seed), []
        for draw in range(3):
            torch.manual_seed(draw)
            results.append(generate(model, src, STEPS, part.make()))
        if not all(torch.equal(results[0], other) for other in results[1:]):
            return True
    return False
