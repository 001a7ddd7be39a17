"""A decoder by itself against a GPT written by hand, as nanoGPT is: one packed projection, torch's fused attention."""

from __future__ import annotations

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.bench.measure import Action, Benchmark
from zoo.core.blueprint import make_blueprint
from zoo.models.builder import build
from zoo.parts.decoding.generate import generate
from zoo.parts.decoding.greedy import GreedyDecoding

D, HEADS, LAYERS, VOCAB, LENGTH, BATCH, PROMPT, NEW = 512, 8, 6, 1000, 128, 8, 32, 64

Cache = list[tuple[Tensor, Tensor]]
"""Keys and values of each layer so far: [B, H, T, d]."""


class Block(nn.Module):
    """Attention and feed-forward, each after a norm and around a residual."""

    def __init__(self) -> None:
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.qkv, self.out = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.up, self.down = nn.Linear(D, 4 * D), nn.Linear(4 * D, D)

    def forward(self, x: Tensor, past: Cache | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """x [B, T, D] -> [B, T, D], and keys and values, those of `past` in front."""
        q, k, v = (
            part.unflatten(-1, (HEADS, -1)).transpose(1, 2)  # [B, T, D] -> [B, H, T, d]
            for part in self.qkv(self.norm_1(x)).split(D, dim=-1)
        )
        if past:
            k, v = (torch.cat(both, dim=2) for both in zip(past[0], (k, v), strict=True))
        heads = F.scaled_dot_product_attention(q, k, v, is_causal=not past)
        x = x + self.out(heads.transpose(1, 2).flatten(2))  # [B, H, T, d] -> [B, T, D]
        return x + self.down(F.gelu(self.up(self.norm_2(x)))), (k, v)


class GPT(nn.Module):
    """Tokens [B, T] -> logits [B, T, V]; the head shares the table of the tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCAB, D), nn.Embedding(LENGTH, D)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(D), nn.Linear(D, VOCAB, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens: Tensor, past: Cache | None = None) -> tuple[Tensor, Cache]:
        """Logits, and what to hand over as `past` with the next tokens."""
        start = past[0][0].size(2) if past else 0
        x = self.tokens(tokens) + self.positions(torch.arange(start, start + tokens.size(1)))
        caches: Cache = []
        for number, block in enumerate(self.blocks):
            x, cache = block(x, [past[number]] if past else None)
            caches.append(cache)
        return self.head(self.norm(x)), caches

    @torch.no_grad()
    def generate(self, tokens: Tensor, cached: bool) -> Tensor:
        """NEW tokens, greedily; without a cache, as nanoGPT does, everything is recomputed for each."""
        past, new = None, tokens
        for _ in range(NEW):
            logits, caches = self(new if cached else tokens, past)
            past = caches if cached else None
            new = logits[:, -1:].argmax(-1)  # [B, T, V] -> [B, 1]
            tokens = torch.cat((tokens, new), dim=1)
        return tokens[:, -NEW:]


def ours() -> nn.Module:
    """The same function of the zoo's parts."""
    return build(
        make_blueprint(
            assembly="decoder", attention="fused", encoding="learned", norm="pre", feedforward="gelu",
            embedding="tied:std=0.02:scale=1", head="logits:bias=false", masking="causal-only", init="gpt2",
            d_model=D, num_heads=HEADS, d_ff=4 * D, num_decoder_layers=LAYERS, dropout=0.0, src_vocab=VOCAB,
            tgt_vocab=VOCAB, max_len=LENGTH,
        ),
        seed=0,
    )  # fmt: skip


def draw(length: int) -> Tensor:
    """Tokens [B, length]."""
    return torch.randint(3, VOCAB, (BATCH, length), generator=torch.Generator().manual_seed(0))


def step(model: nn.Module) -> Action:
    """Forward, backward and a step of AdamW."""
    tokens = draw(LENGTH + 1)
    optimizer = torch.optim.AdamW(model.train().parameters(), lr=1e-4, fused=True)

    def action() -> None:
        optimizer.zero_grad()
        output = model(tokens[:, :-1])
        logits = output[0] if isinstance(output, tuple) else output
        F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).backward()
        optimizer.step()

    return action


def training() -> tuple[Action, Action]:
    """A step of either."""
    return step(ours()), step(GPT())


def generation(batch: int, cached: bool) -> tuple[Action, Action]:
    """Ours with cached keys and values; the other with them or without."""
    model, other, prompt = ours().eval(), GPT().eval(), draw(PROMPT)[:batch]

    def generated() -> None:
        answers = generate(model, prompt, NEW, GreedyDecoding(), eos=-1, cached=True)  # type: ignore[arg-type]
        assert answers.shape == (batch, NEW)

    return generated, lambda: other.generate(prompt, cached)


SIZES = f"decoder-only, d_model {D}, {LAYERS} layers"
BENCHMARKS = (
    Benchmark(
        f"training-gpt-d{D}",
        f"forward, backward and AdamW step: attention=fused, plain / hand-written GPT; {SIZES}, batch of {BATCH} x "
        f"{LENGTH}",
        1.0,
        9,
        training,
    ),
    *(
        Benchmark(
            f"decoding-gpt-d{D}-b{batch}{'' if cached else '-nanogpt'}",
            f"greedy decoding of {NEW} tokens after {PROMPT}, cached keys and values / hand-written GPT, "
            f"{'cached too, by concatenation' if cached else 'recomputed at each step, as nanoGPT does'}; {SIZES}, "
            f"batch {batch}",
            0.95,
            15 if cached else 5,
            partial(generation, batch, cached),
        )
        for batch, cached in ((1, True), (BATCH, True), (1, False))
    ),
)
