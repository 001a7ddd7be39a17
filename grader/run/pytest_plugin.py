"""The hidden suite's side of pytest: fixtures, the `grade` marker, and one verdict a test.

A hidden test is a plain function in a plain pytest file:

    @pytest.mark.grade(category="masking", points=2, title="a masked key has weight 0", needs=("test_shape",))
    def test_masked_key(component, reference, device, seed): ...

Fixtures: `component` (a `grader.core.submission.Submission`), `reference` (the exercise's reference
module), `device` ("cpu" or "cuda"), `seed` (every random draw derives from it), `progress` (shows how a
long test comes along, see `Progress`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from types import ModuleType
from typing import Protocol

import pytest

from grader.catalog import CATEGORIES
from grader.core.progress import Progress
from grader.core.results import GraderBrokenError
from grader.core.submission import Submission
from grader.run.verdicts import HiddenTest


class Bench(Protocol):
    """The parts of a session that the plugin needs."""

    device: str
    seed: int
    reference: ModuleType
    progress: Progress

    def component(self) -> Submission:
        """The submission, loaded; a fresh one if the last one is gone. Raises SubmissionError."""

    def before(self, test: HiddenTest) -> str:
        """Why this test is not to be run, or ""."""

    def after(self, test: HiddenTest, raised: BaseException | None) -> None:
        """The test was run, and raised this (None: it passed)."""

    def skipped(self, test: HiddenTest, reason: str) -> None:
        """The test was not run."""


class SuiteError(GraderBrokenError):
    """The hidden suite itself is broken."""


class _NotRunError(Exception):
    pass


def hidden_test(item: pytest.Item) -> HiddenTest:
    """The test behind a pytest item. Raises SuiteError if its marker is missing or wrong."""
    marker = item.get_closest_marker("grade")
    if marker is None or marker.args or not {"category", "points", "title"} <= marker.kwargs.keys():
        raise SuiteError(f"{item.nodeid}: expected @pytest.mark.grade(category=..., points=..., title=...)")
    if marker.kwargs["category"] not in CATEGORIES:
        raise SuiteError(f"{item.nodeid}: there is no category '{marker.kwargs['category']}'")
    file = Path(item.path).stem.removeprefix("test_")
    return HiddenTest(name=f"{file}.{item.name}", **marker.kwargs)


class SuitePlugin:
    """Runs a suite on a bench. One instance a run."""

    def __init__(self, bench: Bench, categories: Collection[str]) -> None:
        self.problem = ""
        self._bench, self._categories = bench, categories
        self._tests: dict[str, HiddenTest] = {}
        self._done = 0

    # Fixtures. pytest hands them to a test by name.

    @pytest.fixture
    def component(self) -> Submission:
        return self._bench.component()

    @pytest.fixture
    def reference(self) -> ModuleType:
        return self._bench.reference

    @pytest.fixture
    def device(self) -> str:
        return self._bench.device

    @pytest.fixture
    def seed(self) -> int:
        return self._bench.seed

    @pytest.fixture
    def progress(self) -> Progress:
        return self._bench.progress

    # Hooks.

    def pytest_configure(self, config: pytest.Config) -> None:
        config.addinivalue_line("markers", "grade(category, points, title, needs): a hidden test")

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        config.option.tbstyle = "no"  # nobody reads a test's traceback, and to format it takes long
        try:
            self._tests = {item.nodeid: hidden_test(item) for item in items}
        except (SuiteError, TypeError) as error:
            self.problem = str(error)
            items.clear()
            return
        items[:] = [item for item in items if self._tests[item.nodeid].category in self._categories]
        items.sort(
            key=lambda item: self._tests[item.nodeid].is_training
        )  # stable: the suite's order, training last

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        reason = self._bench.before(self._tests[item.nodeid])
        if reason:
            raise _NotRunError(reason)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        report = yield
        raised = call.excinfo.value if call.excinfo is not None else None
        test = self._tests[item.nodeid]
        if isinstance(raised, (_NotRunError, pytest.skip.Exception)):
            self._bench.skipped(test, str(raised))
        elif raised is not None or call.when == "call":
            self._bench.after(test, raised)
        if call.when == "teardown":
            self._done += 1
            self._bench.progress("tests", self._done, len(item.session.items))
        return report

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.problem = report.longreprtext

    def pytest_internalerror(self, excrepr: object) -> bool:
        self.problem = str(excrepr)
        return True
