"""What is said of the place of a mistake."""

from __future__ import annotations

from dataclasses import dataclass

from grader.core.value_trace import Place


@dataclass(frozen=True)
class Where:
    """The place of a mistake.

    Attributes:
        place: the lines and columns that are wrong.
        why: "value", "error", "gradient", "in place", "omitted".
        other: a second line that has a share in it: the calling one, the one where an attribute or a number was made,
            or the last right one; None if there is none.
        called_from: lines of the file that called the function, innermost first.
        last_right: the last right value that went into it: its line and its name.
        value: what the wrong value is, in words, or "".
        expected: name of the right value that belongs there, or "".
        proved: with right values there, the result was right.
        event: index of the event in the trace, or None.
        evidence: "edited" if a small change in the line makes wrong results right, "patched" if a right value there
            does, "copied" if it does but what is copied there is wrong too, "alike" if a right run did the same with
            the same values and got something else, "narrow" if hardly any other line has wrong lists or numbers,
            "layouts" if what meets there has layouts that do not go together, or axes are mixed up there, "written" if
            it is the last to write what is wrong in the end, or the loop that never does, "dtype" if only the dtype is
            wrong, which changed at one of the two lines or should have, or "".
        alone: no other line has wrong values.
        agreed: how many scenarios have this place.
        iteration: which run of the expression is the first wrong one (a round of a loop, a call); None for the first.
    """

    place: Place
    why: str
    other: int | None = None
    called_from: tuple[int, ...] = ()
    last_right: tuple[int, str] | None = None
    value: str = ""
    expected: str = ""
    proved: bool = False
    event: int | None = None
    evidence: str = ""
    alone: bool = False
    agreed: int = 1
    iteration: int | None = None

    @property
    def lines(self) -> tuple[int, ...]:
        """The lines to show: one or two."""
        return tuple(dict.fromkeys(one for one in (self.place.line, self.other) if one))
