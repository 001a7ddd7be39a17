"""The scenarios of `PreNorm` and `PostNorm`. The parts handed in get their weights after construction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grader.api import (
    Answer,
    Client,
    Draws,
    Instance,
    Scenario,
    after_training,
    beside_another,
    drawn_again,
    drawn_rate,
    dropping_facts,
    no_shape,
    noted,
    only_form,
    repeats,
    under_no_grad,
    with_dropped_gradients,
    with_fixed_inputs,
)

PRE, POST = "PreNorm", "PostNorm"
RATE = 0.25
Ask = Callable[[Client], Answer]
Weights = dict[str, dict[str, Tensor]]


def drawn(draws: Draws, width: int) -> Weights:
    """Weights of a norm and a sublayer. The sublayer adds nothing to the last column."""
    out = draws.normal(width, width)
    out[:, -1] = 0.0
    return {
        "norm": {"gain": draws.normal(width).abs() + 0.5, "shift": draws.normal(width)},
        "sublayer": {"a": draws.normal(width, width) * 0.5, "b": out},
    }


def placed(
    client: Client, name: str, weights: Weights, *, training: bool = False, **extra: Any
) -> tuple[Instance, dict[str, Instance]]:
    """The class around the judge's parts, whose weights come last: in a copy they would not arrive."""
    width = weights["norm"]["gain"].numel()
    parts = {"norm": client.part("Norm", width), "sublayer": client.part("Sublayer", width)}
    instance = client.make(name, parts["norm"], parts["sublayer"], training=training, **extra)
    for one, part in parts.items():
        client.load_part(part, weights[one])
    return instance, parts


def _numbers(name: str, seed: int, shape: tuple[int, ...], *, backward: bool = False, **extra: Any) -> Ask:
    def ask(client: Client) -> Answer:
        draws = Draws(seed)
        instance, parts = placed(client, name, drawn(draws, shape[-1]), **extra)
        x = draws.normal(*shape)
        if backward:
            return client.call(instance, x, grad=(0,), cotangent=draws.normal(*shape))
        answer = client.call(instance, x)
        calls = {f"calls of the {one}": str(len(noted(part))) for one, part in parts.items()}
        return {**answer, **calls}

    return ask


def _around(name: str, kind: str, seed: int, **extra: Any) -> Ask:
    """Another sublayer: one that gives what it is given, or one whose result must not be changed in place."""

    def ask(client: Client) -> Answer:
        draws = Draws(seed)
        norm = client.part("Norm", 8)
        instance = client.make(name, norm, client.part(kind), **extra)
        client.load_part(norm, drawn(draws, 8)["norm"])
        x = draws.normal(2, 3, 8)
        if kind == "Same":
            return client.call(instance, x)
        return client.call(instance, x, grad=(0,), cotangent=draws.normal(2, 3, 8))

    return ask


def _dropped_around(name: str, seed: int) -> Ask:
    """Return what dropout changes in place of what a sublayer gives that is its input."""

    def ask(client: Client) -> Answer:
        norm = client.part("Norm", 8)
        instance = client.make(name, norm, client.part("Same"), dropout=0.5, training=True)
        client.load_part(norm, drawn(Draws(seed), 8)["norm"])
        answer = client.call(instance, Draws(seed).normal(2, 3, 8))
        output = answer.pop("output", None)
        return {**answer, "output": "a tensor" if isinstance(output, Tensor) else "none"}

    return ask


def _parts(name: str, seed: int) -> Ask:
    """Return which of the parts' parameters are the whole's too."""

    def ask(client: Client) -> Answer:
        instance, _ = placed(client, name, drawn(Draws(seed), 6))
        own = [n.rpartition(".")[2] for n in instance.parameters()]
        judges = sorted(n.removeprefix("judge_") for n in own if n.startswith("judge_"))
        return {
            "registered": ", ".join(judges),
            "parameters of its own": str(len(own) - len(judges)),
        }

    return ask


def _arguments(
    name: str, seed: int, positional: int, *keywords: str, same: bool = False, empty: bool = False
) -> Ask:
    """With more arguments: other tensors, or x itself once more. Args: empty: the first of each kind is None."""

    def ask(client: Client) -> Answer:
        draws = Draws(seed)
        instance, _ = placed(client, name, drawn(draws, 6))
        x = draws.normal(2, 3, 6)
        rest: list[Any] = [x if same else draws.normal(2, 3, 6) for _ in range(positional)]
        named: dict[str, Any] = {word: x if same else draws.normal(2, 3, 6) for word in keywords}
        if empty:
            rest, named = [None, *rest[1:]], named | dict.fromkeys(keywords[:1])
        return client.call(instance, x, *rest, **named)

    return ask


def _dropped(name: str, seed: int, rate: float) -> Ask:
    """Train mode: what the sublayer added can be read off the output, and so can what dropout did to it."""

    def ask(client: Client) -> Answer:
        draws, width = Draws(seed), 16
        weights = drawn(draws, width)
        instance, parts = placed(client, name, weights, training=True, dropout=rate)
        x = draws.normal(100, 6, width)
        output = client.call(instance, x).get("output")
        wrong = no_shape(output, x)
        if wrong is not None or not isinstance(output, Tensor):
            return wrong or {}
        branch = _sublayer(weights["sublayer"], _norm(weights["norm"], x) if name == PRE else x)
        total = output.double()
        if name == POST:  # undo the norm; the last column of x had nothing added
            centred = (total - weights["norm"]["shift"]) / weights["norm"]["gain"]
            total = centred - centred[..., -1:] + x[..., -1:]
        shown = branch.abs() > 0.2  # enough to divide by
        kept = torch.where(shown, (total - x) / branch, 0.0)
        facts = dropping_facts(kept, rate, shown, branch)
        again = [client.call(instance, x).get("output") for _ in range(2)]
        facts["a second call drops"] = drawn_again(output, *again)
        first = next((one["x"] for one in noted(parts["sublayer"]) if "x" in one), None)
        return {
            **facts,
            "zeros in the sublayer's input": repeats(first)
            if first is not None and first.dim()
            else "no input",
            "numbers of a row that are equal": repeats(total),
            "zeros in the output": "some" if bool((output == 0).any()) else "none",
        }

    return ask


