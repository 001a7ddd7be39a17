"""Places in whole grades: of a plugin's exercise too, and whatever a submission says of itself."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.author.matrix import WITHOUT_TRAINING
from grader.catalog import get_exercise
from grader.core.results import Result
from grader.core.spots import Lines, in_file
from grader.core.value_trace import Event, Place, Ref, Value, ValueTrace
from grader.engine.grading import Grading
from grader.engine.local import LocalSubmission
from grader.engine.scenario import Scenario
from grader.engine.subject import Subject
from grader.places.finder import MOST_SOURCE, Finder
from grader.places.patching import Blamed
from grader.run.session import Session
from tests import solution_file

RIGHT = solution_file("feedforward").read_text(encoding="utf-8")
NAMED = RIGHT.replace(".relu()", ".sigmoid()")


def forged(trace: ValueTrace, draw: random.Random) -> ValueTrace:
    """The record with odd lines, values, references and numbers, all of which `read_trace` lets through."""
    odd = [float("nan"), float("inf"), -1e308, 0.0]

    def value(one: Value) -> Value:
        if one.numbers is None or draw.random() < 0.7:
            return one
        numbers = torch.full_like(one.numbers, draw.choice(odd))
        return replace(one, numbers=draw.choice([None, numbers]), written=draw.randrange(len(trace.values)))

    def event(one: Event) -> Event:
        if draw.random() < 0.7:
            return one
        line, count = draw.choice([0, 1, 23, 10**6]), len(trace.values) - 1
        return replace(
            one,
            place=Place(
                line, draw.choice([line, 10**6]), draw.choice([None, 0, 10**5]), draw.choice([None, 1, 10**6])
            ),
            callers=(draw.choice([0, 20, 10**6]),) * draw.randrange(3),
            frame=draw.choice([one.frame, 0, 2**31]),
            kind=draw.choice(["call", "given", "line", "return", "exception"]),
            inputs=tuple(draw.randint(0, count) for _ in range(draw.randrange(3))),
            outputs=tuple(draw.randint(0, count) for _ in range(draw.randrange(3))),
            names={"x" * 120: draw.choice([[[]], Ref(0), 1e308, "y"])},
            result=draw.choice([(), ([Ref(0), 2.0],), (float("nan"),)]),
        )

    return ValueTrace([event(one) for one in trace.events], [value(one) for one in trace.values])


def graded(text: str, *, source: str | None = None, name: str = "feedforward") -> list[Result]:
    exercise = get_exercise(name)
    return Session(
        exercise,
        lambda: LocalSubmission.from_source(text, filename=exercise.file),
        source=text if source is None else source,
        seed=3,
    ).run(WITHOUT_TRAINING)


def line_of(text: str, part: str) -> int:
    return next(i for i, line in enumerate(text.splitlines(), start=1) if part in line)


def test_a_mistake_has_its_place_and_the_verdicts_are_the_same() -> None:
    results = graded(NAMED)
    (failed,) = [one for one in results if one.status == "failed"]
    assert failed.where is not None
    assert (failed.where.line, failed.where.region) == (line_of(NAMED, ".sigmoid()"), "FeedForward.forward")
    assert [m.where for m in failed.mistakes] == [failed.where]
    assert {one.where for one in results if one.status != "failed"} == {None}
    without = [
        replace(one, where=None, mistakes=tuple(replace(m, where=None) for m in one.mistakes))
        for one in results
    ]
    assert without == graded(NAMED, source="")


def test_another_error_than_the_one_asked_for_is_shown_where_it_is_raised() -> None:
    text = solution_file("attention").read_text(encoding="utf-8")
    begin = text.index("        if d_model % num_heads")
    end = text.index("\n", text.index("raise ValueError", begin))
    text = text[:begin] + "        assert d_model % num_heads == 0" + text[end:]
    (failed,) = [one for one in graded(text, name="attention") if one.status == "failed"]
    (named,) = failed.mistakes
    assert named.id == "head-count-wrong-error"
    assert named.where is not None
    assert named.where.line == line_of(text, "assert d_model")
    assert (named.where.value, named.where.expected) == ("raises AssertionError", "`ValueError`")


def test_a_right_file_has_no_place_and_is_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(LocalSubmission, "record")
    results = graded(RIGHT)
    assert {(one.status, one.where) for one in results} == {("passed", None)}


@pytest.mark.slow
def test_mistakes_of_two_classes_have_two_places() -> None:
    text = solution_file("positions").read_text(encoding="utf-8")
    before, added, after = text.rpartition("x + self.table")
    wrong = f"{before}self.table{after}".replace("10000 **", "1000 **")
    assert added
    lines = {one.where.line for one in graded(wrong, name="positions") if one.where is not None}
    assert lines == {line_of(wrong, "1000 **"), line_of(wrong, "return self.table")}


# A plugin's exercise brings a reference in steps, and no more.


@dataclass(frozen=True)
class Steps:
    def centred(self, x: Tensor) -> Tensor:
        return x - x.mean(-1, keepdim=True)

    def scaled(self, x: Tensor) -> Tensor:
        return x / x.abs().amax(-1, keepdim=True)


def namespace(steps: Any) -> Mapping[str, Any]:
    return {"levelled": lambda x: steps.scaled(steps.centred(x))}


def scenarios(seed: int) -> list[Scenario]:
    x = torch.randn(4, 6, generator=torch.Generator().manual_seed(seed))
    return [
        Scenario(
            "some numbers", "levelled", "numbers", lambda client: client.call(client.function("levelled"), x)
        )
    ]


PLUGIN = """import torch

