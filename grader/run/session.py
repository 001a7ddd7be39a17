"""One grade: the exercise's hidden suite, run on one submission. Prints nothing."""

from __future__ import annotations

import contextlib
import importlib
import os
import time
import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import cached_property
from types import ModuleType

import pytest

from grader.catalog import CATEGORIES, Exercise
from grader.core.explain import find_names, find_stubs, find_uses, same_failure
from grader.core.failures import Finder, Unexplained
from grader.core.progress import Progress
from grader.core.results import GraderBrokenError, Result
from grader.core.spots import Lines
from grader.core.submission import Submission, SubmissionError
from grader.run.pytest_plugin import SuiteError, SuitePlugin
from grader.run.verdicts import HiddenTest, Verdicts
from zoo.core.errors import ZooError

TIME_BUDGET_S = 300.0  # of all tests; the training test takes some 10 s
NAMING_BUDGET_S = 120.0  # of looking for the mistakes behind all failures: known ones are found in a few
LOCATING_BUDGET_S = 60.0  # of looking for their places
RESTARTS = 3  # fresh workers for one grade, after the first

_Verdict = Callable[[], object]

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
        source: the submission's text, to name its stubs, and to show the places of mistakes in it.
        device: "cpu" or "cuda", handed to the tests.
        seed: every random draw of the tests derives from it.
        progress: is told of each test, and of the steps of long ones.
        time_budget_s: no test is started later than this after `run` began.
        naming_budget_s: for how long, after all tests, the mistakes behind the failures are looked for.
        locating_budget_s: for how long, after that, their places are looked for.
        breach: why what the code has done so far is against the rules, or "". Asked after each test.
        open_changed: loads the submission with another text; None: the place of an error that is raised while the
            file is loaded is not looked for beyond its line.
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
        naming_budget_s: float = NAMING_BUDGET_S,
        locating_budget_s: float = LOCATING_BUDGET_S,
        breach: Callable[[], str] = str,
        open_changed: Callable[[str], Submission] | None = None,
    ) -> None:
        self.exercise, self.device, self.seed, self.progress = exercise, device, seed, progress
        self.reference: ModuleType = importlib.import_module(exercise.reference)
        self._source, self._lines = source, Lines(source)
        self.verdicts = Verdicts(
            find_stubs(source), find_names(source), self._lines, find_uses(source), exercise.components
        )
        self._open, self._open_changed, self._breach = open_submission, open_changed, breach
        self._submission: Submission | None = None
        self._ends: dict[tuple[object, ...], int] = {}
        self._budget, self._naming_budget = time_budget_s, naming_budget_s
        self._locating_budget = locating_budget_s
        self._deadline = float("inf")
        self._naming_ends = float("inf")
        self._begun = 0.0
        self._stopped: Callable[[], str] | None = None  # why no further test is run
        self._ran: list[tuple[HiddenTest, _Verdict]] = []
        self._unpassed: list[HiddenTest] = []
        self._unplaced: list[tuple[int, Unexplained]] = []  # number of the result, and what was raised
        self._unloaded: SubmissionError | None = None

    def run(self, categories: Collection[str] = CATEGORIES, *, refusal: str = "") -> list[Result]:
        """Run the tests of these categories, in the suite's order, training last; then name what is wrong.

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
        folder = files[0].parent  # all that pytest looks through
        try:
            if refusal:
                self._refuse(refusal)
            else:
                self._load()
            with _undisturbed():
                code = pytest.main(
                    [*_PYTEST_ARGUMENTS, f"--rootdir={folder}", f"--confcutdir={folder}", *map(str, files)],
                    [plugin],
                )
                if code == pytest.ExitCode.INTERRUPTED and not plugin.problem:
                    raise KeyboardInterrupt
                if plugin.problem or code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
                    raise SuiteError(
                        f"The hidden suite of '{self.exercise.name}' is broken. {plugin.problem or code}"
                    )
                self._settle()
                self._locate()
        finally:
            self.close()
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
            self._submission = self._prepared(self._open())
        return self._submission

    def _changed(self, text: str) -> Submission:
        """The submission with another text, loaded. Raises SubmissionError."""
        assert self._open_changed is not None
        return self._prepared(self._open_changed(text))

    def _prepared(self, submission: Submission) -> Submission:
        submission.first_calls = getattr(self.reference, "FIRST_CALLS", {})
        return submission

    def before(self, test: HiddenTest) -> str:
        """Why this test is not to be run, or ""."""
        self._begun = time.monotonic()
        if self._stopped is None and time.monotonic() > self._deadline:
            self._stopped = lambda: f"not run: the time for all tests ({self._budget:.0f} s) is used up"
        if self._stopped is None and not self._blocked(test):
            return ""
        return "not run"  # why is added when all verdicts before are known, see `skipped`

    def after(self, test: HiddenTest, raised: BaseException | None) -> None:
        """Note what the test raised; when the worker is gone, arrange for a fresh one, or for the end."""
        if reason := self._breach():
            self._refuse(reason, "not judged: the file is against the rules", test)
        else:
            self._note(test, lambda: self.verdicts.record(test, self._explained(test, raised)))
        if raised is not None:
            self._unpassed.append(test)
        if isinstance(raised, SubmissionError) and raised.fatal:
            self.close()
            cause = same_failure(raised)
            self._ends[cause] = self._ends.get(cause, 0) + 1
            if self._ends[cause] > 1 or sum(self._ends.values()) > RESTARTS:
                self._stopped = lambda: (
                    f"not run: your code had to be restarted too often, see '{self._first_end()}'"
                )

    def skipped(self, test: HiddenTest, reason: str) -> None:
        """Note that the test was not run."""
        stopped = self._stopped
        if stopped is not None:
            self._note(test, lambda: self.verdicts.skip(test, stopped()))
        elif self._blocked(test):
            self._note(test, lambda: self.verdicts.skip(test, self.verdicts.not_run(test)))
        else:  # the suite's own reason
            self._note(test, lambda: self.verdicts.skip(test, reason))
        self._unpassed.append(test)

    def _blocked(self, test: HiddenTest) -> bool:
        """Return whether a training test is not run, since what it rests on has not passed."""
        return test.is_training and any(one.answers_to(n) for one in self._unpassed for n in test.needs)

    def _note(self, test: HiddenTest, verdict: _Verdict) -> None:
        took = time.monotonic() - self._begun

        def timed() -> None:
            begun = time.monotonic()
            verdict()
            results = self.verdicts.results
            results[-1] = replace(results[-1], duration_s=took + time.monotonic() - begun)

        self._ran.append((test, timed))

    def _settle(self) -> None:
        """The verdicts, in the order of the tests: what a failure is called depends on those before."""
        self._naming_ends = time.monotonic() + self._naming_budget
        for number, (test, verdict) in enumerate(self._ran, start=1):
            verdict()
            if test in self._unpassed:
                self.progress("explaining failures", number, len(self._ran))

    def _explained(self, test: HiddenTest, raised: BaseException | None) -> BaseException | None:
        """Return what the test raised, with the mistakes behind it if it is a failure that can be explained."""
        if not isinstance(raised, Unexplained):
            return raised
        if not test.is_training:
            self._unplaced.append((len(self.verdicts.results), raised))
        try:
            return raised.explain(self._naming_ends, None if test.is_training else self._finder)
        except SubmissionError:  # it ended, or does not end, in what was asked to find the mistake
            return raised.failed()
        except Exception as error:  # noqa: BLE001 - a fault of the grader's, which the verdict says
            return error

    def _locate(self) -> None:
        """The places of what is wrong, once all verdicts are known: they are what they are, whatever happens here.

        After the deadline, those that were found already.
        """
        deadline, results = time.monotonic() + self._locating_budget, self.verdicts.results
        if self._unloaded is not None and self._open_changed is not None and self._locating_budget:
            from grader.places.loading import loading_places

            with contextlib.suppress(Exception):
                spots = loading_places(
                    self.exercise, self._source, self._unloaded, self._changed, self.seed, deadline
                )
                results[0] = results[0].placed(spots, self._lines)
        if not self._unplaced or self._finder is None:
            return
        again = True
        while again:
            again = False
            # A record may be forged, or too long, or the worker gone.
            for number, failure in self._unplaced:
                with contextlib.suppress(Exception):
                    if results[number].status == "failed":
                        results[number] = results[number].placed(failure.locate(self._finder), self._lines)
            with contextlib.suppress(Exception):
                again = self._finder.forget_unproved()

    @cached_property
    def _finder(self) -> Finder | None:
        """None where no places are to be found. It ends when the times for names and places are over."""
        if not self._source or not self._locating_budget:
            return None
        from grader.places.finder import Finder  # only where something failed

        return Finder(self._source, self._naming_ends + self._locating_budget)

    def _first_end(self) -> str:
        return next(result.title for result in self.verdicts.results if result.status == "failed")

    def _refuse(self, reason: str, instead: str = "", test: HiddenTest | None = None) -> None:
        """The file is against the rules, which comes before the verdict on the test, if one was run."""

        def verdict() -> None:
            self.verdicts.refuse(reason)
            if test is not None:
                self.verdicts.skip(test, instead)

        if test is None:
            verdict()
        else:
            self._note(test, verdict)
        self._stopped = lambda: "not run: the file is against the rules"

    def _load(self) -> None:
        try:
            self.component()
        except SubmissionError as error:
            self.verdicts.load_failed(error)
            self._unloaded = error
            self._stopped = lambda: "not run: the file cannot be loaded"
        except (ZooError, GraderBrokenError):
            raise
        except Exception as error:  # noqa: BLE001 - a fault of the grader's: other files are graded all the same
            self.verdicts.load_broke(error)
            self._stopped = lambda: "not run: the file could not be loaded"
        if reason := self._breach():
            self._refuse(reason)


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
