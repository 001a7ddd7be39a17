"""Dataclass hypotheses in heapq.nlargest with a deque of finished rows; optional arguments keyword-only; the rows' beams share one decode call."""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn


@dataclass(order=True)
class Hypothesis:
    logp: float
    serial: int  # earlier made ones win a tie
    ids: list[int] = field(compare=False)
    done: bool = field(compare=False, default=False)

    def score(self, alpha: float) -> float:
        n = len(self.ids) - 1
        return self.logp / ((5.0 + n) / 6.0) ** alpha


def _to_tensor(rows: list[list[int]], pad: int, src: Tensor) -> Tensor:
    columns = itertools.zip_longest(*rows, fillvalue=pad)
    return torch.tensor(list(columns), dtype=torch.long, device=src.device).reshape(-1, len(rows)).T.contiguous()


@torch.inference_mode()
def _search(model: nn.Module, src: Tensor, beam: int, max_len: int, alpha: float, sos: int, eos: int) -> list[list[int]]:
    memory = model.encode(src)
    ticket = itertools.count(0, -1)
    beams = [[Hypothesis(0.0, next(ticket), [sos])] for _ in range(src.shape[0])]
    open_rows = deque(range(src.shape[0]))

    for _ in range(max_len):
        if not open_rows:
            break
        live = [(row, hyp) for row in open_rows for hyp in beams[row] if not hyp.done]
        rows = torch.tensor([row for row, _ in live], device=src.device)
        tgt = torch.tensor([hyp.ids for _, hyp in live], device=src.device)
        logits = model.decode(tgt, memory[rows], src[rows])[:, -1]
        logp = torch.log_softmax(logits.to(torch.float64), dim=-1)

        pool: dict[int, list[Hypothesis]] = {row: [h for h in beams[row] if h.done] for row in open_rows}
        for (row, hyp), line in zip(live, logp.tolist()):
            for token, value in enumerate(line):
                pool[row].append(Hypothesis(hyp.logp + value, next(ticket), [*hyp.ids, token], token == eos))
        for row in list(open_rows):
            beams[row] = heapq.nlargest(beam, pool[row])
            if all(h.done for h in beams[row]):
                open_rows.remove(row)

    return [max(hyps, key=lambda h: h.score(alpha)).ids[1:] for hyps in beams]


def greedy_decode(
    model: nn.Module, src: Tensor, max_len: int, *, sos: int = 1, eos: int = 2, pad: int = 0
) -> Tensor:
    return _to_tensor(_search(model, src, 1, max_len, 0.0, sos, eos), pad, src)


def beam_search(
    model: nn.Module,
    src: Tensor,
    beam: int,
    max_len: int,
    *,
    length_penalty: float = 0.6,
    sos: int = 1,
    eos: int = 2,
    pad: int = 0,
) -> Tensor:
    return _to_tensor(_search(model, src, beam, max_len, length_penalty, sos, eos), pad, src)
