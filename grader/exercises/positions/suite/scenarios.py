"""The scenarios of the two classes of positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
    after_another_dtype,
    after_other_weights,
    alike,
    beside_an_equal_one,
    beside_another,
    describe_outcome,
    grading_of,
    under_no_grad,
)
from grader.exercises.positions.reference import LEARNED, REFERENCE, SINUSOIDAL, namespace
from grader.exercises.positions.suite.tables import gradients, load

Ask = Callable[[Client], Answer]
BOTH = (SINUSOIDAL, LEARNED)
UNCHANGED = "as in eval mode"


def table_of(seed: int, max_len: int, d_model: int) -> Tensor:
    """The numbers that learned positions are given."""
    return Draws(seed + max_len).normal(max_len, d_model)


def ready(
    client: Client, name: str, d_model: int, max_len: int, seed: int, *, training: bool = False
) -> tuple[Instance, dict[str, str]]:
    """The class of one size, with positions of the judge's if they are learned; and what is trained."""
    instance = client.make(name, d_model, max_len=max_len, training=training)
    if name == LEARNED:
        return instance, load(client, instance, table_of(seed, max_len, d_model))
    trained = sum(info.value.numel() for info in instance.parameters().values() if info.requires_grad)
    return instance, {"trainable parameters": str(trained)}


def scenarios(seed: int) -> Sequence[Scenario]:
    """All of them, in the order of the tests."""
    return [
        one for name in BOTH for one in (*_numbers(name, seed), *_rest(name, seed), *_lengths(name, seed))
    ]


def _plain(name: str, shape: tuple[int, int, int], max_len: int, seed: int, *, zeros: bool = False) -> Ask:
    def ask(client: Client) -> Answer:
        instance, facts = ready(client, name, shape[-1], max_len, seed)
        if facts.get("parameters") == "0":  # what is not registered cannot be given known numbers
            return dict(facts)
        x = torch.zeros(shape) if zeros else Draws(seed).normal(*shape)
        answer = client.call(instance, x)
        return {**answer, **facts}

    return ask


def _numbers(name: str, seed: int) -> list[Scenario]:
    sizes = {
        "x of zeros [1, 4, 6]": ((1, 4, 6), 9, ("a batch of one",)),
        "x of [2, 5, 8]": ((2, 5, 8), 12, ()),
        "x of [4, 2, 10], a batch larger than T": ((4, 2, 10), 11, ()),
        "x of [5, 5, 12], as many sentences as tokens": ((5, 5, 12), 8, ()),
        "x of [2, 40, 16]": ((2, 40, 16), 50, ()),
        "x of [2, 1, 4]": ((2, 1, 4), 5, ("a length of one",)),
    }
    wide = {  # a trait, and size
        "wide vectors": ((2, 9, 2 * Draws(seed).integer(257, 280)), 12),  # beyond 512
        "many sentences": ((Draws(seed).length(), 2, 4), 3),
    }
    odd = {"d_model=7": ((2, 5, 7), 9), "d_model=1": ((2, 3, 1), 6), "d_model=5": ((3, 4, 5), 7)}
    return [
        *(
            Scenario(
                title,
                name,
                "numbers",
                _plain(name, shape, max_len, seed + i, zeros="zeros" in title),
                traits=frozenset(traits),
            )
            for i, (title, (shape, max_len, traits)) in enumerate(sizes.items())
        ),
        *(
            Scenario(trait, name, "numbers", _plain(name, *size, seed + 10), traits=frozenset({trait}))
            for trait, size in wide.items()
        ),
        *(
            Scenario(title, name, "odd", _plain(name, *size, seed + 20), traits=frozenset({"an odd size"}))
            for title, size in odd.items()
        ),
    ]


def _rest(name: str, seed: int) -> list[Scenario]:
    made = [
        Scenario(
            "the gradient", name, "gradients", _gradient(name, seed), traits=frozenset({"the backward pass"})
        ),
        Scenario("the gradient in train mode", name, "gradients", _gradient(name, seed + 1, training=True)),
        Scenario("train mode", name, "train", _train(name, seed)),
        Scenario("a short x after a long one", name, "train", _one_after_another(name, seed, (8, 3))),
        Scenario("a long x after a short one", name, "train", _one_after_another(name, seed, (3, 8))),
        under_no_grad(Scenario("x of [2, 5, 8]", name, "train", _plain(name, (2, 5, 8), 9, seed + 31))),
        after_another_dtype(  # of a size of its own: something may be kept for all objects
            Scenario("x of [2, 9, 10]", name, "train", _plain(name, (2, 9, 10), 13, seed + 32))
        ),
        beside_another(Scenario("x of [2, 5, 8]", name, "train", _plain(name, (2, 5, 8), 9, seed + 30)), 6),
        beside_another(  # with room for less
            Scenario("x of [2, 4, 6]", name, "train", _plain(name, (2, 4, 6), 9, seed + 34)), max_len=3
        ),
        beside_an_equal_one(Scenario("x of [3, 3, 6]", name, "train", _plain(name, (3, 3, 6), 9, seed + 33))),
    ]
    if name == LEARNED:
        made.append(
            after_other_weights(
                Scenario("x of [2, 6, 8]", name, "train", _plain(name, (2, 6, 8), 9, seed + 35))
            )
        )
    for dtype in (torch.float64, torch.bfloat16):
        said_so = f"{str(dtype)[6:]} inputs"
        ask = _plain(name, (2, 6, 8), 10, seed + 30)
        made.append(Scenario(said_so, name, "dtypes", ask, dtype, slack=3.0, traits=frozenset({said_so})))
    if name == SINUSOIDAL:  # a position beyond 256, or a frequency, has more digits than bfloat16
        ask = _plain(name, (1, 400, 30), 400, seed, zeros=True)
        both = frozenset({"bfloat16 inputs", "many positions of bfloat16"})
        made.append(Scenario("400 positions in bfloat16", name, "dtypes", ask, torch.bfloat16, traits=both))
    return made


