"""Greedy decoding: with cached keys and values against computing the decoder, or everything, again at each step."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from tests.bench.measure import Action, Benchmark
from tests.bench.models import LARGE, SMALL, VOCAB
from zoo.core.blueprint import make_blueprint
from zoo.models.builder import build
from zoo.models.transformer import Transformer
from zoo.parts.decoding.generate import generate
from zoo.parts.decoding.greedy import GreedyDecoding

STEPS, SOURCE = 64, 32


def model_and_source(sizes: dict[str, int], batch: int) -> tuple[Transformer, Tensor]:
    """The same, whenever asked."""
    blueprint = make_blueprint(attention="fused", src_vocab=VOCAB, tgt_vocab=VOCAB, max_len=STEPS, **sizes)
    src = torch.randint(3, VOCAB, (batch, SOURCE), generator=torch.Generator().manual_seed(0))
    return build(blueprint, seed=0).eval(), src


def everything(sizes: dict[str, int], batch: int) -> Action:
    """Decode as many tokens by the whole model, encoder too, run from the start for each of them."""
    model, src = model_and_source(sizes, batch)

    @torch.no_grad()
    def action() -> None:
        tgt = src.new_full((batch, 1), 1)
        for _ in range(STEPS):
            tgt = torch.cat([tgt, model(src, tgt)[:, -1:].argmax(-1)], dim=1)  # [B, T + 1]
        assert tgt.shape == (batch, STEPS + 1)

    return action


def decode(sizes: dict[str, int], batch: int, cached: bool) -> Action:
    """Decode so many tokens; no row ends before. The source is encoded once, cached or not."""
    model, src = model_and_source(sizes, batch)

    def action() -> None:
        answers = generate(model, src, STEPS, GreedyDecoding(), eos=-1, cached=cached)
        assert answers.shape == (batch, STEPS)

    return action


def against_decoder(sizes: dict[str, int], batch: int) -> tuple[Action, Action]:
    """Cached, and not."""
    return decode(sizes, batch, cached=True), decode(sizes, batch, cached=False)


def against_everything(sizes: dict[str, int], batch: int) -> tuple[Action, Action]:
    """Cached, and the whole model each step."""
    return decode(sizes, batch, cached=True), everything(sizes, batch)


def rows(sizes: dict[str, int], batch: int, times: float, rounds: int) -> tuple[Benchmark, Benchmark]:
    """Two benchmarks: against everything, whose bar is so many times as fast, and against the decoder alone."""
    layers = f"{sizes['num_encoder_layers']}+{sizes['num_decoder_layers']}"
    begin = f"greedy decoding of {STEPS} tokens, source of {SOURCE}: cached keys and values / "
    end = (
        f" recomputed each step; attention=fused, d_model {sizes['d_model']}, {layers} layers, batch {batch}"
    )
    name, bar = f"decoding-d{sizes['d_model']}-b{batch}", round(1 / times, 4)
    return (
        Benchmark(
            f"{name}-all",
            f"{begin}everything{end}; bar: {times:g} times",
            bar,
            rounds,
            partial(against_everything, sizes, batch),
        ),
        Benchmark(name, f"{begin}decoder{end}", 1.0, rounds, partial(against_decoder, sizes, batch)),
    )


BENCHMARKS = (*rows(LARGE, 1, 4.5, 7), *rows(SMALL, 64, 9.0, 5))
