"""A call of attention with all that determines its result, and the ways to look at what it gives."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from grader.api import (
    NOWHERE,
    ON_AVERAGE,
    Answer,
    Client,
    Instance,
    Layout,
    SubmissionError,
    alike,
    chosen,
    drawn_again,
    mean_after,
    own_parameters,
    said_of_factor,
)
from grader.exercises.attention.reference import CLASS, FUNCTION, INPUTS, ROLES

Inputs = tuple[Tensor, Tensor, Tensor]
CHANGED, NOT_FINITE, IDLE = "changed in place", "not finite", "without a gradient"
WORDS = {"q": "query", "k": "key", "v": "value", "out": "output"}


@dataclass(frozen=True, eq=False)
class Question:
    """One call.

    Attributes:
        inputs: query, key and value.
        heads: of the class; 0 for the function.
        weights: "q.weight" and so on.
        cotangent: of the output; gradients are asked for if there is one.
    """

    inputs: Inputs
    mask: Tensor | None = None
    heads: int = 0
    weights: Mapping[str, Tensor] = field(default_factory=dict)
    dropout: float = 0.0
    training: bool = False
    cotangent: Tensor | None = None

    @property
    def width(self) -> int:
        return self.inputs[0].size(-1)

    @property
    def shown(self) -> Tensor | None:
        """The mask as bool, True = may be attended to."""
        return self.mask if self.mask is None or self.mask.dtype == torch.bool else self.mask == 0


@dataclass(frozen=True, eq=False)
class Asking:
    """The script of a scenario: one question, looked at in one way."""

    question: Question
    look: Callable[[Client, Question], Answer]

    def __call__(self, client: Client) -> Answer:
        return self.look(client, self.question)


def ready(client: Client, asked: Question) -> Instance | None:
    """The class with the question's weights; none for the function."""
    if not asked.heads:
        return None
    extra = {"dropout": asked.dropout} if asked.dropout else {}
    instance = client.make(CLASS, asked.width, asked.heads, training=asked.training, **extra)
    client.load_projections(CLASS, instance, asked.width, asked.heads, asked.weights)
    return instance


def call(
    client: Client, asked: Question, instance: Instance | None, chance: int = 0
) -> dict[str, Tensor | str]:
    """Call once. `chance`: which state of the random generators it starts from."""
    client.seed(chance)
    options: dict[str, Any] = {} if asked.mask is None else {"mask": asked.mask}
    answer = client.call(
        instance or client.function(FUNCTION),
        *asked.inputs,
        grad=() if asked.cotangent is None else (0, 1, 2),
        cotangent=asked.cotangent,
        names=() if instance else ("output", "weights"),
        first=True,  # weights may come with the output, as torch's own module gives them
        **options,
    )
    for position, name in enumerate(INPUTS):
        if f"gradient of {position}" in answer:
            answer[f"gradient of {name}"] = answer.pop(f"gradient of {position}")
    return answer


def fresh(client: Client, asked: Question, chance: int = 0) -> dict[str, Tensor | str]:
    """Call an object that was made for it."""
    return call(client, asked, ready(client, asked), chance)


def plain(client: Client, asked: Question) -> Answer:
    """The results, and their shapes."""
    answer = fresh(client, asked)
    return answer | {f"shape of {n}": str(list(x.shape)) for n, x in answer.items() if isinstance(x, Tensor)}


def results(client: Client, asked: Question) -> Answer:
    """The results alone."""
    return fresh(client, asked)


def typed(client: Client, asked: Question) -> Answer:
    """The results, and whether their dtype is that of the inputs."""
    answer = fresh(client, asked)
    dtypes = {x.dtype for x in answer.values() if isinstance(x, Tensor)} - {client.dtype}
    return answer | {"dtype": ", ".join(map(str, dtypes)) or "that of the inputs"}


def finite(client: Client, asked: Question) -> Answer:
    """The results, and what is not finite; what rows give that may attend to nothing is free."""
    answer = fresh(client, asked)
    return {**_not_finite(answer)} | {
        n: _blanked(x, asked) for n, x in answer.items() if isinstance(x, Tensor)
    }


def finite_gradients(client: Client, asked: Question) -> Answer:
    """Return what is not finite of the results and gradients, and no more."""
    return {
        name: x for name, x in _not_finite(fresh(client, asked)).items() if name in ("result", NOT_FINITE)
    }


def _not_finite(answer: Answer) -> dict[str, Tensor | str]:
    """The facts, and the names of tensors that are not finite."""
    odd = [name for name, x in answer.items() if isinstance(x, Tensor) and not bool(x.isfinite().all())]
    facts = {name: x for name, x in answer.items() if isinstance(x, str)}
    return {**facts, NOT_FINITE: ", ".join(odd) or "none"}


def _yes(it_is: bool) -> str:
    return "yes" if it_is else "no"


