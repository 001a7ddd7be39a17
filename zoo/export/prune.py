"""Removes what a program does not need: all passes, until nothing changes."""

# mypy: disable-error-code="attr-defined,no-any-return,arg-type,misc,assignment"
# (nodes of libcst are told apart by what they hold)

from __future__ import annotations

from collections.abc import Callable

from zoo.export import arguments, inline, optional, results, unused
from zoo.export.program import Program
from zoo.export.simplify import simplified
from zoo.export.trees import visited


def prune(program: Program, root: str) -> None:
    """Leave out what is not used, until nothing changes."""
    passes: tuple[Callable[[Program], None], ...] = (
        unused.drop_methods,
        unused.drop_locals,
        arguments.put_in_defaults,
        inline.drop_trivial_calls,
        unused.drop_trivial_modules,
        optional.write_out_optional,
        results.drop_results,
        unused.drop_attributes,
        arguments.drop_parameters,
    )
    for number in range(40):
        program.settled = program.settled or number > 1
        before = {name: unit.node for name, unit in program.units.items()}
        kept = program.collect(root)
        program.units = {name: unit for name, unit in program.units.items() if name in kept}
        program.renamed = {key: name for key, name in program.renamed.items() if name in program.units}
        for one in passes:
            one(program)
            for unit in program.units.values():
                if unit.node is not program.clean.get(unit.name):
                    unit.node = program.clean[unit.name] = simplified(
                        visited(unit.node, unused.EmptyBranches())
                    )
        if before == {name: unit.node for name, unit in program.units.items()}:
            return
