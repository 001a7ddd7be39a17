"""Hints for `decoding.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

HINTS: Mapping[str, Sequence[str]] = {
    "greedy_decode": (
        "Encode once, then loop at most max_len times: run the model on the ids so far, take the most probable "
        "id for each row, append it. Get one row right first, then the batch.",
        "The next id is the argmax of the logits of the last position. Keep a bool vector of the rows that have "
        "ended: they get pad instead. Stop when all have ended. Remove SOS at the end. Use torch.no_grad().",
        "tgt = torch.full((B, 1), sos, device=src.device); in the loop: token = model.decode(tgt, memory, "
        "src)[:, -1].argmax(-1).masked_fill(done, pad); tgt = torch.cat([tgt, token[:, None]], dim=1); done "
        "= done | (token == eos); break if done.all(). Return tgt[:, 1:].",
    ),
    "beam_search": (
        "Search for one row at a time, with plain Python lists: a hypothesis is a pair of a sum and a list "
        "of ids. Speed is not graded.",
        "At each step the candidates are the finished hypotheses as they are, and each unfinished one "
        "extended by its best tokens (`beam` of them suffice). Sort by the sum, keep `beam`. Stop when all "
        "are finished or at max_len. Apply the length penalty once, at the end.",
        "log_probs = model.decode(prefixes, memory of this row, src of this row)[:, -1].log_softmax(-1); "
        "candidates += [(total + log_prob, [*ids, token]) ...]; hypotheses = sorted(candidates, key=lambda "
        "h: -h[0])[:beam]. At the end take the max by total / ((5 + len(ids)) / 6) ** length_penalty, for "
        "each row, and pad the rows to equal length.",
    ),
}
