"""Greedy decoding: with cached keys and values against computing the decoder anew at each step."""

from __future__ import annotations

from functools import partial

import torch

from tests.bench.measure import Action, Benchmark
from tests.bench.models import LARGE, SMALL, VOCAB
from zoo.blueprint import make_blueprint
from zoo.builder import build
from zoo.decoding.generate import generate
from zoo.decoding.greedy import GreedyDecoding

STEPS, SOURCE = 64, 32


def decode(sizes: dict[str, int], batch: int, cached: bool) -> Action:
    """Decode so many tokens; no row ends before. The source is encoded once, in both."""
    blueprint = make_blueprint(attention="fused", src_vocab=VOCAB, tgt_vocab=VOCAB, max_len=STEPS, **sizes)
    model = build(blueprint, seed=0).eval()
    src = torch.randint(3, VOCAB, (batch, SOURCE), generator=torch.Generator().manual_seed(0))

    def action() -> None:
        answers = generate(model, src, STEPS, GreedyDecoding(), eos=-1, cached=cached)
        assert answers.shape == (batch, STEPS)

    return action


def both(sizes: dict[str, int], batch: int) -> tuple[Action, Action]:
    """Cached, and not."""
    return decode(sizes, batch, cached=True), decode(sizes, batch, cached=False)


def row(sizes: dict[str, int], batch: int, times: float, rounds: int) -> Benchmark:
    """A benchmark whose bar is so many times as fast."""
    layers = f"{sizes['num_encoder_layers']}+{sizes['num_decoder_layers']}"
    text = (
        f"greedy decoding of {STEPS} tokens, source of {SOURCE}: cached keys and values / decoder computed anew each "
        f"step; attention=fused, d_model {sizes['d_model']}, {layers} layers, batch {batch}; bar: {times:g} times"
    )
    name = f"decoding-d{sizes['d_model']}-b{batch}"
    return Benchmark(name, text, round(1 / times, 4), rounds, partial(both, sizes, batch))


BENCHMARKS = (row(LARGE, 1, 4.5, 7), row(SMALL, 64, 9.0, 5))