def levelled(x):
    y = x - x.mean(-1, keepdim=True)
    return y / y.abs().sum(-1, keepdim=True)
"""


@pytest.fixture
def subject(monkeypatch: pytest.MonkeyPatch) -> Subject:
    monkeypatch.setattr("grader.engine.subject.get_mistakes", lambda _exercise: ())
    return Subject("levelling", scenarios, (Steps(),), namespace)


def submitted(text: str = PLUGIN) -> LocalSubmission:
    return LocalSubmission.from_source(text, filename="levelling.py")


def test_a_plugin_s_exercise_has_places(subject: Subject) -> None:
    found = Finder(PLUGIN).of_component(Grading(submitted(), subject, 0), "levelled")
    assert found[""].line == 5
    assert found[""].value != found[""].expected


def test_a_right_file_of_a_plugin_s_exercise_has_none(subject: Subject) -> None:
    right = PLUGIN.replace("abs().sum(", "abs().amax(")
    assert Finder(right).of_component(Grading(submitted(right), subject, 0), "levelled") == {}


def test_a_file_that_is_too_long_or_no_python_here_has_none(subject: Subject) -> None:
    assert Finder(PLUGIN + "#" * MOST_SOURCE).of_component(Grading(submitted(), subject, 0), "levelled") == {}
    with pytest.raises(SyntaxError):  # the session takes it for no place
        Finder("def (").of_component(Grading(submitted(), subject, 0), "levelled")


def test_places_are_looked_for_once(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    grading, finder = Grading(submitted(), subject, 0), Finder(PLUGIN)
    found = finder.of_component(grading, "levelled")
    monkeypatch.delattr(LocalSubmission, "record")
    assert finder.of_component(grading, "levelled") is found


@pytest.fixture
def two(subject: Subject) -> Subject:
    """An exercise of two functions, of which the second one may call the first one."""

    def both(seed: int) -> list[Scenario]:
        x = torch.randn(4, 6, generator=torch.Generator().manual_seed(seed))
        same = Scenario("numbers", "same", "", lambda client: client.call(client.function("same"), x))
        return [*scenarios(seed), same]

    return replace(
        subject,
        scenarios=both,
        namespace=lambda steps: {**(own := namespace(steps)), "same": own["levelled"]},
    )


BOTH = PLUGIN.replace("abs().sum(-1", "abs().amax(-2") + "\n\ndef same(x):\n    return levelled(x)\n"


@pytest.fixture
def unproved(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """No change is tried that is not known, and no right value."""
    with monkeypatch.context() as patch:
        patch.setattr("grader.edits.edits.Edits.among", lambda *_, **__: iter(()))
        patch.setattr("grader.places.patching.Patching.proved", lambda _, _flow, _wrong, at, **__: Blamed(at))
        yield patch


def test_what_made_one_function_right_is_tried_for_the_next(
    two: Subject, request: pytest.FixtureRequest
) -> None:
    grading, finder = Grading(submitted(BOTH), two, 0), Finder(BOTH)
    assert finder.of_component(grading, "levelled")[""].line == 5
    request.getfixturevalue("unproved")
    found = finder.of_component(grading, "same")[""]
    assert (found.line, found.proved) == (5, True)


def test_what_made_one_function_right_is_tried_for_those_before(
    two: Subject, unproved: pytest.MonkeyPatch
) -> None:
    grading, finder = Grading(submitted(BOTH), two, 0), Finder(BOTH)
    before = finder.of_component(grading, "same")
    assert not any(spot.proved for spot in before.values())
    finder.forget_unproved()  # nothing was found yet
    assert finder.of_component(grading, "same") is before
    unproved.undo()
    assert finder.of_component(grading, "levelled")[""].proved
    finder.forget_unproved()
    found = finder.of_component(grading, "same")[""]
    assert (found.line, found.proved) == (5, True)


def test_an_error_has_its_line(subject: Subject) -> None:
    text = PLUGIN.replace("return y", "z = y[7]\n    return y")
    assert Finder(text).of_component(Grading(submitted(text), subject, 0), "levelled")[""].line == 5


@pytest.mark.usefixtures("hurried")
def test_a_recursion_without_end_has_the_line_that_it_comes_back_to() -> None:
    text = RIGHT.replace("self.up(x)", "self(x)")
    where = next(result.where for result in graded(text) if result.where)
    assert where.line == line_of(text, "self(x)")
    assert "calls itself without end" in where.value


@pytest.mark.slow
@pytest.mark.usefixtures("hurried")
def test_what_calls_itself_is_shown_with_what_made_it(subject: Subject) -> None:
    text = PLUGIN.replace("    return y", "    again = levelled\n    return again(x)")
    found = Finder(text).of_component(Grading(submitted(text), subject, 0), "levelled")[""]
    assert found.line == line_of(text, "return again")
    assert found.other == line_of(text, "again = ")


def test_an_argument_that_lacks_an_attribute_is_shown_with_the_call(subject: Subject) -> None:
    text = PLUGIN.replace("    return y", "    return squeezed([y])")
    text += "\n\ndef squeezed(z):\n    one = 1\n    return z.squeeze(one)\n"
    found = Finder(text).of_component(Grading(submitted(text), subject, 0), "levelled")[""]
    assert {found.line, found.other} == {line_of(text, "z.squeeze"), line_of(text, "squeezed([y])")}


@pytest.mark.slow
@pytest.mark.usefixtures("hurried")
def test_a_forged_record_shows_no_line_that_is_not_there(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither does it end the grade: what it raises is an ordinary exception, which the session takes for no place."""
    record, draw, lines, found = LocalSubmission.recorded, random.Random(0), Lines(PLUGIN), 0
    monkeypatch.setattr(LocalSubmission, "recorded", lambda self: forged(record(self), draw))
    for _ in range(25):
        with contextlib.suppress(Exception):
            spots = Finder(PLUGIN).of_component(Grading(submitted(), subject, 0), "levelled")
            shown = in_file(spots, lines)
            found += len(shown)
            for spot in shown.values():
                named = [spot.line, spot.end_line, spot.other or 1, spot.last_right or 1, *spot.called_from]
                assert set(named) <= {*range(1, 6)}
    assert found > 5
