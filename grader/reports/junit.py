"""`--format junit`: JUnit XML, as CI systems read it; a suite for each file, with all that is known."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as ET

import click

from grader.core.results import Grade, Result, clean, for_log
from grader.reports.places import plain

OUTCOMES = {"failed": "failure", "error": "error", "skipped": "skipped"}


def _case(suite: ET.Element, grade: Grade, result: Result) -> None:
    classname = f"{grade.exercise}.{result.category}"
    spent = f"{result.duration_s:.3f}"
    case = ET.SubElement(suite, "testcase", classname=classname, name=result.title, time=spent)
    if result.where is not None:
        case.set("file", clean(grade.file))
        case.set("line", str(result.where.line))
    if result.status not in OUTCOMES:
        return
    names = ", ".join(one.id for one in result.mistakes)
    first = next(iter(result.message.splitlines()), "")
    outcome = ET.SubElement(case, OUTCOMES[result.status], message=names or first)
    if result.status != "skipped":
        outcome.set("type", names or result.status)
        said = [line for one in result.mistakes for line in (one.text, one.formula, one.hint)]
        spots = list(dict.fromkeys([result.where, *(one.where for one in result.mistakes)]))
        said = [plain(spot) for spot in spots if spot is not None] + said
        outcome.text = "\n".join(filter(None, [*said, result.message, result.picture]))


def _suite(root: ET.Element, grade: Grade) -> None:
    counts = {kind: sum(r.status == status for r in grade.results) for status, kind in OUTCOMES.items()}
    suite = ET.SubElement(
        root,
        "testsuite",
        name=f"{grade.exercise} {clean(grade.file)}",
        tests=str(len(grade.results)),
        failures=str(counts["failure"]),
        errors=str(counts["error"]),
        skipped=str(counts["skipped"]),
        time=f"{grade.duration_s:.3f}",
    )
    properties = ET.SubElement(suite, "properties")
    for name, value in (
        ("seed", grade.seed),
        ("device", grade.device),
        ("points", f"{grade.points:g}"),
        ("max_points", f"{grade.max_points:g}"),
    ):
        ET.SubElement(properties, "property", name=name, value=str(value))
    for result in grade.results:
        _case(suite, grade, result)


class JunitReport:
    """See the module."""

    def add(self, grade: Grade) -> None:
        """Nothing yet."""

    def close(self, grades: Sequence[Grade]) -> None:
        """Print the document."""
        root = ET.Element("testsuites", name="zoo grade")
        for grade in grades:
            _suite(root, grade)
        ET.indent(root)
        text = ET.tostring(root, encoding="unicode")
        click.echo('<?xml version="1.0" encoding="utf-8"?>\n' + for_log(text))
