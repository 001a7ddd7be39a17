"""From what a test raised to a verdict: one mistake gives one failure. No pytest in here."""

from __future__ import annotations

import traceback
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path

from grader.core.explain import Stub, explain, same_failure
from grader.core.failures import Failed, Matrices, Named
from grader.core.results import Result, Status
from grader.core.spots import Lines, Spot
from grader.core.submission import SubmissionError


@dataclass(frozen=True)
class HiddenTest:
    """A hidden test as its marker describes it.

    Attributes:
        name: stable name, "class.test_merge".
        title: for people.
        category: one of `grader.catalog.CATEGORIES`.
        points: what it is worth.
        needs: test names (with or without the file's part) or categories. When one of them has not
            passed, a training test is not run, and an exception in another test is not judged.
    """

    name: str
    title: str
    category: str
    points: float
    needs: tuple[str, ...] = ()

    @property
    def is_training(self) -> bool:
        return self.category == "training"

    def answers_to(self, need: str) -> bool:
        """Return whether `need` means this test."""
        return need in (self.name, self.name.rpartition(".")[2], self.category)


_LOADING = HiddenTest("load", "the file can be loaded", "behaviour", 0)
_RULES = HiddenTest("rules", "the file keeps to the rules", "behaviour", 0)


class Verdicts:
    """Verdicts on one submission, test by test, each with the ones before in mind.

    A failure that nobody could name is not judged after another failure of the same code: it may well be of the same
    cause.

    Args:
        stubs: what the file leaves unwritten.
        names: what it defines.
        lines: its text.
        uses: by name of a function or class, all those of the file that it is made of.
        components: the functions and classes that the exercise asks for.

    Attributes:
        results: so far.
    """

    def __init__(
        self,
        stubs: Iterable[Stub] = (),
        names: Sequence[str] = (),
        lines: Lines | None = None,
        uses: Mapping[str, AbstractSet[str]] | None = None,
        components: Collection[str] = (),
    ) -> None:
        self.results: list[Result] = []
        self._lines = lines or Lines("")
        self._stubs, self._names = list(stubs), names
        self._uses, self._components = uses or {}, frozenset(components)
        self._failed_in: dict[str, str] = {}  # title of a test -> the component that failed
        self._tests: list[HiddenTest] = []
        self._named: dict[str, str] = {}  # id of a mistake -> title of the test that reported it
        self._raised: dict[tuple[object, ...], str] = {}  # cause -> title of the test that reported it

    def not_run(self, test: HiddenTest) -> str:
        """Why a test is not run that needs others: the first of these that has not passed."""
        blocker = self._unmet(test)
        return (
            f"not run: first fix '{blocker}'" if blocker else "not run: a test that it needs has not passed"
        )

    def record(self, test: HiddenTest, raised: BaseException | None) -> Result:
        """The verdict, given what the test raised (None: it passed)."""
        if raised is None:
            return self._add(test, "passed", "")
        if isinstance(raised, Failed):
            return self._failed(test, raised)
        if isinstance(raised, SubmissionError):
            return self._broke(test, raised)
        return self._add(test, "error", _our_fault(raised))

    def skip(self, test: HiddenTest, reason: str) -> Result:
        """The verdict on a test that was not run."""
        return self._add(test, "skipped", reason)

    def load_failed(self, error: SubmissionError) -> Result:
        """The file itself cannot be used: one failure."""
        return self._add(
            _LOADING, "failed", explain(error, self._stubs, self._names), where=self._place(error)
        )

    def load_broke(self, raised: Exception) -> Result:
        """The grader itself could not load the file: no fault of the file's."""
        return self._add(_LOADING, "error", _our_fault(raised))

    def refuse(self, reason: str) -> Result:
        """The file is against the rules that were asked for: one failure."""
        return self._add(_RULES, "failed", reason)

    def _failed(self, test: HiddenTest, failure: Failed) -> Result:
        ids = [mistake.id for mistake in failure.mistakes]
        if ids and all(one in self._named for one in ids):
            return self._add(test, "skipped", f"same cause as '{self._named[ids[0]]}': {ids[0]}")
        before = [] if ids else self._of_same_code(failure.component)
        if before:
            return self._add(test, "skipped", f"not judged: first fix '{before[0]}'")
        for one in ids:
            self._named.setdefault(one, test.title)
        self._failed_in[test.title] = failure.component
        return self._add(
            test, "failed", failure.message, failure.mistakes, failure.picture, matrices=failure.matrices
        )

    def _of_same_code(self, component: str) -> list[str]:
        """Titles of the tests that failed, without those on code that a component has nothing of."""
        right = self._components - {component, *self._failed_in.values()}  # as far as is known
        own = self._uses.get(component, set()) - right

        def may_share(title: str) -> bool:
            theirs = self._uses.get(self._failed_in.get(title, ""))
            return not own or theirs is None or not own.isdisjoint(theirs)

        return [one.title for one in self.results if one.status == "failed" and may_share(one.title)]

    def _broke(self, test: HiddenTest, error: SubmissionError) -> Result:
        cause = same_failure(error)
        if cause in self._raised:
            what = "not written yet" if error.kind == "not_written" else "same error"
            return self._add(test, "skipped", f"{what}, see '{self._raised[cause]}'")
        blocker = self._unmet(test)
        if blocker is not None:
            return self._add(test, "skipped", f"not judged: first fix '{blocker}'")
        self._raised[cause] = test.title
        return self._add(test, "failed", explain(error, self._stubs, self._names), where=self._place(error))

    def _place(self, error: SubmissionError) -> Spot | None:
        """The line of an error, of one without end with the loop around it; what is not written yet is no mistake."""
        spot = None if error.kind == "not_written" else Spot.of_line(error.line)
        if spot is not None and error.kind == "timeout" and spot.line in self._lines:
            spot = replace(spot, other=self._lines.loop(spot.line))
        return self._lines.placed(spot)

    def _unmet(self, test: HiddenTest) -> str | None:
        """Title of the first needed test that failed, else of one that was skipped; None if there is neither."""
        needed = [
            result
            for other, result in zip(self._tests, self.results, strict=True)
            if any(other.answers_to(need) for need in test.needs)
        ]
        for status in ("failed", "skipped"):
            for result in needed:
                if result.status == status:
                    return result.title
        return None

    def _add(
        self,
        test: HiddenTest,
        status: Status,
        message: str,
        mistakes: tuple[Named, ...] = (),
        picture: str = "",
        where: Spot | None = None,
        matrices: tuple[Matrices, ...] = (),
    ) -> Result:
        points = test.points if status == "passed" else 0
        result = Result(
            test.name,
            test.title,
            test.category,
            status,
            points,
            test.points,
            message,
            mistakes,
            picture,
            where=where,
            matrices=matrices,
        ).cleaned()
        self._tests.append(test)
        self.results.append(result)
        return result


def _our_fault(raised: BaseException) -> str:
    frames = traceback.extract_tb(raised.__traceback__)
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return (
        "Internal error of the grader in this test; your code is not at fault. Please report it, with the "
        f"seed: {type(raised).__name__}: {raised}{where}"
    )
