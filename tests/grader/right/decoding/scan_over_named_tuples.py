"""Decoding as a scan over an immutable state."""
from typing import NamedTuple

import torch
from torch import Tensor, nn


class Greedy(NamedTuple):
    ids: Tensor  # [b, 1 + n], starts with sos
    done: Tensor  # [b]


class Beam(NamedTuple):
    ids: Tensor  # [b, k, 1 + n]
    logps: Tensor  # [b, k]
    done: Tensor  # [b, k]
    lengths: Tensor  # [b, k]


@torch.no_grad()
def greedy_decode(model, src, max_len, sos=1, eos=2, pad=0):
    memory = model.encode(src)

    def step(carry: Greedy) -> Greedy:
        logits = model.decode(carry.ids, memory, src)[:, -1]
        token = torch.where(carry.done, pad, logits.argmax(dim=-1))
        ids = torch.cat([carry.ids, token[:, None]], dim=1)
        return Greedy(ids, carry.done | (token == eos))

    batch = src.shape[0]
    carry = Greedy(
        torch.full((batch, 1), sos, dtype=torch.long, device=src.device),
        torch.zeros(batch, dtype=torch.bool, device=src.device),
    )
    for _ in range(max_len):
        if carry.done.all():
            break
        carry = step(carry)
    return carry.ids[:, 1:]


def _pick(x: Tensor, parents: Tensor) -> Tensor:
    """x [b, k, ...], parents [b, k] -> x[b, parents[b, i]]"""
    rows = torch.arange(x.shape[0], device=x.device)[:, None]
    return x[rows, parents]


@torch.no_grad()
def beam_search(model, src, beam, max_len, length_penalty=0.6, sos=1, eos=2, pad=0):
    batch = src.shape[0]
    tile = lambda x: x.repeat_interleave(beam, dim=0)
    memory, sources = tile(model.encode(src)), tile(src)

    def step(carry: Beam) -> Beam:
        logits = model.decode(carry.ids.flatten(0, 1), memory, sources)[:, -1]
        logps = logits.log_softmax(dim=-1).unflatten(0, (batch, beam))
        vocab = logps.shape[-1]
        only_pad = torch.full((vocab,), float("-inf"), dtype=logps.dtype, device=logps.device)
        only_pad[pad] = 0.0
        logps = torch.where(carry.done[..., None], only_pad, logps)
        totals = (carry.logps[..., None] + logps).flatten(1)
        best, index = totals.topk(beam, dim=-1)
        parents, token = index // vocab, index % vocab
        was_done = _pick(carry.done, parents)
        return Beam(
            torch.cat([_pick(carry.ids, parents), token[..., None]], dim=-1),
            best,
            was_done | (token == eos),
            _pick(carry.lengths, parents) + (~was_done).long(),
        )

    start = torch.full((batch, beam), float("-inf"), dtype=memory.dtype, device=src.device)
    start[:, 0] = 0.0
    carry = Beam(
        torch.full((batch, beam, 1), sos, dtype=torch.long, device=src.device),
        start,
        torch.zeros(batch, beam, dtype=torch.bool, device=src.device),
        torch.zeros(batch, beam, dtype=torch.long, device=src.device),
    )
    for _ in range(max_len):
        if carry.done.all():
            break
        carry = step(carry)
    scores = carry.logps / ((5 + carry.lengths) / 6) ** length_penalty
    winner = scores.argmax(dim=-1, keepdim=True)
    return _pick(carry.ids, winner).squeeze(1)[:, 1:]
