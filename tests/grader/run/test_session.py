"""The session: a small suite of its own, run on submissions that misbehave on demand."""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader.catalog import Exercise
from grader.core.results import Result
from grader.core.spots import Spot
from grader.core.submission import SubmissionError
from grader.run.pytest_plugin import SuiteError, hidden_test
from grader.run.session import Session

SUITE = """
import os, warnings
import pytest
from grader.core.spots import Spot
from grader.core.submission import SubmissionError
from grader.core.failures import Failed, Named

MISTAKE = Named("no-scale", "The scale is missing.")

@pytest.mark.grade(category="training", points=10, title="spells words", needs=("shape", "numerics"))
def test_words(component, progress):
    progress("words", 1, 1)
    component.do("words")

@pytest.mark.grade(category="shape", points=2, title="has the right shape")
def test_shape(component):
    component.do("shape")

@pytest.mark.grade(category="numerics", points=3, title="equals the reference", needs=("test_shape",))
def test_numbers(component, seed, device, reference):
    assert seed == 5 and device == "cpu" and reference.__name__.endswith(".reference")
    component.do("numbers")

@pytest.mark.grade(category="masking", points=1, title="keeps to the mask")
def test_mask(component):
    warnings.warn("nobody sees this")
    component.do("mask")
"""


class Fake:
    """A submission that raises what it is told to raise, and counts what happens to it."""

    opened = closed = 0

    def __init__(self, acts: dict[str, Callable[[], BaseException]]) -> None:
        self.acts = acts
        Fake.opened += 1

    def do(self, what: str) -> None:
        if what in self.acts:
            raise self.acts[what]()

    def close(self) -> None:
        Fake.closed += 1


_numbers = itertools.count()


@pytest.fixture
def exercise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Exercise:
    Fake.opened = Fake.closed = 0
    package = f"session_suite_{next(_numbers)}"
    suite = tmp_path / package / "suite"
    suite.mkdir(parents=True)
    for folder in (suite.parent, suite):
        (folder / "__init__.py").touch()
    (suite / "test_it.py").write_text(SUITE)
    (suite.parent / "reference.py").touch()
    (suite.parent / "mistakes.py").write_text("MISTAKES = ()\n")
    monkeypatch.syspath_prepend(tmp_path)
    return Exercise("it", "It", ("it",), ("test_it.py",), package)


def failed(*ids: str) -> Callable[[], BaseException]:
    def make() -> BaseException:
        from grader.core.failures import Failed, Named

        return Failed("expected 1, got 2", mistakes=[Named(one, f"{one} it is") for one in ids])

    return make


def broke(kind: Any, message: str = "oh", **details: Any) -> Callable[[], BaseException]:
    return lambda: SubmissionError(kind, message, **details)


def grade(
    exercise: Exercise, acts: dict[str, Callable[[], BaseException]], **options: Any
) -> dict[str, Result]:
    categories = options.pop("categories", None)
    session = Session(exercise, lambda: Fake(acts), seed=5, **options)  # type: ignore[arg-type,return-value]
    results = session.run(categories) if categories else session.run()
    return {result.name.removeprefix("it.test_"): result for result in results}


def statuses(results: dict[str, Result]) -> dict[str, str]:
    return {name: result.status for name, result in results.items()}


def test_all_pass_training_last_points_earned(exercise: Exercise, capfd: pytest.CaptureFixture[str]) -> None:
    seen: list[tuple[str, int, int]] = []
    environment = dict(os.environ)
    results = grade(exercise, {}, progress=lambda *step: seen.append(step))
    assert statuses(results) == dict.fromkeys(("shape", "numbers", "mask", "words"), "passed")
    assert list(results) == ["shape", "numbers", "mask", "words"]
    assert sum(result.points for result in results.values()) == 16
    assert seen == [("tests", 1, 4), ("tests", 2, 4), ("tests", 3, 4), ("words", 1, 1), ("tests", 4, 4)]
    assert (Fake.opened, Fake.closed) == (1, 1)
    assert capfd.readouterr() == ("", "")
    assert dict(os.environ) == environment


