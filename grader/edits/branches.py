"""What decides whether a line of a file runs: conditions, jumps, and what raises."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from functools import cached_property

from grader.edits.idle import conditions
from grader.edits.moved import JUMPS
from grader.edits.parsed import nodes_of
from grader.edits.state import State

MOST_OF_BLOCK = 8


class Branches(State):
    """Of one file."""

    @cached_property
    def _tests(self) -> dict[int, list[tuple[int, set[str], ast.stmt]]]:
        found: dict[int, list[tuple[int, set[str], ast.stmt]]] = {}
        for node in nodes_of(self._tree):
            if isinstance(node, (ast.If, ast.While)):
                names = {one.id for one in ast.walk(node.test) if isinstance(one, ast.Name)}
                names |= {one.attr for one in ast.walk(node.test) if isinstance(one, ast.Attribute)}
                inside = range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
                for line in inside:
                    found.setdefault(line, []).append((node.test.lineno, names, node))
        return found

    def tests(self, line: int) -> list[tuple[int, set[str]]]:
        """Lines of the conditions that decide whether a line runs, with the names that they read, innermost first."""
        return [(at, names) for at, names, _ in sorted(self._tests.get(line, []), key=lambda one: -one[0])]

    def decides(self, line: int) -> list[int]:
        """Lines of the statements that run, or do not, by the condition in a line."""
        return sorted(
            {
                one.lineno
                for node in nodes_of(self._tree)
                if isinstance(node, (ast.If, ast.While)) and node.test.lineno == line
                for one in node.body
            }
        )

    def otherwise(self, line: int) -> list[int]:
        """Lines of the statements that run where the condition in a line is not met, and not where it is."""
        found = list[ast.stmt]()
        for parent in nodes_of(self._tree):
            for body in (body for _, body in ast.iter_fields(parent) if isinstance(body, list)):
                for i, node in enumerate(body):
                    if isinstance(node, ast.If) and node.test.lineno == line:
                        found += node.orelse
                        found += body[i + 1 :] if isinstance(node.body[-1], JUMPS) else []
        return [one.lineno for one in found]

    def chooses(self, line: int) -> bool:
        """Return whether a condition in a line decides what runs."""
        tests = [
            node.test for node in nodes_of(self._tree) if isinstance(node, (ast.If, ast.While, ast.IfExp))
        ]
        return any(test.lineno == line for test in tests)

    def is_block(self, lines: Collection[int]) -> bool:
        """Whether lines are all of one block of statements that a condition decides on, and there are few."""
        return len(lines) <= MOST_OF_BLOCK and any(
            {*range(body[0].lineno, (body[-1].end_lineno or 0) + 1)}
            >= {*lines}
            >= {one.lineno for one in body}
            for node in nodes_of(self._tree)
            if isinstance(node, ast.If)
            for body in (node.body, node.orelse)
            if body
        )

    def jumps(self, line: int) -> int | None:
        """The line of the condition, if any, on which a line leaves a loop, or a round of it."""
        jumps = (node.lineno for node in nodes_of(self._tree) if isinstance(node, (ast.Break, ast.Continue)))
        return next((at for at, _ in self.tests(line)), None) if line in jumps else None

    def decided(self, lines: Sequence[int]) -> int | None:
        """The line of a condition that reads nothing, `if True`: in the functions of these lines, or elsewhere."""
        functions = [one for line in lines if (one := self._function(line)) is not None]
        tests = (
            test for part in (*functions, self._tree) for node in ast.walk(part) for test in conditions(node)
        )
        return next((test.lineno for test in tests if isinstance(test, ast.Constant)), None)

    def skipped(self, after: int, before: int) -> int | None:
        """The line of the last condition between two lines, whose statements lie between them too."""
        tests = [(at, node.end_lineno or at) for some in self._tests.values() for at, _, node in some]
        return max((at for at, end in tests if after < at and end < before), default=None)

    @cached_property
    def raises(self) -> list[tuple[str, int, int]]:
        """Statements that raise: the exception's name, their line, and the line of the condition for it."""
        found = []
        for node in nodes_of(self._tree):
            if isinstance(node, ast.Raise) and node.exc is not None:
                called = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                tests = self.tests(node.lineno)
                found.append((ast.unparse(called), node.lineno, tests[0][0] if tests else node.lineno))
        return found

    def guards(self, line: int) -> bool:
        """Return whether a statement that raises is in a line."""
        return any(first <= line <= last for first, last in self._raising)

    @cached_property
    def _raising(self) -> list[tuple[int, int]]:
        return [
            (node.lineno, node.end_lineno or node.lineno)
            for node in nodes_of(self._tree)
            if isinstance(node, (ast.Raise, ast.Assert))
        ]

    def last_line(self, line: int) -> int | None:
        """The last statement of the function that a line belongs to."""
        function = self._function(line)
        return None if function is None else function.body[-1].lineno

    def left_by(self, line: int, ran: Collection[int]) -> int | None:
        """The `return` that a function ended with, where another line of it ran last: of a `with`, or `finally`."""
        function = self._function(line)
        nodes = ast.walk(function) if function is not None else ()
        found = [node for node in nodes if isinstance(node, ast.Return) and node.lineno in ran]
        if len(found) != 1 or found[0].lineno <= line <= (found[0].end_lineno or line):
            return None
        return found[0].lineno
