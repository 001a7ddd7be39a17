"""The lines that compute with an argument, where results are wrong only with it: they are right if it is 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grader.core.value_trace import Place
from grader.edits.argument_uses import Use
from grader.edits.source_tree import Source
from grader.engine.answers import Answers
from grader.engine.client import Client
from grader.engine.contrast import differing
from grader.engine.naming import BY_CHANCE
from grader.engine.scenario import Prepared
from grader.engine.subject import AnswerKey
from grader.places.where import Where
from grader.places.wrong_scenario import Wrong

MOST_USES = 2  # lines: of more it cannot be said which one is to blame
MOST_RESULTS = 4  # that are looked at


class WithoutFloats:
    """Says to a client that every float is to be 0 that is an argument."""

    def __init__(self) -> None:
        self._clients: list[Client] = []

    def __call__(self, client: Client) -> None:
        """See the class."""
        client.without_floats = True
        self._clients.append(client)

    @property
    def were_given(self) -> bool:
        """Whether a call had any."""
        return any(client.given_floats for client in self._clients)


def by_argument(source: Source, grading: Answers, key: AnswerKey, wrong: Sequence[Wrong]) -> Where | None:
    """Where the one float is used that can be an argument, if results are right without it that are wrong with it.

    Args:
        source: the file.
    """
    asked = [one for one in wrong if not one.scenario.traits & BY_CHANCE][:MOST_RESULTS]
    names = source.float_options(asked[0].scenario.component) if asked else []
    right = [_right_without(grading, key, one) for one in asked] if len(names) == 1 else []
    if True not in right or False in right:
        return None
    found = source.uses(asked[0].scenario.component, names[0])
    return _shown(source, names[0], found) if 0 < len(found) <= MOST_USES else None


def _right_without(grading: Answers, key: AnswerKey, wrong: Wrong) -> bool | None:
    """Whether a result is right if all floats are 0; None if none is an argument."""
    without = WithoutFloats()
    scenario = replace(wrong.scenario, ask=Prepared(wrong.scenario.ask, without))
    got = grading.ask(scenario)
    if not without.were_given:
        return None
    return not differing(scenario, key.right(scenario, got.free), got)


def _shown(source: Source, name: str, found: Sequence[Use]) -> Where:
    first, *others = found
    made = next((at for at in source.assigned(first.line) if source.given_a_value(at) & first.beside), None)
    other = others[0].line if others else made or next(iter(source.callers(first.line)), None)
    said = f"the results are wrong with `{name}`, and right if it is 0"
    expected = f"what the formula does with `{name}`"
    return Where(Place(first.line, first.line), "value", other, value=said, expected=expected)
