"""Root causes of published studies as mutants of the solutions, and what the grader says of each.

`python -m tests.mutation.yardsticks` grades them, and writes the tables of docs/mutation.md. That page says what the
list rests on, and what was left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from grader.mutants.mutants import Mutant
from tests import ROOT, solution_file
from tests.mutation.measure import Row, identity
from tests.mutation.pool import Job, measured
from tests.mutation.root_causes import DEFAULT_CAUSES, FAILS_CAUSES

PAGE = ROOT / "docs" / "mutation.md"
DEFAULT = "DEFault++"
FAILS = "Why Attention Fails"


@dataclass(frozen=True)
class Yardstick:
    """A root cause, written as a change of a solution.

    Attributes:
        study: where it is from.
        category: of the fault, as the study has it.
        cause: the root cause; a study's own name where it has one.
        exercise: whose solution is changed.
        old, new: the text, and what stands there instead.
    """

    study: str
    category: str
    cause: str
    exercise: str
    old: str
    new: str

    def mutant(self) -> tuple[str, Mutant]:
        """The solution, and the changed file. Raises ValueError if the text is not there, or more than once."""
        text = solution_file(self.exercise).read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            raise ValueError(f"{self.cause}: {self.old!r} is {text.count(self.old)} times in {self.exercise}")
        changed = text.replace(self.old, self.new)
        lines = list(zip(text.splitlines(), changed.splitlines(), strict=False))
        differing = [number for number, (a, b) in enumerate(lines, start=1) if a != b]
        more = changed.count("\n") - text.count("\n")
        first = differing[0]
        last = differing[-1] if not more else first + self.new.count("\n")
        return text, Mutant(self.cause, first, last, changed)


YARDSTICKS = [
    *(Yardstick(DEFAULT, *one) for one in DEFAULT_CAUSES),
    *(Yardstick(FAILS, *one) for one in FAILS_CAUSES),
]


def graded(some: Sequence[Yardstick], processes: int) -> list[tuple[Yardstick, Row]]:
    """Grade them, and print each as it comes."""
    mutants = [(one, *one.mutant()) for one in some]
    jobs = [Job(one.exercise, ("solution", text), mutant) for one, text, mutant in mutants]
    found = {}
    for row in measured(jobs, 0, name=True, cold=False, processes=processes):
        found[row.id] = row
        state = row.place if row.killed else f"alive {row.equal}"
        print(
            f"{row.exercise:12} {row.operator:40.40} {state:12} [{row.lines}] {row.named or row.said}",
            flush=True,
        )
    return [(one, found[identity(mutant.text)]) for one, _, mutant in mutants]


def table(rows: Sequence[tuple[Yardstick, Row]], study: str) -> str:
    """One study's table, in Markdown."""
    lines = [
        "| category | root cause | the changed line | the grader says | line |",
        "| --- | --- | --- | --- | --- |",
    ]
    for one, row in rows:
        if one.study == study:
            said = (
                " ".join(f"`{name}`" for name in row.named.split()) or row.said or "expected and got, no name"
            )
            if not row.killed:
                said = (
                    "passes"
                    if not row.equal.isdigit()
                    else f"passes, and changes nothing in {row.equal} answers"
                )
            cause = f"`{one.cause}`" if study == DEFAULT else one.cause
            place = {"right": "yes", "wrong": f"no: {row.lines}", "none": "none"}.get(row.place, "")
            change = row.change.partition("  #")[0].replace("|", "\\|")
            lines.append(
                f"| {one.category} | {cause} | {one.exercise}: `{change}` | {_cell(said)} | {place} |"
            )
    killed = sum(row.killed for one, row in rows if one.study == study)
    whole = sum(one.study == study for one, _ in rows)
    named = sum(row.killed and bool(row.named or row.said) for one, row in rows if one.study == study)
    right = sum(row.place == "right" for one, row in rows if one.study == study)
    lines += [
        "",
        f"{whole} mutants: {killed} killed, {named} of them named or explained, {right} at the right line.",
    ]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")[:160]


def written(page: str, rows: Sequence[tuple[Yardstick, Row]]) -> str:
    """The page with the tables in it."""
    for name, study in (("default", DEFAULT), ("fails", FAILS)):
        start, end = (
            f"<!-- {name}: made by python -m tests.mutation.yardsticks -->\n",
            f"<!-- end of {name} -->",
        )
        before, _, rest = page.partition(start)
        _, _, after = rest.partition(end)
        page = f"{before}{start}{table(rows, study)}\n{end}{after}"
    return page


def main() -> None:
    """Grade all, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation.yardsticks", description=__doc__)
    parser.add_argument("--jobs", type=int, default=1, help="processes; 0: in this one")
    rows = graded(YARDSTICKS, parser.parse_args().jobs)
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")


if __name__ == "__main__":
    main()
