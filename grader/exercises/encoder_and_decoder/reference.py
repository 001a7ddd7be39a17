"""Encoder and decoder layers and their stacks in small steps, so that a mistake is one step replaced.

Post-norm: x = norm(x + drop(f(x))) for each sublayer f ("Attention Is All You Need", section 3.1). Pre-norm:
x = x + drop(f(norm(x))), and one more norm at the end of the stack (Xiong et al. 2020, arXiv 2002.04745).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grader.api import Wanted

GAIN = r"gain|weight|gamma|scale|alpha|a_2|\b[gwa]$"
SHIFT = r"shift|bias|beta|offset|b_2|\bb$"
Mask = Tensor | None


def wanted(d_model: int, norms: int) -> list[Wanted]:
    """Gain and shift of a layer's (or a stack's) own norms."""
    return [
        Wanted(f"norm{i}.{name}", (d_model,), words, starts)
        for i in range(norms)
        for name, words, starts in (("gain", GAIN, 1.0), ("shift", SHIFT, 0.0))
    ]


@dataclass(frozen=True)
class Call:
    """What every step of a layer sees.

    Attributes:
        parts: what was handed in: "self", "cross" (decoder), "feed".
        norms: the layer's own, one a sublayer.
        placement: "pre" or "post".
        self_mask, cross_mask: for the two attentions.
        memory: the encoder's output (decoder).
    """

    parts: Mapping[str, Callable[..., Tensor]]
    norms: Sequence[Callable[[Tensor], Tensor]]
    placement: str
    dropout: float
    training: bool
    self_mask: Mask = None
    cross_mask: Mask = None
    memory: Tensor | None = None


def normed(x: Tensor, gain: Tensor, shift: Tensor) -> Tensor:
    """Layer norm over the last dimension, eps 1e-5."""
    return F.layer_norm(x, x.shape[-1:], gain, shift, 1e-5)


def drop(call: Call, _name: str, x: Tensor) -> Tensor:
    """Dropout of a sublayer's output, in training mode only."""
    return F.dropout(x, call.dropout, call.training)


def attend(call: Call, h: Tensor) -> Tensor:
    """Self-attention."""
    return call.parts["self"](h, h, h, call.self_mask)


def cross(call: Call, h: Tensor) -> Tensor:
    """Cross-attention: queries from the decoder, keys and values from memory."""
    return call.parts["cross"](h, call.memory, call.memory, call.cross_mask)


def pre(steps: Steps, call: Call, i: int, name: str, x: Tensor, _given: Tensor) -> Tensor:
    """x + drop(f(norm(x)))."""
    return x + steps.drop(call, name, steps.run(call, name, steps.norm(call, i, x)))


def post(steps: Steps, call: Call, i: int, name: str, x: Tensor, _given: Tensor) -> Tensor:
    """norm(x + drop(f(x)))."""
    return steps.norm(call, i, x + steps.drop(call, name, steps.run(call, name, x)))


def keep(module: nn.Module, name: str, part: nn.Module) -> None:
    """Register a part that was handed in."""
    setattr(module, name, part)


def gather(module: nn.Module, make_layer: Callable[[], nn.Module], count: int) -> list[nn.Module]:
    """Make the layers of a stack, and register them."""
    layers = nn.ModuleList(make_layer() for _ in range(count))
    module.layers = layers
    return list(layers)


def through(layers: Sequence[nn.Module], x: Tensor, rest: Sequence[Any]) -> Any:
    """Each layer takes what the one before it gave. `rest` is everything but x."""
    for layer in layers:
        x = layer(x, *rest)
    return x


