"""The scenarios of `FeedForward`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import torch
from torch import Tensor

from grader.api import (
    NOWHERE,
    ON_AVERAGE,
    Answer,
    Client,
    Draws,
    Grading,
    Instance,
    Scenario,
    Subject,
    Submission,
    after_other_weights,
    after_training,
    beside_another,
    chosen,
    drawn_again,
    drawn_rate,
    grading_of,
    mean_after,
    no_shape,
    only_form,
    parameter_facts,
    said_of_factor,
    traits_of,
    under_no_grad,
    with_dropped_gradients,
    with_fixed_inputs,
    with_zeros,
)
from grader.exercises.feedforward.reference import REFERENCE, namespace, wanted
from grader.exercises.feedforward.suite.slope import leaky

NAME = "FeedForward"
Ask = Callable[[Client], Answer]


def ready(
    client: Client, draws: Draws, d_model: int, d_ff: int, *, training: bool = False, dropout: float = 0.0
) -> Instance:
    """The class of one size, with weights of the judge's."""
    sizes = wanted(d_model, d_ff)
    weights = draws.weights({one.name: one.shape for one in sizes})
    extra = {"dropout": dropout} if dropout else {}
    instance = client.make(NAME, d_model, d_ff, training=training, **extra)
    client.load(NAME, instance, sizes, weights)
    return instance


def scenarios(seed: int) -> Sequence[Scenario]:
    """All of them, in the order of the tests."""
    return [*_numbers(seed), *_gradients(seed), *_modes(seed), *_dtypes(seed)]


def _plain(
    seed: int,
    shape: tuple[int, ...],
    d_ff: int,
    *,
    backward: bool = False,
    training: bool = False,
    dropout: float = 0.0,
    factor: float = 1.0,
    zeros: bool = False,
) -> Ask:
    def ask(client: Client) -> Answer:
        draws = Draws(seed)
        instance = ready(client, draws, shape[-1], d_ff, training=training, dropout=dropout)
        x, cotangent = draws.normal(*shape) * factor, draws.normal(*shape)
        x = with_zeros(x) if zeros else x
        facts = parameter_facts(instance.parameters())
        if backward:
            return client.call(instance, x, grad=(0,), cotangent=cotangent)
        return {**client.call(instance, x), **facts}

    return ask


@cache
def sized(d_model: int, d_ff: int) -> Scenario:
    """One that shows where a class of these sizes keeps its weights."""
    return Scenario(f"d_model={d_model}, d_ff={d_ff}", NAME, "training", _plain(0, (2, 3, d_model), d_ff))


def _numbers(seed: int) -> list[Scenario]:
    sizes = {
        "[2, 5, 8] and d_ff=20": ((2, 5, 8), 20, ()),
        "[3, 4, 7] and d_ff=3": ((3, 4, 7), 3, ("an odd size",)),
        "[2, 4, 6] and d_ff=6": ((2, 4, 6), 6, ()),
        "[1, 1, 6] and d_ff=24": ((1, 1, 6), 24, ("a batch of one", "a length of one")),
    }
    return [
        Scenario(f"x of {title}", NAME, "numbers", _plain(seed + i, shape, d_ff), traits=frozenset(traits))
        for i, (title, (shape, d_ff, traits)) in enumerate(sizes.items())
    ] + _extremes(seed + 5)


def _extremes(seed: int) -> list[Scenario]:
    """Return scenarios that exceed limits which a submission may have built in."""
    draws = Draws(seed)
    asked = {
        "a long sequence": _plain(seed, (1, draws.length(very=True), 5), 7),
        "many sentences": _plain(seed + 1, (draws.length(), 2, 5), 7),
        "wide vectors": _plain(seed + 2, (2, 3, draws.length()), draws.integer(514, 530)),
        "large numbers": _plain(seed + 3, (2, 5, 8), 20, factor=1e6),
        "vectors of zeros": _plain(seed + 4, (2, 5, 8), 20, zeros=True),
        "nothing but zeros": _plain(seed + 5, (2, 5, 8), 20, factor=0.0),
    }
    return [Scenario(trait, NAME, "numbers", ask, traits=traits_of(trait)) for trait, ask in asked.items()]


def _gradients(seed: int) -> list[Scenario]:
    def fresh(client: Client) -> Answer:
        draws = Draws(seed + 11)
        return client.first_gradients(client.make(NAME, 8, 20), draws.normal(2, 3, 8))

    ask = _plain(seed + 10, (2, 3, 8), 20, backward=True)
    trained = _plain(seed + 12, (2, 3, 8), 20, backward=True, training=True)
    dropped = _plain(seed + 13, (2, 3, 8), 20, backward=True, training=True, dropout=0.5)
    return [
        Scenario("the gradient", NAME, "gradients", ask, traits=frozenset({"the backward pass"})),
        with_fixed_inputs(Scenario("train mode", NAME, "gradients", trained)),
        with_dropped_gradients(Scenario("train mode", NAME, "gradients", dropped)),
        Scenario("the weights that it starts with", NAME, "gradients", fresh),
    ]


