"""The scenarios of the two functions of the loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.api import (
    Answer,
    Client,
    Draws,
    Grading,
    Scenario,
    Subject,
    Submission,
    after_another_dtype,
    by_position,
    grading_of,
    under_no_grad,
)
from grader.exercises.loss.reference import REFERENCE, namespace

SHIFT, LOSS = "shift_right", "sequence_loss"
Ask = Callable[[Client], Answer]

FULL = [[4, 3, 6, 2], [5, 7, 1, 3], [8, 2, 4, 5]]
PADDED = [[4, 3, 6, 8, 2], [5, 2, 0, 0, 0], [7, 1, 2, 0, 0]]
ANYWHERE = [[0, 4, 0, 6], [5, 0, 3, 2], [0, 0, 0, 0], [3, 8, 1, 0], [1, 6, 2, 7]]
THREES = [[4, 0, 2, 6, 3], [0, 3, 3, 3, 3], [7, 1, 2, 3, 3]]  # PAD is 3, and 0 an ordinary id
ONE_MORE = (1261, 1281)  # than a multiple of most sizes in which a vocabulary is cut up, of 256 the second
TWO_ROWS = [[4, 3, 6, 8, 1, 7, 2], [5, 2, 0, 0, 0, 0, 0]]
SQUARE = [[4, 3, 2], [6, 2, 0], [5, 0, 0]]


def described(answer: Mapping[str, Tensor | str]) -> Answer:
    """With the shape in words; of a Python number, only that it is one."""
    output = answer.get("output")
    if isinstance(output, Tensor):
        return {**answer, "shape": str(list(output.shape))}
    result = str(answer.get("result"))
    if result.lstrip("-").replace(".", "").replace("e-", "").isdigit() or result in ("nan", "inf", "-inf"):
        return {**answer, "result": "a Python number"}
    return answer


def _many(seed: int, batch: int, length: int, vocab: int = 8) -> list[list[int]]:
    """Ids [batch, length], PAD among them."""
    draws = Draws(seed)
    return [[draws.integer(0, vocab) for _ in range(length)] for _ in range(batch)]


def _extremes(seed: int) -> dict[str, list[list[int]]]:
    """Batches by their traits: where a limit that is built in shows."""
    draws = Draws(seed)
    long, many = (1, draws.length(very=True)), (draws.length(), 3)
    return {"a long sequence": _many(seed, *long), "many sentences": _many(seed + 1, *many)}


def scenarios(seed: int) -> Sequence[Scenario]:
    """All of them, in the order of the tests."""
    return [*_shifts(seed), *_losses(seed), *_gradients(seed), *_forms(seed)]


def _shifts(seed: int) -> list[Scenario]:
    def ask(*args: Any, **kwargs: Any) -> Ask:
        return lambda client: described(client.call(client.function(SHIFT), *args, **kwargs))

    sos = Draws(seed + 2).integer(9, 30_000)
    batches = {
        "three sentences": (FULL, ()),
        "sentences of different length": (PADDED, ()),
        "as many sentences as tokens": (SQUARE, ()),
        "a target that begins with PAD": (ANYWHERE, ()),
        "one sentence": ([[6, 4, 2]], ("a batch of one",)),
        "one token": ([[6], [2]], ("a length of one",)),
    }
    return [
        *(
            Scenario(title, SHIFT, "numbers", ask(torch.tensor(ids)), traits=frozenset(traits))
            for title, (ids, traits) in batches.items()
        ),
        *(
            Scenario(trait, SHIFT, "numbers", ask(torch.tensor(ids)), traits=frozenset({trait}))
            for trait, ids in _extremes(seed).items()
        ),
        Scenario("large ids", SHIFT, "numbers", ask(torch.tensor([[300, 40000, 70000], [65536, 4097, 2]]))),
        Scenario("sos=5", SHIFT, "sos", ask(torch.tensor(PADDED), sos=5)),
        Scenario(f"sos={sos}", SHIFT, "sos", ask(torch.tensor(PADDED), sos=sos)),
        Scenario("sos=0, by keyword", SHIFT, "sos", ask(target=torch.tensor(THREES), sos=0)),
        Scenario("ids in int32", SHIFT, "dtype", ask(torch.tensor(PADDED, dtype=torch.int32))),
    ]


def _loss(
    seed: int,
    ids: Sequence[Sequence[int]],
    *,
    size: float = 1.5,
    vocab: int = 9,
    last: float = 1.0,
    top: float = 0.0,
    **kwargs: Any,
) -> Ask:
    """Logits of so many ids, drawn, up to `last` times as large for the last place; the target as given.

    Args:
        top: by how much the last id's logits are larger.
    """

    def ask(client: Client) -> Answer:
        target = torch.tensor(ids)
        growing = torch.linspace(1, last, target.numel()).view(*target.shape, 1)
        logits = Draws(seed).normal(*target.shape, vocab) * size * growing
        logits[..., -1] += top
        return described(client.call(client.function(LOSS), logits, target, **kwargs))

    return ask


def _losses(seed: int) -> list[Scenario]:
    def one(title: str, group: str, ids: Sequence[Sequence[int]], *traits: str, **kwargs: Any) -> Scenario:
        return Scenario(title, LOSS, group, _loss(seed + len(title), ids, **kwargs), traits=frozenset(traits))

    draws = Draws(seed + 94)
    pad, smoothing = draws.integer(9, 39), draws.integer(2, 95) / 100
    drawn = [[pad if i % 5 == 3 else one for i, one in enumerate(row)] for row in _many(seed + 95, 3, 6, 39)]
    return [
        one("no PAD at all", "plain", FULL),
        one("one sentence", "plain", [[6, 4, 2]], "a batch of one"),
        one("one token", "plain", [[6], [2]], "a length of one"),
        one("as many places as sentences", "plain", [[4, 3, 2], [6, 5, 2], [5, 1, 7]]),
        one("sentences of different length", "padding", PADDED),
        one("PAD anywhere, a sentence of PAD only", "padding", ANYWHERE),
        *(one(trait, "padding", ids, trait, last=9.0) for trait, ids in _extremes(seed + 90).items()),
        *(
            one(f"a vocabulary of {vocab} ids", "padding", _many(seed + 92, 2, 4, 40), vocab=vocab, top=6.0)
            for vocab in ONE_MORE
        ),
        one("1,600 tokens", "padding", _many(seed + 93, 40, 40), last=9.0),
        one("a vocabulary of 600 ids, smoothing=0.1", "smoothing", PADDED, vocab=600, smoothing=0.1),
        under_no_grad(one("sentences of different length", "padding", PADDED)),
        one("pad=3", "pad", THREES, pad=3),
        one("pad=7, which is in no target", "pad", PADDED[:2], pad=7),
        one("smoothing=0.1", "smoothing", FULL, smoothing=0.1),
        one("smoothing=0.3 and PAD", "smoothing", PADDED, smoothing=0.3),
        one("smoothing=0.2, pad=3", "smoothing", THREES, smoothing=0.2, pad=3),
        one(f"{smoothing=}, {pad=}", "smoothing", drawn, vocab=40, smoothing=smoothing, pad=pad),
        Scenario("logits of +-2000", LOSS, "large", _large(seed, 0.0)),
        Scenario("logits of +-2000, smoothing=0.1", LOSS, "large", _large(seed, 0.1)),
        one("logits around 50", "large", PADDED, size=50.0),
        Scenario("logits on other levels at each place", LOSS, "large", _levels(seed), slack=10.0),
    ]


def _large(seed: int, smoothing: float) -> Ask:
    def ask(client: Client) -> Answer:
        target = torch.tensor(PADDED)
        logits = Draws(seed + 60).normal(*target.shape, 9).sign() * 2000
        return described(client.call(client.function(LOSS), logits, target, smoothing=smoothing))

    return ask


def _levels(seed: int) -> Ask:
    """Logits that are far lower at some places than at others: one maximum for all of them is not enough."""

    def ask(client: Client) -> Answer:
        target = torch.tensor(PADDED)
        levels = -400.0 * (torch.arange(target.numel()) % 4).view(*target.shape, 1)
        logits = Draws(seed + 61).normal(*target.shape, 9) + levels
        return described(client.call(client.function(LOSS), logits, target))

    return ask


def _gradients(seed: int) -> list[Scenario]:
    draws = Draws(seed + 72)
    drawn_pad, drawn_smoothing = draws.integer(1, 39), draws.integer(2, 95) / 100
    vocab = draws.integer(66, 130)

    def ask(ids: Sequence[Sequence[int]], smoothing: float, pad: int = 0, vocab: int = 9) -> Ask:
        def call_backward(client: Client) -> Answer:
            target = torch.tensor(ids)
            logits = Draws(seed + 70).normal(*target.shape, vocab) * 1.5
            given: dict[str, Any] = {"grad": (0,), "cotangent": torch.tensor(20.0), "smoothing": smoothing}
            given |= {"pad": pad} if pad else {}
            return client.call(client.function(LOSS), logits, target, **given)

        return call_backward

    backward = frozenset({"the backward pass"})
    return [
        Scenario("the gradient, with PAD", LOSS, "gradients", ask(PADDED, 0.0), traits=backward),
        Scenario("the gradient, with smoothing=0.1", LOSS, "gradients", ask(ANYWHERE, 0.1), traits=backward),
        Scenario(
            f"the gradient, with smoothing={drawn_smoothing}, pad={drawn_pad}",
            LOSS,
            "gradients",
            ask(_many(seed + 73, 2, draws.length(), vocab - 1), drawn_smoothing, drawn_pad, vocab),
            torch.float64,
            traits=backward,
        ),
    ]


def _forms(seed: int) -> list[Scenario]:
    def keywords(client: Client) -> Answer:
        target = torch.tensor(THREES)
        logits = Draws(seed + 80).normal(3, 5, 9)
        return described(
            client.call(client.function(LOSS), logits=logits, target=target, pad=3, smoothing=0.1)
        )

    def scattered(smoothing: float, *, turned: bool) -> Ask:
        def ask(client: Client) -> Answer:
            target = torch.tensor(PADDED)
            logits = Draws(seed + 81).normal(3, 5, 9)
            parts: list[Any] = [client.part("Scattered", (3, 5, 9), weights={"values": logits}), target]
            if turned:
                parts[1] = client.part("Scattered", (3, 5), True, weights={"values": target.double()})
            answer = client.call(client.function(LOSS), *parts, pad=0, smoothing=smoothing)
            return described(answer)

        return ask

    return [
        Scenario(
            "accepts keyword arguments", LOSS, "keywords", keywords, traits=frozenset({"keyword arguments"})
        ),
        by_position(
            Scenario("pad and smoothing", LOSS, "keywords", _loss(seed + 84, THREES, pad=3, smoothing=0.1))
        ),
        Scenario("logits that are not contiguous", LOSS, "memory", scattered(0.0, turned=False)),
        Scenario("logits and target not contiguous", LOSS, "memory", scattered(0.0, turned=True)),
        Scenario(
            "logits and target not contiguous, smoothing=0.1", LOSS, "memory", scattered(0.1, turned=True)
        ),
        after_another_dtype(
            Scenario("smoothing=0.5", LOSS, "dtypes", _loss(seed + 83, TWO_ROWS, smoothing=0.5))
        ),
        *(
            Scenario(
                f"{str(dtype)[6:]} inputs{', smoothing=0.5' if smoothing else ''}",
                LOSS,
                "dtypes",
                _loss(seed + 82, PADDED, smoothing=smoothing),
                dtype=dtype,
                traits=frozenset({f"{str(dtype)[6:]} inputs"}),
            )
            for dtype in (torch.float64, torch.bfloat16)
            for smoothing in (0.0, 0.5)
        ),
    ]


AXES = {
    "shift_right, *": ("sentence", "position"),
    "*": ("sentence", "position", "token id"),
}
SUBJECT = Subject("loss", scenarios, (REFERENCE,), namespace, axes=AXES)


def grading(component: Submission, seed: int) -> Grading:
    """The grading into a submission, the same one for all tests."""
    return grading_of(component, seed, SUBJECT)
