"""`--format terminal`: a page for people, 80 columns wide, in colour where the terminal has it."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

import click
from tabulate import tabulate

from grader.core.failures import Named
from grader.core.results import Grade, Result, clean, for_log
from grader.core.spots import Spot
from grader.reports.next_steps import counts, next_steps, out_of
from grader.reports.places import place_lines

WIDTH = 80
DIAGNOSIS_LINES = 5  # above the numbers, with the heading where no place is shown
_MARKS = re.compile(r"^( +)(\^+)")
_COLOURS = {"passed": "green", "failed": "red", "error": "magenta", "skipped": "yellow"}


class TerminalReport:
    """See the module.

    Args:
        show_all: list the passed tests too, and print each diagnosis in full, with its source.
    """

    def __init__(self, show_all: bool = False) -> None:
        self._show_all = show_all

    def add(self, grade: Grade) -> None:
        """Print the page of one file."""
        echo("\n".join(page(grade, self._show_all)) + "\n")

    def close(self, grades: Sequence[Grade]) -> None:
        """With several files, print a table of all."""
        if len(grades) > 1:
            echo("\n".join(overview(grades)))


def echo(text: str) -> None:
    """Print, also where standard output cannot show every character; click takes colours out of pipes."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    colourless = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"  # no-color.org
    click.echo(
        for_log(text).encode(encoding, "replace").decode(encoding), color=False if colourless else None
    )


def page(grade: Grade, show_all: bool = False) -> Iterator[str]:
    """The lines of one file's page: the tests, the diagnoses, the next steps, and the summary last."""
    components = f"it {grade.ungraded}" if grade.ungraded else ", ".join(grade.components)
    yield from _wrap(f"Graded {clean(grade.file)}: {components}")
    where = grade.device + (f", sandbox {grade.sandbox}" if grade.sandbox else "")
    yield from _wrap(f"Exercise {grade.exercise} ({grade.title}), on {where}, seed {grade.seed}")
    if grade.sandbox_reason:
        yield from _wrap(f"The sandbox level strict is not available here: {clean(grade.sandbox_reason)}")
    yield ""
    yield from _tests(grade, show_all)
    yield ""
    explained: set[str] = set()
    for result in grade.results:
        if result.status in ("failed", "error"):
            yield from _failure(result, explained, show_all)
            explained |= {mistake.id for mistake in result.mistakes}
    for sentence, command in next_steps(grade):
        yield sentence
        if command:
            yield f"  {command}"
    yield ""
    yield _summary(grade)


def overview(grades: Sequence[Grade]) -> Iterator[str]:
    """One line a file."""
    rows = [
        (
            _status("passed" if grade.passed else "failed"),
            textwrap.shorten(clean(grade.file), 40, placeholder="..."),
            out_of(grade.points, grade.max_points),
            "\n".join(mistake.id for mistake in grade.mistakes),
        )
        for grade in grades
    ]
    yield tabulate(rows, headers=("", "file", "points", "mistakes"), tablefmt="simple", disable_numparse=True)
    yield ""
    yield f"{sum(grade.passed for grade in grades)} of {len(grades)} files passed."


def _tests(grade: Grade, show_all: bool) -> Iterator[str]:
    """The table of the tests that did not pass (of all with `show_all`), and why some were skipped.

    Where one failure keeps all other tests from running, as in a file that cannot be loaded, it is listed alone.
    """
    failed = [result for result in grade.results if result.status != "passed"]
    idle = [result for result in failed if result.message.startswith("not run: ")]
    if len(idle) == len(grade.results) - 1 and len({result.message for result in idle}) == 1:
        failed = [result for result in failed if result not in idle]
    shown = grade.results if show_all else failed
    if shown:
        yield _table(shown)
    passed = sum(result.status == "passed" for result in grade.results)
    if passed and not show_all:
        yield click.style(f"{passed} passed", fg=_COLOURS["passed"])
    reasons = Counter(_reason(result) for result in grade.results if result.status == "skipped")
    for number, (reason, count) in enumerate(reasons.items()):
        if number == 0:
            yield ""
        yield from _wrap(f"{_count(count, 'test')} skipped: {reason}", hanging=2)


def _reason(result: Result) -> str:
    """Return why a test was skipped; one reason for all tests of what is not written yet."""
    unwritten = "not written yet"
    if result.message.startswith(unwritten):
        return unwritten
    return result.message.removeprefix("not run: ").removeprefix("not judged: ")


def _table(results: Sequence[Result]) -> str:
    rows = [
        (_status(result.status), result.category, result.title, out_of(result.points, result.max_points))
        for result in results
    ]
    return tabulate(
        rows,
        headers=("", "category", "test", "points"),
        tablefmt="simple",
        maxcolwidths=[None, None, 48, None],
        colalign=("left", "left", "left", "right"),
        disable_numparse=True,
    )