def test_each_test_s_time_is_its_own(exercise: Exercise) -> None:
    def slow() -> BaseException:
        time.sleep(0.1)
        return broke("exception", line=3)()

    begun = time.monotonic()
    results = grade(exercise, {"mask": slow})
    took = time.monotonic() - begun
    assert results["mask"].duration_s >= 0.1
    assert results["shape"].duration_s > 0
    assert sum(result.duration_s for result in results.values()) <= took


def test_only_some_categories(exercise: Exercise) -> None:
    assert list(grade(exercise, {}, categories={"masking", "training"})) == ["mask", "words"]


def test_a_mistake_is_reported_once(exercise: Exercise) -> None:
    results = grade(exercise, {"numbers": failed("no-scale"), "mask": failed("no-scale")})
    assert statuses(results) == {
        "shape": "passed",
        "numbers": "failed",
        "mask": "skipped",
        "words": "skipped",
    }
    assert [mistake.id for mistake in results["numbers"].mistakes] == ["no-scale"]
    assert results["mask"].message == "same cause as 'equals the reference': no-scale"
    assert results["words"].message == "not run: first fix 'equals the reference'"


def unexplained(explain: Callable[[float], Exception], message: str = "plain") -> Callable[[], BaseException]:
    from grader.core.failures import Failed, Unexplained

    return lambda: Unexplained(lambda deadline, _finder: explain(deadline), lambda: Failed(message))


def test_mistakes_are_looked_for_when_all_tests_have_run(exercise: Exercise) -> None:
    order: list[str] = []

    def explain(_deadline: float) -> Exception:
        order.append("explained")
        return failed("no-scale")()  # type: ignore[return-value]

    def mask() -> BaseException:
        order.append("mask ran")
        return failed("no-scale")()

    results = grade(exercise, {"shape": unexplained(explain), "mask": mask})
    assert order == ["mask ran", "explained"]
    assert statuses(results) == {
        "shape": "failed",
        "numbers": "passed",
        "mask": "skipped",
        "words": "skipped",
    }
    assert [mistake.id for mistake in results["shape"].mistakes] == ["no-scale"]
    assert results["mask"].message == "same cause as 'has the right shape': no-scale"
    assert results["words"].message == "not run: first fix 'has the right shape'"


def test_looking_for_mistakes_has_a_budget_of_its_own(exercise: Exercise) -> None:
    deadlines: list[float] = []

    def explain(deadline: float) -> Exception:
        deadlines.append(deadline)
        return failed()()  # type: ignore[return-value]

    begun = time.monotonic()
    results = grade(exercise, {"shape": unexplained(explain)}, naming_budget_s=7.0)
    assert begun + 7.0 <= deadlines[0] <= time.monotonic() + 7.0
    assert [results[one].status for one in ("shape", "numbers", "mask")] == ["failed", "passed", "passed"]


def test_a_submission_that_ends_while_mistakes_are_looked_for_has_failed_all_the_same(
    exercise: Exercise,
) -> None:
    def explain(_deadline: float) -> Exception:
        raise SubmissionError("died", "gone", fatal=True)

    results = grade(exercise, {"shape": unexplained(explain, "expected 1, got 2")})
    assert (results["shape"].status, results["shape"].message) == ("failed", "expected 1, got 2")
    assert results["mask"].status == "passed"


def test_a_fault_of_the_grader_s_while_mistakes_are_looked_for_is_told_as_one(exercise: Exercise) -> None:
    def explain(_deadline: float) -> Exception:
        raise ZeroDivisionError("oh")

    results = grade(exercise, {"shape": unexplained(explain)})
    assert results["shape"].status == "error"
    assert "ZeroDivisionError: oh" in results["shape"].message


def test_the_submission_s_own_error_is_judged_where_no_mistake_is_known(exercise: Exercise) -> None:
    results = grade(exercise, {"shape": unexplained(lambda _: broke("exception", line=3)())})  # type: ignore[arg-type, return-value]
    assert results["shape"].message.startswith("Your code raised")


