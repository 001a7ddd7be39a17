"""The scenarios of `noam`, `train_step` and `reverse_words`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.api import (
    Answer,
    Client,
    Draws,
    Grading,
    Instance,
    Outcome,
    Scenario,
    Subject,
    Submission,
    grading_of,
    in_words,
    noted,
)
from grader.exercises.training.reference import EOS, FIRST_LETTER, PAD, REFERENCE, namespace, rate

RATE, STEP, WORDS = "noam", "train_step", "reverse_words"
VOCAB, WIDTH = 11, 6
MOST = 100_000  # ids that are said; a submission may return as many as it likes
SPREAD = 3.0  # of the model's weights: gradients large enough for any clipping to show
Ask = Callable[[Client], Answer]


def scenarios(seed: int) -> Sequence[Scenario]:
    """All of them, in the order of the tests."""
    return [*_rates(seed), *_steps(seed), *_words(seed)]


def _rates(seed: int) -> list[Scenario]:
    draws = Draws(seed + 40)
    d_model, warmup = draws.integer(3, 20_000), draws.integer(30, 100_000)
    short = draws.integer(2, 29)
    before = (draws.integer(2, warmup // 2), draws.integer(warmup // 2 + 1, warmup - 1))
    after = (draws.integer(warmup + 1, 2 * warmup), draws.integer(2 * warmup, 100 * warmup))
    asked = {
        ("the paper's d_model=512 and warmup=4000, growing", "grows"): (
            512,
            4000,
            (1, 2, 3, 100, 2000, 3999),
        ),
        ("the paper's d_model=512 and warmup=4000, falling", "falls"): (
            512,
            4000,
            (4000, 4001, 8000, 100_000, 1_000_000, 30_000_000),
        ),
        ("d_model=64 and warmup=10, steps 1 to 9", "grows"): (64, 10, tuple(range(1, 10))),
        ("d_model=64 and warmup=10, steps 10 to 40", "falls"): (64, 10, tuple(range(10, 41))),
        ("d_model=7 and warmup=1", "falls"): (7, 1, (1, 2, 3, 50)),
        (f"d_model=24 and warmup={short}, growing", "grows"): (24, short, (1, short - 1, short)),
        (f"d_model=24 and warmup={short}, falling", "falls"): (24, short, (short, short + 1, 9 * short)),
        (f"d_model={d_model} and warmup={warmup}, growing", "grows"): (d_model, warmup, before),
        (f"d_model={d_model} and warmup={warmup}, falling", "falls"): (d_model, warmup, after),
    }
    return [
        *(Scenario(title, RATE, group, _rate(*sizes)) for (title, group), sizes in asked.items()),
        Scenario(
            "accepts keyword arguments",
            RATE,
            "keywords",
            _rate(128, 20, (1, 19, 20, 21, 90), keywords=True),
            traits=frozenset({"keyword arguments"}),
        ),
    ]


def _rate(d_model: int, warmup: int, steps: Sequence[int], *, keywords: bool = False) -> Ask:
    """Every rate relative to the right one: the rates themselves are too small to be compared."""

    def ask(client: Client) -> Answer:
        callee, found, kinds = client.function(RATE), [], set()
        for step in steps:
            named = {"step": step, "d_model": d_model, "warmup": warmup} if keywords else {}
            value = callee.call([] if keywords else [step, d_model, warmup], named).value
            kinds.add(kind_of_number(value))
            found.append(number(value) / rate(step, d_model, warmup))
        shares = torch.tensor(found, dtype=torch.float64).clamp(-1e6, 1e6).to(client.dtype)
        said = {
            f"rate of step {step}, relative to the right one": share
            for step, share in zip(steps, shares, strict=True)
        }
        return {**said, "type": ", ".join(sorted(kinds))}

    return ask


def kind_of_number(value: Any) -> str:
    """Return what kind of value came back; a tensor of no dimension is as good as a float."""
    if isinstance(value, Tensor):
        plain = value.dim() == 0 and value.is_floating_point()
        return "a float" if plain else f"a tensor {list(value.shape)} of {str(value.dtype)[6:]}"
    kinds = {float: "a float", int: "an int", bool: "a bool", str: "text", complex: "a complex number"}
    return kinds[type(value)] if type(value) in kinds else in_words(value)


def number(value: Any) -> float:
    """A number or a tensor of one as a float; NaN for anything else."""
    if isinstance(value, Tensor) and value.numel() == 1 and not value.is_complex():
        return float(value)
    return float(value) if isinstance(value, (int, float)) else math.nan


def _batch(draws: Draws, batch: int, longest: int) -> tuple[Tensor, Tensor]:
    """src [B, S] and tgt [B, L] as `reverse_words` would make them; the last word is the longest."""
    lengths = [draws.integer(1, max(longest - 1, 1)) for _ in range(batch - 1)] + [longest]
    words = [[draws.integer(FIRST_LETTER, VOCAB - 1) for _ in range(n)] for n in lengths]
    src = [word + [PAD] * (longest - len(word)) for word in words]
    tgt = [word[::-1] + [EOS] + [PAD] * (longest - len(word)) for word in words]
    return torch.tensor(src), torch.tensor(tgt)


def _pupil(client: Client, draws: Draws, spread: float) -> Instance:
    shapes = {"src": (VOCAB, WIDTH), "tgt": (VOCAB, WIDTH), "head": (WIDTH, VOCAB)}
    weights = {name: draws.normal(*shape) * 0.6 for name, shape in shapes.items()}
    return client.part("Pupil", VOCAB, WIDTH, weights={**weights, "head": spread * weights["head"]})


def _step(
    seed: int,
    batch: int = 4,
    longest: int = 5,
    *,
    stale: float = 0.0,
    times: int = 1,
    keywords: bool = False,
    spread: float = SPREAD,
    resting: bool = False,
) -> Ask:
    def ask(client: Client) -> Answer:
        draws = Draws(seed)
        part = _pupil(client, draws, spread)
        optimizer = client.submission.part("Descent", (part, 0.25))
        if stale:
            part.call([stale], method="leave_gradients")
        if resting:
            part.call([], method="leave_part_in_eval_mode")
        answer: dict[str, Tensor | str] = {}
        batches = [_batch(draws, batch, longest) for _ in range(times)]
        for turn, (src, tgt) in enumerate(batches, start=1):
            named = {"model": part, "optimizer": optimizer, "src": src, "tgt": tgt}
            given = () if keywords else tuple(named.values())
            outcome = client.function(STEP).call(given, named if keywords else {})
            which = "" if times == 1 else f" of step {turn}"
            answer |= _loss(outcome, which, client.dtype)
            if outcome.changed:
                answer["changed in place"] = ", ".join(_argument(p) for p in outcome.changed)
        return {**answer, **_after_the_step(part, optimizer, batches[0][0])}

    return ask


def _argument(position: int | str) -> str:
    return ("model", "optimizer", "src", "tgt")[position] if isinstance(position, int) else position


def _loss(outcome: Outcome, which: str, dtype: torch.dtype) -> dict[str, Tensor | str]:
    """The loss, whatever form it has."""
    value = outcome.value
    kind = kind_of_number(value) if outcome.handle is None else "a tensor with its graph"
    said: dict[str, Tensor | str] = {f"type of the loss{which}": kind}
    if not math.isnan(number(value)):
        said[f"loss{which}"] = torch.tensor(number(value), dtype=dtype)
    return said


def _whole(calls: Sequence[Mapping[str, Tensor]], src: Tensor) -> dict[str, Tensor]:
    """What a model was given first, "src" and "tgt"; put together and in the batch's order, if it gets the batch in
    parts, or its rows in another order: a mean over tokens is the same."""
    first = {name: calls[0][name] for name in ("src", "tgt")}
    if any(x.dim() != 2 for call in calls for x in (call["src"], call["tgt"])):
        return first
    for call in calls[1:]:
        if len(first["src"]) >= len(src) or any(call[n].shape[1:] != x.shape[1:] for n, x in first.items()):
            break
        first = {name: torch.cat([x, call[name]]) for name, x in first.items()}  # [B, S], [B, L]
    left, wanted = first["src"].tolist(), src.tolist()
    if sorted(left) != sorted(wanted):
        return first
    order: list[int] = []
    for row in wanted:
        order.append(next(i for i, one in enumerate(left) if one == row and i not in order))
    return {name: x[order] for name, x in first.items()}


def _after_the_step(part: Instance, optimizer: Instance, src: Tensor) -> Answer:
    """Return what the model was given, in which mode, and its parameters now."""
    calls = [call for call in noted(part) if call.keys() >= {"src", "tgt", "training"}]
    rates: Sequence[float] = optimizer.call([], method="rates").value
    facts: dict[str, Tensor | str] = {}
    if calls:
        given = _whole(calls, src)
        facts["source that the model was given"], facts["decoder input"] = given["src"], given["tgt"]
        facts["mode while it ran"] = "train" if bool(calls[0]["training"].all()) else "eval"
    facts |= {
        f"parameter {name.removeprefix('judge_')} after the step": info.value
        for name, info in part.parameters().items()
    }
    return {
        **facts,
        "mode after the step": str(part.call([], method="mode").value),
        "steps of the optimizer": str(optimizer.call([], method="steps").value),
        "learning rates after the step": ", ".join(f"{one:g}" for one in rates),
    }


def _steps(seed: int) -> list[Scenario]:
    asked = {
        ("a batch of four", "step", ()): _step(seed),
        ("a batch of one", "step", ("a batch of one",)): _step(seed + 1, 1, 3),
        ("a target of two ids", "step", ()): _step(seed + 2, 3, 1),
        ("accepts keyword arguments", "step", ("keyword arguments",)): _step(seed + 3, keywords=True),
        ("a long sequence", "step", ("a long sequence",)): _step(seed + 7, 2, Draws(seed).length(very=True)),
        ("many sentences", "step", ("many sentences",)): _step(seed + 8, Draws(seed).length(), 3),
        ("large gradients", "step", ("large numbers",)): _step(seed + 9, spread=100.0),
        ("a part of the model in eval mode", "step", ()): _step(seed + 12, resting=True),
        ("gradients left from before", "stale", ()): _step(seed + 4, stale=0.7),
        ("three steps in a row", "stale", ()): _step(seed + 5, times=3),
    }
    return [
        *(
            Scenario(title, STEP, group, ask, traits=frozenset(traits))
            for (title, group, traits), ask in asked.items()
        ),
        *(
            Scenario(
                f"a model in {str(dtype)[6:]}",
                STEP,
                "dtypes",
                _step(seed + 6),
                dtype=dtype,
                slack=3.0,
                traits=frozenset({f"{str(dtype)[6:]} inputs"}),
            )
            for dtype in (torch.float64, torch.bfloat16)
        ),
    ]


def _words(seed: int) -> list[Scenario]:
    draws = Draws(seed + 20)

    def drawn(length: int) -> str:
        return "".join(chr(ord("a") + draws.integer(0, 25)) for _ in range(length))

    lists = {
        "the words 'zoo', 'attention', 'mask' and 'key'": ["zoo", "attention", "mask", "key"],
        "every letter": ["quick", "abcdefghijklmnopqrstuvwxyz", "zyx"],
        "drawn at random": [drawn(n) for n in (4, 7, 2, 7, 3)],
        "a word of many letters": [drawn(draws.length()), "key"],
        "many words": [drawn(1 + n % 3) for n in range(draws.length())],
    }
    equal = {
        "one word": ["reverse"],
        "words of equal length": ["abc", "xyz", "bad"],
        "words of one letter": ["z", "a", "k"],
        "a word twice, the longest first": ["letters", "ab", "ab", "c"],
    }
    after = _reversed(["cab", "at"], earlier=["dog", "be"])
    return [
        Scenario("words after others of the same lengths", WORDS, "padded", after),
        *(Scenario(title, WORDS, "padded", _reversed(words)) for title, words in lists.items()),
        *(Scenario(title, WORDS, "plain", _reversed(words)) for title, words in equal.items()),
    ]


def _reversed(words: list[str], earlier: Sequence[str] = ()) -> Ask:
    def ask(client: Client) -> Answer:
        if earlier:
            client.function(WORDS).call([list(earlier)])
        outcome = client.function(WORDS).call([list(words)])
        pair = outcome.value
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            kind = f"{len(pair)} values" if isinstance(pair, (tuple, list)) else in_words(pair)
            return {"result": kind}
        answer: dict[str, Tensor | str] = {"result": "a pair"}
        for name, value in zip(("src", "tgt"), pair, strict=True):
            if not isinstance(value, Tensor):
                answer[f"type of {name}"] = in_words(value)
                continue
            answer[f"type of {name}"] = str(value.dtype).removeprefix("torch.")
            answer[f"shape of {name}"] = str(list(value.shape))
            if value.dim() == 2 and value.numel() <= MOST and not value.is_complex():
                answer |= {
                    f"row {n} of {name}": " ".join(f"{float(i):g}" for i in row)
                    for n, row in enumerate(value)
                }
        return answer

    return ask


def form(name: str) -> bool:
    """Return whether a test of shapes reads this value."""
    return name.startswith(("shape", "type", "result"))


def content(name: str) -> bool:
    """The ids."""
    return not form(name)


AXES = {
    "*: parameter head after the step": ("feature", "token id"),
    "* after the step": ("token id", "feature"),
    "*": ("sentence", "position"),
}
SUBJECT = Subject("training", scenarios, (REFERENCE,), namespace, axes=AXES)


def grading(component: Submission, seed: int) -> Grading:
    """The grading into a submission, the same one for all tests."""
    return grading_of(component, seed, SUBJECT)
