"""The scenarios of `LayerNorm`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor

from grader.api import (
    Answer,
    Client,
    Draws,
    Grading,
    Instance,
    Scenario,
    Subject,
    Submission,
    after_other_weights,
    beside_another,
    grading_of,
    parameter_facts,
    traits_of,
    under_no_grad,
    with_zeros,
)
from grader.exercises.norm.reference import REFERENCE, namespace, wanted
from grader.exercises.norm.suite.places import place_scenarios

NAME = "LayerNorm"
Ask = Callable[[Client], Answer]


def ready(client: Client, draws: Draws, d_model: int, **extra: Any) -> Instance:
    """The class of one width, with gain and bias of the judge's."""
    instance = client.make(NAME, d_model, **extra)
    weights = {"gain": draws.normal(d_model).abs() + 0.5, "shift": draws.normal(d_model)}
    client.load(NAME, instance, wanted(d_model), weights)
    return instance


def scenarios(seed: int) -> Sequence[Scenario]:
    """All of them, in the order of the tests."""
    alone = [*_fresh(seed), *_numbers(seed), *_eps(seed), *_edges(seed), *_gradients(seed), *_dtypes(seed)]
    return [*alone, *place_scenarios(seed)]


def _fresh(seed: int) -> list[Scenario]:
    def ask(client: Client) -> Answer:
        instance = client.make(NAME, 6)
        own = [p.value for p in instance.parameters().values()]
        starts = {
            f"numbers that start at {n}": str(sum(int((value == n).sum()) for value in own)) for n in (0, 1)
        }
        facts = parameter_facts(instance.parameters())
        return {**facts, **starts, **client.call(instance, Draws(seed).normal(2, 5, 6))}

    return [Scenario("a fresh norm", NAME, "parameters", ask)]


def _plain(
    seed: int,
    shape: tuple[int, ...],
    *,
    factor: float = 1.0,
    offset: float = 0.0,
    constant: bool = False,
    zeros: bool = False,
    backward: bool = False,
    training: bool = False,
    **extra: Any,
) -> Ask:
    def ask(client: Client) -> Answer:
        draws = Draws(seed)
        instance = ready(client, draws, shape[-1], training=training, **extra)
        x = draws.normal(*shape) * factor + offset
        if constant:
            x[0, 0] = 3.0
        if zeros:
            x = with_zeros(x)
        if backward:
            return client.call(instance, x, grad=(0,), cotangent=draws.normal(*shape))
        return client.call(instance, x)

    return ask


@cache
def sized(d_model: int) -> Scenario:
    """One that shows where a class of this width keeps its weights."""
    return Scenario(f"d_model={d_model}", NAME, "training", _plain(0, (2, 3, d_model)))


def _numbers(seed: int) -> list[Scenario]:
    shapes: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {
        "x of [2, 5, 8]": ((2, 5, 8), ()),
        "x of [3, 4, 7]": ((3, 4, 7), ("an odd size",)),
        "x of [1, 1, 6]": ((1, 1, 6), ("a batch of one", "a length of one")),
        "x of [4, 4, 4]": ((4, 4, 4), ()),
        "x of [6]": ((6,), ("leading dimensions",)),
        "x of [5, 6]": ((5, 6), ("leading dimensions",)),
        "x of [2, 3, 2, 5]": ((2, 3, 2, 5), ("leading dimensions",)),
    }
    asked = [
        Scenario(title, NAME, "numbers", _plain(seed + i, shape), traits=frozenset(traits))
        for i, (title, (shape, traits)) in enumerate(shapes.items())
    ]
    large = Scenario("x a thousand times as large", NAME, "numbers", _plain(seed + 9, (2, 3, 8), factor=1e3))
    train = _plain(seed + 8, (2, 3, 8), training=True)
    trained = Scenario("train mode", NAME, "numbers", train, traits=frozenset({"train mode"}))
    unrecorded = under_no_grad(Scenario("x of [2, 5, 8]", NAME, "numbers", _plain(seed + 10, (2, 5, 8))))
    reweighted = after_other_weights(
        Scenario("x of [2, 5, 8]", NAME, "numbers", _plain(seed + 11, (2, 5, 8)))
    )
    one = Scenario(  # what rounding leaves of x - mean is divided by the root of eps
        "x of [2, 3, 1]",
        NAME,
        "numbers",
        _plain(seed + 12, (2, 3, 1)),
        slack=100.0,
        traits=frozenset({"an odd size"}),
    )
    return [*asked, one, large, trained, unrecorded, reweighted, *_extremes(seed + 50)]