def test_another_mistake_is_another_failure(exercise: Exercise) -> None:
    results = grade(exercise, {"numbers": failed("no-scale"), "mask": failed("no-scale", "inverted")})
    assert results["mask"].status == "failed"


def test_unnamed_failures_count_once(exercise: Exercise) -> None:
    results = grade(exercise, {"shape": failed(), "numbers": failed(), "mask": failed("no-scale")})
    assert [result.status for result in results.values()] == ["failed", "skipped", "failed", "skipped"]
    assert results["numbers"].message == "not judged: first fix 'has the right shape'"


def test_an_exception_is_not_judged_if_what_the_test_needs_failed(exercise: Exercise) -> None:
    crashes = {"numbers": broke("exception", line=1), "mask": broke("exception", line=2)}
    results = grade(exercise, {"shape": failed("no-scale"), **crashes})
    assert [result.status for result in results.values()] == ["failed", "skipped", "failed", "skipped"]


def test_training_runs_when_only_unneeded_tests_failed(exercise: Exercise) -> None:
    assert grade(exercise, {"mask": failed()})["words"].status == "passed"


def test_one_exception_is_one_failure(exercise: Exercise) -> None:
    crash = broke("exception", "sizes differ", type_name="RuntimeError", line=7, source_line="  q @ k")
    results = grade(exercise, {"shape": crash, "mask": crash})
    assert results["shape"].message == "Your code raised RuntimeError: sizes differ\n  line 7: q @ k"
    assert results["mask"].message == "same error, see 'has the right shape'"


def test_the_grader_s_own_bug_is_not_blamed_on_the_learner(exercise: Exercise) -> None:
    result = grade(exercise, {"shape": lambda: KeyError("oops")})["shape"]
    assert (result.status, result.points) == ("error", 0)
    assert "your code is not at fault" in result.message
    assert "KeyError" in result.message


def test_stubs_are_named_once(exercise: Exercise) -> None:
    source = 'class Thing:\n    def __init__(self):\n        raise NotImplementedError("it: make it")\n\n'
    source += '    def forward(self):\n        raise NotImplementedError("it: run it")\n'
    stub = broke("not_written", "it: make it", line=3)
    results = grade(exercise, dict.fromkeys(("shape", "numbers", "mask"), stub), source=source)
    assert statuses(results) == {
        "shape": "failed",
        "numbers": "skipped",
        "mask": "skipped",
        "words": "skipped",
    }
    assert results["shape"].message == (
        'Thing is not written yet.\n  line 3, Thing.__init__: "it: make it"\n  line 6, Thing.forward: "it: run it"'
    )
    assert results["mask"].message == "not written yet, see 'has the right shape'"


def test_a_dead_worker_is_restarted(exercise: Exercise) -> None:
    results = grade(exercise, {"shape": broke("died", fatal=True)})
    assert statuses(results) == {"shape": "failed", "numbers": "passed", "mask": "passed", "words": "skipped"}
    assert (Fake.opened, Fake.closed) == (2, 2)


def test_the_same_end_twice_is_enough(exercise: Exercise) -> None:
    results = grade(exercise, dict.fromkeys(("shape", "numbers", "mask"), broke("timeout", fatal=True)))
    assert statuses(results) == {
        "shape": "failed",
        "numbers": "skipped",
        "mask": "skipped",
        "words": "skipped",
    }
    assert Fake.opened == Fake.closed == 2
    assert "restarted too often, see 'has the right shape'" in results["mask"].message


def test_a_file_that_the_grader_cannot_load_is_not_at_fault(exercise: Exercise) -> None:
    def breaks() -> Any:
        raise TypeError("unhashable type")

    load, *others = Session(exercise, breaks).run()
    assert (load.status, load.points) == ("error", 0)
    assert "your code is not at fault" in load.message
    assert "TypeError: unhashable type (test_session.py, line" in load.message
    assert {one.message for one in others} == {"not run: the file could not be loaded"}