def _blanked(x: Tensor, asked: Question) -> Tensor:
    """0 in place of the finite numbers of rows that may attend to nothing."""
    if asked.shown is None or x.dim() < 2:
        return x
    empty = ~asked.shown.any(-1, keepdim=True)  # [B, H or 1, Tq, 1]
    if asked.heads:
        empty = empty.any(1)  # the class puts its heads into one vector
    try:
        return x.masked_fill(empty.expand(*x.shape[:-1], 1) & x.isfinite(), 0.0)
    except RuntimeError:  # a result of the wrong shape is compared as it is
        return x


def gradients(client: Client, asked: Question) -> Answer:
    """The results, the gradients, and which weights none arrives at."""
    answer = fresh(client, asked)
    if not asked.heads or answer.get("gradients") == "none":
        return answer
    there = client.free["biases"]
    idle = [n for n in _unreached(client.projections, client.gradients) if n.endswith("weight") or n in there]
    known = set().union(*(client.projections.homes(name) for name in client.projections.index))
    strange = [
        name for name in client.projections.shapes if name not in known and client.gradients.get(name) is None
    ]
    none = {f"gradient of {role}.bias" for role in ROLES if f"{role}.bias" not in there}
    found = {name: x for name, x in answer.items() if name not in none}
    return found | {IDLE: ", ".join([*idle, *(["another parameter"] if strange else [])]) or "none"}


def _unreached(found: Layout, gradients: Mapping[str, Tensor | None]) -> list[str]:
    """Weights and biases at which no gradient arrived; of packed weights, those whose part of it is 0.

    A key's bias has no effect, and so a gradient that is about 0.
    """
    arrived = found.read(gradients)
    return [
        name
        for name in found.index
        if all(gradients.get(home) is None for home in found.homes(name))
        or (name != "k.bias" and not bool(arrived[name].any()))
    ]


def twice(client: Client, asked: Question) -> Answer:
    """Two equal calls, from different states of the random generators."""
    instance = ready(client, asked)
    first, second = call(client, asked, instance), call(client, asked, instance, chance=1)
    return {**_tensors(first), "two equal calls": _same(first, second)}


def after(earlier: Question) -> Callable[[Client, Question], Answer]:
    """A call after an earlier one, on the same object."""

    def look(client: Client, asked: Question) -> Answer:
        first, instance = fresh(client, asked), ready(client, asked)
        call(client, earlier, instance)
        second = call(client, asked, instance)
        return {**_tensors(second), "after another call": _same(first, second)}

    return look


def as_without_dropout(client: Client, asked: Question) -> Answer:
    """The results, and whether dropout (in eval mode), or train mode (without dropout), changes them."""
    answer = fresh(client, asked)
    calm = fresh(client, replace(asked, dropout=0.0, training=False))
    return {**_tensors(answer), "compared with eval mode and dropout=0": _same(calm, answer)}


def _tensors(answer: Answer) -> dict[str, Tensor | str]:
    """An answer without what came in place of a tensor: another test says so."""
    return {name: x for name, x in answer.items() if name != "result"}


def _same(first: Answer, second: Answer) -> str:
    a, b = first.get("output"), second.get("output")
    alike_ = alike(a, b) if isinstance(a, Tensor) and isinstance(b, Tensor) else type(a) is type(b)
    return "the same" if alike_ else "something else"


def first_gradients(client: Client, asked: Question) -> Answer:
    """Return whether the class can learn, with the weights that it starts with."""
    return client.first_gradients(client.make(CLASS, asked.width, asked.heads), *asked.inputs)


def dropped(client: Client, asked: Question) -> Answer:
    """Return what dropout does to the output, in words that depend neither on chance nor on the numbers."""
    instance = ready(client, asked)
    answer = call(client, asked, instance)
    asked_again = instance or client.function(FUNCTION)
    again = [client.call(asked_again, *asked.inputs, first=True).get("output") for _ in range(2)]
    calm = fresh(client, replace(asked, dropout=0.0, training=False)).get("output")
    output = answer.get("output")
    if not isinstance(output, Tensor) or not isinstance(calm, Tensor) or output.shape != calm.shape:
        return answer
    rows = calm.shape == asked.inputs[0].shape
    if not rows or output.is_complex():
        return {"shape of output": str(list(output.shape))}
    output, calm = (x.double().unflatten(-1, (asked.heads, -1)) for x in (output, calm))  # [B, T, H, d]
    ratio = output / calm
    gone = ratio.abs() < 1e-4
    kept = ratio[~gone]
    even = bool(kept.numel()) and float(kept.max() - kept.min()) < 1e-2
    sums, keys = output.sum(-1) / calm.sum(-1), asked.inputs[1].size(-2)
    choice = chosen(gone[..., :keys], ("sentences", "queries", "heads", "keys"), calm[..., :keys])
    factor = float(kept.mean()) if even and choice["one choice for all"] == NOWHERE else None
    return {
        "share of weights dropped": f"{_near(float(gone.double().mean()), asked.dropout, 1 - asked.dropout):g}",
        "factor of the weights kept": said_of_factor(float(kept.mean()), asked.dropout, 3)
        if even
        else "uneven",
        "heads dropped as a whole": _yes(bool((gone.all(-1) | ~gone.any(-1)).all())),
        "dropped alike for all queries": _yes(bool((gone == gone[:, :1]).all())),
        "dropped alike for all heads": _yes(bool((gone == gone[:, :, :1]).all())),
        **choice,
        ON_AVERAGE: mean_after(gone[..., :keys], factor),
        "a second call drops": drawn_again(answer.get("output"), *again),
        "rows sum to what they did": _yes(bool((sums - 1).abs().max() < 1e-3)),
    }


