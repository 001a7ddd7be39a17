"""A blueprint as one file of plain PyTorch."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import libcst as cst
from torch import nn

from zoo.core.blueprint import Blueprint, Sizes
from zoo.core.errors import ZooError
from zoo.core.plan import make_plan
from zoo.export.arguments import require_given
from zoo.export.construct import Constructor, configured
from zoo.export.flatten import Flattener, Unit
from zoo.export.inline import inline_once, unwrap, use_plain_bases
from zoo.export.literals import drop_default_choices, put_in_literals, put_in_texts
from zoo.export.observe import Observer
from zoo.export.positional import write_positional
from zoo.export.program import Program, methods
from zoo.export.prune import prune
from zoo.export.rendering import render, tidied
from zoo.export.simplify import simplified, substitute
from zoo.export.stand_ins import OwnEmbeddings, OwnMask, OwnMasking, OwnPart, readable
from zoo.export.trials import HEAD_WIDTH, exercise, prove, small
from zoo.models import external
from zoo.models.builder import Parts, build
from zoo.models.transformer import Model
from zoo.parts import values

STAND_INS: Mapping[type, type] = {
    external.ExternalPart: OwnPart,
    external.ExternalHead: OwnPart,
    external.ExternalEmbeddings: OwnEmbeddings,
    external.ExternalMask: OwnMask,
    external.ExternalMasking: OwnMasking,
}


@dataclass(frozen=True)
class Exported:
    """A file, and what was found out on the way.

    Attributes:
        text: the file.
        model: the name of the model's class in it.
    """

    text: str
    model: str


def export(blueprint: Blueprint, *, title: str = "", weights: str = "", command: str = "") -> Exported:
    """The file of a blueprint.

    Args:
        blueprint: choices and sizes.
        title: the file's first line; what it was exported from, such as a preset.
        weights: the name of a safetensors file that stands beside the file, and that `main` loads.
        command: the command that makes the file.

    Raises:
        CombinationError: a rule of combination is broken.
        ZooError: a part cannot be exported: which, and why.
    """
    watched = small(blueprint)
    plan = make_plan(blueprint)
    roots = frozenset(
        part.variant.path.partition(":")[0].partition(".")[0]
        for part in plan.parts.values()
        if not part.variant.is_file
    )
    for eliding in (False, True):  # masks that hide nothing are masks too, where that gives the same bits
        observer, model = _watched(watched, roots, eliding)
        program, names = _program(model, observer, watched.sizes, roots)
        text = tidied(render(program, names, model, blueprint, title, weights, command))
        try:
            prove(text, names[-1], small(blueprint, 2 * HEAD_WIDTH))
            break
        except ZooError:
            if eliding:
                raise
    return Exported(text, names[-1])


def _watched(blueprint: Blueprint, roots: frozenset[str], eliding: bool) -> tuple[Observer, Model]:
    """A model, and what was seen of it; unless `eliding`, it never looks whether a mask hides anything."""
    observer = Observer(roots)
    with observer.watching():
        model: Model = build(blueprint, seed=0)
    parts = next(
        v for c in observer.facts.made.values() for v in c.arguments.values() if isinstance(v, Parts)
    )
    observer.facts.objects.append(parts)
    if not eliding and hasattr(model, "_encoded"):
        encoded = type(model)._encoded
        model.__dict__["_encoded"] = lambda keep, x, _elide: encoded(model, keep, x, False)
    with observer.watching():
        exercise(model, blueprint.sizes)
    model.__dict__.pop("_encoded", None)
    return observer, model


def _program(
    model: Model, observer: Observer, sizes: Sizes, roots: frozenset[str]
) -> tuple[Program, list[str]]:
    facts = observer.facts
    for old, new in STAND_INS.items():
        if old in facts.instances:
            facts.instances[new] += facts.instances.pop(old)
    flattener = Flattener(facts, roots)
    program = _Exporting(flattener, facts, roots)
    unit = program.add_class(type(model))
    made = facts.made[id(model)]
    parameter = next((name for name, value in made.arguments.items() if isinstance(value, Parts)), None)
    if parameter is None:
        raise ZooError(
            f"{type(model).__name__} is constructed without `parts`: such an assembly cannot be exported."
        )
    init = next(f for f in methods(unit) if f.name.value == "__init__")
    options = {n: cst.parse_expression(repr(v)) for n, v in made.arguments.items() if _is_option(v)}
    init = simplified(init.with_changes(body=substitute(init.body, options)))
    constructor = Constructor(observer, sizes, STAND_INS)
    with_config = configured(init, model, parameter, constructor)
    with_config = _with_ties(with_config, model)
    program.replace(unit, init, with_config)
    for kind in sorted(constructor.classes, key=lambda kind: kind.__name__):
        program.renamed[type(model).__module__, kind.__name__] = program.add_class(kind).name
    program.asked = {"forward"}
    if "decoder" in model.stacks:
        program.asked |= {"decode", *(["encode"] if "encoder" in model.stacks else [])}
        program.asked |= {"new_caches"} if model.cacheable else set()
    prune(program, unit.name)
    while inline_once(program):
        prune(program, unit.name)
    while put_in_literals(program):
        prune(program, unit.name)
    put_in_texts(program)
    drop_default_choices(program)
    prune(program, unit.name)
    while inline_once(program, split=True):
        prune(program, unit.name)
    unwrap(program)
    write_positional(program)
    use_plain_bases(program)
    prune(program, unit.name)
    require_given(program)
    return program, program.collect(unit.name)


def _is_option(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


class _Exporting(Program):
    """A program that looks up classes of expressions in the model's constructor first."""

    def resolve(self, module: str, name: str, only_annotation: bool = False) -> str | None:
        """As in `Program`."""
        if (module, name) in self.renamed:
            return self.renamed[module, name]
        if (module, name) == (values.__name__, "readable"):
            self.renamed[module, name] = self.enter(self.flattener.function(readable)).name
            return self.renamed[module, name]
        if name == "nn":
            self.imports["nn"] = ("torch", "nn", "nn")
            return name
        return super().resolve(module, name, only_annotation)

    def kinds(self, unit: Unit, attribute: str) -> set[type]:
        """As in `Program`, with what stands for a wrapper."""
        return {STAND_INS.get(kind, kind) for kind in super().kinds(unit, attribute)}


def _with_ties(init: cst.FunctionDef, model: nn.Module) -> cst.FunctionDef:
    """The constructor with lines for weights that two of the model's parts share."""
    first: dict[int, str] = {}
    lines = []
    for name, value in model.named_parameters(remove_duplicate=False):
        other = first.setdefault(id(value), name)
        if other != name and other.partition(".")[0] != name.partition(".")[0]:
            lines.append(f"{_path(name)} = {_path(other)}  # one matrix")
    body = [*init.body.body, *(cst.parse_statement(line) for line in lines)]
    return init.with_changes(body=init.body.with_changes(body=body))


def _path(name: str) -> str:
    return "self." + re.sub(r"\.(\d+)", r"[\1]", name)