def _gradient(name: str, seed: int, *, training: bool = False) -> Ask:
    def ask(client: Client) -> Answer:
        draws, max_len, width = Draws(seed + 40), 7, 66 if training else 6
        shape = (2, 5, width)
        instance, facts = ready(client, name, width, max_len, seed, training=training)
        if facts.get("parameters") == "0":
            return {}
        table = table_of(seed, max_len, width)
        x, cotangent = draws.normal(*shape), draws.normal(*shape)
        if training:  # what depends on chance fails in another scenario
            a, b = (client.call(instance, x).get("output") for _ in range(2))
            if not (isinstance(a, Tensor) and isinstance(b, Tensor) and alike(a, b)):
                return {}
        found = gradients(client, instance, x, cotangent, table)
        if name == SINUSOIDAL:
            return {key: value for key, value in found.items() if key != "gradient of the positions"}
        return found

    return ask


def _train(name: str, seed: int) -> Ask:
    """Return whether train mode changes anything: of what chance does, only that."""

    def ask(client: Client) -> Answer:
        instance, _ = ready(
            client, name, 8, 40, seed
        )  # long: who draws where to begin hardly begins with row 0
        x = Draws(seed + 50).normal(4, 10, 8)
        still = client.call(instance, x).get("output")
        instance.train(True)
        answers = [client.call(instance, x) for _ in range(2)]
        moved = [one["output"] for one in answers if isinstance(one.get("output"), Tensor)]
        if not isinstance(still, Tensor) or len(moved) < len(answers):
            return {"result": str(answers[0].get("result"))}
        same = all(isinstance(one, Tensor) and alike(still, one) for one in moved)
        return {"train mode": UNCHANGED if same else "something else"}

    return ask


def _one_after_another(name: str, seed: int, lengths: Sequence[int]) -> Ask:
    def ask(client: Client) -> Answer:
        instance, facts = ready(client, name, 6, 9, seed)
        if facts.get("parameters") == "0":
            return {}
        draws = Draws(seed + 60)
        for length in lengths:
            answer = client.call(instance, draws.normal(length // 2, length, 6))
        return answer

    return ask


def _lengths(name: str, seed: int) -> list[Scenario]:
    def by_keyword(client: Client) -> Answer:
        x, numbers = Draws(seed + 70).normal(2, 5, 4), table_of(seed, 5, 4)
        instance = client.make(name, d_model=4, max_len=5)
        if name == LEARNED and load(client, instance, numbers)["parameters"] == "0":
            return {}
        return client.call(instance, x)

    longest = 5000 if name == SINUSOIDAL else 512

    def by_default(client: Client) -> Answer:
        instance = client.make(name, 3)
        if name == LEARNED and load(client, instance, table_of(seed, longest, 3))["parameters"] == "0":
            return {}
        return client.call(instance, torch.zeros(1, longest, 3))

    def beyond_default(client: Client) -> Answer:
        return _outcome(client, client.make(name, 3), torch.zeros(1, longest + 1, 3))

    def too_long(length: int) -> Ask:
        return lambda client: _outcome(client, client.make(name, 4, max_len=6), torch.zeros(2, length, 4))

    return [
        Scenario("T = max_len", name, "longest", _plain(name, (2, 6, 4), 6, seed + 71)),
        Scenario("max_len=1", name, "longest", _plain(name, (3, 1, 4), 1, seed + 72)),
        Scenario(
            "accepts keyword arguments", name, "longest", by_keyword, traits=frozenset({"keyword arguments"})
        ),
        # Angles of thousands: float32 leaves three digits of them.
        Scenario(f"max_len left out, T = {longest}", name, "longest", by_default, slack=200.0),
        Scenario(
            f"T = max_len = {longest + 9}",
            name,
            "longest",
            _plain(name, (1, longest + 9, 2), longest + 9, seed + 73),
            slack=200.0,
            traits=frozenset({"a long sequence"}),
        ),
        Scenario(  # shows a base that is off by one in 10,000; float32 leaves four digits
            "T = max_len = 600",
            name,
            "longest",
            _plain(name, (1, 600, 18), 600, seed + 74, zeros=True),
            slack=10.0,
            traits=frozenset({"a long sequence"}),
        ),
        Scenario(  # angles that are computed in bfloat16 are off by as much as the whole range
            "bfloat16 inputs, T = 300",
            name,
            "dtypes",
            _plain(name, (1, 300, 8), 300, seed + 75, zeros=True),
            torch.bfloat16,
            traits=frozenset({"bfloat16 inputs"}),
        ),
        Scenario("T = max_len + 1", name, "too long", too_long(7)),
        Scenario("T = 3 * max_len", name, "too long", too_long(18)),
        Scenario(f"max_len left out, T = {longest + 1}", name, "too long", beyond_default),
    ]


def _outcome(client: Client, instance: Instance, x: Tensor) -> Answer:
    """Return whether a tensor comes out, and its shape; its numbers do not count."""
    outcome = instance.call([client.cast(x)])
    instance.release(outcome)
    given = describe_outcome(outcome).get("output")
    return {"result": f"a tensor of shape {list(given.shape)}" if isinstance(given, Tensor) else "no tensor"}


AXES = {"*": ("sentence", "position", "feature")}
SUBJECT = Subject("positions", scenarios, (REFERENCE,), namespace, axes=AXES)


def grading(component: Submission, seed: int) -> Grading:
    """The grading into a submission, the same one for all tests."""
    return grading_of(component, seed, SUBJECT)
