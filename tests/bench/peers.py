"""The zoo against x-transformers, which is installed for this alone: `pip install -e '.[bench]'`."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from tests.bench.decoding import SOURCE, STEPS
from tests.bench.measure import Action, Benchmark
from tests.bench.models import DROPOUT, LARGE, LENGTH, SMALL, VOCAB, inference, training_step
from zoo.core.blueprint import make_blueprint
from zoo.models.builder import build
from zoo.parts.decoding.generate import generate
from zoo.parts.decoding.greedy import GreedyDecoding


def peer(sizes: dict[str, int], vocabulary: int = VOCAB, length: int = LENGTH) -> Any:
    """An XTransformer of these sizes, with torch's fused kernel: `attn_flash`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from x_transformers import XTransformer

        sides: dict[str, Any] = {}
        for side, layers in (("enc", "num_encoder_layers"), ("dec", "num_decoder_layers")):
            sides |= {
                f"{side}_num_tokens": vocabulary,
                f"{side}_depth": sizes[layers],
                f"{side}_heads": sizes["num_heads"],
                f"{side}_attn_dim_head": sizes["d_model"] // sizes["num_heads"],
                f"{side}_ff_mult": sizes["d_ff"] // sizes["d_model"],
                f"{side}_max_seq_len": length,
                f"{side}_attn_flash": True,
                f"{side}_attn_dropout": DROPOUT,
                f"{side}_ff_dropout": DROPOUT,
            }
        return XTransformer(dim=sizes["d_model"], tie_token_emb=False, **sides)


class PeerLogits(nn.Module):
    """An XTransformer called as the zoo's models are."""

    def __init__(self, sizes: dict[str, int], vocabulary: int = VOCAB, length: int = LENGTH) -> None:
        super().__init__()
        self.model = peer(sizes, vocabulary, length)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """src [B, S], tgt [B, L] -> logits [B, L, V]."""
        keep = src != 0
        memory = self.model.encoder(src, mask=keep, return_embeddings=True)
        return self.model.decoder.net(tgt, context=memory, context_mask=keep, mask=tgt != 0)  # type: ignore[no-any-return]


def ours(sizes: dict[str, int], vocabulary: int = VOCAB, length: int = LENGTH) -> nn.Module:
    """The same kind of model: pre-norm, GELU, learned positions, no biases in the attention, dropout alike."""
    blueprint = make_blueprint(
        attention="fused:bias=false", norm="pre", feedforward="gelu", encoding="learned", embedding="unscaled",
        head="logits:bias=false", dropout=DROPOUT, src_vocab=vocabulary, tgt_vocab=vocabulary, max_len=length,
        **sizes,
    )  # fmt: skip
    return build(blueprint, seed=0)


def both(kind: Any, sizes: dict[str, int]) -> tuple[Action, Action]:
    """The zoo's model and the peer's."""
    return kind(ours(sizes)), kind(PeerLogits(sizes))


def decoding(sizes: dict[str, int], batch: int) -> tuple[Action, Action]:
    """Greedy decoding, both with cached keys and values."""
    src = torch.randint(3, VOCAB, (batch, SOURCE), generator=torch.Generator().manual_seed(0))
    model, other = ours(sizes).eval(), peer(sizes).eval()

    def mine() -> None:
        generate(model, src, STEPS - 1, GreedyDecoding(), eos=-1)  # type: ignore[arg-type]

    def theirs() -> None:
        start = torch.ones(batch, 1, dtype=torch.long)
        other.generate(src, start, STEPS - 1, mask=src != 0, temperature=0.0, cache_kv=True)

    return mine, theirs


def row(label: str, make: Any, sizes: dict[str, int], what: str, bar: float, rounds: int) -> Benchmark:
    """A benchmark against the peer."""
    layers = f"{sizes['num_encoder_layers']}+{sizes['num_decoder_layers']}"
    text = (
        f"{what}: attention=fused norm=pre feedforward=gelu / x-transformers (attn_flash); "
        f"d_model {sizes['d_model']}, {layers} layers"
    )
    return Benchmark(f"peer-{label}-d{sizes['d_model']}", text, bar, rounds, make)


BENCHMARKS = (
    *(
        row(label, partial(both, kind, sizes), sizes, what, bar, rounds)
        for sizes, bars, rounds in ((LARGE, (0.90, 0.80), 7), (SMALL, (0.95, 0.95), 41))
        for (label, kind, what), bar in zip(
            (
                ("training", training_step, "forward, backward and AdamW step"),
                ("inference", inference, "forward, eval mode, no_grad"),
            ),
            bars,
            strict=True,
        )
    ),
    row(
        "decoding",
        partial(decoding, LARGE, 1),
        LARGE,
        f"greedy decoding of {STEPS - 1} tokens, batch 1",
        1.0,
        7,
    ),
    row(
        "decoding",
        partial(decoding, SMALL, 64),
        SMALL,
        f"greedy decoding of {STEPS - 1} tokens, batch 64",
        1.0,
        5,
    ),
)
