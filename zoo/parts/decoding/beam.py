"""Beam search."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from zoo.parts.decoding.base import Decoding
from zoo.parts.decoding.stepper import Stepper


class BeamDecoding(Decoding):
    """The best of `size` answers that grow side by side, with the length penalty of Wu et al. 2016.

    Every answer in the beam is continued by every token, and the `size` most probable of all these stay. One
    that has ended stays as it is, for as long as it is among them. The search is over when all have ended, or
    no other can win any more, or at max_len. Then the winner is the one with the highest

        sum_t log p(y[t] | y[<t], x) / ((5 + n) / 6)^length_penalty

    where n counts its tokens, EOS included (section 7, arXiv:1609.08144); one that has not ended by max_len
    takes part. size=1 is greedy decoding; of equals the first token wins, as there.

    A source is encoded once, and an answer takes the cache along when it moves in the beam. Sources do not
    depend on each other.
    """

    def __init__(self, size: int = 4, length_penalty: float = 0.6) -> None:
        """
        Args:
            size: answers that are kept; fewer, where a small vocabulary does not give as many.
            length_penalty: 0 compares sums of log-probabilities, which favours short answers; 1 comes near to
                comparing means.

        Raises:
            ValueError: size is below 1, or length_penalty below 0.
        """
        if size < 1:
            raise ValueError(f"size={size}: expected a beam of at least 1 answer.")
        if not length_penalty >= 0:
            raise ValueError(f"length_penalty={length_penalty}: expected at least 0.")
        self.size, self.length_penalty = size, length_penalty

    def __call__(self, stepper: Stepper, start: Tensor, max_len: int, eos: int, pad: int) -> Tensor:
        """Arguments and result as in `Decoding`."""
        beam, token = _Beam.empty(start), start[:, None]
        for _ in range(max_len):
            log_probs = _log_softmax(stepper.step(token.flatten())).unflatten(0, token.shape)  # -> [B, K, V]
            beam, rows = beam.grown(log_probs, self.size, eos, pad)
            if bool(self.decided(beam, max_len).all()):
                break
            stepper.select(rows)
            token = beam.tokens[..., -1]
        return beam.answers(self.scores(beam.sums, beam.lengths).argmax(-1))

    def scores(self, sums: Tensor, lengths: Tensor) -> Tensor:
        """Sums of log-probabilities under the length penalty: [B, K], [B, K] -> [B, K]."""
        return sums / ((5 + lengths.to(sums.dtype)) / 6) ** self.length_penalty

    def decided(self, beam: _Beam, max_len: int) -> Tensor:
        """Return which sources have their winner, whatever follows: [B].

        A sum only falls, and the penalty divides it by most at max_len: what is there now, divided by that, is
        the most that an unfinished answer can come to. If that is less than the best finished answer has, so
        is its sum, and it cannot push that answer out of the beam either.
        """
        finished = self.scores(beam.sums, beam.lengths).masked_fill(~beam.ended, float("-inf"))
        possible = self.scores(beam.sums, torch.full_like(beam.lengths, max_len))
        possible = possible.masked_fill(beam.ended, float("-inf"))
        return finished.amax(-1) > possible.amax(-1)  # -inf where all have ended


@dataclass(frozen=True)
class _Beam:
    """K answers to each of B sources, the most probable first.

    Attributes:
        tokens: so far, without SOS, PAD after EOS: [B, K, L].
        sums: of their log-probabilities: [B, K]; -inf for one that only fills its place.
        lengths: how many tokens, EOS included: [B, K].
        ended: whether EOS was among them: [B, K].
    """

    tokens: Tensor
    sums: Tensor
    lengths: Tensor
    ended: Tensor

    @classmethod
    def empty(cls, start: Tensor) -> _Beam:
        """One answer to each of B sources, without a token; start [B]."""
        lengths = torch.zeros_like(start)[:, None]  # [B] -> [B, 1]
        sums = torch.zeros_like(lengths, dtype=torch.float64)
        return cls(start.new_empty(start.size(0), 1, 0), sums, lengths, lengths.bool())

    def grown(self, log_probs: Tensor, size: int, eos: int, pad: int) -> tuple[_Beam, Tensor]:
        """The best `size` continuations, and which of the B * K rows each of them continues: [B * size].

        log_probs [B, K, V] are those of the next token. An ended answer has one continuation, by PAD, which
        changes nothing.
        """
        sources, width, vocabulary = log_probs.shape
        stays = torch.full_like(log_probs, float("-inf"))
        stays[..., 0] = 0.0  # one place stands for the only continuation
        log_probs = torch.where(self.ended[..., None], stays, log_probs)
        totals = (self.sums[..., None] + log_probs).flatten(1)  # [B, K, V] -> [B, K*V]
        sums, index = _highest(totals, min(size, width * vocabulary))
        parent, token = index // vocabulary, index % vocabulary
        ended = self.ended.gather(1, parent)
        token = token.masked_fill(ended, pad)
        before = self.tokens.gather(1, parent[..., None].expand(-1, -1, self.tokens.size(-1)))
        rows = parent + torch.arange(sources, device=parent.device)[:, None] * width
        grown = _Beam(
            torch.cat((before, token[..., None]), dim=-1),  # [B, K, L] -> [B, K, L + 1]
            sums,
            self.lengths.gather(1, parent) + ~ended,
            ended | (token == eos),
        )
        return grown, rows.flatten()

    def answers(self, winner: Tensor) -> Tensor:
        """The tokens of one answer [B] to each source, cut to the longest of them: [B, L]."""
        source = torch.arange(winner.size(0), device=winner.device)
        longest = max(self.lengths[source, winner].tolist(), default=0)
        return self.tokens[source, winner, :longest]


def _log_softmax(output: Tensor) -> Tensor:
    """Log-probabilities from logits or log-probabilities [.., V], in float64: sums of many keep their order."""
    return output.double().log_softmax(-1)


def _highest(totals: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The highest numbers of every row, and their places, the first of equals first (`topk` takes any).

    [B, N] -> 2 x [B, count].
    """
    totals = totals.clone()
    found: list[tuple[Tensor, Tensor]] = []
    for _ in range(count):
        place = totals.argmax(-1, keepdim=True)  # [B, N] -> [B, 1]
        found.append((totals.gather(1, place), place))
        totals.scatter_(1, place, float("-inf"))
    values, places = zip(*found, strict=True)
    return torch.cat(values, dim=1), torch.cat(places, dim=1)
