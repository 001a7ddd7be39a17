"""The scenarios of `CachedAttention`, through the judge's `Stepper`: the cache never leaves the worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import torch
from torch import Tensor

from grader.api import (
    Answer,
    Client,
    Draws,
    Grading,
    Instance,
    Layout,
    Scenario,
    Subject,
    Submission,
    after_other_weights,
    beside_another,
    grading_of,
    is_bias_of,
    only_form,
    own_parameters,
    traits_of,
    under_no_grad,
    with_zeros,
)
from grader.exercises.attention.reference import ROLES
from grader.exercises.kv_cache.reference import REFERENCE, namespace

NAME = "CachedAttention"
Ask = Callable[[Client], Answer]


def ready(
    client: Client, draws: Draws, width: int, heads: int, *, loud: float = 1.0, training: bool = False
) -> tuple[Instance, Layout]:
    """The class inside a `Stepper`, with the judge's weights; biases, which are free, are 0.

    Args:
        loud: factor of the query's and the key's weights: large scores.
        training: in train mode.
    """
    weights = draws.weights({f"{role}.weight": (width, width) for role in ROLES})
    for role in ("q", "k"):
        weights[f"{role}.weight"] = weights[f"{role}.weight"] * loud
    stepper = client.part("Stepper", client.make(NAME, width, heads))
    stepper.train(training)
    return stepper, client.load_projections(NAME, stepper, width, heads, weights)


def _plain(
    seed: int,
    shape: tuple[int, int, int],
    heads: int,
    *,
    method: str = "",
    loud: float = 1.0,
    zeros: Callable[[Tensor], Tensor] | None = None,
    others: int = 0,
    training: bool = False,
) -> Ask:
    """All steps of x; of `method`, which takes a second batch of `others` sentences if there are any."""

    def ask(client: Client) -> Answer:
        draws, (batch, length, width) = Draws(seed), shape
        stepper, _ = ready(client, draws, width, heads, loud=loud, training=training)
        given = [draws.normal(batch, length, width)]
        given = [zeros(one) for one in given] if zeros else given
        if others:
            given.append(draws.normal(others, length, width))
        return client.call(stepper, *given, method=method)

    return ask


def _growth(seed: int, shape: tuple[int, int, int], heads: int) -> Ask:
    """Return what is kept, where numbers alone do not tell."""

    def ask(client: Client) -> Answer:
        draws, (batch, length, width) = Draws(seed), shape
        stepper, _ = ready(client, draws, width, heads)
        found = stepper.call([client.cast(draws.normal(batch, length, width))], method="growth").value
        return {"room in the cache for all positions": str(found)}

    return ask


def _gradients(seed: int, shape: tuple[int, int, int], heads: int, *, training: bool = False) -> Ask:
    """Of the last step alone: whether the gradient goes back through the cache is free.

    The steps before have nothing in the first half of their columns. So what arrives there, at the weights of keys and
    values, comes through the last step, whichever way it is done.
    """

    def ask(client: Client) -> Answer:
        draws, (batch, length, width) = Draws(seed), shape
        stepper, projections = ready(client, draws, width, heads, training=training)
        history, x = draws.normal(batch, length - 1, width), draws.normal(batch, 1, width)
        history[..., : width // 2] = 0.0
        outcome = stepper.call(client.cast((history, x)), grad=(1,), method="last")
        cotangent = client.cast(draws.normal(batch, 1, width))
        if not isinstance(outcome.value, Tensor) or outcome.value.shape != cotangent.shape:
            return {"result": "no output of one step"}
        if outcome.handle is None:
            return {"gradient": "none"}
        arrived = stepper.backward(outcome, [cotangent])
        found = projections.read(arrived.parameters)
        none = torch.zeros(x.shape, dtype=client.dtype)
        to_x = arrived.inputs.get(1)
        answer: dict[str, Tensor | str] = {"gradient of x": none if to_x is None else to_x}
        for role in ROLES:
            gradient = found.get(f"{role}.weight", torch.zeros(width, width)).to(client.dtype)
            through_cache = role in ("k", "v")
            answer[f"gradient of {role}.weight"] = gradient[:, : width // 2] if through_cache else gradient
        return answer

    return ask


def _first(seed: int) -> Ask:
    def ask(client: Client) -> Answer:
        return client.first_gradients(
            client.part("Stepper", client.make(NAME, 8, 2)), Draws(seed).normal(2, 3, 8)
        )

    return ask


def _parameters(width: int, heads: int) -> Ask:
    def ask(client: Client) -> Answer:
        own = own_parameters(client.make(NAME, width, heads).parameters())
        numbers, matrix = sum(one.value.numel() for one in own.values()), width**2
        if numbers - 4 * matrix in range(0, 5 * width, width) and all(
            one.requires_grad for one in own.values()
        ):
            # so many are left for up to four biases, wherever they are
            return {"own numbers, without biases": str(4 * matrix), "of these trained": str(4 * matrix)}
        matrices = [one for name, one in own.items() if not is_bias_of(name, one.value.shape, width)]
        # biases in one parameter, if the others are all matrices
        several = ([2, width], [3, width], [4, width])
        others = [one for one in matrices if sorted(one.value.squeeze().shape) not in several]
        matrices = others if sum(one.value.numel() for one in others) == 4 * width**2 else matrices
        return {
            "own numbers, without biases": str(sum(one.value.numel() for one in matrices)),
            "of these trained": str(sum(one.value.numel() for one in matrices if one.requires_grad)),
        }

    return ask


def _refusal(width: int, heads: int) -> Ask:
    def ask(client: Client) -> Answer:
        client.make(NAME, width, heads)
        return {"constructed": "yes"}

    return ask


def _one(
    title: str, group: str, ask: Ask, *traits: str, dtype: torch.dtype = torch.float32, slack: float = 1.0
) -> Scenario:
    return Scenario(title, NAME, group, ask, dtype=dtype, slack=slack, traits=frozenset(traits))


def scenarios(seed: int) -> Sequence[Scenario]:
    """All of them, in the order of the tests."""
    lone, odd, other = "a batch of one", "an odd size", "another sequence"
    long = Draws(seed).integer(258, 280)  # beyond 256: some right files take the square of it
    odd_width, not_of_it = Draws(seed + 30).not_divisible()
    wide = Draws(seed + 27).integer(66, 80)
    loud = _plain(seed + 6, (2, 4, 8), 2, loud=30.0)
    made = [
        _one("d_model=8, num_heads=2", "parameters", _parameters(8, 2)),
        _one("one step, [2, 1, 8]", "first", _plain(seed, (2, 1, 8), 2)),
        _one("one step, [1, 1, 6]", "first", _plain(seed + 1, (1, 1, 6), 3), lone),
        _one("5 steps of [2, 1, 8], 2 heads", "steps", _plain(seed + 2, (2, 5, 8), 2)),
        _one("7 steps of [3, 1, 9], 3 heads", "steps", _plain(seed + 3, (3, 7, 9), 3), odd),
        _one("4 steps of [1, 1, 6], one head", "steps", _plain(seed + 4, (1, 4, 6), 1), lone),
        _one("4 steps of [3, 1, 4], one head", "steps", _plain(seed + 19, (3, 4, 4), 1)),
        _one("3 steps of [3, 1, 12], 3 heads", "steps", _plain(seed + 5, (3, 3, 12), 3)),
        _one("12 steps of [2, 1, 8], 4 heads", "steps", _plain(seed + 7, (2, 12, 8), 4)),
        _one("a long sequence", "steps", _plain(seed + 15, (1, long, 8), 2), "a long sequence"),
        _one("many sentences", "steps", _plain(seed + 16, (Draws(seed).length(), 3, 8), 2), "many sentences"),
        _one(f"3 steps of [2, 1, {wide}], one head", "steps", _plain(seed + 27, (2, 3, wide), 1), "wide vectors"),
        under_no_grad(_one("5 steps of [2, 1, 8]", "steps", _plain(seed + 24, (2, 5, 8), 2))),
        after_other_weights(_one("4 steps of [2, 1, 8]", "steps", _plain(seed + 28, (2, 4, 8), 2))),
        _one(
            "steps of zeros", "steps", _plain(seed + 20, (2, 5, 8), 2, zeros=with_zeros),
            *traits_of("vectors of zeros"),
        ),
        _one(
            "steps of nothing but zeros", "steps", _plain(seed + 25, (2, 4, 8), 2, zeros=torch.zeros_like),
            *traits_of("nothing but zeros"),
        ),
        _one("the cache after 4 steps of [2, 1, 8]", "steps", _growth(seed + 6, (2, 4, 8), 2)),
        _one("4 steps with large scores", "steps", loud, slack=100.0),  # one unit in a score's last place shows
        _one("a second sequence", "memory", _plain(seed + 8, (2, 3, 8), 2, method="again", others=2), other),
        _one("a batch of another size", "memory", _plain(seed + 9, (2, 3, 8), 2, method="again", others=4), other),
        _one(
            "two sequences in turns", "memory",
            _plain(seed + 10, (2, 4, 8), 2, method="interleaved", others=3), other, "sequences in turns",
        ),
        _one(
            "two sequences of the same shape in turns", "memory",
            _plain(seed + 18, (2, 4, 8), 2, method="interleaved", others=2), other, "sequences in turns",
        ),
        beside_another(_one("3 steps of [2, 1, 8]", "memory", _plain(seed + 17, (2, 3, 8), 2)), 12, 3),
        _one("the first step", "gradients", _gradients(seed + 11, (2, 1, 8), 2), "the backward pass"),
        _one("the fourth step", "gradients", _gradients(seed + 12, (2, 4, 8), 2), "the backward pass"),
        _one("the weights that it starts with", "gradients", _first(seed + 29)),
        _one("train mode, 5 steps", "steps", _plain(seed + 21, (2, 5, 8), 2, training=True), "train mode"),
        _one(
            "train mode, the fourth step", "gradients", _gradients(seed + 22, (2, 4, 8), 2, training=True),
            "the backward pass",
        ),
        _one(
            "x and cache by keyword", "keywords", _plain(seed + 13, (2, 3, 8), 2, method="by_keyword"),
            "keyword arguments",
        ),
        _one("d_model=6, num_heads=4", "refusal", _refusal(6, 4)),
        _one("d_model=10, num_heads=3", "refusal", _refusal(10, 3)),
        _one(f"d_model={odd_width}, num_heads={not_of_it}", "refusal", _refusal(odd_width, not_of_it)),
    ]  # fmt: skip
    for dtype in (torch.float64, torch.bfloat16):
        title = f"{str(dtype).removeprefix('torch.')} inputs"
        made.append(_one(title, "dtypes", _plain(seed + 14, (2, 4, 8), 2), title, dtype=dtype))
    many = _one("66 steps", "dtypes", _plain(seed + 26, (1, 66, 4), 2))  # buffers of 32 or 64 must grow
    made.append(only_form(many, torch.bfloat16))
    return made


AXES = {
    "*in turns: *": (),  # all outputs in one row
    "*weight": ("output feature", "input feature"),
    "*": ("sentence", "position", "feature"),
}
SUBJECT = Subject("kv_cache", scenarios, (REFERENCE,), namespace, axes=AXES)


@cache
def sized(d_model: int, num_heads: int) -> Scenario:
    """One that shows where a class of these sizes keeps its weights."""
    ask = _plain(0, (2, 4, d_model), num_heads)
    return Scenario(f"d_model={d_model}, num_heads={num_heads}", NAME, "training", ask)


def grading(component: Submission, seed: int) -> Grading:
    """The grading into a submission, the same one for all tests."""
    return grading_of(component, seed, SUBJECT)
