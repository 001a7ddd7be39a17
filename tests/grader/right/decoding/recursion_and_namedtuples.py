"""Recursion in place of loops: greedy calls itself on the rows that are still open; beam search is a recursive function over immutable tuples."""

from typing import NamedTuple, Tuple

import torch


class Hyp(NamedTuple):
    ids: Tuple[int, ...] = ()
    total: float = 0.0
    ended: bool = False


def greedy_decode(model, src, max_len, sos=1, eos=2, pad=0):
    out = torch.full((src.shape[0], max_len), pad, dtype=torch.long, device=src.device)

    def write(prefix, rows, memory, left):
        if left == 0 or rows.numel() == 0:
            return
        token = model.decode(prefix, memory, src[rows])[:, -1].argmax(-1)
        out[rows, max_len - left] = token
        on = token != eos
        write(torch.column_stack((prefix, token))[on], rows[on], memory[on], left - 1)

    with torch.no_grad():
        rows = torch.arange(src.shape[0], device=src.device)
        write(src.new_full((src.shape[0], 1), sos, dtype=torch.long), rows, model.encode(src), max_len)
    return out


def beam_search(model, src, beam, max_len, length_penalty=0.6, sos=1, eos=2, pad=0):
    def judge(hyp):
        return hyp.total / ((5 + len(hyp.ids)) / 6) ** length_penalty

    def extensions(hyps, memory, row):
        live = [h for h in hyps if not h.ended]
        tgt = torch.tensor([(sos, *h.ids) for h in live], device=row.device)
        logits = model.decode(tgt, memory.expand(len(live), -1, -1), row.expand(len(live), -1))
        table = iter(logits[:, -1].double().log_softmax(-1).tolist())
        for h in hyps:
            if h.ended:
                yield h
            else:
                yield from (Hyp((*h.ids, k), h.total + lp, k == eos) for k, lp in enumerate(next(table)))

    def grow(hyps, memory, row, left):
        if left == 0 or all(h.ended for h in hyps):
            # finished ones first; an unfinished one is taken only where there is no other
            return max(hyps, key=lambda h: (h.ended, judge(h)))
        best = sorted(extensions(hyps, memory, row), key=lambda h: -h.total)[:beam]
        return grow(tuple(best), memory, row, left - 1)

    with torch.no_grad():
        memory = model.encode(src)
        found = [grow((Hyp(),), memory[i : i + 1], src[i : i + 1], max_len).ids for i in range(len(src))]
    return torch.tensor([[*ids, *[pad] * (max_len - len(ids))] for ids in found], dtype=torch.long).to(src.device)
