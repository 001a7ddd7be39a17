"""Models: the zoo's with fused attention against torch's own `nn.Transformer`."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from tests.bench.measure import Action, Benchmark
from zoo.core.blueprint import Blueprint, make_blueprint
from zoo.models.builder import build
from zoo.parts.embedding.scaled import ScaledEmbeddings
from zoo.parts.encoding.sinusoidal import SinusoidalPositions

BATCH, LENGTH, VOCAB, DROPOUT, BATCHES = 8, 64, 1000, 0.1, 4
SMALL = {"d_model": 128, "num_heads": 4, "d_ff": 512, "num_encoder_layers": 2, "num_decoder_layers": 2}
LARGE = {"d_model": 512, "num_heads": 8, "d_ff": 2048, "num_encoder_layers": 6, "num_decoder_layers": 6}


class TorchModel(nn.Module):
    """`nn.Transformer` between the same embeddings, positions, dropout and head as the zoo's model."""

    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__()
        sizes = blueprint.sizes
        with warnings.catch_warnings():  # nested tensors are not used with norm_first, says torch
            warnings.simplefilter("ignore")
            self.stacks = nn.Transformer(
                sizes.d_model, sizes.num_heads, sizes.num_encoder_layers, sizes.num_decoder_layers, sizes.d_ff,
                sizes.dropout, batch_first=True, norm_first=blueprint["norm"].name == "pre",
            )  # fmt: skip
        self.embeddings = ScaledEmbeddings(sizes.src_vocab, sizes.tgt_vocab, sizes.d_model)
        self.positions = SinusoidalPositions(sizes.d_model, sizes.max_len)
        self.dropout, self.head = nn.Dropout(sizes.dropout), nn.Linear(sizes.d_model, sizes.tgt_vocab)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """src [B, S], tgt [B, L] -> logits [B, L, V]."""
        future = torch.ones(tgt.size(1), tgt.size(1), dtype=torch.bool).triu(1)
        hidden = self.stacks(
            self.dropout(self.positions(self.embeddings.src(src))),
            self.dropout(self.positions(self.embeddings.tgt(tgt))),
            tgt_mask=future,
            src_key_padding_mask=src == 0,
            tgt_key_padding_mask=tgt == 0,
            memory_key_padding_mask=src == 0,
        )
        return self.head(hidden)  # type: ignore[no-any-return]


def tokens(seed: int) -> Tensor:
    """[B, T] with rows of LENGTH / 2 to LENGTH tokens, the rest padding; the first row is full."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(LENGTH // 2, LENGTH + 1, (BATCH, 1), generator=generator)
    lengths[0] = LENGTH
    found = torch.randint(1, VOCAB, (BATCH, LENGTH), generator=generator)
    return found.masked_fill(torch.arange(LENGTH) >= lengths, 0)


def batches() -> list[tuple[Tensor, Tensor]]:
    """Sources and targets [B, T]; several, as the share of padding in one is a matter of luck."""
    return [(tokens(2 * number + 1), tokens(2 * number + 2)) for number in range(BATCHES)]


def training_step(model: nn.Module) -> Action:
    """Forward, backward and a step of AdamW, for each batch."""
    pairs = batches()
    optimizer = torch.optim.AdamW(model.train().parameters(), lr=1e-4)

    def action() -> None:
        for src, tgt in pairs:
            optimizer.zero_grad()
            logits = model(src, tgt)
            nn.functional.cross_entropy(logits.flatten(0, 1), tgt.flatten(), ignore_index=0).backward()
            optimizer.step()

    return action


def inference(model: nn.Module) -> Action:
    """A forward pass in eval mode without gradients, for each batch."""
    pairs = batches()
    model.eval()

    def action() -> None:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch says that its nested tensors are a prototype
            for src, tgt in pairs:
                model(src, tgt)

    return action


def both(kind: Any, sizes: dict[str, int], norm: str) -> tuple[Action, Action]:
    """The zoo's model and torch's, with the same sizes."""
    blueprint = make_blueprint(
        attention="fused", norm=norm, dropout=DROPOUT, src_vocab=VOCAB, tgt_vocab=VOCAB, **sizes
    )
    return kind(build(blueprint, seed=0)), kind(TorchModel(blueprint))


def row(name: str, kind: Any, sizes: dict[str, int], norm: str, bar: float, rounds: int) -> Benchmark:
    """A benchmark of one kind, size and norm placement."""
    what = WHAT[kind]
    same = (
        "norm_first=True, the same function" if norm == "pre" else "as it comes, with one more norm a stack"
    )
    layers = f"{sizes['num_encoder_layers']}+{sizes['num_decoder_layers']}"
    text = (
        f"{what}: attention=fused norm={norm} / nn.Transformer ({same}); d_model {sizes['d_model']}, {layers} layers, "
        f"{BATCHES} batches of {BATCH}, lengths {LENGTH // 2} to {LENGTH}, padding and causal masks, dropout {DROPOUT}"
    )
    return Benchmark(name, text, bar, rounds, partial(both, kind, sizes, norm))


WHAT = {
    training_step: "forward, backward and AdamW step",
    inference: "forward, eval mode, no_grad",
}
ROWS = (
    ("training", training_step, LARGE, 0.90, 7),
    ("inference", inference, LARGE, 0.80, 15),
    ("training", training_step, SMALL, 0.95, 41),
    ("inference", inference, SMALL, 0.95, 41),
)
BENCHMARKS = tuple(
    row(f"{label}-d{sizes['d_model']}-{norm}", kind, sizes, norm, bar, rounds)
    for label, kind, sizes, bar, rounds in ROWS
    for norm in ("pre", "post")
)
