"""What a hostile submission is here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Proof = Literal["value", "end", "file", "changed", "dead", "knock", "left"]

BOTH = frozenset({"strict", "process"})
STRICT = frozenset({"strict"})


@dataclass(frozen=True)
class Hostile:
    """A submission that means harm.

    Attributes:
        what: what it tries, as a table says it ("read a file of the home folder").
        source: its text. One that acts defines `act(t)`; one that wants points is a file of an exercise.
        stopped_by: the levels at which that does not come off. At the others it does, and so it does with nothing
            to hold it: a test asserts all of that.
        proof: how one sees that an act came off:
            "value": it gives True, or a text with the planted secret in it;
            "end": it is still at work after the time it has;
            "file": the file `outside` is there; "changed": the file `progress` has another content, mode or time;
            "dead": the process `victim` is gone; "knock": one of the judge's sockets was reached;
            "left": the process, or the file, that it names is still there after its end.
        rights: it takes the right to trace another process of the same user ("trace"), or root's to raise limits
            ("limits"). Where the system gives none, nobody can say what the confinement would have done.
        control: an honest file of the exercise, with the same habits as far as there are honest ones, that passes;
            "" for an act, whose control is the act itself with nothing to hold it.
        exercise: the one that a file wants points for.
        slow: takes seconds.
    """

    what: str
    source: str
    stopped_by: frozenset[str]
    proof: Proof = "value"
    rights: Literal["", "trace", "limits"] = ""
    control: str = ""
    exercise: str = ""
    slow: bool = False
