"""Runs a call of a file with a record of every line, and lists the file with what each line computed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from grader.run.run import Request
from grader.sandbox.sandbox import Sandbox
from zoo.core.errors import ZooError, unknown_name

if TYPE_CHECKING:
    from grader.engine.scenario import Scenario
    from grader.places.listing import Note
    from grader.places.where import Where
    from grader.places.wrong_results import Locator
    from grader.sandbox.remote import RemoteSubmission


@dataclass(frozen=True)
class Listing:
    """A file with what its lines computed.

    Attributes:
        text: the file's.
        call: what was called, for people.
        notes: by line.
        where: the first wrong value, or None.
        checked: whether the values were compared with those of a right run.
        wrong: whether what the call gave is wrong.
        error: what the call raised, or "".
    """

    text: str
    call: str
    notes: Mapping[int, Note]
    where: Where | None = None
    checked: bool = False
    wrong: bool = False
    error: str = ""


def trace_file(request: Request, call: str) -> Listing:
    """Trace a file.

    Args:
        request: the file; its categories are not used.
        call: a component's name, a call written as text (see `grader.engine.call_text`), or "": the first component
            that is wrong, or the exercise's first.

    Raises:
        ZooError: the call is not valid, or the file cannot be loaded, with the reason.
    """
    os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before torch is imported, here and there
    text = request.text
    with contextlib.ExitStack() as stack:
        sandbox = request.sandbox or stack.enter_context(Sandbox())
        sandbox.start()
        from grader.core.explain import explain, find_names, find_stubs
        from grader.core.submission import SubmissionError
        from grader.sandbox.remote import RemoteSubmission

        try:
            submission = RemoteSubmission(
                sandbox.worker(request.device), request.source, Path(request.file).name
            )
            stack.callback(submission.close)
            if call and not call.isidentifier():
                return _own_call(request, submission, text, call)
            return _scenario(request, submission, text, call)
        except SubmissionError as error:
            raise ZooError(explain(error, find_stubs(text), find_names(text))) from error


def _own_call(request: Request, submission: RemoteSubmission, text: str, call: str) -> Listing:
    from grader.core.explain import explain, find_names, find_stubs
    from grader.core.submission import SubmissionError
    from grader.engine.call_text import Caller, parsed
    from grader.places.listing import notes

    node, error = parsed(call), ""
    submission.record()
    try:
        Caller(submission, text, call, request.seed).run(node)
    except SubmissionError as raised:
        if raised.fatal:
            raise
        error = explain(raised, find_stubs(text), find_names(text))
    return Listing(text, call, notes(submission.recorded()), error=error)


def _scenario(request: Request, submission: RemoteSubmission, text: str, component: str) -> Listing:
    import importlib

    from grader.places.listing import notes
    from grader.places.wrong_results import Locator

    exercise = request.exercise
    if component and component not in exercise.components:
        raise unknown_name("component", component, exercise.components)
    submission.first_calls = getattr(importlib.import_module(exercise.reference), "FIRST_CALLS", {})
    locator = Locator(submission, text, exercise.subject(), request.seed)
    scenario, where, wrong = _chosen(locator, (component,) if component else exercise.components)
    trace, names = locator.records.named(scenario)
    call = f"{scenario.component}, {scenario.title}"
    return Listing(text, call, notes(trace, names), where, checked=True, wrong=wrong)


def _chosen(locator: Locator, components: tuple[str, ...]) -> tuple[Scenario, Where | None, bool]:
    """The scenario to show, and whether it is wrong: a wrong one, or else the first of the first component."""
    from grader.engine.scenario import scenarios_of

    for component in components:
        wrong = locator.wrong(component)
        if wrong:
            where = None
            with contextlib.suppress(Exception):  # as in a grade: a place may be found, or not
                where = locator.place(wrong)
            return wrong[0].scenario, where, True
    asked = [one for name in components for one in scenarios_of(locator.scenarios, name)]
    return asked[0], None, False
