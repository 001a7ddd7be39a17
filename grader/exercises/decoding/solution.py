"""A solution of `decoding.py`: short, plain, and correct in edge cases."""

import torch
from torch import Tensor, nn


@torch.no_grad()
def greedy_decode(
    model: nn.Module, src: Tensor, max_len: int, sos: int = 1, eos: int = 2, pad: int = 0
) -> Tensor:
    """The most probable next token, again and again, until every row has its EOS or max_len ids.

    Args:
        model: with encode(src) -> memory and decode(tgt, memory, src) -> logits [B, L, V].
        src: ids [B, S].
        max_len: most ids a row may have, EOS included.
        sos, eos, pad: ids of the start, the end and the padding.

    Returns:
        int64 ids [B, <= max_len]: without SOS, with EOS, PAD behind it.
    """
    memory = model.encode(src)  # type: ignore[operator]  # [B, S, D]
    tgt = torch.full((len(src), 1), sos, dtype=torch.long, device=src.device)  # [B, 1]
    done = torch.zeros(len(src), dtype=torch.bool, device=src.device)  # [B]
    for _ in range(max_len):
        token = model.decode(tgt, memory, src)[:, -1].argmax(dim=-1)  # type: ignore[operator]  # [B]
        token = token.masked_fill(done, pad)
        tgt = torch.cat([tgt, token[:, None]], dim=1)
        done = done | (token == eos)
        if done.all():
            break
    return tgt[:, 1:]


def _length(ids: list[int], eos: int) -> int:
    """How many ids were generated, EOS included."""
    return ids.index(eos) + 1 if eos in ids else len(ids)


def _search_one(
    model: nn.Module, src: Tensor, beam: int, max_len: int, length_penalty: float, sos: int, eos: int
) -> list[int]:
    """Beam search for one row, src [1, S]. A hypothesis is (sum of log-probabilities, its ids)."""
    memory = model.encode(src)  # type: ignore[operator]  # [1, S, D]
    hypotheses: list[tuple[float, list[int]]] = [(0.0, [])]
    for _ in range(max_len):
        candidates = [(total, ids) for total, ids in hypotheses if eos in ids]
        going = [(total, ids) for total, ids in hypotheses if eos not in ids]
        if not going:
            break
        tgt = torch.tensor([[sos, *ids] for _, ids in going], device=src.device)  # [K, L]
        k = len(going)
        logits = model.decode(tgt, memory.expand(k, -1, -1), src.expand(k, -1))  # type: ignore[operator]
        # A stable sort: of two equal logits the lower id comes first, as in greedy decoding.
        last, tokens = logits[:, -1].cpu().double().sort(dim=-1, descending=True, stable=True)  # [K, V]
        best = last.log_softmax(dim=-1)[:, :beam]  # [K, beam]
        for (total, ids), row, chosen in zip(going, best.tolist(), tokens[:, :beam].tolist(), strict=True):
            candidates += [
                (total + log_prob, [*ids, token]) for log_prob, token in zip(row, chosen, strict=True)
            ]
        hypotheses = sorted(candidates, key=lambda each: -each[0])[:beam]
    return max(hypotheses, key=lambda each: each[0] / ((5 + _length(each[1], eos)) / 6) ** length_penalty)[1]


@torch.no_grad()
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
    """The best of the `beam` best hypotheses, kept at each step (Wu et al. 2016, arXiv 1609.08144, section 7).

    Args:
        model, src, max_len, sos, eos, pad: as in `greedy_decode`.
        beam: number of hypotheses kept; 1 is greedy decoding. A finished one keeps its place.
        length_penalty: the final choice is by sum of log-probabilities / ((5 + n) / 6) ** length_penalty.

    Returns:
        int64 ids [B, <= max_len]: without SOS, with EOS, PAD behind it.
    """
    rows = [
        _search_one(model, src[i : i + 1], beam, max_len, length_penalty, sos, eos) for i in range(len(src))
    ]
    width = max(map(len, rows), default=0)
    return torch.tensor(
        [row + [pad] * (width - len(row)) for row in rows], dtype=torch.long, device=src.device
    )