def _norm(weights: dict[str, Tensor], x: Tensor) -> Tensor:
    return (x - x.mean(-1, keepdim=True)) * weights["gain"] + weights["shift"]


def _sublayer(weights: dict[str, Tensor], x: Tensor) -> Tensor:
    return torch.tanh(x @ weights["a"]) @ weights["b"]


def place_scenarios(seed: int) -> list[Scenario]:
    """Those of both classes, in the order of the tests."""
    return [one for i, name in enumerate((PRE, POST)) for one in _of(name, seed + 100 * (i + 1))]


def _of(name: str, seed: int) -> list[Scenario]:
    batch = frozenset({"a batch of one", "a length of one"})
    lead = frozenset({"leading dimensions"})
    train = frozenset({"train mode"})
    needed = frozenset({"a sublayer whose backward pass needs its result"})
    itself = frozenset({"a sublayer that returns its input"})
    backward = _numbers(name, seed + 10, (2, 3, 8), backward=True)
    trained = _numbers(name, seed + 14, (2, 3, 8), backward=True, training=True)
    dropped = _numbers(name, seed + 15, (2, 3, 8), backward=True, training=True, dropout=0.5)
    smooth = _around(name, "Smooth", seed + 17, training=True, dropout=0.5)
    in_eval = _numbers(name, seed + 20, (2, 4, 8), dropout=0.5)
    in_train = _numbers(name, seed + 21, (2, 4, 8), training=True)
    rate = drawn_rate(Draws(seed + 26))
    off = Scenario("train mode with dropout=0", name, "train", in_train, traits=train)
    found = [
        Scenario("the parts' parameters", name, "parts", _parts(name, seed)),
        Scenario("x of [2, 5, 8]", name, "numbers", _numbers(name, seed + 1, (2, 5, 8))),
        under_no_grad(Scenario("x of [2, 5, 8]", name, "numbers", _numbers(name, seed + 23, (2, 5, 8)))),
        Scenario("x of [1, 1, 7]", name, "numbers", _numbers(name, seed + 2, (1, 1, 7)), traits=batch),
        Scenario("x of [5, 6]", name, "numbers", _numbers(name, seed + 3, (5, 6)), traits=lead),
        Scenario("two more arguments", name, "arguments", _arguments(name, seed + 4, 2)),
        Scenario("two keywords", name, "arguments", _arguments(name, seed + 5, 0, "mask", "memory")),
        Scenario("an argument and a keyword", name, "arguments", _arguments(name, seed + 6, 1, "mask")),
        Scenario(
            "x as an argument and as a keyword too",
            name,
            "arguments",
            _arguments(name, seed + 9, 1, "memory", same=True),
        ),
        Scenario(
            "arguments of which some are None",
            name,
            "arguments",
            _arguments(name, seed + 16, 2, "mask", "memory", empty=True),
        ),
        Scenario("the gradient", name, "gradients", backward, traits=frozenset({"the backward pass"})),
        with_fixed_inputs(Scenario("train mode", name, "gradients", trained)),
        with_dropped_gradients(Scenario("train mode", name, "gradients", dropped)),
        Scenario("around a sigmoid", name, "gradients", _around(name, "Smooth", seed + 11), traits=needed),
        with_dropped_gradients(
            Scenario("train mode, around a sigmoid", name, "gradients", smooth, traits=needed)
        ),
        Scenario(
            "around what gives its input", name, "same", _around(name, "Same", seed + 12), traits=itself
        ),
        Scenario(
            "train mode, around what gives its input",
            name,
            "same",
            _dropped_around(name, seed + 13),
            traits=itself,
        ),
        Scenario("eval mode with dropout=0.5", name, "eval", in_eval),
        after_training(Scenario("eval mode with dropout=0.5", name, "eval", in_eval)),
        off,
        beside_another(off, dropout=0.5),
        Scenario(
            f"train mode with dropout={RATE}", name, "train", _dropped(name, seed + 22, RATE), traits=train
        ),
        Scenario(
            f"train mode with dropout={rate}", name, "train", _dropped(name, seed + 26, rate), traits=train
        ),
    ]
    long, many = (1, Draws(seed).length(very=True), 6), (Draws(seed).length(), 2, 6)
    found += [
        Scenario(trait, name, "numbers", _numbers(name, seed + i, shape), traits=frozenset({trait}))
        for i, (trait, shape) in enumerate({"a long sequence": long, "many sentences": many}.items(), start=7)
    ]
    return [*found, *_dtypes(name, seed)]


def _dtypes(name: str, seed: int) -> list[Scenario]:
    dropped = _numbers(name, seed + 22, (2, 3, 8), training=True, dropout=0.5)
    ask = _numbers(name, seed + 30, (2, 3, 8))
    titles = {dtype: f"{str(dtype)[6:]} inputs" for dtype in (torch.float64, torch.bfloat16)}
    return [
        only_form(Scenario("train mode with dropout=0.5", name, "dtypes", dropped), torch.bfloat16),
        *(
            Scenario(title, name, "dtypes", ask, dtype=dtype, traits=frozenset({title}))
            for dtype, title in titles.items()
        ),
    ]
