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
    by_position,
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
        of_parts = client.gradients_of_parts(layer, {part: weights[part] for part in kind.parts})
        return {**answer, **of_parts, **heard(client, kind, parts, given)}

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


def twice(client: Client, made: Instance, parts: Mapping[str, Instance], given: Given) -> Answer:
    """Two equal calls, and the mode of the parts. Where the calls differ by chance, numbers are not compared."""
    first, second = (call(client, made, given) for _ in range(2))
    modes = {f"mode of {name}": str(part.call([], method="mode").value) for name, part in parts.items()}
    a, b = first.get("output"), second.get("output")
    if isinstance(a, Tensor) and isinstance(b, Tensor) and not alike(a, b):
        return {**modes, "two equal calls": "different"}
    return {**modes, "two equal calls": "equal", **second}


def _steady(kind: Kind, seed: int, way: Way) -> Ask:
    def ask(client: Client) -> Answer:
        draws, size = Draws(seed), Size(2, 4, 8)
        layer, parts = layer_of(client, kind, layer_weights(kind, draws, size.width), way)
        return twice(client, layer, parts, batch_of(kind, draws, size))

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
    places = {norm: _Place(one, seed + 100 * i, norm).all() for i, norm in enumerate(PLACES, start=1)}
    forms = masks.every(kind, masks.padding)
    by_name = numbers(kind, seed + 5, way=Way("pre", 0.5, keyword=True), keyword=True, forms=forms)
    all_given = numbers(kind, seed + 6, way=Way("pre", 0.5), forms=forms)
    return [
        *made,
        *places["post"],
        one("norm left out", "default", numbers(kind, seed + 4)),
        *places["pre"],
        one("all by keyword", "keywords", by_name, "keyword arguments"),
        by_position(one("all arguments", "keywords", all_given)),
    ]


class _Place:
    """The scenarios of one placement; each test looks at both."""

    def __init__(self, one: Maker, seed: int, norm: str) -> None:
        self._maker, self._seed, self._norm = one, seed, norm
        self._trained = Way(
            norm, training=True
        )  # who saves memory in the backward pass does so in train mode
        self._dropping = Way(norm, 0.5, training=True)

    def all(self) -> list[Scenario]:
        return [*self._numbers(), *self._masks(), *self._gradients(), *self._modes(), *self._dtypes()]

    def _one(self, text: str, group: str, ask: Ask, *traits: str, **extra: Any) -> Scenario:
        return self._maker(f'norm="{self._norm}", {text}', group, ask, *traits, **extra)

    def _ask(self, offset: int, size: Size = PLAIN, way: Way | None = None, **extra: Any) -> Ask:
        return numbers(self._maker.kind, self._seed + offset, size, way or Way(self._norm), **extra)

    def _in_all(self, form: masks.Form) -> masks.Forms:
        return masks.every(self._maker.kind, form)

    def _numbers(self) -> list[Scenario]:
        one, ask, seed = self._one, self._ask, self._seed
        odd, short = Size(3, 4, 7, 6), Size(1, 1, 6, 1)
        long, wide = Draws(seed).length(), Draws(seed + 33).integer(66, 90)
        zeros, nothing = traits_of("vectors of zeros"), traits_of("nothing but zeros")
        return [
            one(PLAIN.title, self._norm, ask(1)),
            one(odd.title, self._norm, ask(2, odd), "an odd size"),
            one(short.title, self._norm, ask(3, short), *LONE),
            one("rows that hardly vary", "eps", ask(4, scale=3e-3)),
            one(
                "a long sequence",
                self._norm,
                ask(5, Size(1, long, 6, Draws(seed + 1).length())),
                "a long sequence",
            ),
            one("vectors of zeros", self._norm, ask(7, zeros=with_zeros), *zeros),
            one("nothing but zeros", self._norm, ask(8, zeros=torch.zeros_like), *nothing),
            one("wide vectors", self._norm, ask(33, Size(2, 3, wide)), "wide vectors"),
            one("many sentences", self._norm, ask(6, Size(long, 3, 6, 2)), "many sentences"),
        ]

    def _masks(self) -> list[Scenario]:
        found = [
            self._one(text, "masks", self._ask(i, forms=self._in_all(form)), *traits)
            for i, (text, form, *traits) in enumerate(FORMS, start=10)
        ]
        short = self._ask(9, Size(3, 1, 6, 1), forms=self._in_all(masks.closed_row))
        found.append(self._one("a length of one, with masks", "masks", short, *SHORT))
        if self._maker.kind.memory:
            for i, name in enumerate(("src_mask", "tgt_mask"), start=16):
                found.append(self._one(f"{name} alone", "masks", self._ask(i, forms={name: masks.separate})))
        none = self._one("masks of None", "masks", self._ask(20, spare=False))
        unrecorded = self._one("masks", "masks", self._ask(31, forms=self._in_all(masks.of_numbers)))
        dropped = _masks_of_parts(self._maker.kind, self._seed + 28, self._dropping)
        return [
            *found,
            none,
            under_no_grad(unrecorded),
            self._one("train mode with dropout and masks", "masks", dropped),
        ]

    def _gradients(self) -> list[Scenario]:
        def one(text: str, offset: int, *traits: str, **extra: Any) -> Scenario:
            return self._one(text, "gradients", self._ask(offset, backward=True, **extra), *traits)

        padding = self._in_all(masks.padding)
        small = {"size": Size(2, 3, 6, 4), "way": self._trained, "forms": padding}
        return [
            one("the gradient", 21, "the backward pass", **small),
            one("the gradient in eval mode", 29),
            with_fixed_inputs(one("train mode", 26, way=self._trained)),
            with_dropped_gradients(one("train mode", 27, way=self._dropping)),
        ]

    def _modes(self) -> list[Scenario]:
        kind, norm, seed = self._maker.kind, self._norm, self._seed
        rate = drawn_rate(Draws(seed + 32))
        off = self._one(
            "train mode with dropout=0", "train", _steady(kind, seed + 23, self._trained), "train mode"
        )
        still = _steady(kind, seed + 22, Way(norm, 0.5))
        resting = self._one("eval mode with dropout=0.5", "eval", still)
        drawn = [
            self._one(f"train mode with dropout={some}", "train", dropped(kind, norm, at, some), "train mode")
            for at, some in ((seed + 24, RATE), (seed + 32, rate))
        ]
        other = "pre" if norm == "post" else "post"
        return [resting, after_training(resting), *drawn, off, beside_another(off, dropout=0.5, norm=other)]

    def _dtypes(self) -> list[Scenario]:
        drawn = self._one("train mode with dropout=0.5", "dtypes", self._ask(30, way=self._dropping))
        found = [only_form(drawn, torch.bfloat16)]
        for dtype in (torch.float64, torch.bfloat16):
            text = f"{str(dtype).removeprefix('torch.')} inputs"
            ask = self._ask(25, Size(2, 3, 8), forms=self._in_all(masks.padding))
            found.append(self._one(text, "dtypes", ask, text, dtype=dtype))
        return found