def closed_when_dropped(client: Client, asked: Question) -> Answer:
    """Whether the weights of closed keys, which the output shows, are 0 with dropout too."""
    output = fresh(client, asked).get("output")
    if not isinstance(output, Tensor) or output.shape != asked.inputs[0].shape or asked.shown is None:
        return {"output": "of another shape"}
    if output.dtype == torch.bool:
        return {"output": "truth values"}
    weights = output.abs().unflatten(-1, (asked.heads, -1)).transpose(1, 2)  # [B, H, T, K]
    return {"closed keys get a weight": _yes(bool((weights[~asked.shown.expand_as(weights)] > 1e-6).any()))}


def _near(share: float, *wanted: float) -> float:
    """The wanted share that this one is a sample of; 0 and 1 are themselves."""
    if share in (0.0, 1.0):
        return share
    return next((one for one in wanted if abs(share - one) < 0.15), 0.5)


def registered(client: Client, asked: Question) -> Answer:
    """The projections among the parameters."""
    instance = client.make(CLASS, asked.width, asked.heads)
    own = own_parameters(instance.parameters())
    found = client.load_projections(CLASS, instance, asked.width, asked.heads, {})
    with contextlib.suppress(SubmissionError):  # it is called to find weights by experiment, no more
        call(client, asked, instance)
    frozen = {name: torch.zeros(()) if info.requires_grad else None for name, info in own.items()}
    still = [name for name in found.index if not all(frozen[home] is not None for home in found.homes(name))]
    shapes = {role: found.index.get(f"{role}.weight") for role in ROLES}
    return {
        "parameters": "some" if own else "none at all",
        **{
            f"{WORDS[role]} projection": "none" if where is None else str(list(where.shape))
            for role, where in shapes.items()
        },
        "never trained": ", ".join(n for n in still if n.endswith("weight")) or "none",
    }


# What tells the stages of the class apart, when no known mistake explains it.


def even(client: Client, asked: Question) -> Answer:
    """With query and key projections at 0 every key has the same weight."""
    zeroed = {n: torch.zeros_like(w) if n[0] in "qk" else w for n, w in asked.weights.items()}
    return fresh(client, replace(asked, weights=zeroed))


def spelled(client: Client, asked: Question) -> Answer:
    """The weights of every head, by values that are one-hot in the keys: the first keys, as many as a head is wide."""
    answer = fresh(client, asked)
    output = answer.pop("output", None)
    if not isinstance(output, Tensor) or output.shape != asked.inputs[0].shape:
        return answer
    keys = asked.inputs[1].size(1)
    return {
        **answer,
        "weights": output.unflatten(-1, (asked.heads, -1))[..., :keys].transpose(1, 2),
    }  # [B, H, Tq, Tk]


def others_changed(client: Client, asked: Question) -> Answer:
    """Return whether the first sentence's output depends on the other sentences."""
    query, key, value = (torch.cat([x[:1], x[1:] + 1.0]) for x in asked.inputs)
    instance = ready(client, asked)
    found = [
        call(client, one, instance).get("output")
        for one in (asked, replace(asked, inputs=(query, key, value)))
    ]
    one, other = (x[:1] if isinstance(x, Tensor) and x.dim() else torch.zeros(0) for x in found)
    return {"the first sentence when others change": "the same" if alike(one, other) else "changed"}


def influence(client: Client, asked: Question) -> Answer:
    """Return which position of key and value reaches which position of the output: bool [Tq, Tk]."""
    instance, columns = ready(client, asked), []
    answer = call(client, asked, instance)
    before = answer.get("output")
    for position in range(asked.inputs[1].size(1)):
        query, key, value = (x.clone() for x in asked.inputs)
        key[0, position] += 0.5
        value[0, position] -= 0.7
        now = call(client, replace(asked, inputs=(query, key, value)), instance).get("output")
        if not isinstance(now, Tensor) or not isinstance(before, Tensor) or now.shape != before.shape:
            return answer
        if now.shape[:-1] != asked.inputs[0].shape[:-1] or not now.numel() or now.dtype == torch.bool:
            return answer
        columns.append((now[0] - before[0]).abs().flatten(1).amax(-1) > 1e-5)
    return {"influence": torch.stack(columns, -1)}
