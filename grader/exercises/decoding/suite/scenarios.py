"""The scenarios of `greedy_decode` and `beam_search`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    by_position,
    describe_outcome,
    grading_of,
    noted,
)
from grader.exercises.decoding.mistakes import MISTAKES
from grader.exercises.decoding.mistakes.beam import merged
from grader.exercises.decoding.reference import REFERENCE, namespace
from grader.exercises.decoding.suite.balance import balanced
from grader.exercises.decoding.suite.cases import (
    BASES,
    BEAM,
    GREEDY,
    TABLE,
    USUAL,
    VOCAB,
    Ids,
    Search,
    Weights,
    apart,
    clear,
    close,
    doubtful,
    lasting,
    nearly_equal,
    of_width,
    sentences,
    telling,
    with_lengths,
)

Ask = Callable[[Client], Answer]
Made = Callable[[], tuple[Weights, Tensor]]  # what a scenario works with: drawn when it is asked
NEVER_ENDS = 99
MOST = 1024  # columns that are read: a submission may return as many as it likes
OTHER_IDS = (Ids(sos=5, eos=3, pad=7), Ids(sos=0, eos=1, pad=2))


def named(row: Sequence[int], ids: Ids) -> str:
    """A row's ids in words, less PAD at the end."""
    row = list(row)
    while row and row[-1] == ids.pad:
        row.pop()
    words = {ids.sos: "SOS", ids.eos: "EOS", ids.pad: "PAD"}
    return " ".join(words.get(i, str(i)) for i in row) or "nothing but PAD"


