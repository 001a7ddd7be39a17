"""Two variants of one axis side by side: their source, and what they declare. Metadata only, no torch."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from zoo.core.blueprint import Blueprint, Choice
from zoo.core.plan import make_plan, plan_part
from zoo.core.registry import Axis, Registry, Variant
from zoo.core.rules import problems
from zoo.core.source import Source, find_source

SAME, CHANGED, LEFT, RIGHT = " |<>"
"""What stands between two lines: they are equal, the left became the right, there is only one of them."""
MOST_PAIRS = 10_000
"""Lines times lines up to which similar lines are looked for, which takes longer than finding equal ones."""


@dataclass(frozen=True)
class Side:
    """One of the two: a variant with its options, and where it is written."""

    variant: Variant
    choice: Choice
    source: Source

    @property
    def place(self) -> str:
        """Return where it is written: "module:Class", or "file.py:line" for somebody's own file."""
        return f"{self.source.file}:{self.source.line}" if self.variant.is_file else self.variant.path


class Pair(NamedTuple):
    """A line of the left source beside one of the right; one of them may be missing."""

    left: str | None
    mark: str
    right: str | None


class Difference(NamedTuple):
    """Something that two variants say about themselves, and say differently; None where one says nothing.

    `kind` is "summary", "formula", "paper", "capability" or "option".
    """

    kind: str
    name: str
    left: object
    right: object


def side(axis: str, choice: Choice, registry: Registry) -> Side:
    """The variant that a choice stands for; where layers differ, that of the first.

    Raises ZooError for a file that cannot be read.
    """
    variant = plan_part(axis, choice, registry).variant
    return Side(variant, choice, find_source(variant))


def differences(axis: Axis, left: Side, right: Side) -> list[Difference]:
    """Return what the two declare differently: texts, capabilities, options and their values."""
    found = [
        Difference(kind, kind, getattr(left.variant, kind) or None, getattr(right.variant, kind) or None)
        for kind in ("summary", "formula", "paper")
    ]
    found += [
        Difference(
            "capability", c.name, left.variant.capabilities[c.name], right.variant.capabilities[c.name]
        )
        for c in axis.capabilities
    ]
    names = dict.fromkeys([*left.choice.options, *right.choice.options])
    found += [Difference("option", name, _option(left, name), _option(right, name)) for name in names]
    return [one for one in found if one.left != one.right]


def _option(side: Side, name: str) -> object:
    """An option's value in words; None where there is no such option."""
    if name not in side.choice.options:
        return None
    value = side.choice.options[name]
    return "not given" if value is None else value


def side_by_side(left: str, right: str) -> list[Pair]:
    """The lines of two texts, equal and similar ones beside each other."""
    a, b = left.splitlines(), right.splitlines()
    if len(a) * len(b) > MOST_PAIRS:
        return list(_by_blocks(a, b))
    return list(_by_similarity(difflib.ndiff(a, b, charjunk=None)))


def unified(left: Side, right: Side) -> list[str]:
    """The lines of a unified diff."""
    return list(
        difflib.unified_diff(
            left.source.text.splitlines(),
            right.source.text.splitlines(),
            left.place,
            right.place,
            lineterm="",
        )
    )


def _by_blocks(a: Sequence[str], b: Sequence[str]) -> Iterator[Pair]:
    for tag, i, j, k, m in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from (Pair(one, SAME, one) for one in a[i:j])
        else:
            yield from _beside(a[i:j], b[k:m])


def _by_similarity(delta: Iterable[str]) -> Iterator[Pair]:
    """Pairs from ndiff's lines. A pair that it holds to be similar has a line of hints ("? ") about it."""
    lines = list(delta)
    gone: list[str] = []
    come: list[str] = []
    at = 0
    while at < len(lines):
        kinds = [line[:2] for line in lines[at : at + 3]]
        text = lines[at][2:]
        if kinds[0] == "- " and kinds[1:] in (["? ", "+ "], ["+ ", "? "]):
            yield from _beside(gone, come)
            gone, come = [], []
            yield Pair(text, CHANGED, lines[at + kinds.index("+ ")][2:])
            at += 3
            continue
        if kinds[0] == "  ":
            yield from _beside(gone, come)
            gone, come = [], []
            yield Pair(text, SAME, text)
        elif kinds[0] == "- ":
            gone.append(text)
        elif kinds[0] == "+ ":
            come.append(text)
        at += 1
    yield from _beside(gone, come)


def _beside(gone: Sequence[str], come: Sequence[str]) -> Iterator[Pair]:
    """Lines that have nothing to do with each other: left, right, as many beside each other as there are."""
    for left, right in zip_longest(gone, come):
        yield Pair(left, LEFT if right is None else RIGHT if left is None else CHANGED, right)


def standing(axis: str, texts: Sequence[str], base: Blueprint, registry: Registry) -> list[Blueprint]:
    """Models in which these variants of `axis` can stand.

    All in `base`; where a rule refuses that, all in `base` with one other axis changed so that none does;
    else each in one of its own. What nothing helps is given as it is refused.
    """
    changed = (
        base.with_choices(registry, **{other.axis: other.name})
        for other in registry.variants()
        if other.axis != axis
    )
    contexts = [base, *changed]

    def first(some: Sequence[str]) -> list[Blueprint] | None:
        for context in contexts:
            found = [context.with_choices(registry, **{axis: text}) for text in some]
            if not any(problems(make_plan(one, registry)) for one in found):
                return found
        return None

    together = first(texts)
    if together is not None:
        return together
    return [(first([text]) or [base.with_choices(registry, **{axis: text})])[0] for text in texts]