Place = Callable[["Steps", Call, int, str, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Steps:
    """The whole computation, in order. `dataclasses.replace` makes a mistake of it.

    Attributes:
        order: the sublayers, by the names of their parts.
        count: how many norms a layer of so many sublayers has, by placement.
        renamed: arguments that have another name than in the template, with that name.
        final: whether a stack ends in a norm, by placement.
        final_norm: that norm's class.
        ending: what is done with the last layer's output, given the final norm, if any.
        entering, between: the same with the stack's input, and with what each layer gives.
        beside: the same with what the layers get beside x.
    """

    NAMES: ClassVar[Mapping[str, str]] = {
        "normed": "normalized x", "norm": "normalized x", "attend": "self-attention",
        "cross": "cross-attention", "feed": "feed-forward output", "drop": "{} output after dropout",
        "pre": "x after the {} sublayer", "post": "x after the {} sublayer", "finish": "output",
        "through": "output of the layers", "ending": "output", "between": "output of a layer",
    }  # fmt: skip

    order: tuple[str, ...] = ("self", "feed")
    placement: Callable[[str | None], str] = lambda given: given or "post"
    count: Callable[[int, str], int] = lambda sublayers, _placement: sublayers
    normed: Callable[[Tensor, Tensor, Tensor], Tensor] = normed
    affine: bool = True
    starts: tuple[float, float] = (1.0, 0.0)
    renamed: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[nn.Module], None] = lambda _module: None
    keep: Callable[[nn.Module, str, nn.Module], None] = keep
    call: Callable[[Call], Call] = lambda call: call
    norm: Callable[[Call, int, Tensor], Tensor] = lambda call, i, x: call.norms[i](x)
    attend: Callable[[Call, Tensor], Tensor] = attend
    cross: Callable[[Call, Tensor], Tensor] = cross
    feed: Callable[[Call, Tensor], Tensor] = lambda call, h: call.parts["feed"](h)
    drop: Callable[[Call, str, Tensor], Tensor] = drop
    pre: Place = pre
    post: Place = post
    finish: Callable[[Call, Tensor, Tensor], Any] = lambda _call, _given, out: out
    stack_placement: Callable[[str | None], str] = lambda given: given or "post"
    final: Callable[[str], bool] = lambda placement: placement == "pre"
    final_norm: Callable[[Steps], type[nn.Module]] = lambda steps: norm_class(steps)
    gather: Callable[[nn.Module, Callable[[], nn.Module], int], list[nn.Module]] = gather
    through: Callable[[Sequence[nn.Module], Tensor, Sequence[Any]], Any] = through
    ending: Callable[[Callable[[Tensor], Tensor] | None, Tensor, Tensor], Any] = lambda norm, _given, out: (
        out if norm is None else norm(out)
    )
    entering: Callable[[Callable[[Tensor], Tensor] | None, Tensor], Tensor] = lambda _norm, x: x
    between: Callable[[Callable[[Tensor], Tensor] | None, Any], Any] = lambda _norm, out: out
    beside: Callable[[Callable[[Tensor], Tensor] | None, Sequence[Any]], Sequence[Any]] = lambda _norm, rest: (
        rest
    )

    def run(self, call: Call, name: str, h: Tensor) -> Tensor:
        """One sublayer."""
        return {"self": self.attend, "cross": self.cross, "feed": self.feed}[name](call, h)

    def layer(self, call: Call, x: Tensor) -> Any:
        """x [B, T, D] -> [B, T, D]."""
        call, given = self.call(call), x
        for i, name in enumerate(self.order):
            x = (self.pre if call.placement == "pre" else self.post)(self, call, i, name, x, given)
        return self.finish(call, given, x)


def norm_class(steps: Steps) -> type[nn.Module]:
    """A layer norm as these steps have it."""

    class Norm(nn.Module):
        def __init__(self, d_model: int) -> None:
            super().__init__()
            gain, shift = (torch.full((d_model,), value) for value in steps.starts)
            self.gain = nn.Parameter(gain) if steps.affine else None
            self.shift = nn.Parameter(shift) if steps.affine else None

        def forward(self, x: Tensor) -> Tensor:
            if self.gain is None or self.shift is None:
                return steps.normed(x, x.new_ones(x.size(-1)), x.new_zeros(x.size(-1)))
            return steps.normed(x, self.gain, self.shift)

    return Norm


class Layer(nn.Module):
    """What encoder and decoder layers have in common."""

    def __init__(
        self, steps: Steps, parts: Mapping[str, nn.Module], d_model: int, dropout: float, norm: str | None
    ) -> None:
        super().__init__()
        self.steps, self.dropout, self.placement = steps, dropout, steps.placement(norm)
        for name, part in parts.items():
            steps.keep(self, f"{name}_part", part)
        self.names = tuple(parts)
        count = steps.count(len(parts), self.placement)
        self.norms = nn.ModuleList(norm_class(steps)(d_model) for _ in range(count))
        steps.prepare(self)

    def run(
        self, x: Tensor, *, memory: Tensor | None = None, self_mask: Mask = None, cross_mask: Mask = None
    ) -> Any:
        """One pass."""
        parts = {name: getattr(self, f"{name}_part") for name in self.names}
        call = Call(
            parts,
            list(self.norms),
            self.placement,
            self.dropout,
            self.training,
            self_mask,
            cross_mask,
            memory,
        )
        return self.steps.layer(call, x)


class Stack(nn.Module):
    """What encoders and decoders have in common."""

    def __init__(
        self,
        steps: Steps,
        make_layer: Callable[[], nn.Module],
        num_layers: int,
        d_model: int,
        norm: str | None,
    ) -> None:
        super().__init__()
        self.steps = steps
        object.__setattr__(self, "plain", steps.gather(self, make_layer, num_layers))
        self.norm = steps.final_norm(steps)(d_model) if steps.final(steps.stack_placement(norm)) else None
        steps.prepare(self)

    def run(self, x: Tensor, rest: Sequence[Any]) -> Any:
        """One pass."""
        plain: Any = self.plain
        layers: Any = [self._one(layer) for layer in plain]
        out = self.steps.through(
            layers, self.steps.entering(self.norm, x), self.steps.beside(self.norm, rest)
        )
        return self.steps.ending(self.norm, x, out)

    def _one(self, layer: nn.Module) -> Callable[..., Any]:
        return lambda *given: self.steps.between(self.norm, layer(*given))


def with_names(steps: Steps, written: type[nn.Module]) -> type[nn.Module]:
    """A class with its arguments named as these steps name them."""
    if not steps.renamed:
        return written
    by_new_name = {new: old for old, new in steps.renamed.items()}

    def by_template(named: Mapping[str, Any]) -> dict[str, Any]:
        for name in named:
            if name in steps.renamed:
                raise TypeError(f"got an unexpected keyword argument '{name}'")
        return {by_new_name.get(name, name): value for name, value in named.items()}

    class Renamed(written):  # type: ignore[misc, valid-type]
        def __init__(self, *args: Any, **named: Any) -> None:
            super().__init__(*args, **by_template(named))

        def forward(self, *args: Any, **named: Any) -> Any:
            return super().forward(*args, **by_template(named))

    return Renamed
