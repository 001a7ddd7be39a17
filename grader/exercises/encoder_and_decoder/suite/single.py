"""The scenarios of a layer, encoder or decoder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.api import (
    LAYER_SLACK,
    Answer,
    Client,
    Draws,
    Instance,
    ParameterInfo,
    Scenario,
    after_training,
    alike,
    beside_another,
    counted,
    drawn_rate,
    only_form,
    own_parameters,
    parameter_facts,
    traits_of,
    under_no_grad,
    weights_kept,
    with_dropped_gradients,
    with_fixed_inputs,
    with_zeros,
)
from grader.exercises.encoder_and_decoder.suite import masks
from grader.exercises.encoder_and_decoder.suite.dropped import RATE, dropped
from grader.exercises.encoder_and_decoder.suite.kinds import (
    PLAIN,
    USUAL,
    Given,
    Kind,
    Size,
    Way,
    Weights,
    batch_of,
    call,
    heard,
    layer_of,
    layer_weights,
)

Ask = Callable[[Client], Answer]
PLACES = ("post", "pre")
LONE = ("a batch of one", "a length of one")
SHORT = ("a length of one", "a mask for a length of one")
FORMS: tuple[tuple[str, masks.Form, str], ...] = (
    ("a bool mask [B, 1, 1, T]", masks.padding, "a bool mask"),
    ("a bool mask [T, T]", masks.square, "a bool mask"),
    ("a bool mask [H, T, T]", masks.of_three_dimensions, "a bool mask"),
    ("a row that may attend to nothing", masks.closed_row, "a bool mask"),
    ("an additive mask", masks.of_numbers, "an additive mask"),
    ("an additive mask that hides nothing", masks.open_numbers, "an additive mask"),
)


@dataclass(frozen=True)
class Maker:
    """Makes scenarios of one component."""

    kind: Kind
    component: str

    def __call__(
        self, title: str, group: str, ask: Ask, *traits: str, dtype: torch.dtype = torch.float32
    ) -> Scenario:
        slack = LAYER_SLACK.get(dtype, 1.0)
        return Scenario(title, self.component, group, ask, dtype=dtype, slack=slack, traits=frozenset(traits))


def numbers(
    kind: Kind,
    seed: int,
    size: Size = PLAIN,
    way: Way = USUAL,
    *,
    forms: masks.Forms | None = None,
    scale: float = 1.0,
    zeros: Callable[[Tensor], Tensor] | None = None,
    keyword: bool = False,
    spare: bool = True,
    backward: bool = False,
) -> Ask:
    """The output, and how the parts were called.

    Args:
        forms: of the masks, by the names of forward's arguments.
        scale: of x, and of what the parts add to it.
        zeros: what puts zeros into x, and into memory.
        keyword, spare: see `call`.
        backward: gradients of x, memory and the layer's own norms.
    """

    def ask(client: Client) -> Answer:
        draws = Draws(seed)
        weights = layer_weights(kind, draws, size.width)
        for part, last in (("self_attention", "v"), ("cross_attention", "v"), ("feed_forward", "b")):
            if part in weights:
                weights[part][last] *= scale
        layer, parts = layer_of(client, kind, weights, way)
        given = batch_of(kind, draws, size, masks.drawn(kind, draws, size, forms or {}), scale)
        if zeros:
            named = ((name, given.get(name)) for name in ("x", "memory"))
            given |= {name: zeros(x) for name, x in named if x is not None}
        cotangent = draws.normal(size.batch, size.length, size.width) if backward else None
        answer = call(client, layer, given, keyword=keyword, spare=spare, cotangent=cotangent)
        return {**answer, **heard(client, kind, parts, given)}

    return ask


def _masks_of_parts(kind: Kind, seed: int, way: Way) -> Ask:
    """Which masks the parts got, with masks for all of them."""

    def ask(client: Client) -> Answer:
        answer = numbers(kind, seed, PLAIN, way, forms=masks.every(kind, masks.padding))(client)
        return {name: said for name, said in answer.items() if "mask" in name}

    return ask


def fresh_facts(parameters: Mapping[str, ParameterInfo]) -> dict[str, str]:
    """Return what a learner's class has of its own, when it is new."""
    own = [p.value for p in own_parameters(parameters).values()]
    starts = {
        f"numbers that start at {n}": str(sum(int((value == n).sum()) for value in own)) for n in (1, 0)
    }
    return {**parameter_facts(parameters), **starts}