def test_a_file_that_cannot_be_loaded(exercise: Exercise) -> None:
    def refuse() -> Any:
        raise SubmissionError("syntax", "invalid syntax", line=1, source_line="def (")

    results = {result.name: result for result in Session(exercise, refuse).run()}
    assert results["load"].message == "Python cannot read the file. invalid syntax\n  line 1: def ("
    assert {result.status for name, result in results.items() if name != "load"} == {"skipped"}


def test_a_refused_file_is_not_loaded(exercise: Exercise) -> None:
    results = Session(exercise, lambda: Fake({})).run(refusal="against the rules")  # type: ignore[arg-type,return-value]
    assert (Fake.opened, results[0].message, results[0].status) == (0, "against the rules", "failed")
    assert {result.status for result in results[1:]} == {"skipped"}


def test_no_test_is_started_after_the_time_for_all(exercise: Exercise) -> None:
    assert set(statuses(grade(exercise, {}, time_budget_s=-1.0)).values()) == {"skipped"}


def test_untrusted_text_is_cleaned(exercise: Exercise) -> None:
    nasty = broke("exception", "\x1b[31mred\x07\u202e" + "x" * 5000, type_name="E", line=1)
    message = grade(exercise, {"shape": nasty})["shape"].message
    assert "[31mred" in message
    assert not {"\x1b", "\x07", "\u202e"} & set(message)
    assert len(message) < 2100


def test_ctrl_c_ends_the_session(exercise: Exercise) -> None:
    with pytest.raises(KeyboardInterrupt):
        grade(exercise, {"numbers": KeyboardInterrupt})
    assert (Fake.opened, Fake.closed) == (1, 1)


def test_a_broken_suite_says_so(exercise: Exercise) -> None:
    exercise.test_files()[0].write_text("import nonsense_that_is_not_there")
    with pytest.raises(SuiteError, match="nonsense_that_is_not_there"):
        grade(exercise, {})


def test_a_test_without_its_marker_says_so(exercise: Exercise) -> None:
    exercise.test_files()[0].write_text("def test_it(): pass")
    with pytest.raises(SuiteError, match=r"test_it: expected @pytest.mark.grade"):
        grade(exercise, {})


def test_a_hidden_test_of_no_category_is_the_suites_fault() -> None:
    marker = SimpleNamespace(args=(), kwargs={"category": "maskng", "points": 1, "title": "one"})
    item: Any = SimpleNamespace(
        nodeid="suite", path="test_one.py", name="one", get_closest_marker=lambda _: marker
    )
    with pytest.raises(SuiteError, match="there is no category 'maskng'"):
        hidden_test(item)


