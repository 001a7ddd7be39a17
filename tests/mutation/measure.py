"""Grades one mutant: is it killed, what is said of it, which lines are shown, does it differ from its base at all."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib
import os
import re
import signal
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from grader.author.matrix import WITHOUT_TRAINING
from grader.catalog import get_exercise
from grader.core.results import Result
from grader.engine.local import LocalSubmission
from grader.engine.subject import Subject, answer_key
from grader.mutants.mutants import Mutant
from grader.run.session import Session
from tests.mutation.equal import Compared

OMITTED = {"statement left out", "statements swapped", "result not kept", "missing self"}
ENDLESS_S = 15.0  # CPU time for all tests; right files take less than one
ALL_S = 90.0  # then for names and places
EQUAL = 10_000  # answers in which a survivor is compared with its base, ...
EQUAL_S = 2.0  # ... or for so much CPU time
CUT_SHORT = {"endless", "slow"}  # an interrupt, wherever it comes, may leave things of torch's half done
UNCHANGED = "none"
AT_A_LINE = re.compile(r"\bline \d+")  # an error of the code's own


@dataclass(frozen=True)
class Row:
    """What was found out about one mutant.

    Attributes:
        id: of its text.
        killed: a hidden test failed, or it does not end.
        by: the test that failed first.
        named: ids of known mistakes.
        said: in what other words it was explained, "" if in none.
        place: "right", "wrong", "none", or "" for one that is not killed.
        lines: that are shown.
        why: of the place, see `Spot`; "endless" for one that does not end, "slow" where its name or its place was
            looked for too long, or where an answer took too long that is compared.
        proved: with right values there, the result was right.
        seconds: of CPU, for the tests, names and places; what was computed for others is used again.
        equal: on how many answers one that is not killed agrees with its base; "" for one that is killed. Where it
            differs: the first scenario.
        change: the changed line.
    """

    exercise: str
    base: str
    operator: str
    line: int
    end_line: int
    id: str
    killed: bool
    by: str = ""
    named: str = ""
    said: str = ""
    place: str = ""
    lines: str = ""
    why: str = ""
    proved: str = ""
    seconds: float = 0.0
    equal: str = ""
    change: str = ""


def identity(text: str) -> str:
    """A short name of a text."""
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:12]


@lru_cache(maxsize=1)
def subject_of(exercise: str) -> Subject:
    """What the exercise's suite brings along."""
    found: Subject = importlib.import_module(f"{get_exercise(exercise).package}.suite.scenarios").SUBJECT
    return found


def submission_of(exercise: str, text: str) -> LocalSubmission:
    """A file, in this process. Raises SubmissionError."""
    wanted = get_exercise(exercise)
    found = LocalSubmission.from_source(text, filename=wanted.file)
    found.first_calls = getattr(importlib.import_module(wanted.reference), "FIRST_CALLS", {})
    return found


def measure(
    exercise: str, base: tuple[str, str], mutant: Mutant, seed: int, *, name: bool = False, cold: bool = False
) -> Row:
    """Grade one mutant.

    Args:
        base: title and text of the right file that it was made of.
        name: look for known mistakes too.
        cold: compute all anew that is computed once for all grades with one seed.
    """
    title, original = base
    row: dict[str, Any] = {
        "exercise": exercise, "base": title, "operator": mutant.operator, "line": mutant.line,
        "end_line": mutant.end_line, "id": identity(mutant.text), "change": changed_line(original, mutant),
    }  # fmt: skip
    if cold:
        answer_key.cache_clear()
    begun, budget = time.process_time(), ALL_S * 10
    budgets = {"naming_budget_s": budget if name else 0.0, "locating_budget_s": budget}
    session = opened(exercise, mutant.text, seed, budgets)
    with quiet():
        try:
            with at_most(ENDLESS_S):
                failed = unpassed(session.run(WITHOUT_TRAINING))
        except TooLongError:
            if session.tested:
                return Row(killed=True, place="none", why="slow", seconds=ALL_S, **row)
            return Row(killed=True, place="none", why="endless", said="does not end", **row)
        if not failed:
            if mutant.operator == UNCHANGED:
                return Row(killed=False, **row)
            equal, why = compared(exercise, original, mutant.text, seed)
            return Row(killed=False, equal=equal, why=why, **row)
    row["seconds"] = round(time.process_time() - begun, 2)
    spot = next((result.where for result in failed if result.where is not None), None)
    lines = [line for line in (spot.line, spot.other) if line] if spot else []
    return Row(
        killed=True,
        by=failed[0].name,
        named=" ".join(dict.fromkeys(one.id for result in failed for one in result.mistakes)),
        said=said_of(failed),
        place=verdict(original, mutant, lines),
        lines=" ".join(map(str, lines)),
        why=spot.why if spot else "",
        proved=str(spot.proved) if spot else "",
        **row,
    )


