"""One grade: the exercise's hidden suite, run on one submission. Prints nothing."""

from __future__ import annotations

import contextlib
import importlib
import os
import time
import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from types import ModuleType

import pytest

from grader.exercise import CATEGORIES, Exercise
from grader.judge.component import Submission, SubmissionError
from grader.judge.explain import find_names, find_stubs, same_failure
from grader.judge.pytest_plugin import Progress, SuiteError, SuitePlugin
from grader.judge.results import Result
from grader.judge.verdicts import HiddenTest, Verdicts

TIME_BUDGET_S = 300.0  # of a whole grade; the training test takes some 10 s
RESTARTS = 3  # fresh workers for one grade, after the first

# Nothing of the user's own set-up may change a grade, and a grade leaves nothing behind.
_PYTEST_ARGUMENTS = [
    "-c", os.devnull, "--noconftest", "--import-mode=importlib", "--assert=plain", "-s",
    *(f"-pno:{name}" for name in (
        "cacheprovider", "terminal", "warnings", "faulthandler", "logging", "doctest", "unittest", "junitxml",
        "pastebin", "debugging", "threadexception", "unraisableexception",
    )),
]  # fmt: skip


def no_progress(what: str, done: int, total: int) -> None:
    """Show nothing."""


class Session:
    """One submission on the bench: loads it, loads it again when its worker is gone, and collects verdicts.

    Args:
        exercise: what is graded.
        open_submission: loads the submission, in a fresh worker where it runs in one. Raises SubmissionError.
        source: the submission's text, to name its stubs.
        device: "cpu" or "cuda", handed to the tests.
        seed: every random draw of the tests derives from it.
        progress: is told of each test, and of the steps of long ones.
        time_budget_s: no test is started later than this after `run` began.
        breach: why what the code has done so far is against the rules, or "". Asked after each test.
    """

    def __init__(
        self,
        exercise: Exercise,
        open_submission: Callable[[], Submission],
        *,
        source: str = "",
        device: str = "cpu",
        seed: int = 0,
        progress: Progress = no_progress,
        time_budget_s: float = TIME_BUDGET_S,
        breach: Callable[[], str] = str,
    ) -> None:
        self.exercise, self.device, self.seed, self.progress = exercise, device, seed, progress
        self.reference: ModuleType = importlib.import_module(exercise.reference)
        self.verdicts = Verdicts(find_stubs(source), find_names(source))
        self._open, self._breach = open_submission, breach
        self._submission: Submission | None = None
        self._ends: dict[tuple[object, ...], int] = {}
        self._budget = time_budget_s
        self._deadline = float("inf")
        self._begun = 0.0

    def run(self, categories: Collection[str] = CATEGORIES, *, refusal: str = "") -> list[Result]:
        """Run the tests of these categories, in the suite's order, training last.

        Args:
            categories: which tests to run.
            refusal: why the submission is not even loaded; no test is run then.

        Raises:
            SuiteError: the suite itself is broken.
            KeyboardInterrupt: as it came.
        """
        self._deadline = time.monotonic() + self._budget
        plugin = SuitePlugin(self, categories)
        files = self.exercise.test_files()
        try:
            if refusal:
                self.verdicts.refuse(refusal)
            else:
                self._load()
            with _undisturbed():
                code = pytest.main(
                    [*_PYTEST_ARGUMENTS, f"--rootdir={files[0].parent}", *map(str, files)], [plugin]
                )
        finally:
            self.close()
        if code == pytest.ExitCode.INTERRUPTED and not plugin.problem:
            raise KeyboardInterrupt
        if plugin.problem or code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            raise SuiteError(
                f"The hidden suite of '{self.exercise.name}' is broken. {plugin.problem or code}"
            )
        return self.verdicts.results

    def close(self) -> None:
        """Let the submission go."""
        if self._submission is not None:
            self._submission.close()
        self._submission = None

    # What the pytest plugin asks for.

    def component(self) -> Submission:
        """The submission, loaded; a fresh one if the last one is gone. Raises SubmissionError."""
        if self._submission is None:
            self._submission = self._open()
        return self._submission

    def before(self, test: HiddenTest) -> str:
        """Why this test is not to be run, or ""."""
        self._begun = time.monotonic()
        if not self.verdicts.stopped and time.monotonic() > self._deadline:
            self.verdicts.stopped = f"not run: the time for a whole grade ({self._budget:.0f} s) is used up"
        return self.verdicts.not_run(test)

    def after(self, test: HiddenTest, raised: BaseException | None) -> None:
        """Record the verdict; when the worker is gone, arrange for a fresh one, or for the end."""
        if reason := self._breach():
            self.verdicts.refuse(reason)
            self.verdicts.skip(test, "not judged: the file is against the rules")
        else:
            self.verdicts.record(test, raised)
        results = self.verdicts.results
        results[-1] = replace(results[-1], duration_s=time.monotonic() - self._begun)
        if isinstance(raised, SubmissionError) and raised.fatal:
            self.close()
            cause = same_failure(raised)
            self._ends[cause] = self._ends.get(cause, 0) + 1
            if self._ends[cause] > 1 or sum(self._ends.values()) > RESTARTS:
                self.verdicts.stopped = (
                    f"not run: your code had to be restarted too often, see '{self._first_end()}'"
                )

    def skipped(self, test: HiddenTest, reason: str) -> None:
        """Record that the test was not run."""
        self.verdicts.skip(test, reason)

    def _first_end(self) -> str:
        return next(result.title for result in self.verdicts.results if result.status == "failed")

    def _load(self) -> None:
        try:
            self.component()
        except SubmissionError as error:
            self.verdicts.load_failed(error)
        if reason := self._breach():
            self.verdicts.refuse(reason)


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Without pytest's environment variables and other people's plugins, and without warnings shown."""
    before = dict(os.environ)
    for name in [name for name in before if name.startswith("PYTEST_")]:
        del os.environ[name]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        os.environ.clear()
        os.environ.update(before)
