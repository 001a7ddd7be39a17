"""Final grades: which attempt counts, what it loses for being late, and what a person decided instead."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from grader.classroom.gradebook import Gradebook, Row
from grader.classroom.late import DAY_S, Late, Verdict, apply

LATEST_GRADINGS = (
    "SELECT * FROM gradings WHERE id IN (SELECT coalesce(max(CASE WHEN state != 'broken' THEN id END), max(id)) "
    "FROM gradings GROUP BY exercise, sha256)"
)
"""One grading a file: the latest that says something about the file, else the latest."""


def compute(book: Gradebook) -> int:
    """Compute all final grades anew, in one transaction; how many there are.

    Raises:
        PluginError: a plugin's late rule is broken. The final grades are those from before.
    """
    gradings = {(row["exercise"], row["sha256"]): row for row in book.all(LATEST_GRADINGS)}
    rules = {row["exercise"]: row for row in book.all("SELECT * FROM late_rules")}
    policy = book.setting("attempts", "last")
    attempts: dict[tuple[int, str], list[Row]] = {}
    for row in book.all("SELECT * FROM submissions ORDER BY student, exercise, attempt"):
        attempts.setdefault((row["student"], row["exercise"]), []).append(row)
    overrides: dict[tuple[int, str], Row] = {
        (row["student"], row["exercise"]): row for row in book.all("SELECT * FROM overrides ORDER BY id")
    }
    finals: list[tuple[object, ...]] = []
    grace: dict[int, int] = {}
    order = sorted(
        set(attempts) | set(overrides), key=lambda pair: (pair[0], _due(rules, pair[1]) or math.inf, pair[1])
    )
    worth = totals(book)
    for student, exercise in order:
        rule = rules.get(exercise, rules.get(""))
        final = _final(attempts.get((student, exercise), []), gradings, rule, policy, grace.get(student, 0))
        grace[student] = grace.get(student, 0) + final.pop("used")
        override = overrides.get((student, exercise))
        if override is not None and override["points"] is not None:
            note = f"set to {override['points']:g} by {override['who']}: {override['reason']}"
            final.update(points=override["points"], penalty=0.0, note=note, state="override")
        if final["max_points"] is None:
            final["max_points"] = worth.get(exercise)
        columns = (
            "submission",
            "grading",
            "state",
            "raw",
            "penalty",
            "points",
            "max_points",
            "late_s",
            "note",
        )
        finals.append((student, exercise, *(final[one] for one in columns)))
    with book.transaction():
        book.execute("DELETE FROM finals")
        for one in finals:
            book.execute(f"INSERT INTO finals VALUES ({', '.join('?' * len(one))})", one)
    return len(finals)


def totals(book: Gradebook) -> dict[str, float]:
    """Return what each exercise is worth, as far as a grading says so."""
    rows = book.all(
        "SELECT exercise, max(max_points) AS total FROM gradings WHERE state = 'graded' GROUP BY exercise"
    )
    return {row["exercise"]: row["total"] for row in rows}


def _due(rules: Mapping[str, Row], exercise: str) -> float | None:
    row = rules.get(exercise, rules.get(""))
    return None if row is None else row["due"]


def lateness(submission: Row, due: float | None) -> tuple[bool, float]:
    """Return whether a submission is late, and by how many seconds: 0 where the platform only says "late".

    The time of a file on this disk makes none late: it is often the time of the download.
    """
    if due is not None and submission["submitted_at"] is not None and submission["time_source"] != "file":
        late_s = max(0.0, submission["submitted_at"] - due)
        return late_s > 0, late_s
    return bool(submission["marked_late"]), 0.0


def _final(
    submissions: Sequence[Row],
    gradings: Mapping[tuple[str, str], Row],
    rule: Row | None,
    policy: str,
    used_before: int,
) -> dict[str, Any]:
    if not submissions:
        empty = dict.fromkeys(("submission", "grading", "raw", "points", "max_points"))
        return {**empty, "state": "missing", "penalty": 0.0, "late_s": 0.0, "note": "", "used": 0}
    judged = [_with_late_rule(one, gradings, rule, used_before) for one in submissions]
    if policy == "best":
        return max(judged, key=lambda one: (one["points"] is not None, one["points"] or 0.0))
    in_time = [one for one in judged if not one["late"]]
    return (in_time or judged)[-1]


def _with_late_rule(
    submission: Row, gradings: Mapping[tuple[str, str], Row], rule: Row | None, used_before: int
) -> dict[str, Any]:
    """One submission with its points after the late rule."""
    grading = gradings.get((submission["exercise"], submission["sha256"]))
    late, late_s = lateness(submission, None if rule is None else rule["due"])
    final: dict[str, Any] = {
        "submission": submission["id"],
        "grading": None if grading is None else grading["id"],
        "state": "waiting" if grading is None else grading["state"],
        "raw": None,
        "penalty": 0.0,
        "points": None,
        "max_points": None if grading is None else grading["max_points"],
        "late": late,
        "late_s": late_s,
        "note": "",
        "used": 0,
    }
    if grading is None or grading["points"] is None:
        final["note"] = "" if grading is None else grading["reason"]
        return final
    final["raw"] = final["points"] = grading["points"]
    if late and rule is not None:
        options = json.loads(rule["options"])
        days = max(1, math.ceil(late_s / DAY_S))
        left = max(0, int(options.get("days", 0)) - used_before)
        given = Late(grading["points"], grading["max_points"] or 0.0, late_s, days, left, options)
        verdict: Verdict = apply(rule["rule"], given)
        final.update(
            points=verdict.points,
            penalty=grading["points"] - verdict.points,
            note=verdict.note + (" (marked late; when it came is not known)" if not late_s else ""),
            used=verdict.used,
        )
    return final