def judges_facts(client: Client, parameters: Mapping[str, ParameterInfo], weights: Weights) -> dict[str, str]:
    """Return what a learner's class has of the parts that were handed in, which by now have these weights."""
    judges = {name: p.value for name, p in parameters.items() if "judge_" in name}
    given = [client.cast(value) for named in weights.values() for value in named.values()]
    kept = sum(any(torch.equal(value, one) for one in given) for value in judges.values())
    return {
        "parameters of the parts": counted(n.partition("judge_")[2] for n in judges),
        "of these with the parts' own weights": str(kept),
    }


def _parts(kind: Kind, seed: int, *, early: bool) -> Ask:
    def ask(client: Client) -> Answer:
        weights = layer_weights(kind, Draws(seed), 6)
        layer, _ = layer_of(client, kind, weights, Way(early=early, load=False))
        return judges_facts(client, layer.parameters(), weights)

    return ask


def _layers_kept(kind: Kind) -> Ask:
    def ask(client: Client) -> Answer:
        parts = {name: client.part("Layers", 6) for name in kind.parts}
        return weights_kept(list(parts.values()), lambda: client.make(kind.layer, *parts.values(), 6))

    return ask


def _fresh(kind: Kind, seed: int, norm: str) -> Ask:
    def ask(client: Client) -> Answer:
        layer, _ = layer_of(client, kind, layer_weights(kind, Draws(seed), 6), Way(norm=norm, load=False))
        return fresh_facts(layer.parameters())

    return ask


def twice(client: Client, made: Instance, given: Given) -> Answer:
    """Two equal calls. If they differ, the numbers depend on chance, and are not compared."""
    first, second = (call(client, made, given) for _ in range(2))
    a, b = first.get("output"), second.get("output")
    if isinstance(a, Tensor) and isinstance(b, Tensor) and not alike(a, b):
        return {"two equal calls": "different"}
    return {"two equal calls": "equal", **second}


def _steady(kind: Kind, seed: int, way: Way) -> Ask:
    def ask(client: Client) -> Answer:
        draws, size = Draws(seed), Size(2, 4, 8)
        layer, _ = layer_of(client, kind, layer_weights(kind, draws, size.width), way)
        return twice(client, layer, batch_of(kind, draws, size))

    return ask


def layer_scenarios(kind: Kind, seed: int) -> list[Scenario]:
    """All of a layer's, in the order of the tests."""
    one = Maker(kind, kind.layer)
    made = [
        one("the parts' parameters", "parts", _parts(kind, seed, early=False)),
        one("the weights that the parts came with", "parts", _parts(kind, seed, early=True)),
        one("parts of torch's own layers", "parts", _layers_kept(kind)),
        *(one(f'a new layer, norm="{norm}"', "norms", _fresh(kind, seed, norm)) for norm in PLACES),
    ]
    places = {norm: _of_a_place(one, seed + 100 * i, norm) for i, norm in enumerate(PLACES, start=1)}
    by_name = numbers(
        kind,
        seed + 5,
        way=Way("pre", 0.5, keyword=True),
        keyword=True,
        forms=masks.every(kind, masks.padding),
    )
    return [
        *made,
        *places["post"],
        one("norm left out", "default", numbers(kind, seed + 4)),
        *places["pre"],
        one("all by keyword", "keywords", by_name, "keyword arguments"),
    ]


