"""All the files that can be made of one by changing one thing in it, as people get things wrong."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from grader.core.parsed_file import Candidate, Mutant, ParsedFile
from grader.mutants.operators import OPERATORS
from grader.mutants.scopes import SCOPED

__all__ = ["OPERATORS", "SCOPED", "Candidate", "File", "Mutant", "drawn", "mutants"]


class File(ParsedFile):
    """A file that can be changed."""

    def candidates(self) -> Iterator[Candidate]:
        """All changes, some of which may turn out to be none."""
        for operator, change in OPERATORS.items():
            for node in self.nodes:
                for changed in change(self, node):
                    yield Candidate(operator, node, changed)
        for operator, scoped in SCOPED.items():
            for where, written in scoped(self):
                yield Candidate(operator, where, written)


def mutants(text: str) -> list[Mutant]:
    """All mutants of a file, in the order of its lines, without repeats."""
    file = File(text)
    found: dict[str, Mutant] = {}
    for candidate in file.candidates():
        mutant = file.mutant(candidate)
        if mutant is not None:
            found.setdefault(mutant.text, mutant)
    return sorted(found.values(), key=lambda one: (one.line, one.operator, one.text))


def drawn(texts: Sequence[str], seed: str, first: float = 0.3) -> Iterator[tuple[int, Mutant]]:
    """Mutants of several files in a random order, without repeats, each with the number of its file.

    A file is drawn, then an operator that fits, then a place. Args: first: how often the first file is drawn.
    """
    draw = random.Random(seed)
    pools: dict[int, dict[str, list[Candidate]]] = {}
    files = [File(text) for text in texts]
    for number, file in enumerate(files):
        by_operator: dict[str, list[Candidate]] = {}
        for candidate in file.candidates():
            by_operator.setdefault(candidate.operator, []).append(candidate)
        for some in by_operator.values():
            draw.shuffle(some)
        pools[number] = by_operator
    seen: set[str] = set()
    while pools:
        number = 0 if 0 in pools and draw.random() < first else draw.choice(list(pools))
        operator = draw.choice(list(pools[number]))
        left = pools[number][operator]
        mutant = files[number].mutant(left.pop())
        if not left:
            del pools[number][operator]
        if not pools[number]:
            del pools[number]
        if mutant is not None and mutant.text not in seen:
            seen.add(mutant.text)
            yield number, mutant