def _extremes(seed: int) -> list[Scenario]:
    """Return scenarios that exceed limits which a submission may have built in."""
    draws = Draws(seed)

    def one_sticks_out(client: Client) -> Answer:
        draws, width = Draws(seed + 3), 140
        instance = ready(client, draws, width)
        x = draws.normal(2, 3, width)
        x[..., 70] += 200
        return client.call(instance, x)

    asked = {
        "a long sequence": _plain(seed, (1, draws.length(very=True), 5)),
        "many sentences": _plain(seed + 1, (draws.length(), 2, 5)),
        "wide vectors": _plain(seed + 2, (2, 3, draws.integer(514, 530))),
        "large numbers": _plain(seed + 3, (2, 3, 8), factor=1e8),
        "vectors of zeros": _plain(seed + 4, (2, 5, 8), zeros=True),
        "nothing but zeros": _plain(seed + 5, (2, 5, 8), factor=0.0),
    }
    made = [Scenario(trait, NAME, "numbers", ask, traits=traits_of(trait)) for trait, ask in asked.items()]
    return [*made, Scenario("one number of a row far from the others", NAME, "numbers", one_sticks_out)]


def _eps(seed: int) -> list[Scenario]:
    drawn = Draws(seed + 14).integer(10, 99) / 100
    draws = Draws(seed + 15)
    small = draws.integer(2, 9) * 10.0 ** -draws.integer(2, 8)
    return [
        Scenario("rows that hardly vary", NAME, "eps", _plain(seed + 10, (2, 4, 8), factor=3e-3)),
        Scenario("eps=0.5", NAME, "eps", _plain(seed + 12, (2, 4, 8), eps=0.5)),
        Scenario("eps=0.25", NAME, "eps", _plain(seed + 11, (2, 3, 8), eps=0.25)),
        Scenario(f"eps={small:g}", NAME, "eps", _plain(seed + 15, (2, 3, 8), eps=small, factor=small**0.5)),
        Scenario(f"eps={drawn}", NAME, "eps", _plain(seed + 14, (2, 3, 8), eps=drawn)),
        beside_another(Scenario("eps=0.25", NAME, "eps", _plain(seed + 13, (2, 3, 8), eps=0.25)), eps=0.5),
    ]


def _edges(seed: int) -> list[Scenario]:
    def offset(client: Client) -> Answer:
        draws = Draws(seed + 21)
        instance = ready(client, draws, 8)
        level = 1e4 * (torch.arange(24).view(4, 6, 1) % 3 - 1)  # [4, 6, 1]
        return client.call(instance, draws.normal(4, 6, 8) + level)

    def finite(shift: float, even: bool) -> Ask:
        def ask(client: Client) -> Answer:
            draws = Draws(seed + 22)
            instance = ready(client, draws, 8)
            x = torch.full((3, 5, 8), 3.0, dtype=torch.float64) if even else draws.normal(3, 5, 8)
            output = client.call(instance, x + shift).get("output")
            good = isinstance(output, Tensor) and output.shape == x.shape and bool(output.isfinite().all())
            return {"finite": "yes" if good else "no"}

        return ask

    bfloat = frozenset({"bfloat16 inputs"})
    return [
        Scenario("a row of equal numbers", NAME, "edges", _plain(seed + 20, (2, 3, 8), constant=True)),
        Scenario("rows near 0, 10000 and -10000", NAME, "edges", offset, slack=500.0),
        Scenario(
            "equal numbers in bfloat16", NAME, "edges", finite(0.0, True), torch.bfloat16, traits=bfloat
        ),
        Scenario("bfloat16 near 500", NAME, "edges", finite(500.0, False), torch.bfloat16, traits=bfloat),
    ]


def _gradients(seed: int) -> list[Scenario]:
    backward = frozenset({"the backward pass"})
    plain = _plain(seed + 30, (2, 3, 8), backward=True)
    of_rows = _plain(seed + 33, (5, 70), backward=True)
    in_train = _plain(seed + 32, (2, 3, 8), backward=True, training=True)
    flat = _plain(seed + 31, (2, 3, 8), backward=True, constant=True, eps=0.1)
    return [
        Scenario("the gradient", NAME, "gradients", plain, traits=backward),
        Scenario("the gradient of x of [5, 70]", NAME, "gradients", of_rows, traits=backward),
        Scenario("the gradient in train mode", NAME, "gradients", in_train),
        Scenario("the gradient at a row of equal numbers", NAME, "gradients", flat, traits=backward),
    ]


def _dtypes(seed: int) -> list[Scenario]:
    ask = _plain(seed + 40, (2, 4, 8))
    names = {
        dtype: f"{str(dtype).removeprefix('torch.')} inputs" for dtype in (torch.float64, torch.bfloat16)
    }
    return [
        Scenario(title, NAME, "dtypes", ask, dtype=dtype, traits=frozenset({title}))
        for dtype, title in names.items()
    ]


AXES = {"*": ("sentence", "position", "feature")}
SUBJECT = Subject("norm", scenarios, (REFERENCE,), namespace, axes=AXES)


def grading(component: Submission, seed: int) -> Grading:
    """The grading into a submission, the same one for all tests."""
    return grading_of(component, seed, SUBJECT)
