"""Typed classes: a context manager sets eval mode and restores every submodule's flag; greedy_decode is an instance, beam_search a bound method."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import Any, Iterator

import torch
from torch import Tensor, nn


@contextlib.contextmanager
def evaluating(model: nn.Module) -> Iterator[nn.Module]:
    flags = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad():
            yield model
    finally:
        for module, flag in flags.items():
            module.training = flag


@dataclass(frozen=True)
class Special:
    sos: int = 1
    eos: int = 2
    pad: int = 0


@dataclass
class State:
    ids: Tensor  # [K, t]
    sums: Tensor  # [K]
    lengths: Tensor  # [K]
    done: Tensor  # [K]

    def pick(self, index: Tensor) -> State:
        return State(self.ids[index], self.sums[index], self.lengths[index], self.done[index])


class GreedyDecoder:
    def __call__(self, model: nn.Module, src: Tensor, max_len: int, sos: int = 1, eos: int = 2, pad: int = 0) -> Tensor:
        columns: list[Tensor] = [src.new_full((src.size(0),), sos, dtype=torch.int64)]
        with evaluating(model):
            memory = model.encode(src)
            ended = torch.zeros_like(columns[0], dtype=torch.bool)
            while len(columns) <= max_len and not ended.all():
                token = model.decode(torch.stack(columns, 1), memory, src).select(1, -1).max(-1).indices
                columns.append(token.where(~ended, pad))
                ended = ended | (columns[-1] == eos)
        return torch.stack(columns, 1)[:, 1:]


class BeamSearcher:
    def __init__(self, dtype: torch.dtype = torch.float64) -> None:
        self.dtype = dtype

    def step(self, model: nn.Module, state: State, memory: Tensor, row: Tensor, beam: int, special: Special) -> State:
        live = state.pick((~state.done).nonzero()[:, 0])
        count = live.ids.size(0)
        logits = model.decode(live.ids, memory.repeat(count, 1, 1), row.repeat(count, 1))[:, -1]
        logp = logits.to(self.dtype).log_softmax(-1)
        vocab = logp.size(-1)
        grown = State(
            ids=torch.cat(
                [live.ids.repeat_interleave(vocab, 0), torch.arange(vocab).to(row.device).repeat(count)[:, None]], 1
            ),
            sums=(live.sums[:, None] + logp).flatten(),
            lengths=(live.lengths + 1).repeat_interleave(vocab),
            done=(torch.arange(vocab).to(row.device) == special.eos).repeat(count),
        )
        kept = state.pick(state.done.nonzero()[:, 0])
        kept = replace(kept, ids=nn.functional.pad(kept.ids, (0, 1), value=special.pad))
        union = State(*(torch.cat(pair) for pair in zip(vars(kept).values(), vars(grown).values())))
        order = torch.sort(union.sums, descending=True, stable=True).indices
        return union.pick(order[:beam])

    def search(
        self,
        model: nn.Module,
        src: Tensor,
        beam: int,
        max_len: int,
        length_penalty: float = 0.6,
        sos: int = 1,
        eos: int = 2,
        pad: int = 0,
        **_: Any,
    ) -> Tensor:
        special = Special(sos=sos, eos=eos, pad=pad)
        out = torch.full((src.size(0), max_len), pad, dtype=torch.int64).to(src.device)
        with evaluating(model):
            for i, row in enumerate(src.split(1)):
                memory = model.encode(row)
                state = State(
                    ids=torch.tensor([[sos]], device=src.device),
                    sums=torch.zeros(1, dtype=self.dtype, device=src.device),
                    lengths=torch.zeros(1, dtype=torch.int64, device=src.device),
                    done=torch.zeros(1, dtype=torch.bool, device=src.device),
                )
                for _step in range(max_len):
                    state = self.step(model, state, memory, row, beam, special)
                    if state.done.all():
                        break
                final = state.sums / ((5 + state.lengths) / 6) ** length_penalty
                ids = state.ids[final.argmax(), 1:]
                out[i, : ids.numel()] = ids
        return out


greedy_decode = GreedyDecoder()
beam_search = BeamSearcher().search
