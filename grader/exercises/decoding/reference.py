"""Greedy decoding and beam search in small steps, so that a known mistake is the reference with one step replaced.

Greedy: the likeliest id each time. Beam: the `beam` best hypotheses each time, finished or not, and in the end the one
with the best sum of log-probabilities / ((5 + n) / 6)^length_penalty (Wu et al. 2016, section 7, without coverage).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor


@dataclass(frozen=True)
class Request:
    """What was asked for; `beam` and `length_penalty` mean nothing to greedy decoding."""

    model: Any
    src: Tensor
    max_len: int
    sos: int
    eos: int
    pad: int
    beam: int = 1
    length_penalty: float = 0.0


class Hypothesis(NamedTuple):
    """Ids, SOS first, and their sum of log-probabilities."""

    ids: tuple[int, ...]
    score: float
    ended: bool = False


SCORE = attrgetter("score")
Beam = list[Hypothesis]
Rows = list[list[int]]


def penalty(request: Request, n: int) -> float:
    """Return what a sum of log-probabilities of n ids is divided by."""
    return float(((5 + n) / 6) ** request.length_penalty)


def cut(request: Request, ids: Sequence[int]) -> list[int]:
    """Return what comes after SOS, up to EOS."""
    row = list(ids)[1:]
    return row[: row.index(request.eos) + 1] if request.eos in row else row


def padded(request: Request, rows: Rows, filler: int | None = None) -> Tensor:
    """Rows of different lengths as one tensor [B, longest]."""
    width = max(map(len, rows))
    filler = request.pad if filler is None else filler
    return torch.tensor([row + [filler] * (width - len(row)) for row in rows], device=request.src.device)


def all_ended(request: Request, tokens: Tensor) -> bool:
    """Return whether there is an EOS in every row of tokens [B, L]."""
    return bool((tokens[:, 1:] == request.eos).any(1).all())


def extended(request: Request, beam: Beam, chances: list[list[float]]) -> Beam:
    """Every hypothesis with every id behind it; a finished one as it is."""
    found: Beam = []
    eos = request.eos
    for one, row in zip(beam, chances, strict=True):
        ids, score, ended = one
        if ended:
            found.append(one)
        else:
            found += [Hypothesis((*ids, i), score + p, i == eos) for i, p in enumerate(row)]
    return found


def best(_request: Request, hypotheses: Beam, count: int) -> Beam:
    """Those with the highest sums."""
    return sorted(hypotheses, key=SCORE, reverse=True)[:count]


def normalised(steps: Steps, request: Request, one: Hypothesis) -> float:
    """The score that decides in the end."""
    return steps.final(steps.penalty(request, len(one.ids) - 1), one.score)


@dataclass(frozen=True)
class Steps:
    """The whole computation. `dataclasses.replace` makes a mistake of it.

    The first ones belong to both functions, then come those of greedy decoding, then those of beam search.
    """

    NAMES: ClassVar[Mapping[str, str]] = {
        "ask": "logits", "look": "logits of the last position", "give": "result", "pick": "most likely ids",
        "fill": "next ids", "cut": "ids up to EOS", "rate": "log-probabilities",
        "owners": "sentence of each hypothesis", "extend": "extended hypotheses",
        "prune": "hypotheses that are kept", "survive": "hypotheses that are kept",
        "penalty": "length penalty", "final": "final score", "candidates": "candidates", "choose": "choice",
        "keep": "ids up to EOS", "present": "result",
    }  # fmt: skip

    request: Callable[[Request], Request] = lambda request: request
    recording: Callable[[], AbstractContextManager[Any]] = torch.no_grad
    ask: Callable[[Request, Tensor, Tensor, Tensor], Tensor] = lambda request, tokens, memory, src: (
        request.model.decode(tokens, memory, src)
    )
    look: Callable[[Tensor], Tensor] = lambda logits: logits[:, -1]  # [B, L, V] -> [B, V]
    give: Callable[[Request, Rows], Any] = padded
    leave: Callable[[Request], object] = lambda _request: None

    pick: Callable[[Tensor], Tensor] = lambda logits: logits.argmax(-1)  # [B, V] -> [B]
    fill: Callable[[Request, Tensor, Tensor], Tensor] = lambda _request, _tokens, chosen: chosen
    over: Callable[[Request, Tensor], bool] = all_ended
    cut: Callable[[Request, Sequence[int]], list[int]] = cut

    rate: Callable[[Tensor], Tensor] = lambda logits: logits.log_softmax(-1)  # [N, V]
    owners: Callable[[Request, list[int]], list[int]] = lambda _request, owners: owners
    extend: Callable[[Request, Beam, list[list[float]]], Beam] = extended
    prune: Callable[[Request, Beam, int], Beam] = best
    survive: Callable[[Request, list[Beam]], list[Beam]] = lambda _request, beams: beams
    done: Callable[[Request, list[Beam]], bool] = lambda _request, beams: all(
        one.ended for beam in beams for one in beam
    )
    penalty: Callable[[Request, int], float] = penalty
    final: Callable[[float, float], float] = lambda divisor, score: score / divisor
    candidates: Callable[[Beam, Beam], Beam] = lambda beam, _finished: beam
    choose: Callable[[list[float]], int] = lambda scores: scores.index(max(scores))
    keep: Callable[[Request, Sequence[int]], list[int]] = cut
    present: Callable[[Request, Any], Any] = lambda _request, ids: ids

    def greedy(self, request: Request) -> Any:
        """[B, <= max_len] ids, none of them SOS, nothing but PAD after EOS."""
        request = self.request(request)
        with self.recording():
            memory = request.model.encode(request.src)
            tokens = torch.full((request.src.size(0), 1), request.sos, device=request.src.device)  # [B, 1]
            for _ in range(request.max_len):
                logits = self.look(self.ask(request, tokens, memory, request.src))  # [B, V]
                chosen = self.fill(request, tokens, self.pick(logits))  # [B]
                tokens = torch.cat([tokens, chosen[:, None]], 1)  # [B, L + 1]
                if self.over(request, tokens):
                    break
        self.leave(request)
        return self.give(request, [self.cut(request, row) for row in tokens.tolist()])

    def beam(self, request: Request) -> Any:
        """As `greedy`."""
        request = self.request(request)
        beams: list[Beam] = [[Hypothesis((request.sos,), 0.0)] for _ in request.src]
        finished: list[Beam] = [[] for _ in beams]
        with self.recording():
            memory = request.model.encode(request.src)
            for _ in range(request.max_len):
                chances = self._chances(request, memory, beams)
                beams = self.survive(
                    request,
                    [
                        self.prune(request, self.extend(request, beam, rows), request.beam)
                        for beam, rows in zip(beams, chances, strict=True)
                    ],
                )
                for beam, ever in zip(beams, finished, strict=True):
                    ever += [one for one in beam if one.ended and one not in ever]
                if self.done(request, beams):
                    break
        self.leave(request)
        ids = [
            self._final(request, self.candidates(beam, ever))
            for beam, ever in zip(beams, finished, strict=True)
        ]
        return self.present(request, self.give(request, [self.keep(request, row) for row in ids]))

    def _chances(self, request: Request, memory: Tensor, beams: list[Beam]) -> list[list[list[float]]]:
        """Log-probabilities of the next id, by sentence, hypothesis and id; of finished ones too, padded."""
        device = request.src.device
        owners = torch.tensor(
            self.owners(request, [b for b, beam in enumerate(beams) for _ in beam]), device=device
        )
        longest = max(len(one.ids) for beam in beams for one in beam)
        unended = [one.ids + (request.pad,) * (longest - len(one.ids)) for beam in beams for one in beam]
        tokens = torch.tensor(unended, device=device)
        logits = self.ask(request, tokens, memory[owners], request.src[owners])  # [N, L, V]
        rows = iter(self.rate(self.look(logits)).tolist())
        return [[next(rows) for _ in beam] for beam in beams]

    def _final(self, request: Request, beam: Beam) -> tuple[int, ...]:
        return beam[self.choose([normalised(self, request, one) for one in beam])].ids


REFERENCE = Steps()


def namespace(steps: Steps) -> dict[str, Any]:
    """Return the names that a file with these steps defines."""

    def greedy_decode(model: Any, src: Tensor, max_len: int, sos: int = 1, eos: int = 2, pad: int = 0) -> Any:
        return steps.greedy(Request(model, src, max_len, sos, eos, pad))

    def beam_search(
        model: Any,
        src: Tensor,
        beam: int,
        max_len: int,
        length_penalty: float = 0.6,
        sos: int = 1,
        eos: int = 2,
        pad: int = 0,
    ) -> Any:
        return steps.beam(Request(model, src, max_len, sos, eos, pad, beam, length_penalty))

    return {"greedy_decode": greedy_decode, "beam_search": beam_search}
