"""Optional arguments in another order than the template's are seen; who takes them by keyword alone passes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from grader.catalog import get_exercise, get_exercises
from grader.engine.local import LocalSubmission
from tests import solution_file
from tests.grader.grades import failures, graded


def optional_of(exercise: str) -> Iterator[tuple[str, ast.Module, ast.arguments]]:
    """The public functions and methods of a solution that have several optional arguments: a new tree each."""
    parts = get_exercise(exercise).components
    text = solution_file(exercise).read_text(encoding="utf-8")
    for number, node in enumerate(ast.walk(ast.parse(text))):
        public = isinstance(node, ast.FunctionDef) and (
            node.name == "__init__" or not node.name.startswith("_")
        )
        if public and isinstance(node, ast.FunctionDef) and len(node.args.defaults) > 1:
            tree = ast.parse(text)
            own = list(ast.walk(tree))[number]
            owner = next(
                (one.name for one in tree.body if isinstance(one, ast.ClassDef) and own in one.body),
                node.name,
            )
            if owner in parts and isinstance(own, ast.FunctionDef):
                yield f"{owner}.{own.name}", tree, own.args


def exchanged(exercise: str) -> Iterator[tuple[str, str]]:
    """Solutions in which two neighbours among optional arguments are exchanged."""
    for name, tree, args in optional_of(exercise):
        first = len(args.args) - len(args.defaults)
        for i in range(len(args.defaults) - 1):
            for some, at in ((args.args, first + i), (args.defaults, i)):
                some[at], some[at + 1] = some[at + 1], some[at]  # type: ignore[attr-defined, index]
            yield f"{name}-{args.args[first + i].arg}", ast.unparse(tree)
            for some, at in ((args.args, first + i), (args.defaults, i)):
                some[at], some[at + 1] = some[at + 1], some[at]  # type: ignore[attr-defined, index]


CASES = [(one, title, text) for one in get_exercises() for title, text in exchanged(one)]


@pytest.mark.parametrize(
    ("exercise", "text"), [pytest.param(one, text, id=f"{one}-{title}") for one, title, text in CASES]
)
@pytest.mark.sampled(6)
def test_another_order_is_failed_and_said(exercise: str, text: str) -> None:
    found = failures(
        graded(exercise, LocalSubmission.from_source(text, filename=f"{exercise}.py"), pairs=False)
    )
    assert found
    if exercise != "decoding":  # where another mistake may give the same ids
        assert set().union(*found.values()) <= {"argument-order"}


@pytest.mark.parametrize("exercise", sorted({one for one, _, _ in CASES}))
@pytest.mark.sampled(4)
def test_by_keyword_alone_passes(exercise: str) -> None:
    for _, tree, args in optional_of(exercise):
        first = len(args.args) - len(args.defaults)
        args.kwonlyargs, args.kw_defaults = args.args[first:], list(args.defaults)
        args.args, args.defaults = args.args[:first], []
        submission = LocalSubmission.from_source(ast.unparse(tree), filename=f"{exercise}.py")
        assert not failures(graded(exercise, submission, pairs=False))