def _of_a_place(one: Maker, seed: int, norm: str) -> list[Scenario]:
    """Of one placement; each test looks at both."""
    kind, way = one.kind, Way(norm)

    def ask_for(offset: int, size: Size = PLAIN, **extra: Any) -> Ask:
        return numbers(kind, seed + offset, size, extra.pop("way", way), **extra)

    def title(text: str) -> str:
        return f'norm="{norm}", {text}'

    long = Size(1, Draws(seed).length(), 6, Draws(seed + 1).length())
    wide = Size(2, 3, Draws(seed + 33).integer(66, 90))
    trained = Way(norm, training=True)  # who saves memory in the backward pass does so in train mode
    dropping = Way(norm, 0.5, training=True)
    rate = drawn_rate(Draws(seed + 32))
    calm = _steady(kind, seed + 23, trained)
    off = one(title("train mode with dropout=0"), "train", calm, "train mode")
    resting = one(title("eval mode with dropout=0.5"), "eval", _steady(kind, seed + 22, Way(norm, 0.5)))
    found = [
        one(title(PLAIN.title), norm, ask_for(1)),
        one(title(Size(3, 4, 7, 6).title), norm, ask_for(2, Size(3, 4, 7, 6)), "an odd size"),
        one(title(Size(1, 1, 6, 1).title), norm, ask_for(3, Size(1, 1, 6, 1)), *LONE),
        one(title("rows that hardly vary"), "eps", ask_for(4, scale=3e-3)),
        one(title("a long sequence"), norm, ask_for(5, long), "a long sequence"),
        one(title("vectors of zeros"), norm, ask_for(7, zeros=with_zeros), *traits_of("vectors of zeros")),
        one(
            title("nothing but zeros"),
            norm,
            ask_for(8, zeros=torch.zeros_like),
            *traits_of("nothing but zeros"),
        ),
        one(title("wide vectors"), norm, ask_for(33, wide, scale=0.3), "wide vectors"),
        one(title("many sentences"), norm, ask_for(6, Size(long.length, 3, 6, 2)), "many sentences"),
    ]
    for i, (text, form, *traits) in enumerate(FORMS, start=10):
        found.append(one(title(text), "masks", ask_for(i, forms=masks.every(kind, form)), *traits))
    short = ask_for(9, Size(3, 1, 6, 1), forms=masks.every(kind, masks.closed_row))
    found.append(one(title("a length of one, with masks"), "masks", short, *SHORT))
    if kind.memory:
        for i, name in enumerate(("src_mask", "tgt_mask"), start=16):
            found.append(one(title(f"{name} alone"), "masks", ask_for(i, forms={name: masks.separate})))
    found += [
        one(title("masks of None"), "masks", ask_for(20, spare=False)),
        one(
            title("the gradient"),
            "gradients",
            ask_for(21, Size(2, 3, 6, 4), way=trained, forms=masks.every(kind, masks.padding), backward=True),
            "the backward pass",
        ),
        one(title("the gradient in eval mode"), "gradients", ask_for(29, backward=True)),
        with_fixed_inputs(one(title("train mode"), "gradients", ask_for(26, way=trained, backward=True))),
        with_dropped_gradients(
            one(title("train mode"), "gradients", ask_for(27, way=dropping, backward=True))
        ),
        under_no_grad(one(title("masks"), "masks", ask_for(31, forms=masks.every(kind, masks.of_numbers)))),
        resting,
        after_training(resting),
        one(title(f"train mode with dropout={RATE}"), "train", dropped(kind, norm, seed + 24), "train mode"),
        one(
            title(f"train mode with dropout={rate}"),
            "train",
            dropped(kind, norm, seed + 32, rate),
            "train mode",
        ),
        one(title("train mode with dropout and masks"), "masks", _masks_of_parts(kind, seed + 28, dropping)),
        off,
        beside_another(off, dropout=0.5, norm="pre" if norm == "post" else "post"),
    ]
    drawn = one(title("train mode with dropout=0.5"), "dtypes", ask_for(30, way=dropping))
    found.append(only_form(drawn, torch.bfloat16))
    for dtype in (torch.float64, torch.bfloat16):
        text = f"{str(dtype).removeprefix('torch.')} inputs"
        ask = ask_for(25, Size(2, 3, 8), forms=masks.every(kind, masks.padding))
        found.append(one(title(text), "dtypes", ask, text, dtype=dtype))
    return found
