"""Models: the zoo's with fused attention, plain and accelerated, against torch's own `nn.Transformer`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tests.bench.measure import Action, Benchmark
from zoo.accelerate import accelerate
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
        future = torch.ones(tgt.size(1), tgt.size(1), dtype=torch.bool, device=tgt.device).triu(1)
        hidden = self.stacks(
            self.dropout(self.positions(self.embeddings.src(src))),
            self.dropout(self.positions(self.embeddings.tgt(tgt))),
            tgt_mask=future,
            src_key_padding_mask=src == 0,
            tgt_key_padding_mask=tgt == 0,
            memory_key_padding_mask=src == 0,
        )
        return self.head(hidden)  # type: ignore[no-any-return]


def tokens(seed: int, padded: bool) -> Tensor:
    """[B, T]; padded, with rows of LENGTH / 2 to LENGTH tokens, the rest padding; the first row is full."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(LENGTH // 2, LENGTH + 1, (BATCH, 1), generator=generator)
    lengths[0] = LENGTH
    found = torch.randint(1, VOCAB, (BATCH, LENGTH), generator=generator)
    return found.masked_fill(torch.arange(LENGTH) >= lengths, 0) if padded else found


def batches(padded: bool = True) -> list[tuple[Tensor, Tensor]]:
    """Sources and targets [B, T]; several, as the share of padding in one is a matter of luck."""
    return [(tokens(2 * number + 1, padded), tokens(2 * number + 2, padded)) for number in range(BATCHES)]


def training_step(model: nn.Module, padded: bool = True) -> Action:
    """Forward, backward and a step of AdamW, for each batch."""
    pairs = batches(padded)
    optimizer = torch.optim.AdamW(model.train().parameters(), lr=1e-4)

    def action() -> None:
        for src, tgt in pairs:
            optimizer.zero_grad()
            logits = model(src, tgt)
            nn.functional.cross_entropy(logits.flatten(0, 1), tgt.flatten(), ignore_index=0).backward()
            optimizer.step()

    return action


def inference(model: nn.Module, padded: bool = True) -> Action:
    """A forward pass in eval mode without gradients, for each batch."""
    pairs = batches(padded)
    model.eval()

    def action() -> None:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch says that its nested tensors are a prototype
            for src, tgt in pairs:
                model(src, tgt)

    return action


@dataclass(frozen=True)
class Case:
    """One row: a kind of work, sizes, norm placement, and which batches.

    Attributes:
        accelerated: the zoo's model, by `zoo.accelerate`; otherwise it is plain torch.
        against_plain: the other one is the zoo's own model, plain; otherwise it is torch's.
    """

    label: str
    sizes: dict[str, int]
    norm: str
    padded: bool
    bar: float
    accelerated: bool = False
    against_plain: bool = False

    @property
    def name(self) -> str:
        """As typed after --only."""
        ends = ["accelerated"] * self.accelerated + ["plain"] * self.against_plain + ["padded"] * self.padded
        return "-".join([self.label, f"d{self.sizes['d_model']}", self.norm, *ends])

    @property
    def what(self) -> str:
        """What is compared with what."""
        ours = f"attention=fused norm={self.norm}" + ", accelerated" * self.accelerated
        same = (
            "norm_first=True, the same function"
            if self.norm == "pre"
            else "as it comes, with one more norm a stack"
        )
        other = "the same model, plain" if self.against_plain else f"nn.Transformer ({same})"
        layers = f"{self.sizes['num_encoder_layers']}+{self.sizes['num_decoder_layers']}"
        lengths = f"lengths {LENGTH // 2} to {LENGTH}" if self.padded else f"all of length {LENGTH}"
        return (
            f"{KINDS[self.label][1]}: {ours} / {other}; d_model {self.sizes['d_model']}, {layers} layers, {BATCHES} "
            f"batches of {BATCH}, {lengths}, padding and causal masks, dropout {DROPOUT}"
        )

    def make(self) -> tuple[Action, Action]:
        """The zoo's model and the other, with the same sizes."""
        blueprint = make_blueprint(
            attention="fused", norm=self.norm, dropout=DROPOUT, src_vocab=VOCAB, tgt_vocab=VOCAB, **self.sizes
        )
        ours, kind = build(blueprint, seed=0), KINDS[self.label][0]
        other = build(blueprint, seed=0) if self.against_plain else TorchModel(blueprint)
        return kind(accelerate(ours) if self.accelerated else ours, self.padded), kind(other, self.padded)

    def row(self) -> Benchmark:
        """As one that is measured: the larger, the fewer rounds."""
        rounds = 21 if self.sizes is SMALL else 3 if self.label == "training" else 5
        return Benchmark(self.name, self.what, self.bar, rounds, self.make)


KINDS: dict[str, tuple[Callable[[nn.Module, bool], Action], str]] = {
    "training": (training_step, "forward, backward and AdamW step"),
    "inference": (inference, "forward, eval mode, no_grad"),
}
BARS = (
    ("training", LARGE, 0.95, 0.83),
    ("inference", LARGE, 0.95, 0.85),
    ("training", SMALL, 0.95, 0.83),
    ("inference", SMALL, 0.87, 0.85),
)
"""Plain on unpadded batches, and accelerated on padded ones, against nn.Transformer."""
CASES = tuple(
    case
    for label, sizes, plain, unpadded in BARS
    for case in (
        Case(label, sizes, "pre", False, plain),
        Case(label, sizes, "pre", True, 1.0),
        Case(label, sizes, "pre", False, plain, accelerated=True),
        Case(label, sizes, "pre", True, unpadded, accelerated=True),
        Case(label, sizes, "pre", False, 1.0, accelerated=True, against_plain=True),
        Case(label, sizes, "post", False, plain),
    )
)
BENCHMARKS = tuple(case.row() for case in CASES)