class Timed(Session):
    """A session that, within `at_most` some time for its tests, has a time of its own for names and places.

    Attributes:
        tested: all tests have run.
    """

    tested = False

    def _settle(self) -> None:
        self.tested = True
        if signal.getitimer(signal.ITIMER_PROF)[0]:
            signal.setitimer(signal.ITIMER_PROF, ALL_S, 1.0)
        super()._settle()


def opened(exercise: str, text: str, seed: int, budgets: Mapping[str, float]) -> Timed:
    """The session that grades a text, with so much time for names and places."""
    return Timed(
        get_exercise(exercise),
        lambda: submission_of(exercise, text),
        source=text,
        seed=seed,
        open_changed=lambda changed: submission_of(exercise, changed),
        **budgets,  # type: ignore[arg-type]
    )


def graded(exercise: str, text: str, seed: int, budgets: Mapping[str, float]) -> list[Result]:
    """The results of all tests but training ones."""
    return opened(exercise, text, seed, budgets).run(WITHOUT_TRAINING)


def unpassed(results: Sequence[Result]) -> list[Result]:
    """Those that did not pass; the failed ones first."""
    return sorted((one for one in results if one.status != "passed"), key=lambda one: one.status != "failed")


def said_of(failed: Sequence[Result]) -> str:
    """What explains a failure beside a name: words on the place, or an error of the code's own at its line."""
    for result in failed:
        first = result.message.partition("\n")[0]
        if result.status == "error":
            return f"GRADER BROKE: {first}"[:200]
        if result.where is not None and (result.where.value or result.where.expected):
            return f"{result.where.value} | {result.where.expected}"[:200]
        if result.status == "failed" and (AT_A_LINE.search(result.message) or result.name == "load"):
            return first[:200]
    return ""


def verdict(original: str, mutant: Mutant, lines: Sequence[int]) -> str:
    """Whether the changed line is among those that are shown; for a statement left out, the one before or after."""
    right = set(range(mutant.line, mutant.end_line + 1))
    if mutant.operator in OMITTED:
        right |= _neighbours(original, mutant)
    return place_of(lines, right)


def place_of(lines: Sequence[int], right: Collection[int]) -> str:
    """Whether one of the right lines is among those that are shown: "right", "wrong" or, if none is shown, "none"."""
    if not lines:
        return "none"
    return "wrong" if set(lines).isdisjoint(right) else "right"


def _neighbours(original: str, mutant: Mutant) -> set[int]:
    """The lines of the statements before and after those that were changed."""
    nodes = [node for node in ast.walk(ast.parse(original)) if isinstance(node, ast.stmt)]
    before = [node for node in nodes if (node.end_lineno or 0) < mutant.line]
    after = [node.lineno for node in nodes if node.lineno > mutant.end_line]
    last = max(before, key=lambda node: (node.end_lineno or 0, node.lineno), default=None)
    found = set(range(last.lineno, (last.end_lineno or 0) + 1)) if last is not None else set()
    return found | ({min(after)} if after else set())


def compared(exercise: str, original: str, text: str, seed: int) -> tuple[str, str]:
    """In how many answers a mutant is like its base, see `equal`, or where it is not; "slow" if one takes too long."""
    both = Compared(
        submission_of(exercise, original), submission_of(exercise, text), subject_of(exercise), seed
    )
    try:
        with at_most(ENDLESS_S):
            found = both.look(EQUAL, EQUAL_S)
    except TooLongError:
        return str(both.count), "slow"
    return (f"differs, {found}"[:160] if found else str(both.count)), ""


def changed_line(original: str, mutant: Mutant) -> str:
    """The first line that differs, as it is in the mutant."""
    pairs = zip(original.splitlines(), mutant.text.splitlines(), strict=False)
    return next((new.strip() for old, new in pairs if old != new), "")[:100]


class TooLongError(Exception):
    """The time is used up."""


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TooLongError after so much CPU time of this process, whatever runs in it."""

    def end(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt  # which neither a submission nor a test may keep

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
    try:
        yield
    except KeyboardInterrupt:
        raise TooLongError from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Nothing that a file prints, and nothing that it changes for good."""
    with contextlib.ExitStack() as stack:
        nowhere = stack.enter_context(Path(os.devnull).open("w"))
        stack.enter_context(contextlib.redirect_stdout(nowhere))
        stack.enter_context(contextlib.redirect_stderr(nowhere))
        stack.enter_context(torch.random.fork_rng(devices=[]))
        stack.callback(torch.set_default_dtype, torch.float32)
        stack.callback(torch.set_grad_enabled, True)
        yield
