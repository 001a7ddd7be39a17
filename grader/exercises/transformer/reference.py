"""The Transformer in small steps, so that a known mistake is the reference with one step replaced.

Embeddings times sqrt(d_model), plus positions; encoder; decoder; a projection to the vocabulary ("Attention Is All You
Need", sections 3.1, 3.2.3 and 3.4). It builds its own masks from the token ids, bool, True = may be attended to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from grader.api import ASKED_FOR, Wanted

HEAD = r"head|out|proj|vocab|generator|logits|fc|linear|final|unembed"
PARTS = ("encoder", "decoder", "src_embed", "tgt_embed", "positions")
ORDER = {"encode": ("src",), "decode": ("tgt", "memory", "src"), "forward": ("src", "tgt")}
Mask = Tensor | None


def wanted(d_model: int, tgt_vocab: int) -> list[Wanted]:
    """The projection to the vocabulary. Its bias is free to be there."""
    return [
        Wanted("head.weight", (tgt_vocab, d_model), HEAD),
        Wanted("head.bias", (tgt_vocab,), HEAD, optional=True),
    ]


@dataclass(frozen=True)
class Call:
    """What every step sees. `memory` survives from call to call, as a module's attributes do."""

    module: nn.Module
    weights: Mapping[str, Tensor]
    d_model: int
    pad: int
    memory: dict[str, Any]

    def part(self, name: str) -> Callable[..., Any]:
        """One of what was handed in, see `PARTS`."""
        found: Callable[..., Any] = getattr(self.module, name)
        return found


def keep(module: nn.Module, parts: Mapping[str, nn.Module]) -> None:
    """Register what was handed in."""
    for name, part in parts.items():
        setattr(module, name, part)


def lookup(call: Call, side: str, tokens: Tensor) -> Tensor:
    """Embeddings of "src" or "tgt" ids [B, T] -> [B, T, D]."""
    found: Tensor = call.part(f"{side}_embed")(tokens)
    return found


def scale(call: Call, _side: str, x: Tensor) -> Tensor:
    """Times sqrt(d_model)."""
    return x * math.sqrt(call.d_model)


def place(call: Call, _side: str, x: Tensor) -> Tensor:
    """Plus positions."""
    placed: Tensor = call.part("positions")(x)
    return placed


def embed(steps: Steps, call: Call, side: str, tokens: Tensor) -> Tensor:
    """Ids [B, T] -> what a stack is given [B, T, D]."""
    return steps.place(call, side, steps.scale(call, side, steps.lookup(call, side, tokens)))


def padding(_call: Call, tokens: Tensor, pad: int) -> Tensor:
    """[B, 1, 1, T]: keys that are not PAD."""
    return (tokens != pad)[:, None, None]


def causal(length: int) -> Tensor:
    """[T, T]: the past and itself."""
    return torch.ones(length, length, dtype=torch.bool, device=ASKED_FOR).tril()  # the judge's own device


def encode(steps: Steps, call: Call, src: Tensor) -> Any:
    """src [B, S] -> memory [B, S, D]."""
    x = steps.embed(steps, call, "src", src)
    return steps.run_encoder(call, x, steps.src_mask(steps, call, src))


def decode(steps: Steps, call: Call, tgt: Tensor, memory: Tensor, src: Tensor) -> Any:
    """tgt [B, L], memory [B, S, D], src [B, S] -> logits [B, L, V]."""
    x = steps.embed(steps, call, "tgt", tgt)
    masks = steps.cross_mask(steps, call, src, tgt), steps.tgt_mask(steps, call, tgt)
    return steps.finish(call, steps.project(call, steps.run_decoder(call, x, memory, *masks)))


def forward(steps: Steps, call: Call, src: Tensor, tgt: Tensor) -> Any:
    """src [B, S], tgt [B, L] -> logits [B, L, V]."""
    return steps.decode(steps, call, tgt, steps.encode(steps, call, src), src)


def project(call: Call, x: Tensor) -> Tensor:
    """D -> V."""
    return x @ call.weights["head.weight"].T + call.weights["head.bias"]


