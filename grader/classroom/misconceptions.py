"""Common mistakes of a class, hard exercises and tests, and how students move from attempt to attempt.

A student counts once for a mistake, however often it was made; a file that several students handed in counts for
each of them. Only what was graded counts: files that could not be loaded are counted apart.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from itertools import combinations, pairwise
from typing import Any

from grader.classroom.examples import Example, Examples, Unnamed, Use, collect
from grader.classroom.finals import LATEST_GRADINGS
from grader.classroom.gradebook import Gradebook
from grader.classroom.names import Names

FEW = 5  # students; below it, nothing is said about an exercise or a test
HARD = 0.5  # share that passed, below which an exercise is called hard
PLACES, UNNAMED = 4, 20  # examples of a mistake, and of failures without a name, that are kept
TOGETHER = 3  # students who made two mistakes together, before it is said


@dataclass
class Misconception:
    """One mistake in one exercise.

    Attributes:
        exercise, mistake, text: what it is.
        students: who ever made it; `share` of all who handed the exercise in.
        files: files that have it.
        now: students whose latest attempt still has it; `fixed`: whose latest has not.
        kept: of `now`, students who have tried again since, and made it again.
        replaced: of `fixed`, students whose latest attempt has a mistake that they had not made together with it.
        points: lost by tests that name it, in the latest attempts.
        mean_attempts: attempts in which a student made it, on average.
        tests: names of the tests that found it.
        lines: line numbers in files, where known: path and line, at most a few.
        examples: keys of students who made it, at most a few.
        places: how it is written, by function and line, most frequent first, at most a few.
    """

    exercise: str
    mistake: str
    text: str
    students: int = 0
    share: float = 0.0
    files: int = 0
    now: int = 0
    fixed: int = 0
    kept: int = 0
    replaced: int = 0
    points: float = 0.0
    mean_attempts: float = 0.0
    tests: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)
    places: list[Example] = field(default_factory=list)


@dataclass
class Difficulty:
    """One exercise.

    Attributes:
        exercise: its name.
        students: who handed it in.
        passed: whose latest attempt passed all tests; `share` of them.
        passed_first: whose first attempt did.
        unwritten: whose latest attempt still has parts of the template.
        unloadable: whose latest attempt could not be loaded, or was stopped.
        unnamed: who failed and got no mistake named: the grader explains these least.
        mean, median: share of the points, in the latest attempts.
        attempts: mean number of attempts.
        hard: whether fewer than half passed.
    """

    exercise: str
    students: int
    passed: int
    share: float
    passed_first: int
    unwritten: int
    unloadable: int
    unnamed: int
    mean: float
    median: float
    attempts: float
    hard: bool


@dataclass
class TestUse:
    """One hidden test: what it says about this class.

    Attributes:
        exercise, test, title, category: which.
        passed, failed, skipped: files.
        named: failures for which a mistake was named.
        difference: by how much the share of the points of all other tests is higher in files that pass this test
            than in files that do not; None where all or none pass.
        verdict: "never fails", "never passes", "passes weaker files" or "".
    """

    exercise: str
    test: str
    title: str
    category: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    named: int = 0
    difference: float | None = None
    verdict: str = ""


@dataclass
class Move:
    """The change of a mistake from one attempt to the next.

    Attributes:
        exercise: which.
        before: the mistake in the earlier attempt; "": it failed without one; "not loaded": there was no grade.
        after: what the next attempt has: the same, another mistake that is new, "passed", "other failure" or
            "not loaded"; "no longer passed" after "passed".
        students: how many moved so.
    """

    exercise: str
    before: str
    after: str
    students: int


@dataclass
class Pair:
    """Two mistakes that students make together.

    Attributes:
        first, second: "exercise/mistake" each.
        students: who made both.
        expected: how many would by chance.
    """

    first: str
    second: str
    students: int
    expected: float


@dataclass
class Findings:
    """All of it; see the classes."""

    misconceptions: list[Misconception]
    exercises: list[Difficulty]
    tests: list[TestUse]
    moves: list[Move]
    pairs: list[Pair]
    attempts: list[dict[str, Any]]
    unnamed: list[Unnamed]
    summary: list[str] = field(default_factory=list)

    def as_object(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)


_TABLES = {
    "misconceptions": Misconception,
    "exercises": Difficulty,
    "tests": TestUse,
    "moves": Move,
    "pairs": Pair,
    "unnamed": Unnamed,
}
_ATTEMPTS = ("exercise", "attempt", "students", "passed", "mean")


def fields_of(table: str) -> Sequence[str]:
    """Return the column names of a table of `Findings`, even if it has no rows."""
    return _ATTEMPTS if table == "attempts" else [one.name for one in fields(_TABLES[table])]


@dataclass(frozen=True)
class _Attempt:
    """One graded attempt of a student."""

    student: int
    exercise: str
    number: int
    grading: int
    state: str
    passed: bool
    share: float
    path: str
    sha256: str
    mistakes: frozenset[str]


def find(book: Gradebook, exercise: str = "", names: Names | None = None) -> Findings:
    """Look at all graded attempts of a class, or at those of one exercise.

    Args:
        book: the gradebook.
        exercise: one; "": all.
        names: of the students, as they are to be shown; None: their own.
    """
    names = names or Names(book)
    attempts = _attempts(book, exercise)
    by_pair: _ByPair = defaultdict(list)
    for one in attempts:
        by_pair[one.exercise, one.student].append(one)
    results = book.all(
        f"SELECT r.*, g.exercise FROM results r JOIN ({LATEST_GRADINGS}) g ON g.id = r.grading "
        "ORDER BY g.exercise, r.grading, r.place"
    )
    diagnoses = book.all(
        f"SELECT d.*, g.exercise FROM diagnoses d JOIN ({LATEST_GRADINGS}) g ON g.id = d.grading ORDER BY d.place"
    )
    uses: Counter[int] = Counter(one.grading for one in attempts)
    files: dict[int, list[Use]] = defaultdict(list)
    for one in attempts:
        files[one.grading].append(Use(one.student, one.number, one.path, one.sha256))
    examples = collect(book, names, files)
    found = Findings(
        _misconceptions(by_pair, diagnoses, results, examples, names),
        _difficulties(by_pair, results),
        _tests(results, diagnoses, uses),
        _moves(by_pair),
        _pairs(by_pair),
        _progress(by_pair),
        list(examples.unnamed[:UNNAMED]),
    )
    found.summary = list(_sentences(found))
    return found


def _attempts(book: Gradebook, exercise: str) -> list[_Attempt]:
    rows = book.all(
        "SELECT s.exercise, s.attempt, s.sha256, s.path, s.student, g.id AS grading, g.state, g.passed, g.points, "
        f"g.max_points FROM submissions s JOIN students t ON t.id = s.student JOIN ({LATEST_GRADINGS}) g "
        "ON g.exercise = s.exercise AND g.sha256 = s.sha256 WHERE (:exercise = '' OR s.exercise = :exercise) "
        "AND g.state != 'broken' ORDER BY s.exercise, t.key, s.attempt",
        {"exercise": exercise},
    )
    mistakes: dict[int, set[str]] = defaultdict(set)
    for row in book.all("SELECT grading, mistake FROM diagnoses"):
        mistakes[row["grading"]].add(row["mistake"])
    found: list[_Attempt] = []
    last = None
    for row in rows:
        this = (row["exercise"], row["student"], row["sha256"])
        if this != last:  # the same file handed in once more is no further attempt
            found.append(
                _Attempt(
                    row["student"],
                    row["exercise"],
                    row["attempt"],
                    row["grading"],
                    row["state"],
                    bool(row["passed"]),
                    row["points"] / row["max_points"] if row["max_points"] else 0.0,
                    row["path"],
                    row["sha256"],
                    frozenset(mistakes[row["grading"]]),
                )
            )
        last = this
    return found


_ByPair = dict[tuple[str, int], list[_Attempt]]


def _misconceptions(
    by_pair: _ByPair, diagnoses: Sequence[Any], results: Sequence[Any], examples: Examples, names: Names
) -> list[Misconception]:
    texts = {(row["exercise"], row["mistake"]): row["text"] for row in reversed(diagnoses)}
    lost = {(row["grading"], row["name"]): row["max_points"] - row["points"] for row in results}
    tests: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    points: dict[tuple[int, str], float] = defaultdict(float)
    lines: dict[tuple[int, str], int] = {}
    for row in diagnoses:
        tests[row["exercise"], row["mistake"]][row["test"]] += 1
        points[row["grading"], row["mistake"]] += lost.get((row["grading"], row["test"]), 0.0)
        if row["line"] is not None:
            lines.setdefault((row["grading"], row["mistake"]), row["line"])
    found: dict[tuple[str, str], Misconception] = {}
    handed_in = Counter(exercise for exercise, _student in by_pair)
    made: Counter[tuple[str, str]] = Counter()
    for (exercise, student), tries in by_pair.items():
        for mistake in sorted(frozenset().union(*(one.mistakes for one in tries))):
            key = exercise, mistake
            one = found.setdefault(key, Misconception(exercise, mistake, texts.get(key, "")))
            having = [attempt for attempt in tries if mistake in attempt.mistakes]
            one.students += 1
            one.files += len(having)
            made[key] += len(having)
            if mistake in tries[-1].mistakes:
                one.now += 1
                one.points += points[tries[-1].grading, mistake]
                one.kept += len(tries) > 1 and mistake in tries[-2].mistakes
            else:
                one.fixed += 1
                one.replaced += not tries[-1].mistakes <= having[-1].mistakes
            if len(one.examples) < FEW:
                one.examples.append(names[student].key)
            line = lines.get((having[-1].grading, mistake))
            if line is not None and len(one.lines) < FEW:
                one.lines.append(f"{names.path(having[-1].path) or names.label(student)}:{line}")
    for key, one in found.items():
        one.share = round(one.students / handed_in[one.exercise], 4)
        one.mean_attempts = round(made[key] / one.students, 2)
        one.tests = [test for test, _count in tests[key].most_common(3)]
        one.points = round(one.points, 3)
        one.places = list(examples.named.get(key, ()))[:PLACES]
    return sorted(found.values(), key=lambda one: (-one.students, -one.points, one.exercise, one.mistake))


def _difficulties(by_pair: _ByPair, results: Sequence[Any]) -> list[Difficulty]:
    unwritten = {
        row["grading"] for row in results if row["status"] == "failed" and "ot written yet" in row["message"]
    }
    found = []
    for exercise in sorted({exercise for exercise, _student in by_pair}):
        tries = [attempts for (name, _student), attempts in by_pair.items() if name == exercise]
        last = [attempts[-1] for attempts in tries]
        shares = [one.share for one in last]
        passed = sum(one.passed for one in last)
        unnamed = sum(
            one.state == "graded" and not one.passed and not one.mistakes and one.grading not in unwritten
            for one in last
        )
        found.append(
            Difficulty(
                exercise,
                len(last),
                passed,
                round(passed / len(last), 4),
                sum(attempts[0].passed for attempts in tries),
                sum(one.grading in unwritten for one in last),
                sum(one.state in ("unloadable", "stopped", "refused") for one in last),
                unnamed,
                round(statistics.fmean(shares), 4),
                round(statistics.median(shares), 4),
                round(statistics.fmean(map(len, tries)), 2),
                len(last) >= FEW and passed < HARD * len(last),
            )
        )
    return sorted(found, key=lambda one: (one.share, one.exercise))


def _tests(results: Sequence[Any], diagnoses: Sequence[Any], uses: Counter[int]) -> list[TestUse]:
    """Each test over all graded attempts, a file once for each student who handed it in."""
    named = {(row["grading"], row["test"]) for row in diagnoses}
    totals: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    loaded = {row["grading"] for row in results if row["name"] not in ("load", "rules")}
    loaded -= {row["grading"] for row in results if row["name"] in ("load", "rules")}
    for row in results:
        totals[row["grading"]][0] += row["points"]
        totals[row["grading"]][1] += row["max_points"]
    found: dict[tuple[str, str], TestUse] = {}
    others: dict[tuple[str, str], tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for row in results:
        count = uses[row["grading"]]
        if not count or row["grading"] not in loaded:
            continue
        key = row["exercise"], row["name"]
        one = found.setdefault(key, TestUse(row["exercise"], row["name"], row["title"], row["category"]))
        one.passed += count * (row["status"] == "passed")
        one.failed += count * (row["status"] == "failed")
        one.skipped += count * (row["status"] == "skipped")
        one.named += count * ((row["grading"], row["name"]) in named)
        earned, total = totals[row["grading"]]
        rest = total - row["max_points"]
        if rest > 0:
            others[key][row["status"] != "passed"].extend([(earned - row["points"]) / rest] * count)
    for key, one in found.items():
        right, wrong = others[key]
        if right and wrong:
            one.difference = round(statistics.fmean(right) - statistics.fmean(wrong), 4)
        files = one.passed + one.failed + one.skipped
        if files >= FEW and not one.failed and not one.skipped:
            one.verdict = "never fails"
        elif files >= FEW and not one.passed:
            one.verdict = "never passes"
        elif files >= FEW and one.difference is not None and one.difference < 0:
            one.verdict = "passes weaker files"
    return list(found.values())


def _moves(by_pair: _ByPair) -> list[Move]:
    moves: Counter[tuple[str, str, str]] = Counter()
    for (exercise, _student), attempts in by_pair.items():
        steps: set[tuple[str, str]] = set()
        for before, after in pairwise(attempts):
            left = "not loaded" if before.state != "graded" else ""
            for mistake in sorted(before.mistakes) or ([] if before.passed else [left]):
                if mistake in after.mistakes:
                    steps.add((mistake, mistake))
                elif after.passed:
                    steps.add((mistake, "passed"))
                elif after.state != "graded":
                    steps.add((mistake, "not loaded"))
                else:
                    new = sorted(after.mistakes - before.mistakes)
                    steps |= {(mistake, one) for one in new} if new else {(mistake, "other failure")}
            if before.passed and not after.passed:
                steps.add(("passed", "no longer passed"))
        moves.update((exercise, before, after) for before, after in steps)
    rows = [Move(*key, count) for key, count in moves.items()]
    return sorted(rows, key=lambda one: (-one.students, one.exercise, one.before, one.after))


def _pairs(by_pair: _ByPair) -> list[Pair]:
    """Mistakes, also of different exercises, that more students make together than chance would have it."""
    of: dict[str, set[int]] = defaultdict(set)
    for (exercise, student), attempts in by_pair.items():
        for mistake in frozenset().union(*(one.mistakes for one in attempts)):
            of[f"{exercise}/{mistake}"].add(student)
    students = len({student for _exercise, student in by_pair})
    found = []
    for first, second in combinations(sorted(of), 2):
        both = len(of[first] & of[second])
        expected = len(of[first]) * len(of[second]) / students
        if both >= TOGETHER and both > 1.5 * expected:
            found.append(Pair(first, second, both, round(expected, 2)))
    return sorted(found, key=lambda one: (-one.students / one.expected, one.first, one.second))


def _progress(by_pair: _ByPair) -> list[dict[str, Any]]:
    """By exercise and number of the attempt: how many came so far, and how well they did."""
    shares: dict[tuple[str, int], list[_Attempt]] = defaultdict(list)
    for (exercise, _student), attempts in by_pair.items():
        for number, one in enumerate(attempts, 1):
            shares[exercise, number].append(one)
    return [
        {
            "exercise": exercise,
            "attempt": number,
            "students": len(found),
            "passed": sum(one.passed for one in found),
            "mean": round(statistics.fmean(one.share for one in found), 4),
        }
        for (exercise, number), found in sorted(shares.items())
    ]


def _sentences(found: Findings) -> Iterable[str]:
    """Return what an instructor should know first."""
    for one in found.misconceptions[:3]:
        if one.students >= TOGETHER:
            have = "has" if one.now == 1 else "have"
            left = f"{one.now} still {have} it" if one.now else "all of them fixed it"
            yield f"{one.exercise}: {one.students} students ({one.share:.0%}) made the mistake {one.mistake}; {left}."
    for hard in found.exercises:
        if hard.hard:
            yield f"{hard.exercise} is hard for this class: {hard.passed} of {hard.students} passed."
    for hard in found.exercises:
        if hard.students >= FEW and hard.unnamed * 4 >= hard.students:
            yield (
                f"{hard.exercise}: {hard.unnamed} students failed without a named mistake. Look at their files; they "
                "may share a mistake that the grader does not know yet."
            )
    stuck = [move for move in found.moves if move.before == move.after]
    for move in stuck[:2]:
        if move.students >= TOGETHER:
            yield f"{move.exercise}: {move.students} students kept {move.before} from one attempt to the next."
    nobody = [test for test in found.tests if test.verdict == "never passes"]
    for test in nobody[:3]:
        yield f"{test.exercise}: no file passes '{test.title}'. Check the task's wording and the test."
    nothing = sum(test.verdict == "never fails" for test in found.tests)
    if nothing:
        yield f"{nothing} of {len(found.tests)} tests never failed in this class, so they say nothing about it."