def test_the_user_s_pytest_set_up_changes_nothing(
    exercise: Exercise, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    (home / "conftest.py").write_text("raise RuntimeError('not wanted')")
    monkeypatch.chdir(home)
    monkeypatch.setenv("PYTEST_ADDOPTS", "--also-no-such-option")
    monkeypatch.setenv("PYTEST_PLUGINS", "no_such_plugin")
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", raising=False)
    path, environment = list(sys.path), dict(os.environ)
    assert set(statuses(grade(exercise, {})).values()) == {"passed"}
    assert sorted(one.name for one in home.rglob("*")) == ["conftest.py", "pytest.ini"]
    assert sys.path == path
    assert dict(os.environ) == environment


# Places.


SOURCE = "def f(x):\n    y = x + 1\n    return y\n"


def with_places(locate: Callable[[Any], object], *ids: str) -> Callable[[], BaseException]:
    from grader.core.failures import Unexplained

    return lambda: Unexplained(
        lambda _deadline, _finder: failed(*ids)(),  # type: ignore[arg-type,return-value]
        lambda: failed()(),  # type: ignore[arg-type,return-value]
        locate,  # type: ignore[arg-type]
    )


def test_places_are_looked_for_when_all_verdicts_are_known(exercise: Exercise) -> None:
    order: list[str] = []

    def locate(_finder: Any) -> dict[str, Spot]:
        order.append("located")
        return {"no-scale": Spot(2, 2, 8, 13), "": Spot(3, 3), "elsewhere": Spot(1, 1)}

    def explain(_deadline: float) -> Exception:
        order.append("explained")
        return failed()()  # type: ignore[return-value]

    acts = {
        "shape": with_places(locate, "no-scale"),
        "numbers": unexplained(explain),
        "mask": with_places(locate),
    }
    results = grade(exercise, acts, source=SOURCE)
    assert order == ["explained", "located"]
    where = results["shape"].where
    assert where is not None
    assert (where.line, where.column, where.source, where.region) == (2, 9, "    y = x + 1", "f")
    assert results["shape"].mistakes[0].where == where
    assert [results[one].where for one in ("numbers", "mask", "words")] == [None] * 3  # skipped


def test_a_failure_without_a_name_has_a_place_too(exercise: Exercise) -> None:
    results = grade(exercise, {"shape": with_places(lambda *_: {"": Spot(3, 3)})}, source=SOURCE)
    assert results["shape"].where is not None
    assert results["shape"].where.line == 3


@pytest.mark.parametrize(
    "answer",
    [
        {"no-scale": Spot(4, 4)},
        {"no-scale": Spot(0, 0)},
        {"no-scale": Spot(2, 10**9)},
        {"no-scale": None},
        "text",
        None,
        ValueError("not a list"),
        RecursionError(),
        MemoryError(),
        SubmissionError("died", "gone", fatal=True),
    ],
    ids=str,
)
def test_whatever_happens_while_a_place_is_looked_for_the_verdict_is_the_same(
    exercise: Exercise, answer: Any
) -> None:
    def locate(_finder: Any) -> Any:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    acts = {"shape": with_places(locate, "no-scale"), "mask": failed("other")}
    assert grade(exercise, acts, source=SOURCE) == grade(exercise, {**acts, "shape": failed("no-scale")})


def test_no_place_is_looked_for_in_training_without_a_text_or_without_time(exercise: Exercise) -> None:
    def locate(_finder: Any) -> Any:
        raise KeyboardInterrupt

    assert grade(exercise, {"words": with_places(locate)}, source=SOURCE)["words"].status == "failed"
    assert grade(exercise, {"shape": with_places(locate)})["shape"].where is None
    late = grade(exercise, {"shape": with_places(locate)}, source=SOURCE, locating_budget_s=0.0)
    assert late["shape"].where is None


def test_an_exception_has_its_line_and_a_stub_has_none(exercise: Exercise) -> None:
    acts = {"shape": broke("exception", line=3), "mask": broke("not_written", line=2)}
    results = grade(exercise, acts, source=SOURCE)
    assert results["shape"].where is not None
    assert (results["shape"].where.line, results["shape"].where.why) == (3, "error")
    assert results["mask"].where is None
    assert grade(exercise, {"shape": broke("exception", line=9)}, source=SOURCE)["shape"].where is None


def test_a_failure_without_a_name_is_judged_where_the_code_that_failed_before_has_no_part_in_it(
    exercise: Exercise,
) -> None:
    from grader.core.failures import Failed

    both = replace(exercise, components=("First", "Second", "Norm"))
    acts = {
        "shape": lambda: Failed("a", component="First"),
        "numbers": lambda: Failed("b", component="Second"),
    }
    text = "class Norm:\n    pass\n\nclass First:\n    n = {}\n\nclass Second:\n    n = {}\n\ndef helper():\n    pass\n"
    apart = grade(both, acts, source=text.format("Norm", "Norm"))
    assert [apart[one].status for one in ("shape", "numbers")] == ["failed", "failed"]
    for shared in (
        text.format("helper", "helper"),
        text.format("Norm", "First"),
        text.format("helper", "First"),
        "",
    ):
        results = grade(both, acts, source=shared)
        assert [results[one].status for one in ("shape", "numbers")] == ["failed", "skipped"]
        assert results["numbers"].message == "not judged: first fix 'has the right shape'"
