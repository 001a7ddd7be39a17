"""The lines that compute with an argument, where results are wrong only with it: they are right if it is 0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from grader.core.value_trace import Place
from grader.edits.argument_uses import Use
from grader.edits.source_tree import Source
from grader.engine.client import Client
from grader.engine.contrast import differing
from grader.engine.grading import Grading
from grader.engine.naming import BY_CHANCE
from grader.engine.scenario import Prepared
from grader.engine.subject import AnswerKey
from grader.places.flow import Flow
from grader.places.where import Where
from grader.places.wrong_scenario import Wrong

MOST_USES = 2  # lines: of more it cannot be said which one is to blame


@dataclass(frozen=True)
class WithoutArgument:
    """Says to a client that a number is to be 0 wherever it is an argument."""

    number: float

    def __call__(self, client: Client) -> None:
        """See the class."""
        client.left_out = self.number


def by_argument(
    source: Source,
    grading: Grading,
    key: AnswerKey,
    flows: Sequence[tuple[Flow, Wrong, bool]],
) -> Where | None:
    """Where the one argument is used without which all looked-at results are right; None if there is none.

    Args:
        source: the file.
        flows: of wrong results.
    """
    found = [dict(_arguments(flow)) for flow, _, _ in flows]
    names = [name for name in (found[0] if found else ()) if all(name in one for one in found)]
    for name in names:
        pairs = [(wrong, one[name]) for (_, wrong, _), one in zip(flows, found, strict=True)]
        if all(_right_without(grading, key, wrong, number) for wrong, number in pairs):
            where = source.uses(pairs[0][0].scenario.component, name)
            return _shown(source, name, where) if 0 < len(where) <= MOST_USES else None
    return None


def _arguments(flow: Flow) -> Iterator[tuple[str, float]]:
    """Numbers other than 0 that the first calls were given: each name with the last one."""
    for event in flow.events:
        if event.kind == "given" and not event.callers:
            yield from ((name, x) for name, x in event.names.items() if isinstance(x, float) and x)


def _right_without(grading: Grading, key: AnswerKey, wrong: Wrong, number: float) -> bool:
    scenario = wrong.scenario
    if scenario.traits & BY_CHANCE:
        return False
    scenario = replace(scenario, ask=Prepared(scenario.ask, WithoutArgument(number)))
    got = grading.got(scenario)
    return not differing(scenario, key.right(scenario, got.free), got)


def _shown(source: Source, name: str, found: Sequence[Use]) -> Where:
    first, *others = found
    made = next((at for at in source.assigned(first.line) if source.given_a_value(at) & first.beside), None)
    other = others[0].line if others else made or next(iter(source.callers(first.line)), None)
    said = f"the results are wrong with `{name}`, and right if it is 0"
    return Where(
        Place(first.line, first.line),
        "value",
        other,
        value=said,
        expected=f"what the formula does with `{name}`",
    )