def described(answer: Mapping[str, Tensor | str], ids: Ids, batch: int, max_len: int) -> Answer:
    """The ids of each sentence in words, so that columns of PAD at the end do not count."""
    facts = {name: value for name, value in answer.items() if name != "output"}
    output = answer.get("output")
    if not isinstance(output, Tensor):
        return facts
    facts["dtype"] = str(output.dtype).removeprefix("torch.")
    if output.dim() != 2 or output.size(0) != batch or output.size(1) > MOST or output.is_complex():
        return {**facts, "shape": str(list(output.shape))}
    facts["shape"] = f"[{batch}, at most max_len]"
    for number, row in enumerate(output.tolist(), start=1):
        facts[f"sentence {number}"] = named([int(i) if i == i // 1 else -1 for i in row], ids)
    facts["columns"] = f"at most {max_len}" if output.size(1) <= max_len else str(output.size(1))
    return facts


def model(client: Client, weights: Weights) -> Instance:
    """The judge's model, in eval mode."""
    return client.part("Speller", VOCAB, TABLE, weights=weights)


def _ask(name: str, made: Made, *sizes: Any, ids: Ids = USUAL, called: str = "") -> Ask:
    """A call: what has no default by position, the rest by keyword; or all by keyword.

    Args:
        sizes: max_len; or beam, max_len and perhaps length_penalty.
        called: "keywords" to give everything by name.
    """
    words = ("max_len",) if name == GREEDY else ("beam", "max_len", "length_penalty")
    by_name: dict[str, Any] = dict(zip(words, sizes, strict=False))
    required = words[:2] if name == BEAM else words

    def ask(client: Client) -> Answer:
        weights, src = made()
        part = model(client, weights)
        special: dict[str, Any] = {} if ids == USUAL else {"sos": ids.sos, "eos": ids.eos, "pad": ids.pad}
        if called == "keywords":
            answer = client.call(client.function(name), model=part, src=src, **by_name, **special)
        else:
            positional = [by_name[word] for word in required]
            optional = {word: size for word, size in by_name.items() if word not in required}
            answer = client.call(client.function(name), part, src, *positional, **optional, **special)
        return described(answer, ids, src.size(0), by_name["max_len"])

    return ask


def _alone(made: Made) -> Made:
    """The first sentence only."""
    return lambda: (made()[0], made()[1][:1])


def _watched(name: str, made: Made, *sizes: Any) -> Ask:
    """Return how the model was treated."""

    def ask(client: Client) -> Answer:
        weights, src = made()
        part = model(client, weights)
        client.call(client.function(name), part, src, *sizes)
        mode = part.call([], method="mode").value
        recording = any(bool(call["recording"].any()) for call in noted(part) if "recording" in call)
        return {
            "gradients while the model ran": "recorded" if recording else "not recorded",
            "mode of the model after decoding": str(mode),
        }

    return ask


def _again(seed: int) -> Ask:
    """Several ids are likely: only chance can give different results."""

    def ask(client: Client) -> Answer:
        draws = Draws(seed)
        part = model(client, doubtful(draws, USUAL))
        src = sentences(draws, USUAL, 4, 4)
        outcomes = [client.function(GREEDY).call([part, src, 12]) for _ in range(3)]
        found = [describe_outcome(outcome).get("output") for outcome in outcomes]
        equal = all(isinstance(x, Tensor) and torch.equal(x, found[0]) for x in found)  # type: ignore[arg-type]
        return {"three equal calls gave": "equal ids" if equal else "different ids"}

    return ask


def scenarios(seed: int) -> Sequence[Scenario]:
    """All of them, in the order of the tests."""
    return [*_greedy(seed), *_beam(seed)]


def _lengths(seed: int, lengths: tuple[int, ...], max_len: int, ids: Ids = USUAL) -> Made:
    return lambda: with_lengths(seed, lengths, max_len, ids)


def _many(seed: int, count: int) -> Made:
    @cache
    def make() -> tuple[Weights, Tensor]:
        draws = Draws(seed)
        return clear(draws, USUAL), sentences(draws, USUAL, count, 3)

    return make


def _nearly(seed: int) -> Made:
    @cache
    def make() -> tuple[Weights, Tensor]:
        draws = Draws(seed)
        return nearly_equal(draws, USUAL), sentences(draws, USUAL, 6, 4)

    return make


def _greedy(seed: int) -> list[Scenario]:
    alone, even = _lengths(seed, (5,), 8), _lengths(seed + 1, (4, 4, 4), 8)
    ends = {
        "rows of 2, 6 and 4 ids": _lengths(seed + 2, (2, 6, 4), 9),
        "rows of 5, 1, 3 and 5 ids": _lengths(seed + 3, (5, 1, 3, 5), 9),
        "a row that never ends among others": _lengths(seed + 4, (3, NEVER_ENDS, 6, 2), 7),
    }
    plain = [
        Scenario(
            "one sentence", GREEDY, "plain", _ask(GREEDY, alone, 8), traits=frozenset({"a batch of one"})
        ),
        Scenario("three sentences that end together", GREEDY, "plain", _ask(GREEDY, even, 8)),
        Scenario(
            "accepts keyword arguments",
            GREEDY,
            "plain",
            _ask(GREEDY, even, 8, called="keywords"),
            traits=frozenset({"keyword arguments"}),
        ),
    ]
    return [
        *plain,
        *(
            Scenario(title, GREEDY, "ends", _ask(GREEDY, made, 9 if "never" not in title else 7))
            for title, made in ends.items()
        ),
        *_greedy_limits(seed),
        Scenario(
            "two ids that are nearly as likely at every step",
            GREEDY,
            "plain",
            _ask(GREEDY, _nearly(seed + 15), 8),
        ),
        *_other_ids(GREEDY, seed + 16, lambda n, ids: _lengths(seed + 8 + n, (3, NEVER_ENDS, 5), 7, ids), 7),
        Scenario("the model after decoding", GREEDY, "model", _watched(GREEDY, even, 8)),
        Scenario("three equal calls", GREEDY, "again", _again(seed + 12)),
        *(
            Scenario(
                f"a model in {str(dtype)[6:]}",
                GREEDY,
                "dtypes",
                _ask(GREEDY, ends["rows of 2, 6 and 4 ids"], 9),
                dtype=dtype,
                traits=frozenset({f"{str(dtype)[6:]} inputs"}),
            )
            for dtype in (torch.float64, torch.bfloat16)
        ),
    ]


def _greedy_limits(seed: int) -> list[Scenario]:
    """Rows that reach max_len, or go beyond limits that may be built in."""
    endless = _lengths(seed + 5, (NEVER_ENDS, NEVER_ENDS), 6)
    tight, one = _lengths(seed + 6, (5, 3, 6), 5), _lengths(seed + 7, (2, 1), 1)
    limits = {
        "no row ends before max_len=6": _ask(GREEDY, endless, 6),
        "EOS in the last of max_len=5 steps": _ask(GREEDY, tight, 5),
        "max_len=1": _ask(GREEDY, one, 1),
    }
    return [
        *(Scenario(title, GREEDY, "limit", ask) for title, ask in limits.items()),
        Scenario(
            "a long row",
            GREEDY,
            "limit",
            _ask(GREEDY, lambda: lasting(seed + 13, 65, 70), 70),
            traits=frozenset({"a long sequence"}),
        ),
        Scenario(
            "many sentences",
            GREEDY,
            "limit",
            _ask(GREEDY, _many(seed + 14, 70), 3),
            traits=frozenset({"many sentences"}),
        ),
    ]


def _drawn_ids(seed: int, least: int = 0) -> Ids:
    draws, some = Draws(seed), list(range(least, VOCAB))
    sos, eos, pad = (some.pop(draws.integer(0, len(some) - 1)) for _ in range(3))
    return Ids(sos, eos, pad)


def _other_ids(name: str, seed: int, made: Callable[[int, Ids], Made], *sizes: Any) -> list[Scenario]:
    return [
        Scenario(
            f"sos={ids.sos}, eos={ids.eos}, pad={ids.pad}",
            name,
            "ids",
            _ask(name, made(n, ids), *sizes, ids=ids, called="keywords" if n else ""),
        )
        for n, ids in enumerate([*OTHER_IDS, _drawn_ids(seed)])
    ] + [
        by_position(
            Scenario("other ids", name, "ids", _ask(name, made(0, OTHER_IDS[0]), *sizes, ids=OTHER_IDS[0]))
        )
    ]


def _telling(seed: int, search: Search) -> Made:
    return lambda: telling(seed, search)


def _telling_of(seed: int, length_penalty: float, mistake: str) -> Made:
    """One sentence with which this mistake shows: where all sentences end together, another one may hide it."""
    steps = next(one for one in MISTAKES if one.id == mistake).variants(REFERENCE)[0]
    return lambda: apart(seed, Search(3, 6, length_penalty, count=1), steps)


def _beam(seed: int) -> list[Scenario]:
    plain = _lengths(seed + 2, (2, 6, 4), 9)
    two, wide = _telling(seed + 20, Search(2, 6, 0.0)), _telling(seed + 21, Search(4, 6, 0.0))
    usual = _telling(seed + 22, Search(3, 6, 0.6))
    strong = _telling(seed + 23, Search(4, 7, 2.0, count=5))
    even, mild = (lambda: balanced(seed + 25, 2.0)), (lambda: balanced(seed + 29, 0.6))
    short = _telling(seed + 24, Search(3, 3, 1.0))
    penalty, one = Draws(seed + 37).integer(3, 18) / 10, _drawn_ids(seed + 38, least=3)
    many, longer = Draws(seed + 39).integer(9, 12), Draws(seed + 40).integer(10, 13)
    drawn = _telling(seed + 37, Search(3, longer, penalty, many))
    asked = {
        ("beam=1", "one"): _ask(BEAM, plain, 1, 9),
        ("beam=1 and length_penalty=0", "one"): _ask(BEAM, plain, 1, 9, 0.0),
        (f"beam=1, sos={one.sos}, eos={one.eos}, pad={one.pad}", "one"): _ask(
            BEAM, _lengths(seed + 38, (2, 6, 4), 9, one), 1, 9, ids=one
        ),
        ("one sentence, beam=2, length_penalty=0", "search"): _ask(BEAM, _alone(two), 2, 6, 0.0),
        ("beam=2, length_penalty=0", "search"): _ask(BEAM, two, 2, 6, 0.0),
        ("beam=4, length_penalty=0", "search"): _ask(BEAM, wide, 4, 6, 0.0),
        ("beam=6, length_penalty=0", "search"): _ask(
            BEAM, lambda: apart(seed + 31, Search(6, 5, 0.0, count=2), of_width(5)), 6, 5, 0.0
        ),
        ("beam=4, hypotheses that end in the same id", "search"): _ask(
            BEAM, lambda: apart(seed + 33, Search(4, 6, 0.0, count=2), merged(REFERENCE)), 4, 6, 0.0
        ),
        ("beam=2, two ids that are nearly as likely at every step", "search"): _ask(
            BEAM, lambda: close(seed + 32, Search(2, 6, 0.0, count=1)), 2, 6, 0.0
        ),
        ("one sentence, beam=3, length_penalty=0", "search"): _ask(
            BEAM, _telling_of(seed + 34, 0.0, "stops-at-first-finished"), 3, 6, 0.0
        ),
        ("beam=3", "penalty"): _ask(BEAM, usual, 3, 6),
        ("one sentence, beam=3, length_penalty=2", "penalty"): _ask(
            BEAM, _telling_of(seed + 35, 2.0, "stops-when-best-finished"), 3, 6, 2.0
        ),
        ("beam=4, length_penalty=2", "penalty"): _ask(BEAM, strong, 4, 7, 2.0),
        ("beam=4, length_penalty=2 by keyword", "penalty"): _ask(BEAM, strong, 4, 7, 2.0, called="keywords"),
        ("beam=2, length_penalty=2", "penalty"): _ask(BEAM, even, 2, 7, 2.0),
        ("beam=2", "penalty"): _ask(BEAM, mild, 2, 7),
        (f"beam=3, {many} sentences, max_len={longer}, length_penalty={penalty}", "penalty"): _ask(
            BEAM, drawn, 3, longer, penalty
        ),
        ("beam=3, max_len=3, length_penalty=1", "limit"): _ask(BEAM, short, 3, 3, 1.0),
        ("no row ends before max_len=6", "limit"): _ask(BEAM, _lengths(seed + 5, (NEVER_ENDS,) * 2, 6), 1, 6),
    }
    return [
        *(Scenario(title, BEAM, group, ask) for (title, group), ask in asked.items()),
        Scenario(
            "a long row",
            BEAM,
            "limit",
            _ask(BEAM, lambda: lasting(seed + 30, 32, 36, Search(2, 36, 0.6)), 2, 36),
            traits=frozenset({"a long sequence"}),
        ),
        *_other_ids(
            BEAM, seed + 36, lambda n, ids: _telling(seed + 26 + n, Search(3, 6, 1.0, 3, ids)), 3, 6, 1.0
        ),
        Scenario("the model after decoding", BEAM, "model", _watched(BEAM, usual, 3, 6)),
        *(
            Scenario(
                f"a model in {title}",
                BEAM,
                "dtypes",
                ask,
                dtype=dtype,
                traits=frozenset({f"{str(dtype)[6:]} inputs"}),
            )
            for dtype, title, ask in (
                (torch.float64, "float64", _ask(BEAM, usual, 3, 6)),
                # sums of more beams may be equal in bfloat16
                (torch.bfloat16, "bfloat16, beam=1", _ask(BEAM, plain, 1, 9)),
            )
        ),
    ]


def form(name: str) -> bool:
    """Return whether a test of shapes reads this value."""
    return name in ("shape", "dtype", "result")


def changed(name: str) -> bool:
    """Return whether this value shows a forbidden change."""
    return name == "changed in place"


def content(name: str) -> bool:
    """The ids."""
    return not form(name) and not changed(name)


SUBJECT = Subject("decoding", scenarios, BASES, namespace)


def grading(component: Submission, seed: int) -> Grading:
    """The grading into a submission, the same one for all tests."""
    return grading_of(component, seed, SUBJECT)