def _failure(result: Result, explained: Collection[str], show_all: bool) -> Iterator[str]:
    """One failure: each mistake in at most five lines, then what was seen. A mistake is explained once."""

    def heading(text: str) -> str:
        return click.style(text, fg=_COLOURS[result.status], bold=True)

    new = [mistake for mistake in result.mistakes if mistake.id not in explained]
    below: list[str] = []
    for mistake in new:
        yield heading(mistake.id)
        place = _place(
            mistake.where, most=DIAGNOSIS_LINES - min(3, max(2, _lines(_sentences(mistake.text)[0])))
        )
        yield from place
        yield from _diagnosis(mistake, show_all, len(place), below)
    known = ", ".join(m.id for m in result.mistakes if m.id in explained)
    if known:
        yield heading(f"{known} (see above)")
    if not result.mistakes:
        kind = "grader error" if result.status == "error" else "failed"
        yield heading(f"{kind}: {result.title}")
    message, place = _without_place(result)
    yield from place
    yield from _wrap(message, indent="    ")
    yield from below
    for mistake in new:
        yield from _indented("Hint", mistake.hint)
        if show_all:
            yield from _indented("Source", mistake.source)
    if result.mistakes:
        yield from _indented("Test", result.title)
    if result.picture:
        caption, _, rows = result.picture.rstrip("\n").partition("\n")
        yield ""
        yield from _wrap(caption, indent="  ")
        yield textwrap.indent(rows, "  ")
    yield ""


def _without_place(result: Result) -> tuple[str, list[str]]:
    """The message, and the place of a failure without a name. Lines that are shown anyway are left out."""
    spots = [one for one in (result.where, *(m.where for m in result.mistakes)) if one is not None]
    lines = "|".join(str(spot.line) for spot in spots)
    shown = re.compile(rf"\s*line ({lines}): ")
    rest = "\n".join(text for text in result.message.splitlines() if not shown.match(text))
    if re.search(rf"\bline ({lines})\b", rest):
        return result.message, []
    return rest, [] if result.mistakes else _place(result.where)


def _place(spot: Spot | None, most: int = 0) -> list[str]:
    """The lines that show a place, the spot underlined in red. Args: most: of one whose mistake has a name."""
    if spot is None:
        return []
    lines = place_lines(spot, explained=True, most=most) if most else place_lines(spot)
    return [
        _MARKS.sub(lambda found: found[1] + click.style(found[2], fg=_COLOURS["failed"], bold=True), line)
        for line in lines
    ]


def _diagnosis(mistake: Named, show_all: bool, used: int, below: list[str]) -> Iterator[str]:
    """Yield what is wrong and the formula: with heading and place, at most `DIAGNOSIS_LINES` unless `show_all`.

    Args:
        used: lines of the place.
        below: gets a formula that there is no line left for.
    """
    formula = list(_indented("Formula", mistake.formula))
    if show_all:
        yield from _wrap(mistake.text, indent="  ")
        yield from formula
        return
    most = DIAGNOSIS_LINES - used if used else DIAGNOSIS_LINES - 1
    if used and _lines(_sentences(mistake.text)[0]) + len(formula[:1]) > most:
        below += formula[:1]
        formula = []
    yield from _wrap(_first_sentences(mistake.text, most - len(formula[:1])), indent="  ")
    yield from formula[:1]


def _first_sentences(text: str, lines: int) -> str:
    """As many whole sentences of `text` as fit into so many lines; of a longer first one, its beginning."""
    sentences = _sentences(text)
    for count in range(len(sentences), 0, -1):
        beginning = " ".join(sentences[:count])
        if len(list(_wrap(beginning, indent="  "))) <= lines:
            return beginning
    return " ".join(textwrap.wrap(sentences[0], WIDTH - 6)[:lines]) + " ..."


def _lines(text: str) -> int:
    return len(list(_wrap(text, indent="  ")))


def _sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.!?])\s+", " ".join(text.split()))


def _indented(label: str, text: str) -> Iterator[str]:
    """`  Label    text`, the text in one column."""
    for number, line in enumerate(_wrap(text, indent=" " * 11) if text else ()):
        yield click.style(f"  {label:<9}", dim=True) + line[11:] if number == 0 else line


def _summary(grade: Grade) -> str:
    """ "failed: 30/42 points (1 failed, 3 skipped, 23 passed) in 1.5 s"."""
    verdict = "passed" if grade.passed else "failed"
    points = f"{out_of(grade.points, grade.max_points)} points ({counts(grade)}) in {grade.duration_s:.1f} s"
    return click.style(f"{verdict}: {points}", fg=_COLOURS[verdict], bold=True)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 else ''}"


def _status(status: str) -> str:
    return click.style(status, fg=_COLOURS[status])


def _wrap(text: str, indent: str = "", hanging: int = 0) -> Iterator[str]:
    """Lines of at most `WIDTH` columns. Lines that fit stay as they are, so small tables survive."""
    for line in text.splitlines():
        if len(indent + line) <= WIDTH:
            yield indent + line
            continue
        start = indent + line[: len(line) - len(line.lstrip())]
        yield from textwrap.wrap(
            line.lstrip(),
            WIDTH,
            initial_indent=start,
            subsequent_indent=start + " " * hanging,
            break_on_hyphens=False,
        )
