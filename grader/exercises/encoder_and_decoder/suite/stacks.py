"""The scenarios of a stack, encoder or decoder. Its layers are the judge's, and are the same in every norm."""

from __future__ import annotations

from typing import Any

import torch

from grader.api import Client, Draws, Scenario, by_position, under_no_grad, weights_kept, with_fixed_inputs
from grader.exercises.encoder_and_decoder.suite import masks
from grader.exercises.encoder_and_decoder.suite.kinds import (
    PLAIN,
    USUAL,
    Kind,
    Size,
    Way,
    batch_of,
    call,
    heard_by_layers,
    stack_of,
    stack_weights,
)
from grader.exercises.encoder_and_decoder.suite.single import (
    FORMS,
    LONE,
    PLACES,
    SHORT,
    Ask,
    Maker,
    fresh_facts,
    judges_facts,
    twice,
)

MANY = 11  # layers: of names that are sorted, "10" comes before "2"
DEEP = 32  # of which one in ten that is left out is noticed, as good as always


def numbers(
    kind: Kind,
    seed: int,
    layers: int,
    size: Size = PLAIN,
    way: Way = USUAL,
    *,
    forms: masks.Forms | None = None,
    scale: float = 1.0,
    keyword: bool = False,
    backward: bool = False,
) -> Ask:
    """The output, and how layers were made and called. Arguments as in `single.numbers`."""

    def ask(client: Client) -> Any:
        draws = Draws(seed)
        weights = stack_weights(kind, draws, size.width, layers, scale)
        stack, parts = stack_of(client, kind, weights, way)
        given = batch_of(kind, draws, size, masks.drawn(kind, draws, size, forms or {}), scale)
        cotangent = draws.normal(size.batch, size.length, size.width) if backward else None
        answer = call(client, stack, given, keyword=keyword, cotangent=cotangent)
        if way.norm != "pre":  # it may have a norm that it does not use
            answer = {
                name: value for name, value in answer.items() if not name.startswith("gradient of norm")
            }
        of_layers = {name: own for name, own in weights.items() if name != "norms"}
        gradients = client.gradients_of_parts(stack, of_layers)
        return {**answer, **gradients, **heard_by_layers(client, kind, parts, given)}

    return ask


def _registered(kind: Kind, seed: int, *, early: bool) -> Ask:
    def ask(client: Client) -> Any:
        weights = stack_weights(kind, Draws(seed), 6, 3)
        stack, _ = stack_of(client, kind, weights, Way(early=early, load=False))
        return judges_facts(client, stack.parameters(), weights)

    return ask


def _layers_kept(kind: Kind) -> Ask:
    def ask(client: Client) -> Any:
        layers = [client.part("Layers", 6) for _ in range(2)]
        maker = client.part("Maker", layers)
        return weights_kept(layers, lambda: client.make(kind.stack, maker, len(layers), 6))

    return ask


def _fresh(kind: Kind, seed: int, norm: str) -> Ask:
    """Return what a stack has of its own. A norm that a post-norm stack has, and does not use, is let pass."""

    def ask(client: Client) -> Any:
        weights = stack_weights(kind, Draws(seed), 6, 2)
        stack, _ = stack_of(client, kind, weights, Way(norm, load=False))
        facts = fresh_facts(stack.parameters())
        allowed = norm != "pre" and facts["own parameters"] in ("0", "12")
        return {"own parameters": "at most a norm"} if allowed else facts

    return ask


def _steady(kind: Kind, seed: int, way: Way) -> Ask:
    """The result of layers, of many in train mode: who leaves out one now and then leaves out some of them."""

    def ask(client: Client) -> Any:
        draws, size = Draws(seed), Size(2, 4, 8)
        layers = DEEP if way.norm == "pre" and way.training else 3
        weights = stack_weights(kind, draws, size.width, layers, scale=0.2)
        stack, parts = stack_of(client, kind, weights, way)
        made = {name: part for name, part in parts.items() if name in weights}
        return twice(client, stack, made, batch_of(kind, draws, size))

    return ask