def _modes(seed: int) -> list[Scenario]:
    def in_eval(client: Client) -> Answer:
        draws = Draws(seed + 20)
        return client.call(ready(client, draws, 8, 20, dropout=0.5), draws.normal(2, 5, 8))

    off = Scenario(
        "train mode with dropout=0", NAME, "train", _plain(seed + 21, (2, 5, 8), 20, training=True)
    )
    calm = Scenario("eval mode with dropout=0.5", NAME, "eval", in_eval)
    rate = drawn_rate(Draws(seed + 25))
    return [
        calm,
        after_training(calm),
        off,
        after_other_weights(Scenario("x of [2, 5, 8]", NAME, "eval", _plain(seed + 24, (2, 5, 8), 20))),
        under_no_grad(Scenario("x of [2, 5, 8]", NAME, "eval", _plain(seed + 23, (2, 5, 8), 20))),
        beside_another(off, dropout=0.5),
        Scenario("train mode with dropout=0.25", NAME, "train", _dropped(seed + 22, 0.25)),
        Scenario(f"train mode with dropout={rate}", NAME, "train", _dropped(seed + 25, rate)),
    ]


def _dropped(seed: int, rate: float) -> Ask:
    """Weights that show each hidden number in one place of the output: what dropout did to it can be read off."""

    def ask(client: Client) -> Answer:
        draws, d_model, d_ff = Draws(seed), 14, 12  # unequal: else nobody could tell the two layers apart
        instance = client.make(NAME, d_model, d_ff, training=True, dropout=rate)
        eye = torch.eye(d_model, dtype=torch.float64)
        mixed = (eye + 0.5 * eye.roll(1, 0))[:, :d_ff]  # [D, d_ff]
        weights = {"up.weight": mixed.T, "up.bias": eye[0, :d_ff] * 0, "down.weight": mixed}
        weights["down.bias"] = draws.normal(d_model).abs() + 3
        client.load(NAME, instance, wanted(d_model, d_ff), weights)
        x = draws.normal(150, 6, d_model).abs() + 0.5
        output = client.call(instance, x).get("output")
        wrong = no_shape(output, x)
        if wrong is not None or not isinstance(output, Tensor):
            return dict(wrong or {})
        again = [client.call(instance, x).get("output") for _ in range(2)]
        return {
            **dropout_facts(output.double(), x, weights, rate),
            "a second call drops": drawn_again(output, *again),
        }

    return ask


def dropout_facts(output: Tensor, x: Tensor, weights: dict[str, Tensor], rate: float) -> Answer:
    """Return which numbers of the hidden layer were dropped: solved for from the output."""
    hidden = (output - weights["down.bias"]) @ torch.linalg.pinv(weights["down.weight"]).T  # [B, T, d_ff]
    before = x @ weights["up.weight"].T
    ratio = hidden / before
    kept = ratio[ratio.abs() > 1e-3]
    share = 1 - kept.numel() / ratio.numel()
    even = bool(kept.numel()) and float(kept.max() - kept.min()) < 1e-2
    choice = chosen(ratio.abs() <= 1e-3, ("sentences", "positions", "features"), before)
    factor = float(kept.mean()) if even and choice["one choice for all"] == NOWHERE else None
    shares = (0.0, rate, 1 - rate, 1.0)
    wanted_share = next((one for one in shares if abs(share - one) < 0.06), round(share, 1))
    return {
        "share of hidden numbers dropped": f"{wanted_share:g}",
        "numbers of the output that are 0": "some" if bool((output == 0).any()) else "none",
        "factor of the hidden numbers kept": said_of_factor(float(kept.mean()), rate, 3)
        if even
        else "uneven",
        **choice,
        ON_AVERAGE: mean_after(ratio.abs() <= 1e-3, factor),
    }


def _dtypes(seed: int) -> list[Scenario]:
    ask = _plain(seed + 30, (2, 4, 8), 20)
    dropped = _plain(seed + 31, (2, 4, 8), 20, training=True, dropout=0.5)
    return [
        only_form(Scenario("train mode with dropout=0.5", NAME, "dtypes", dropped), torch.bfloat16),
        *(
            Scenario(
                f"{str(dtype)[6:]} inputs",
                NAME,
                "dtypes",
                ask,
                dtype=dtype,
                traits=frozenset({f"{str(dtype)[6:]} inputs"}),
            )
            for dtype in (torch.float64, torch.bfloat16)
        ),
    ]


AXES = {
    "*weight": ("output feature", "input feature"),
    "*": ("sentence", "position", "feature"),
}
SUBJECT = Subject("feedforward", scenarios, (REFERENCE,), namespace, leaky, axes=AXES)


def grading(component: Submission, seed: int) -> Grading:
    """The grading into a submission, the same one for all tests."""
    return grading_of(component, seed, SUBJECT)
