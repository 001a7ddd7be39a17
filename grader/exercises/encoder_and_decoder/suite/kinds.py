"""Encoder or decoder: how their layers and stacks are made around the judge's parts, called, and what the parts heard.

The parts get their weights after the learner's class was constructed: in copies they would not arrive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from grader.api import Client, Draws, Instance, noted
from grader.exercises.encoder_and_decoder.reference import wanted

SPREAD = {"q": 0.4, "k": 0.4, "v": 0.6, "a": 0.6, "b": 0.6}  # of weights, by the names that parts give them
USUAL_WIDTH = 16
Weights = dict[str, dict[str, Tensor]]
Given = dict[str, Tensor | None]


@dataclass(frozen=True)
class Kind:
    """Which of the two exercises.

    Attributes:
        layer, stack: the learner's classes. The judge's own layer has the same name.
        parts: arguments of the layer's constructor, in the order of the sublayers.
    """

    layer: str
    stack: str
    parts: tuple[str, ...]

    @property
    def memory(self) -> bool:
        """Return whether forward takes a memory, and a mask for each of two attentions."""
        return "cross_attention" in self.parts

    @property
    def masks(self) -> dict[str, str]:
        """Return which of forward's masks belongs to which attention."""
        if self.memory:
            return {"self_attention": "tgt_mask", "cross_attention": "src_mask"}
        return {"self_attention": "src_mask"}


ENCODER = Kind("EncoderLayer", "Encoder", ("self_attention", "feed_forward"))
DECODER = Kind("DecoderLayer", "Decoder", ("self_attention", "cross_attention", "feed_forward"))


@dataclass(frozen=True)
class Size:
    """Of a batch: x [batch, length, width], memory [batch, source, width]."""

    batch: int = 2
    length: int = 5
    width: int = 8
    source: int = 3

    @property
    def title(self) -> str:
        """Of x."""
        return f"x of [{self.batch}, {self.length}, {self.width}]"


PLAIN = Size()


def layer_weights(kind: Kind, draws: Draws, width: int) -> Weights:
    """Weights of a layer's parts, by their arguments' names, and of its norms under "norms"."""
    made: Weights = {}
    for part in kind.parts:
        names = "ab" if part == "feed_forward" else "qkv"
        made[part] = {name: draws.normal(width, width) * SPREAD[name] * _even(width) for name in names}
    made["norms"] = norm_weights(draws, width, len(kind.parts))
    return made


def _even(width: int) -> float:
    """Factor of weights: results of wide layers are as large as those of narrow ones, and so is their rounding."""
    return float(min(1.0, (USUAL_WIDTH / width) ** 0.5))


def norm_weights(draws: Draws, width: int, norms: int) -> dict[str, Tensor]:
    """By the names of `grader.exercises.encoder_and_decoder.reference.wanted`."""
    made = {}
    for i in range(norms):
        made[f"norm{i}.gain"], made[f"norm{i}.shift"] = draws.normal(width).abs() + 0.5, draws.normal(width)
    return made


@dataclass(frozen=True)
class Way:
    """How a layer or a stack is constructed.

    Attributes:
        norm: the argument; None leaves it out.
        dropout: the argument, of a layer; None leaves it out.
        keyword: all arguments by keyword.
        training: in train mode.
        early: parts have their weights before.
        load: whether the learner's own norms get weights. If not, they are as they started.
        shared: one attention for all places of a layer that have one.
    """

    norm: str | None = None
    dropout: float | None = None
    keyword: bool = False
    training: bool = False
    early: bool = False
    load: bool = True
    shared: bool = False

    def extra(self) -> dict[str, Any]:
        """Arguments with defaults that are given."""
        both = {"dropout": self.dropout, "norm": self.norm}
        return {name: value for name, value in both.items() if value is not None}


USUAL = Way()


def layer_of(
    client: Client, kind: Kind, weights: Weights, way: Way = USUAL
) -> tuple[Instance, dict[str, Instance]]:
    """The learner's layer, and the judge's parts that it was made of."""
    width = weights["feed_forward"]["a"].size(0)
    parts = {
        name: client.part("FeedForward" if name == "feed_forward" else "Attention", width)
        for name in kind.parts
    }
    if way.shared:
        parts = {name: parts["self_attention"] if name in kind.masks else parts[name] for name in kind.parts}

    def fill() -> None:
        for name, part in parts.items():
            client.load_part(part, weights[name])

    if way.early:
        fill()
    if way.keyword:
        made = client.make(kind.layer, training=way.training, **parts, d_model=width, **way.extra())
    else:
        made = client.make(kind.layer, *parts.values(), width, training=way.training, **way.extra())
    if not way.early:
        fill()
    if way.load:
        client.load(kind.layer, made, wanted(width, len(kind.parts)), weights["norms"])
    return made, parts


def stack_weights(kind: Kind, draws: Draws, width: int, layers: int, scale: float = 1.0) -> Weights:
    """Weights of the judge's layers, "layer 1" and so on, and of the stack's norm under "norms".

    They are smaller than those of a layer alone: scores that grow from layer to layer would make rounding show.
    """
    inner = ("inner", "cross") if kind.memory else ("inner",)
    made: Weights = {
        f"layer {i}": {
            f"{one}.{name}": draws.normal(width, width) * scale * 0.6 * SPREAD[name] * _even(width)
            for one in inner
            for name in "qkv"
        }
        for i in range(1, layers + 1)
    }
    return {**made, "norms": norm_weights(draws, width, 1)}


