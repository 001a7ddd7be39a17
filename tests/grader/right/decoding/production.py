"""Decoding of the sequence-to-sequence library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class SpecialIds:
    sos: int = 1
    eos: int = 2
    pad: int = 0


@contextmanager
def inference(model: nn.Module) -> Iterator[None]:
    """Eval mode without gradients; the model's mode is restored, whatever happens."""
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(was_training)


class GreedyState:
    """The prefixes of a batch, and which of them have ended."""

    def __init__(self, src: Tensor, ids: SpecialIds) -> None:
        batch = src.size(0)
        self.ids = ids
        self.prefix = torch.full((batch, 1), ids.sos, dtype=torch.long, device=src.device)
        self.ended = torch.zeros(batch, dtype=torch.bool, device=src.device)

    @property
    def is_done(self) -> bool:
        return bool(self.ended.all())

    def append(self, tokens: Tensor) -> None:
        tokens = torch.where(self.ended, torch.full_like(tokens, self.ids.pad), tokens)
        self.prefix = torch.cat((self.prefix, tokens.unsqueeze(1)), dim=1)
        self.ended = self.ended | tokens.eq(self.ids.eos)

    def result(self) -> Tensor:
        return self.prefix[:, 1:]


def greedy_decode(
    model: nn.Module, src: Tensor, max_len: int, sos: int = 1, eos: int = 2, pad: int = 0
) -> Tensor:
    state = GreedyState(src, SpecialIds(sos=sos, eos=eos, pad=pad))
    with inference(model):
        memory = model.encode(src)
        for _ in range(max_len):
            logits = model.decode(state.prefix, memory, src)
            state.append(logits[:, -1].argmax(dim=-1))
            if state.is_done:
                break
    return state.result()


@dataclass(frozen=True)
class Hypothesis:
    """A prefix without SOS, and the sum of the log-probabilities of its ids."""

    tokens: tuple[int, ...] = ()
    total: float = 0.0
    finished: bool = False

    def extended(self, token: int, log_prob: float, eos: int) -> Hypothesis:
        return Hypothesis((*self.tokens, token), self.total + log_prob, token == eos)

    def score(self, length_penalty: float) -> float:
        norm = ((5 + len(self.tokens)) / 6) ** length_penalty
        return self.total / norm


class BeamSearcher:
    """Beam search for one sentence."""

    def __init__(self, model: nn.Module, beam: int, max_len: int, ids: SpecialIds) -> None:
        self.model = model
        self.beam = beam
        self.max_len = max_len
        self.ids = ids

    def _log_probs(self, active: list[Hypothesis], memory: Tensor, src: Tensor) -> Tensor:
        """Log-probabilities of the next id, [K, V], for K hypotheses of equal length."""
        count = len(active)
        prefixes = torch.tensor([(self.ids.sos, *each.tokens) for each in active], device=src.device)
        logits = self.model.decode(prefixes, memory.expand(count, -1, -1), src.expand(count, -1))
        return logits[:, -1].double().log_softmax(dim=-1)

    def _expand(self, active: list[Hypothesis], memory: Tensor, src: Tensor) -> list[Hypothesis]:
        log_probs = self._log_probs(active, memory, src)
        values, tokens = log_probs.sort(dim=-1, descending=True, stable=True)
        return [
            hypothesis.extended(token, value, self.ids.eos)
            for hypothesis, row, ids in zip(active, values.tolist(), tokens.tolist(), strict=True)
            for value, token in zip(row[: self.beam], ids[: self.beam], strict=True)
        ]

    def search(self, src: Tensor) -> list[Hypothesis]:
        """src [1, S] -> the hypotheses of the last beam."""
        memory = self.model.encode(src)
        beam = [Hypothesis()]
        for _ in range(self.max_len):
            finished = [each for each in beam if each.finished]
            active = [each for each in beam if not each.finished]
            if not active:
                break
            candidates = finished + self._expand(active, memory, src)
            candidates.sort(key=lambda each: each.total, reverse=True)
            beam = candidates[: self.beam]
        return beam


def collate(rows: list[tuple[int, ...]], pad: int, device: torch.device) -> Tensor:
    width = max((len(row) for row in rows), default=0)
    result = torch.full((len(rows), width), pad, dtype=torch.long, device=device)
    for index, row in enumerate(rows):
        result[index, : len(row)] = torch.tensor(row, dtype=torch.long, device=device)
    return result


def beam_search(
    model: nn.Module,
    src: Tensor,
    beam: int,
    max_len: int,
    length_penalty: float = 0.6,
    sos: int = 1,
    eos: int = 2,
    pad: int = 0,
) -> Tensor:
    ids = SpecialIds(sos=sos, eos=eos, pad=pad)
    searcher = BeamSearcher(model, beam, max_len, ids)
    best: list[tuple[int, ...]] = []
    with inference(model):
        for sentence in src.split(1, dim=0):
            hypotheses = searcher.search(sentence)
            winner = max(hypotheses, key=lambda each: each.score(length_penalty))
            best.append(winner.tokens)
    return collate(best, ids.pad, src.device)
