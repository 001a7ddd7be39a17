"""The exception with which a hidden test reports a wrong submission, and named mistakes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from grader.core.spots import Spot, Spots


@dataclass(frozen=True)
class Named:
    """A mistake, named.

    Attributes:
        id: stable, kebab-case ("missing-scale").
        text: one or two plain sentences a beginner understands: what is wrong, where, why it matters.
        formula: the line of the formula that is broken, as it should read ("" where there is none).
        hint: what to look at next, without giving the solution away.
        source: paper section or public thread where people met it ("" if common knowledge).
        where: its place in the submission's file, if that was found.
    """

    id: str
    text: str
    formula: str = ""
    hint: str = ""
    source: str = ""
    where: Spot | None = None


@dataclass(frozen=True)
class Matrices:
    """A value as it should be and as it came, small enough to be drawn.

    Attributes:
        title: name of the value, with leading indices ("weights[0, 1]").
        legend: what is to be seen.
        right, got: rows of numbers, or of True and False; both of one size.
        first: row and column of the whole matrix where they begin.
        size: rows and columns of the whole matrix.
        axes: what a row and a column are of, "query" and "key"; "" where it is not known.
        place: which matrix of a larger value it is, in words: "sentence 1, head 0"; "" where that is not known.
    """

    title: str
    legend: str
    right: tuple[tuple[float, ...], ...]
    got: tuple[tuple[float, ...], ...]
    first: tuple[int, int] = (0, 0)
    size: tuple[int, int] = (0, 0)
    axes: tuple[str, str] = ("", "")
    place: str = ""


def with_care(named: Named) -> Named:
    """The same, for a mistake that gives other numbers than were seen in some of the cases in which it shows."""
    return replace(named, text=f"Probably this mistake, although some results differ: {named.text}")


class Failed(AssertionError):
    """A hidden test failed.

    Attributes:
        message: what was checked and what was seen, with expected and got for one small case.
        mistakes: the known mistakes that explain it, named; empty when none was recognised.
        picture: a picture in text (an influence map, say), or "".
        matrices: what differs, for reports that draw.
        component: the function or class that is wrong, or "".
    """

    def __init__(
        self,
        message: str,
        *,
        mistakes: Sequence[Named] = (),
        picture: str = "",
        matrices: Sequence[Matrices] = (),
        component: str = "",
    ) -> None:
        super().__init__(message)
        self.message, self.mistakes, self.picture = message, tuple(mistakes), picture
        self.matrices, self.component = tuple(matrices), component


class Finder(Protocol):
    """Finds the places of a submission's failures in its file, see `grader.places.finder`."""

    def of_component(self, grading: Any, component: str) -> Spots:
        """Of all that is wrong in a component."""
        ...

    def forget_unproved(self) -> bool:
        """Look again for places that are not proved, with what was found for other components since: are there any?"""
        ...

    def is_one_change(self, grading: Any, component: str, findings: Any) -> bool:
        """Whether one small change of a line makes all right that is wrong in a component."""
        ...

    def of_signature(self, error: Any) -> Spots:
        """Of a call that did not fit the signature of a function of the file."""
        ...

    def of_device(self, message: str, component: str) -> Spots:
        """Of a tensor that was made on a fixed device."""
        ...

    def of_unraised(self, type_name: str, other: Any, names: Sequence[str]) -> Spots:
        """Of an error that was not raised, or of another one that was."""
        ...


class Unexplained(Exception):
    """A hidden test failed. The mistakes behind it are looked for when all tests have run.

    Attributes:
        explain: gives the `Failed`, or the submission's own error where no mistake is known. It stops looking for
            mistakes at a deadline (of `time.monotonic`); with a `Finder`, it does not look for several mistakes where
            one change makes all right. Raises SubmissionError if the submission fails meanwhile.
        failed: what can be said without looking for mistakes.
        locate: asks a `Finder` for their places, when all mistakes have been looked for. What it raises means that
            there are none.
    """

    def __init__(
        self,
        explain: Callable[[float, Finder | None], Exception],
        failed: Callable[[], Exception],
        locate: Callable[[Finder], Spots] = lambda _finder: {},
    ) -> None:
        super().__init__("a hidden test failed")
        self.explain, self.failed, self.locate = explain, failed, locate