def stack_of(
    client: Client, kind: Kind, weights: Weights, way: Way = USUAL
) -> tuple[Instance, dict[str, Instance]]:
    """The learner's stack, the judge's layers that it was to be made of, and the "maker" that gave them out."""
    width, names = weights["norms"]["norm0.gain"].numel(), [name for name in weights if name != "norms"]
    parts = {name: client.part(kind.layer, width) for name in names}

    def fill() -> None:
        for name, part in parts.items():
            client.load_part(part, weights[name])

    if way.early:
        fill()
    maker = client.part("Maker", list(parts.values()))
    if way.keyword:
        given = {"make_layer": maker, "num_layers": len(parts), "d_model": width}
        made = client.make(kind.stack, training=way.training, **given, **way.extra())
    else:
        made = client.make(kind.stack, maker, len(parts), width, training=way.training, **way.extra())
    if not way.early:
        fill()
    if way.load:
        idle = way.norm != "pre"
        needed = [replace(one, optional=idle, idle=idle) for one in wanted(width, 1)]
        client.load(kind.stack, made, needed, weights["norms"])
    return made, {"maker": maker, **parts}


def batch_of(
    kind: Kind, draws: Draws, size: Size, masks: Mapping[str, Tensor] | None = None, scale: float = 1.0
) -> Given:
    """Arguments of forward, by name, in order; masks that are not given are None. `scale` is of x."""
    given: Given = {"x": draws.normal(size.batch, size.length, size.width) * scale}
    if kind.memory:
        given["memory"] = draws.normal(size.batch, size.source, size.width)
    names = ("src_mask", "tgt_mask") if kind.memory else ("src_mask",)
    return {**given, **{name: (masks or {}).get(name) for name in names}}


def call(
    client: Client,
    made: Instance,
    given: Given,
    *,
    keyword: bool = False,
    spare: bool = True,
    cotangent: Tensor | None = None,
) -> dict[str, Tensor | str]:
    """Forward of a layer or a stack.

    Args:
        given: its arguments, see `batch_of`.
        keyword: by keyword.
        spare: leave out the last masks if they are None.
        cotangent: ask for gradients of x and memory.
    """
    kept: dict[str, Any] = dict(given)
    while spare and list(kept.values())[-1] is None:
        kept.popitem()
    if keyword:
        return client.call(made, **kept)
    required = [kept.pop(name) for name in ("x", "memory") if name in kept]
    grad = range(len(required)) if cotangent is not None else ()
    return client.call(made, *required, grad=grad, cotangent=cotangent, **kept)


def heard(client: Client, kind: Kind, parts: Mapping[str, Instance], given: Given) -> dict[str, str]:
    """Return how a layer called its parts, in words."""
    x = given["x"]
    assert x is not None
    facts, positions = {}, x.shape[:-1].numel()
    for name in kind.parts:
        calls = noted(parts[name])
        vectors = sum(call["x"].shape[:-1].numel() for call in calls if "x" in call)
        whole, rest = divmod(vectors, positions)  # what works on each position alone may get them in parts
        facts[f"calls of {name}"] = str(whole if vectors and not rest else len(calls))
        if name in kind.masks:
            facts[f"mask of {name}"] = _which(client, [c.get("mask") for c in calls], given)
        if name == "self_attention":
            same = all(
                _equal(c.get("query"), c.get("key")) and _equal(c.get("key"), c.get("value")) for c in calls
            )
            facts["query, key and value of self_attention"] = "the same" if same else "different"
        if name == "cross_attention":
            memory = client.cast(given["memory"])
            whole = all(_equal(c.get(one), memory) for c in calls for one in ("key", "value"))
            facts["key and value of cross_attention"] = "memory, as it came" if whole else "something else"
    return facts


def heard_by_layers(
    client: Client, kind: Kind, parts: Mapping[str, Instance], given: Given
) -> dict[str, str]:
    """Return how a stack made and called its layers, in words."""
    made = [one["made"].tolist() for one in noted(parts["maker"]) if "made" in one]
    facts = {"layers made": str(made[0]) if made else "none"}
    for name, layer in parts.items():
        if name == "maker":
            continue
        calls = noted(layer)
        facts[f"calls of {name}"] = str(len(calls))
        for mask in kind.masks.values():
            facts[f"{mask} of {name}"] = _which(client, [c.get(mask) for c in calls], given)
        if kind.memory:
            memory = client.cast(given["memory"])
            whole = all(_equal(c.get("memory"), memory) for c in calls)
            facts[f"memory of {name}"] = "as it came" if whole else "something else"
    return facts


def _which(client: Client, masks: Sequence[Tensor | None], given: Given) -> str:
    """Return which of forward's masks a part was called with, bit by bit; dimensions of 1 in front say nothing."""
    own = {name: _without_front(client.cast(mask)) for name, mask in given.items() if name.endswith("mask")}

    def name_of(mask: Tensor | None) -> str:
        if mask is None:
            return "none"
        another = f"another, {str(mask.dtype).removeprefix('torch.')}"
        return next((name for name, one in own.items() if _equal(one, _without_front(mask))), another)

    return ", ".join(sorted({name_of(mask) for mask in masks}))


def _without_front(mask: Any) -> Any:
    """A mask less the dimensions of 1 that it begins with: it broadcasts as it did."""
    while isinstance(mask, Tensor) and mask.dim() > 2 and mask.size(0) == 1:
        mask = mask[0]
    return mask


def _equal(a: Any, b: Any) -> bool:
    both = isinstance(a, Tensor) and isinstance(b, Tensor)
    return both and a.dtype == b.dtype and torch.equal(a, b)