def stack_scenarios(kind: Kind, seed: int) -> list[Scenario]:
    """All of a stack's, in the order of the tests."""
    one = Maker(kind, kind.stack)
    made = [
        one("three layers' parameters", "parts", _registered(kind, seed, early=False)),
        one("the weights that the layers came with", "parts", _registered(kind, seed, early=True)),
        one("layers of torch's own layers", "parts", _layers_kept(kind)),
        *(one(f'a new stack, norm="{norm}"', "norms", _fresh(kind, seed, norm)) for norm in PLACES),
    ]
    for i, norm in enumerate(PLACES, start=1):
        made += _of_a_place(one, seed + 100 * i, norm)
    every = masks.every(kind, masks.padding)
    by_name = numbers(kind, seed + 5, 2, way=Way("pre", keyword=True), keyword=True, forms=every)
    all_given = numbers(kind, seed + 6, 2, way=Way("pre"), forms=every)
    return [
        *made,
        one("norm left out", "default", numbers(kind, seed + 4, 2)),
        one("all by keyword", "keywords", by_name, "keyword arguments"),
        by_position(one("all arguments", "keywords", all_given)),
    ]


def _of_a_place(one: Maker, seed: int, norm: str) -> list[Scenario]:
    kind, way = one.kind, Way(norm)

    def title(text: str) -> str:
        return f'norm="{norm}", {text}'

    long = Size(2, Draws(seed).length(), 6, Draws(seed + 1).length())
    wide = Size(2, 3, Draws(seed + 7).integer(66, 90))
    odd, lone, padding = Size(3, 4, 7, 6), Size(1, 1, 6, 1), masks.every(kind, masks.padding)
    trained = Way(norm, training=True)  # who saves memory in the backward pass does so in train mode
    train = _steady(kind, seed + 23, trained)
    backward = numbers(kind, seed + 21, 3, Size(2, 3, 6, 4), trained, forms=padding, backward=True)
    still = numbers(kind, seed + 24, 2, Size(2, 3, 6, 4), way, backward=True)
    fixed = numbers(kind, seed + 22, 2, Size(2, 3, 6, 4), trained, backward=True)
    found = [
        one(title("three layers"), norm, numbers(kind, seed + 1, 3, way=way)),
        one(title("one layer"), norm, numbers(kind, seed + 2, 1, odd, way), "an odd size"),
        one(title("two layers, one token"), norm, numbers(kind, seed + 3, 2, lone, way), *LONE),
        one(title("eleven layers"), norm, numbers(kind, seed + 5, MANY, way=way, scale=0.5)),
        one(
            title("a long sequence"),
            norm,
            numbers(kind, seed + 6, 3, long, way, forms=padding),
            "a long sequence",
        ),
        one(title("wide vectors"), norm, numbers(kind, seed + 7, 1, wide, way), "wide vectors"),
        one(title("rows that hardly vary"), "eps", numbers(kind, seed + 4, 2, way=way, scale=3e-3)),
    ]
    for i, (text, form, *traits) in enumerate(FORMS, start=10):
        ask = numbers(kind, seed + i, 3, way=way, forms=masks.every(kind, form))
        found.append(one(title(text), "masks", ask, *traits))
    short = numbers(kind, seed + 9, 2, Size(3, 1, 6, 1), way, forms=masks.every(kind, masks.closed_row))
    found.append(one(title("one token, with masks"), "masks", short, *SHORT))
    if kind.memory:
        for i, name in enumerate(("src_mask", "tgt_mask"), start=16):
            ask = numbers(kind, seed + i, 2, way=way, forms={name: masks.separate})
            found.append(one(title(f"{name} alone"), "masks", ask))
    found += [
        one(title("the gradient"), "gradients", backward, "the backward pass"),
        one(title("the gradient in eval mode"), "gradients", still),
        with_fixed_inputs(one(title("train mode"), "gradients", fixed)),
        one(title("train mode"), "train", train, "train mode"),
        one(title("eval mode"), "train", _steady(kind, seed + 27, way)),
        under_no_grad(one(title("three layers"), norm, numbers(kind, seed + 26, 3, way=way, forms=padding))),
    ]
    for dtype in (torch.float64, torch.bfloat16):
        text = f"{str(dtype).removeprefix('torch.')} inputs"
        ask = numbers(kind, seed + 25, 2, Size(2, 3, 8), way, forms=padding)
        found.append(one(title(text), "dtypes", ask, text, dtype=dtype))
    return found