@dataclass(frozen=True)
class Steps:
    """The whole computation, in order. `dataclasses.replace` makes a mistake of it.

    Attributes:
        order: how positional arguments of `forward` and `decode` are called.
        prepare: the end of `__init__`.
    """

    NAMES: ClassVar[Mapping[str, str]] = {
        "lookup": "{} embeddings", "scale": "scaled {} embeddings", "place": "{} embeddings with positions",
        "padding": "padding mask", "causal": "causal mask", "src_mask": "source mask",
        "tgt_mask": "target mask", "cross_mask": "source mask", "run_encoder": "memory",
        "run_decoder": "decoder output", "project": "logits", "finish": "logits",
    }  # fmt: skip

    shapes: Callable[[int, int, nn.Module], list[Wanted]] = lambda d_model, vocab, _embed: wanted(
        d_model, vocab
    )
    keep: Callable[[nn.Module, Mapping[str, nn.Module]], None] = keep
    prepare: Callable[[nn.Module], None] = lambda _module: None
    trained: bool = True
    order: Mapping[str, tuple[str, ...]] | None = None
    lookup: Callable[[Call, str, Tensor], Tensor] = lookup
    scale: Callable[[Call, str, Tensor], Tensor] = scale
    place: Callable[[Call, str, Tensor], Tensor] = place
    embed: Callable[[Steps, Call, str, Tensor], Tensor] = embed
    padding: Callable[[Call, Tensor, int], Tensor] = padding
    causal: Callable[[int], Tensor] = causal
    src_mask: Callable[[Steps, Call, Tensor], Mask] = lambda steps, call, src: steps.padding(
        call, src, call.pad
    )
    tgt_mask: Callable[[Steps, Call, Tensor], Mask] = lambda steps, call, tgt: (
        steps.causal(tgt.size(1)) & steps.padding(call, tgt, call.pad)
    )
    cross_mask: Callable[[Steps, Call, Tensor, Tensor], Mask] = lambda steps, call, src, _tgt: steps.src_mask(
        steps, call, src
    )
    run_encoder: Callable[[Call, Tensor, Mask], Any] = lambda call, x, mask: call.part("encoder")(x, mask)
    run_decoder: Callable[[Call, Tensor, Tensor, Mask, Mask], Any] = lambda call, x, memory, src, tgt: (
        call.part("decoder")(x, memory, src, tgt)
    )
    project: Callable[[Call, Tensor], Tensor] = project
    finish: Callable[[Call, Tensor], Any] = lambda _call, logits: logits
    encode: Callable[[Steps, Call, Tensor], Any] = encode
    decode: Callable[[Steps, Call, Tensor, Tensor, Tensor], Any] = decode
    forward: Callable[[Steps, Call, Tensor, Tensor], Any] = forward

    def sorted(self, method: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        """Arguments in the order of the contract. Raises TypeError if they are not those of the method."""
        names = {**ORDER, **(self.order or {})}[method]
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        if set(given) != set(names):
            raise TypeError(f"{method}() takes {', '.join(names)}; got {', '.join(given)}")
        return [given[name] for name in ORDER[method]]


REFERENCE = Steps()


def _one_token_each(*_args: Any, pad: int = 0, **_options: Any) -> list[Tensor]:
    return [
        torch.tensor([[int(pad == 0)]]) for _ in ("src", "tgt")
    ]  # an id of any vocabulary that is not PAD


FIRST_CALLS = {"Transformer": _one_token_each}
"""Of the classes that have parameters, see `grader.core.submission.Submission`."""


def namespace(steps: Steps) -> dict[str, Any]:
    """Return the names that a file with these steps defines."""

    class Transformer(nn.Module):
        def __init__(
            self,
            encoder: nn.Module,
            decoder: nn.Module,
            src_embed: nn.Module,
            tgt_embed: nn.Module,
            positions: nn.Module,
            d_model: int,
            tgt_vocab: int,
            pad: int = 0,
        ) -> None:
            super().__init__()
            given = (encoder, decoder, src_embed, tgt_embed, positions)
            steps.keep(self, dict(zip(PARTS, given, strict=True)))
            self.d_model, self.pad = d_model, pad
            self.kept: dict[str, Any] = {}
            self.names = [one.name for one in steps.shapes(d_model, tgt_vocab, src_embed)]
            for one in steps.shapes(d_model, tgt_vocab, src_embed):
                made = nn.Parameter(torch.randn(one.shape) / math.sqrt(d_model), steps.trained)
                self.register_parameter(one.name.replace(".", "_"), made)
            steps.prepare(self)

        def call_now(self) -> Call:
            weights = {name: getattr(self, name.replace(".", "_")) for name in self.names}
            return Call(self, weights, self.d_model, self.pad, self.kept)

        def encode(self, *args: Tensor, **kwargs: Tensor) -> Any:
            return steps.encode(steps, self.call_now(), *steps.sorted("encode", args, kwargs))

        def decode(self, *args: Tensor, **kwargs: Tensor) -> Any:
            return steps.decode(steps, self.call_now(), *steps.sorted("decode", args, kwargs))

        def forward(self, *args: Tensor, **kwargs: Tensor) -> Any:
            return steps.forward(steps, self.call_now(), *steps.sorted("forward", args, kwargs))

    return {"Transformer": Transformer}
