"""The classes, functions and constants of a file, and what can be left out of them."""

# mypy: disable-error-code="attr-defined,no-any-return,arg-type,misc,assignment"
# (nodes of libcst are told apart by what they hold)

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import libcst as cst
import torch
from torch import nn

from zoo.export.flatten import Flattener, Unit, bound_arguments, docstring_line, inlined_call
from zoo.export.observe import Facts
from zoo.export.simplify import constant, mapped, simplified, substitute, without_none
from zoo.export.trees import (
    Tracking,
    assigned_names,
    attributes_in,
    bound_names,
    code,
    docstring_of,
    is_builtin,
    is_constant,
    is_own,
    names_in,
    parameters,
    self_attribute,
    source_of,
    visited,
    without_docstring,
)

SIZES_ONLY = ("size", "dim", "numel", "len", "type", "new_caches")
"""Calls that change nothing and refuse nothing, so that they can be left out."""
Place = tuple[str, str]
"""A function: name of its unit, name of the method ("" of a function)."""


class Program:
    """Units by name, and passes over them until nothing changes."""

    def __init__(self, flattener: Flattener, facts: Facts, roots: frozenset[str]) -> None:
        self.flattener, self.facts, self.roots = flattener, facts, roots
        self.units: dict[str, Unit] = {}
        self.imports: dict[str, tuple[str, str, str]] = {}
        self.asked: set[str] = set()
        """Methods that are called from outside."""
        self.renamed: dict[tuple[str, str], str] = {}
        self._clean: dict[str, Any] = {}
        self._settled = False
        self._looked_up: dict[str, tuple[Any, list[str], dict[str, tuple[str, str, str]]]] = {}

    # What belongs to it

    def add_class(self, cls: type) -> Unit:
        """The unit of a class."""
        for unit in self.units.values():
            if unit.value is cls:
                return unit
        unit = self.flattener.flattened(cls)
        return self._enter(unit)

    def _enter(self, unit: Unit) -> Unit:
        name, number = unit.name, 2
        while unit.name in self.units:
            unit.name, number = f"{name}{number}", number + 1
        if unit.name != name and isinstance(unit.node, (cst.ClassDef, cst.FunctionDef)):
            unit.node = unit.node.with_changes(name=cst.Name(unit.name))
        elif unit.name != name:
            unit.node = substitute_targets(unit.node, name, unit.name)
        self.units[unit.name] = unit
        return unit

    def collect(self, root: str) -> list[str]:
        """All that is reached from a unit, what is used before what uses it."""
        order: list[str] = []
        on_the_way: set[str] = set()
        self.imports = {}

        def visit(name: str) -> None:
            if name in on_the_way:
                return
            on_the_way.add(name)
            for other in self._used_by(self.units[name]):
                visit(other)
            order.append(name)

        visit(root)
        return order

    def _used_by(self, unit: Unit) -> list[str]:
        held = self._looked_up.get(unit.name)
        if held is None or held[0] is not unit.node or any(name not in self.units for name in held[1]):
            before, self.imports = self.imports, {}
            found = self._look_up(unit)
            held = self._looked_up[unit.name] = (unit.node, found, self.imports)
            self.imports = before
        self.imports |= held[2]
        return held[1]

    def _look_up(self, unit: Unit) -> list[str]:
        found: list[str] = []
        replaced: dict[str, dict[str, str]] = {}
        for part, module, node in pieces(unit):
            hidden = bound_names(node) if isinstance(node, cst.FunctionDef) else set()
            inner = annotation_names(node)
            for name in dict.fromkeys(one.value for one in names_in(node)):
                if (name in hidden and name not in inner) or name in ("self", "config", "Config"):
                    continue
                if name == unit.name or (name in self.units and self.units[name] is unit):
                    continue
                target = self.resolve(module, name, only_annotation=name in inner and not _beyond(node, name))
                if target is None and part:
                    other = unit.modules.get(f"{part} of base")
                    target = self.resolve(other, name) if other else None
                if target is None:
                    continue
                if target != name:
                    replaced.setdefault(part, {})[name] = target
                if target in self.units and target not in found:
                    found.append(target)
        for part, names in replaced.items():
            unit.node = rename(unit, part, names)
        return found

    def resolve(self, module: str, name: str, only_annotation: bool = False) -> str | None:
        """The name in the file of what a name means in a module: a unit's, or itself where it is imported."""
        if is_builtin(name) and name not in source_of(module).definitions:
            return None
        source = source_of(module)
        if name in source.definitions:
            if (module, name) in self.renamed:
                return self.renamed[module, name]
            value = getattr(source.module, name, None)
            if only_annotation and isinstance(value, type):
                return self._annotation(value)
            node = source.definitions[name]
            if isinstance(node, cst.ClassDef) and isinstance(value, type):
                unit = self.add_class(value)
            elif isinstance(node, cst.FunctionDef):
                unit = self._enter(self.flattener.function(getattr(source.module, name)))
            else:
                unit = self._enter(Unit(name, node, {"": module}))
            self.renamed[module, name] = unit.name
            return unit.name
        if name in source.imports:
            origin, attribute, bound = source.imports[name]
            origin = _absolute(origin, module)
            if attribute and is_own(_imported(origin), self.roots):
                return self.resolve(origin, attribute, only_annotation)
            self.imports[bound] = (origin, attribute, bound)
            return name
        return name if name in self.units else None

    def _annotation(self, value: type) -> str:
        """A class that is only named in annotations: those of the file that stand for it."""
        for unit in self.units.values():
            if unit.value is value:
                return unit.name
        heirs = [
            u.name for u in self.units.values() if isinstance(u.value, type) and issubclass(u.value, value)
        ]
        if len(heirs) == 1:
            return heirs[0]
        made = [one for one in self.facts.instances if issubclass(one, value)]
        if len(made) == 1:
            return self.add_class(made[0]).name
        if heirs:
            return " | ".join(heirs)
        if issubclass(value, nn.Module):
            self.imports["nn"] = ("torch", "nn", "nn")
            return "nn.Module"
        return self.add_class(value).name

    # Passes

    def prune(self, root: str) -> None:
        """Leave out what is not used, until nothing changes."""
        passes: tuple[Callable[[], None], ...] = (
            self._methods,
            self._locals,
            self._constant_parameters,
            self._trivial_calls,
            self._trivial_modules,
            self._optional_arguments,
            self._results,
            self._attributes,
            self._parameters,
        )
        for number in range(40):
            self._settled = self._settled or number > 1
            before = {name: unit.node for name, unit in self.units.items()}
            kept = self.collect(root)
            self.units = {name: unit for name, unit in self.units.items() if name in kept}
            self.renamed = {key: name for key, name in self.renamed.items() if name in self.units}
            for one in passes:
                one()
                for unit in self.units.values():
                    if unit.node is not self._clean.get(unit.name):
                        unit.node = self._clean[unit.name] = simplified(visited(unit.node, _Empty()))
            if before == {name: unit.node for name, unit in self.units.items()}:
                return

    def _methods(self) -> None:
        used = {*self.asked}
        for unit in self.units.values():
            for _, _, node in pieces(unit):
                used |= set(attributes_in(node))
        for unit in self.units.values():
            if not isinstance(unit.node, cst.ClassDef):
                continue
            text = code(unit.node)
            kept = []
            for one in unit.node.body.body:
                name = _name_of(one)
                inherited = any(
                    name in vars(base)
                    for base in unit.value.__mro__
                    if not is_own(base.__module__, self.roots)
                )
                special = name.startswith("__") or (isinstance(one, cst.FunctionDef) and name == "forward")
                overrides = isinstance(one, cst.FunctionDef) and inherited and name != "extra_repr"
                if isinstance(one, cst.SimpleStatementLine) and isinstance(one.body[0], cst.AnnAssign):
                    bare = one.body[0].value is None
                    wanted = name in used and (not bare or f'("{name}"' in text)
                    if bare and not wanted:
                        continue
                if not name or name in used or special or overrides:
                    kept.append(one)
            if len(kept) != len(unit.node.body.body):
                unit.node = unit.node.with_changes(body=unit.node.body.with_changes(body=kept))

    def _trivial_calls(self) -> None:
        """Calls of functions that give a constant, or one of their arguments."""
        functions = {self._place(unit, f): f for unit, f in self.functions()}
        plain = {
            place: value
            for place, f in functions.items()
            if (value := _gives(f)) is not None
            and place[1] != "forward"
            and not place[1].startswith("__init")
        }
        properties = {place[1]: value for place, value in plain.items() if _is_property(functions[place])}
        counted = [place[1] for place in functions]
        program = self
        if not plain:
            return
        ends = {place[1] or place[0] for place in plain} | {"__call__"}

        for unit in list(self.units.values()):

            def change(original: Any, node: Any, unit: Unit = unit, function: Any = None) -> Any:
                if isinstance(node, cst.Attribute) and counted.count(node.attr.value) == 1:
                    value = properties.get(node.attr.value)
                    return value if value is not None and is_constant(value) else node
                if not isinstance(node, cst.Call):
                    return node
                method = node.func.attr.value if isinstance(node.func, cst.Attribute) else ""
                foreign = method and not self_attribute(node.func.value) and code(node.func.value) != "self"
                if foreign and hasattr(torch.Tensor, method):
                    return node
                places = program.callees(unit, function, original)
                if not places or not all(place in plain for place in places):
                    return node
                if len({code(plain[place]) for place in places}) != 1 or _is_property(functions[places[0]]):
                    return node
                value = plain[places[0]]
                arguments = bound_arguments(functions[places[0]], node)
                if arguments is None or not all(
                    droppable(one) for name, one in arguments.items() if name != code(value)
                ):
                    return node
                return arguments.get(code(value), value)

            if isinstance(unit.node, cst.SimpleStatementLine):
                continue
            for function in [f for u, f in self.functions() if u is unit]:
                if not (ends & {*attributes_in(function), *(one.value for one in names_in(function))}) and (
                    "__call__" not in {place[1] for place in plain}
                ):
                    continue
                changed = mapped(function, lambda o, n, f=function, c=change: c(o, n, function=f))
                if changed is not function:
                    self.replace(unit, function, changed)

    def _place(self, unit: Unit, function: cst.FunctionDef) -> Place:
        return unit.name, function.name.value if isinstance(unit.node, cst.ClassDef) else ""

    def plain_bases(self) -> None:
        """Classes that only hand arguments on to a base of torch: the base itself where they are made."""
        for unit in list(self.units.values()):
            if not isinstance(unit.node, cst.ClassDef) or len(unit.node.bases) != 1:
                continue
            body = without_docstring(unit.node.body)
            init = body[0] if len(body) == 1 and isinstance(body[0], cst.FunctionDef) else None
            base = code(unit.node.bases[0].value)
            lines = without_docstring(init.body) if init is not None and init.name.value == "__init__" else []
            small = (
                lines[0].body[0]
                if len(lines) == 1 and isinstance(lines[0], cst.SimpleStatementLine)
                else None
            )
            call = small.value if isinstance(small, cst.Expr) else None
            if (
                not isinstance(call, cst.Call)
                or code(call.func) != "super().__init__"
                or not base.startswith("nn.")
            ):
                continue
            if any(unit.name in _handed_on(other.node) for other in self.units.values()):
                continue

            def change(
                _: Any, node: Any, unit: Unit = unit, init: Any = init, call: Any = call, base: str = base
            ) -> Any:
                if not isinstance(node, cst.Call) or code(node.func) != unit.name:
                    return node
                values = bound_arguments(init, node)
                if values is None:
                    return node
                made = substitute(call, values)
                return made.with_changes(func=cst.parse_expression(base), lpar=node.lpar, rpar=node.rpar)

            for other in self.units.values():
                other.node = mapped(other.node, change)

    def inline(self) -> bool:
        """Put methods that are called once, and are one expression or the end of their caller, in their place."""
        calls: dict[Place, list[tuple[Unit, str, cst.Call]]] = {}
        for unit, function in self.functions():
            for call in _calls(function):
                for place in self.callees(unit, function, call) or ():
                    calls.setdefault(place, []).append((unit, function.name.value, call))
        done = False
        for place, found in calls.items():
            unit, caller, call = found[0]
            if len(found) != 1 or place[0] != unit.name or not place[1] or place[1] in self.asked:
                continue
            if place[1].startswith("__") or place[1] == "forward" or code(call.func) != f"self.{place[1]}":
                continue
            target = next(f for f in methods(unit) if f.name.value == place[1])
            function = next((f for f in methods(unit) if f.name.value == caller), None)
            if function is None or target.decorators:
                continue
            changed = inlined_call(function, target, f"self.{place[1]}")
            if changed is not None:
                self.replace(unit, function, changed)
                unit.modules[f"{caller} of base"] = unit.modules.get(place[1], unit.modules[""])
                done = True
        return done

    def _trivial_modules(self) -> None:
        """Modules that do nothing, and factors of 1."""
        for unit in self.units.values():
            objects = self.facts.instances.get(unit.value, []) if isinstance(unit.value, type) else []

            def idle(name: str | None, objects: list[Any] = objects) -> bool:
                values = [getattr(one, name, None) for one in objects] if name else []
                return bool(values) and all(map(_does_nothing, values))

            def one(name: str | None, objects: list[Any] = objects) -> bool:
                values = [getattr(one, name, None) for one in objects] if name else []
                return bool(values) and all(type(value) in (int, float) and value == 1 for value in values)

            def change(_: Any, node: Any, idle: Any = idle, one: Any = one) -> Any:
                if isinstance(node, cst.Call) and len(node.args) == 1 and idle(self_attribute(node.func)):
                    return node.args[0].value
                if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Multiply):
                    if one(self_attribute(node.right)):
                        return node.left
                    if one(self_attribute(node.left)):
                        return node.right
                return node

            held = {name for value in objects[:1] for name in dir_of(value)}
            if any(idle(name) or one(name) for name in held):
                unit.node = mapped(unit.node, change)

    def _locals(self) -> None:
        for unit, function in self.functions():
            changed = _without_unused(function)
            if changed is not function:
                self.replace(unit, function, changed)

    def _attributes(self) -> None:
        """Attributes that are never read, or that no object has."""
        beyond: set[str] = set()
        for unit in self.units.values():
            beyond |= _read_of_others(unit.node)
        for unit in self.units.values():
            if not isinstance(unit.node, cst.ClassDef):
                continue
            used = beyond | _read_of_self(unit.node) | self.asked
            objects = self.facts.instances.get(unit.value, [])

            def unused(name: str, used: set[str] = used, objects: Any = objects) -> bool:
                if objects and not any(hasattr(one, name) for one in objects):
                    return True
                if name in used:
                    return False
                return not any(_has_state(getattr(one, name, None)) for one in objects)

            unit.node = visited(unit.node, _Attributes(unused))

    def _constant_parameters(self) -> None:
        """Parameters that no call gives anything but their default, where that is a constant."""
        values: dict[Place, dict[str, set[str]]] = {}
        unknown = 0
        functions = {self._place(unit, f): f for unit, f in self.functions()}
        for unit, function in self.functions():
            for call in _calls(function):
                places = self.callees(unit, function, call)
                if places is None:
                    unknown = max(unknown, len(call.args))
                for place in places or ():
                    if place not in functions:
                        continue
                    arguments = bound_arguments(functions[place], call)
                    held = values.setdefault(place, {})
                    for one in parameters(functions[place]):
                        name = one.name.value
                        given = "..." if arguments is None else code(arguments[name])
                        held.setdefault(name, set()).add(given)
        handed = set().union(*(_handed_on(unit.node) for unit in self.units.values()))
        for unit, function in list(self.functions()):
            place = self._place(unit, function)
            required = sum(one.default is None for one in parameters(function))
            if place[1] in self.asked or place[1] == "__init__" or (place[1] or place[0]) in handed:
                continue
            if place[1] == "forward" and required <= unknown:
                continue
            changed = assigned_names(function.body.body)
            constants = {
                one.name.value: one.default
                for one in parameters(function)
                if one.default is not None
                and is_constant(one.default)
                and values.get(place, {}).get(one.name.value) == {code(one.default)}
                and one.name.value not in changed
            }
            if constants and any(one.value in constants for one in names_in(function.body)):
                self.replace(unit, function, function.with_changes(body=substitute(function.body, constants)))

    def _parameters(self) -> None:
        """Parameters that are not used, with the arguments for them."""
        functions = {
            (unit.name, "" if not isinstance(unit.node, cst.ClassDef) else f.name.value): f
            for unit, f in self.functions()
        }
        dropping: dict[Place, set[str]] = {}
        for place, function in functions.items():
            used = {one.value for one in names_in(function.body)}
            for one in [p for p in parameters(function) if p.default]:
                used |= {name.value for name in names_in(one.default)} if one.default else set()
            names = {one.name.value for one in parameters(function)} - used
            if place[1].startswith("__") and place[1] != "__init__" and place[1] != "__call__":
                names = set()
            dropping[place] = names
        handed = set().union(*(_handed_on(unit.node) for unit in self.units.values()))
        for place in dropping:
            if (place[1] or place[0]) in handed:  # called by others, as it is
                dropping[place] = set()
        calls = [
            (unit, call, self.callees(unit, function, call))
            for unit, function in self.functions()
            for call in _calls(function)
        ]
        for unit in self.units.values():  # calls outside of functions
            if isinstance(unit.node, cst.SimpleStatementLine):
                calls += [(unit, call, self.callees(unit, None, call)) for call in _calls(unit.node)]
        changing = True
        while changing:
            changing = False
            for _, call, places in calls:
                if places is None:
                    keywords = {one.keyword.value for one in call.args if one.keyword}
                    count = sum(one.keyword is None for one in call.args)
                    for place, names in dropping.items():
                        positional = [
                            p.name.value for p in functions[place].params.params if p.name.value != "self"
                        ]
                        # a function of which it is not known who calls it keeps what such a call may hand over
                        blocked = names & (
                            keywords | (set(positional[:count]) if place[1] == "forward" else set())
                        )
                        if blocked:
                            names -= blocked
                            changing = True
                    continue
                for place in places:
                    names = dropping.get(place, set())
                    if not names:
                        continue
                    kept = set(names)
                    arguments = bound_arguments(functions[place], call)
                    if arguments is None:
                        {one.keyword.value for one in call.args if one.keyword}
                        optional = {p.name.value for p in functions[place].params.kwonly_params}
                        names &= {n for n in names if n in optional and (True)}
                        arguments = {one.keyword.value: one.value for one in call.args if one.keyword}
                    for name in list(names):
                        shared = all(
                            name in dropping[other]
                            or name not in {p.name.value for p in parameters(functions[other])}
                            for other in places
                        )
                        if not shared or (name in arguments and not droppable(arguments[name])):
                            names.discard(name)
                    changing |= kept != names
        if not any(dropping.values()):
            return
        for unit in self.units.values():
            unit.node = self._without_arguments(unit, functions, dropping)
        for unit, function in self.functions():
            place = (unit.name, "" if not isinstance(unit.node, cst.ClassDef) else function.name.value)
            if names := dropping.get(place):
                self.replace(unit, function, without_parameters(function, names))

    def _without_arguments(
        self, unit: Unit, functions: dict[Place, Any], dropping: dict[Place, set[str]]
    ) -> Any:
        program = self

        class Arguments(Tracking):
            def __init__(self) -> None:
                self.function: list[cst.FunctionDef] = []

            def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
                self.function.append(node)

            def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> Any:
                self.function.pop()
                return updated_node

            def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
                places = program.callees(unit, self.function[0] if self.function else None, original_node)
                names = set().union(*(dropping.get(place, set()) for place in places or ()))
                if not names:
                    return updated_node
                place = next(place for place in places or () if dropping.get(place))
                positional = [p.name.value for p in functions[place].params.params if p.name.value != "self"]
                kept = []
                shifted = False
                for number, one in enumerate(updated_node.args):
                    name = one.keyword.value if one.keyword else ""
                    if not name and not one.star and number < len(positional):
                        name = positional[number]
                    if name in names:
                        shifted = True
                        continue
                    kept.append(one)
                return with_arguments(updated_node, kept) if shifted else updated_node

        return visited(unit.node, Arguments())

    def _optional_arguments(self) -> None:
        """`given(a=x)`, what is handed on by keyword unless it is None: written out."""
        given = self._given_name()
        if given is None:
            return
        for unit, function in self.functions():
            changed = _given_inlined(function, given)
            if changed is not function:
                self.replace(unit, function, changed)
        self._given_results(given)
        if self._settled:  # what is never given is known by then
            self._given_parameters(given)

    def _given_name(self) -> str | None:
        from zoo.models import transformer

        return next((u.name for u in self.units.values() if u.value is transformer.given), None)

    def _given_results(self, given: str) -> None:
        """Results `x, given(name=y)`: `x, y`, and the keyword where they are used."""
        for unit, function in list(self.functions()):
            returns = _returned(function)
            place = None
            keys: set[tuple[str, ...]] = set()
            for value in returns:
                if isinstance(value, cst.Tuple):
                    for number, one in enumerate(value.elements):
                        if _is_given(one.value, given):
                            place = number
                            keys.add(tuple(a.keyword.value for a in one.value.args if a.keyword))
            if place is None or len(keys) != 1 or len(returns) != 1:
                continue
            names = keys.pop()
            if len(names) > 1:
                continue
            name = function.name.value

            def change(_: Any, node: Any, names: Any = names) -> Any:
                if isinstance(node, cst.Element) and _is_given(node.value, given):
                    return node.with_changes(value=node.value.args[0].value if names else constant(None))
                return node

            self.replace(unit, function, mapped(function, change))
            for other, caller in list(self.functions()):
                changed = _unpacked_given(caller, name, place, names)
                if changed is not caller:
                    self.replace(other, caller, changed)

    def _given_parameters(self, given: str) -> None:
        """Parameters that take `given(name=x)`: one for each name."""
        for unit, function in list(self.functions()):
            mappings = [
                p
                for p in parameters(function)
                if p.annotation and "Mapping[" in code(p.annotation.annotation)
            ]
            for one in mappings:
                self._expand_parameter(unit, function.name.value, one.name.value, given)

    def _expand_parameter(self, unit: Unit, method: str, parameter: str, given: str) -> None:
        function = next(f for u, f in self.functions() if u is unit and f.name.value == method)
        place = (unit.name, method if isinstance(unit.node, cst.ClassDef) else "")
        keys: list[str] = []
        for other, caller in self.functions():
            for call in _calls(caller):
                places = self.callees(other, caller, call)
                named = [a for a in call.args if a.keyword and a.keyword.value == parameter]
                if places is None or place not in places:
                    if named and places is None:
                        return
                    continue
                for a in named:
                    if not _is_given(a.value, given) or any(k.keyword is None for k in a.value.args):
                        return
                    keys += [k.keyword.value for k in a.value.args if k.keyword]
        keys = list(dict.fromkeys(keys))
        taken = {p.name.value for p in parameters(function)}
        stem = parameter.removeprefix("to_")
        others = [
            a for a in _calls(function) if any(x.star == "**" and code(x.value) == parameter for x in a.args)
        ]
        if not others:
            return
        second = any(
            p.name.value != parameter and p.annotation and "Mapping[" in code(p.annotation.annotation)
            for p in parameters(function)
        )
        names = {key: f"{stem}_{key}" if key in taken or (second and stem != "self") else key for key in keys}
        annotations = {key: self._annotation_of(key, unit, function, parameter) for key in keys}

        def inside(_: Any, node: Any) -> Any:
            if isinstance(node, cst.Call) and any(
                x.star == "**" and code(x.value) == parameter for x in node.args
            ):
                kept = [x for x in node.args if not (x.star == "**" and code(x.value) == parameter)]
                kept += [keyword(key, cst.Name(name)) for key, name in names.items()]
                return with_arguments(node, kept)
            return node

        changed = mapped(function, inside)
        new = [
            cst.Param(
                cst.Name(names[key]),
                cst.Annotation(cst.parse_expression(annotations[key])),
                default=cst.Name("None"),
                equal=cst.AssignEqual(cst.SimpleWhitespace(" "), cst.SimpleWhitespace(" ")),
            )
            for key in keys
        ]
        document = docstring_of(changed.body)
        if document:
            line = docstring_line(without_mention(document, {parameter}), 8)
            changed = changed.with_changes(
                body=changed.body.with_changes(body=[*line, *without_docstring(changed.body)])
            )
        params = changed.params
        kwonly: list[cst.Param] = []
        for p in params.kwonly_params:
            kwonly += new if p.name.value == parameter else [p]
        self.replace(unit, function, changed.with_changes(params=with_keyword_only(params, kwonly)))

        for other in list(self.units.values()):
            for caller in [f for u, f in self.functions() if u is other]:

                def outside(original: Any, node: Any, other: Unit = other, caller: Any = caller) -> Any:
                    if not isinstance(node, cst.Call):
                        return node
                    places = self.callees(other, caller, original)
                    if not places or place not in places:
                        return node
                    kept: list[cst.Arg] = []
                    for a in node.args:
                        if a.keyword and a.keyword.value == parameter:
                            kept += [
                                keyword(names[k.keyword.value], k.value) for k in a.value.args if k.keyword
                            ]
                        else:
                            kept.append(a)
                    return (
                        with_arguments(node, kept)
                        if len(kept) != len(node.args) or kept != list(node.args)
                        else node
                    )

                fresh = mapped(caller, outside)
                if fresh is not caller:
                    self.replace(other, caller, fresh)

    def _annotation_of(self, key: str, unit: Unit, function: cst.FunctionDef, parameter: str) -> str:
        """The annotation that the functions which get it in the end have for it."""
        for call in _calls(function):
            if any(x.star == "**" and code(x.value) == parameter for x in call.args):
                for place in self.callees(unit, function, call) or ():
                    target = next(
                        (f for u, f in self.functions() if u.name == place[0] and f.name.value == place[1]),
                        None,
                    )
                    for p in parameters(target) if target else ():
                        if p.name.value == key and p.annotation:
                            text = code(p.annotation.annotation)
                            owner = self.units[place[0]]
                            for name in [n.value for n in names_in(p.annotation.annotation)]:
                                module = owner.modules.get(place[1], owner.modules[""])
                                self.renamed.setdefault(
                                    (unit.modules[""], name), self.resolve(module, name, True) or name
                                )
                            return text if "None" in text else f"{text} | None"
        self.imports["Any"] = ("typing", "Any", "Any")
        return "Any"

    def _results(self) -> None:
        """Elements of results that are always None, or that nobody looks at."""
        by_name: dict[str, list[tuple[Unit, cst.FunctionDef]]] = {}
        for unit, function in self.functions():
            by_name.setdefault(function.name.value, []).append((unit, function))
        for name, found in by_name.items():
            if name in self.asked or name == "forward":
                continue
            returned = [_returned(function) for _, function in found]
            if not all(returned) or not all(isinstance(v, cst.Tuple) for values in returned for v in values):
                continue
            sizes = {len(v.elements) for values in returned for v in values}
            if len(sizes) != 1:
                continue
            size = sizes.pop()
            uses = [use for unit in self.units.values() for use in _uses(unit.node, name)]
            if not uses or any(use is None for use in uses):
                continue
            for number in range(size):
                none = all(
                    is_constant(v.elements[number].value) and code(v.elements[number].value) == "None"
                    for values in returned
                    for v in values
                )
                ignored = all(number in use for use in uses if use is not None)
                pure = all(droppable(v.elements[number].value) for values in returned for v in values)
                if (none or (ignored and pure)) and size > 1:
                    self._drop_result(name, found, number, size, none)
                    return

    def _drop_result(
        self, name: str, found: list[tuple[Unit, cst.FunctionDef]], number: int, size: int, none: bool
    ) -> None:
        for unit, function in found:

            def inner(_: Any, node: Any) -> Any:
                if isinstance(node, cst.Return) and isinstance(node.value, cst.Tuple):
                    return node.with_changes(value=_less(node.value, number))
                return node

            changed = mapped(function, inner)
            if function.returns is not None:
                changed = changed.with_changes(returns=_less_annotation(function.returns, number))
            document = docstring_of(changed.body)
            if document and number == size - 1 and " and " in document.split("\n")[0]:
                first, *rest = document.split("\n")
                head = first.rpartition(" and ")[0].rstrip(",")
                line = docstring_line(
                    "\n".join([f"{head}.", *rest]).rstrip(), 8 if isinstance(unit.node, cst.ClassDef) else 4
                )
                changed = changed.with_changes(
                    body=changed.body.with_changes(body=[*line, *without_docstring(changed.body)])
                )
            self.replace(unit, function, changed)
        for unit in list(self.units.values()):
            for _, caller in [(u, f) for u, f in self.functions() if u is unit]:
                changed = _without_result(caller, name, number, size)
                if changed is not caller:
                    self.replace(unit, caller, changed)

    def needed(self) -> None:
        """Parameters that every call gives, without their default of None."""
        given: dict[Place, list[set[str]]] = {}
        unknown = 0
        functions = {self._place(unit, f): f for unit, f in self.functions()}
        for unit, function in self.functions():
            for call in _calls(function):
                places = self.callees(unit, function, call)
                if places is None:
                    unknown = max(unknown, len(call.args))
                for place in places or ():
                    arguments = _given_names(functions[place], call) if place in functions else set()
                    given.setdefault(place, []).append(arguments)
        for unit, function in list(self.functions()):
            place = self._place(unit, function)
            every = set.intersection(*given.get(place, [set()]))
            required = sum(one.default is None for one in parameters(function))
            if place[1] in self.asked and not (unit.value and place[1] == "forward" and required > unknown):
                continue
            if place[1] == "__init__" or (place[1] == "forward" and required <= unknown):
                continue
            params = list(function.params.params)
            for number in range(len(params) - 1, -1, -1):
                one = params[number]
                if one.default is not None and one.name.value in every:
                    params[number] = one.with_changes(default=None, equal=cst.MaybeSentinel.DEFAULT)
                elif one.default is not None:
                    break
            kwonly = [
                one.with_changes(default=None, equal=cst.MaybeSentinel.DEFAULT)
                if one.name.value in every and one.default is not None and code(one.default) == "None"
                else one
                for one in function.params.kwonly_params
            ]
            sure = self.flattener.never_none.get((unit.value, function.name.value), set())

            def fit(one: cst.Param, sure: set[str] = sure) -> cst.Param:
                if one.default is not None or one.annotation is None or one.name.value not in sure:
                    return one
                return one.with_changes(annotation=cst.Annotation(without_none(one.annotation.annotation)))

            fresh = function.params.with_changes(params=[fit(one) for one in params])
            fresh = with_keyword_only(fresh, [fit(one) for one in kwonly])
            self.replace(unit, function, function.with_changes(params=fresh))

    # Asking

    def functions(self) -> Iterator[tuple[Unit, cst.FunctionDef]]:
        """All functions and methods."""
        for unit in list(self.units.values()):
            if isinstance(unit.node, cst.FunctionDef):
                yield unit, unit.node
            else:
                for function in methods(unit):
                    yield unit, function

    def replace(self, unit: Unit, function: cst.FunctionDef, changed: cst.FunctionDef) -> None:
        """Put a changed function in the place of one."""
        if unit.node is function:
            unit.node = changed
            return
        body = [
            changed if isinstance(one, cst.FunctionDef) and one.name.value == function.name.value else one
            for one in unit.node.body.body
        ]
        unit.node = unit.node.with_changes(body=unit.node.body.with_changes(body=body))

    def kinds(self, unit: Unit, attribute: str) -> set[type]:
        """The classes of the values of an attribute, of all objects of a class; of a list, of what is in it."""
        objects = self.facts.instances.get(unit.value, []) if isinstance(unit.value, type) else []
        return {type(getattr(one, attribute)) for one in objects if hasattr(one, attribute)}

    def callees(self, unit: Unit, function: cst.FunctionDef | None, call: cst.Call) -> list[Place] | None:
        """The functions of the file that a call may reach; None where that is not known."""
        target = call.func
        if isinstance(target, cst.Name):
            name = target.value
            other = self.units.get(name)
            if other is not None:
                return [(name, "__init__")] if isinstance(other.node, cst.ClassDef) else [(name, "")]
            if function is not None and (elements := self._elements(unit, function, name)):
                return self._forwards(elements)
            if function is not None and name in bound_names(function):
                return None
            return []
        if isinstance(target, cst.Attribute):
            method = target.attr.value
            if code(target.value) == "self":
                if any(f.name.value == method for f in methods(unit)):
                    return [(unit.name, method)]
                kinds = self.kinds(unit, method)
                return self._forwards(kinds) if kinds else []
            if code(target.value) == "super()":
                return []
            owner = self_attribute(target.value)
            kinds = self.kinds(unit, owner) if owner else set()
            units = [
                u
                for u in self.units.values()
                if isinstance(u.value, type) and (not kinds or u.value in kinds)
            ]
            return [(u.name, method) for u in units if any(f.name.value == method for f in methods(u))]
        return []

    def _forwards(self, kinds: set[type]) -> list[Place]:
        found: list[Place] = []
        for unit in self.units.values():
            if unit.value in kinds:
                name = "forward" if issubclass(unit.value, nn.Module) else "__call__"
                if any(f.name.value == name for f in methods(unit)):
                    found.append((unit.name, name))
        return found

    def _elements(self, unit: Unit, function: cst.FunctionDef, name: str) -> set[type]:
        """The classes of what a loop variable runs over."""
        found: set[type] = set()
        objects = self.facts.instances.get(unit.value, []) if isinstance(unit.value, type) else []

        class Loops(cst.CSTVisitor):
            def visit_For(self, node: cst.For) -> None:
                if name in {one.value for one in names_in(node.target)}:
                    for text in attributes_of_self(node.iter):
                        for one in objects:
                            held = getattr(one, text, None)
                            if isinstance(held, nn.ModuleList):
                                found.update(type(x) for x in held)

        function.visit(Loops())
        return found


def dir_of(value: Any) -> list[str]:
    """The names of all attributes that an object has of its own, modules among them."""
    modules = [name for name, _ in value.named_children()] if isinstance(value, nn.Module) else []
    return [*modules, *vars(value)] if hasattr(value, "__dict__") else modules


def attributes_of_self(node: cst.CSTNode) -> list[str]:
    """The attributes of `self` in an expression."""
    found: list[str] = []

    class Found(cst.CSTVisitor):
        def visit_Attribute(self, node: cst.Attribute) -> None:
            if (name := self_attribute(node)) is not None:
                found.append(name)

    node.visit(Found())
    return found


def methods(unit: Unit) -> list[cst.FunctionDef]:
    """The methods of a class."""
    if not isinstance(unit.node, cst.ClassDef):
        return []
    return [one for one in unit.node.body.body if isinstance(one, cst.FunctionDef)]


def pieces(unit: Unit) -> Iterator[tuple[str, str, Any]]:
    """A unit in parts whose names are looked up in one module: name of the part, module, tree."""
    if not isinstance(unit.node, cst.ClassDef):
        yield "", unit.modules[""], unit.node
        return
    for base in unit.node.bases:
        yield "bases", unit.modules.get("bases", unit.modules[""]), base.value
    for decorator in unit.node.decorators:
        yield "", unit.modules[""], decorator.decorator
    for one in unit.node.body.body:
        name = _name_of(one)
        yield name, unit.modules.get(name, unit.modules[""]), one


def _name_of(node: Any) -> str:
    if isinstance(node, cst.FunctionDef):
        return node.name.value
    if isinstance(node, cst.SimpleStatementLine):
        small = node.body[0]
        target = small.target if isinstance(small, cst.AnnAssign) else None
        if isinstance(small, cst.Assign):
            target = small.targets[0].target
        return target.value if isinstance(target, cst.Name) else ""
    return ""


def rename(unit: Unit, part: str, names: dict[str, str]) -> Any:
    """A unit with other names in one of its parts."""
    values = {name: cst.parse_expression(text) for name, text in names.items()}
    if not isinstance(unit.node, cst.ClassDef):
        return _renamed(unit.node, values)
    body = [_renamed(one, values) if _name_of(one) == part else one for one in unit.node.body.body]
    return unit.node.with_changes(body=unit.node.body.with_changes(body=body))


def _renamed(node: Any, values: dict[str, cst.BaseExpression]) -> Any:
    name = _name_of(node)
    return substitute(node, {key: value for key, value in values.items() if key != name})


def substitute_targets(node: Any, name: str, other: str) -> Any:
    """A constant under another name."""
    return mapped(
        node, lambda _, one: cst.Name(other) if isinstance(one, cst.Name) and one.value == name else one
    )


@lru_cache(maxsize=50_000)
def annotation_names(node: Any) -> set[str]:
    """Names that occur in annotations."""
    found: set[str] = set()

    class Annotations(cst.CSTVisitor):
        def visit_Annotation(self, node: cst.Annotation) -> None:
            found.update(one.value for one in names_in(node.annotation))

    node.visit(Annotations())
    return found


@lru_cache(maxsize=50_000)
def _beyond(node: Any, name: str) -> bool:
    """Return whether a name occurs outside of annotations too."""
    bare = mapped(
        node, lambda _, one: cst.Annotation(cst.Name("_")) if isinstance(one, cst.Annotation) else one
    )
    return any(one.value == name for one in names_in(bare))


def _absolute(origin: str, module: str) -> str:
    dots = len(origin) - len(origin.lstrip("."))
    if not dots:
        return origin
    found = sys.modules[module]
    package = (found.__package__ or "").split(".")
    parts = package[: len(package) - dots + 1]
    return ".".join([*parts, origin.lstrip(".")]).strip(".")


def _imported(name: str) -> str:
    try:
        importlib.import_module(name)
    except ImportError:
        return ""
    return name


def _gives(function: cst.FunctionDef) -> Any:
    """The constant or parameter that is all that a function gives; None if it does more."""
    body = without_docstring(function.body)
    if not body:
        return constant(None)
    if len(body) != 1 or not isinstance(body[0], cst.SimpleStatementLine):
        return None
    small = body[0].body[0]
    if isinstance(small, cst.Pass):
        return constant(None)
    if not isinstance(small, cst.Return):
        return None
    if small.value is None:
        return constant(None)
    names = [one.name.value for one in parameters(function)]
    if isinstance(small.value, cst.Name) and (is_constant(small.value) or small.value.value in names):
        return small.value
    return None


def _is_property(function: cst.FunctionDef) -> bool:
    return any(code(one.decorator) == "property" for one in function.decorators)


def _called(node: cst.Call) -> str | None:
    if isinstance(node.func, cst.Name):
        return node.func.value
    if isinstance(node.func, cst.Attribute) and code(node.func.value) != "super()":
        return node.func.attr.value
    return None


@lru_cache(maxsize=50_000)
def droppable(node: cst.BaseExpression) -> bool:
    """Return whether an expression can be left out: it refuses nothing and changes nothing."""
    good = True

    class Calls(cst.CSTVisitor):
        def visit_Call(self, node: cst.Call) -> None:
            nonlocal good
            name = _called(node) or ""
            good = good and (name in SIZES_ONLY or name[:1].isupper() or code(node.func).startswith("nn."))

        def visit_Lambda(self, node: cst.Lambda) -> bool:
            return False

    node.visit(Calls())
    return good


def _does_nothing(value: Any) -> bool:
    if isinstance(value, nn.Dropout):
        return type(value) is nn.Dropout and value.p == 0
    return isinstance(value, nn.Identity) and type(value).forward is nn.Identity.forward


def _has_state(value: Any) -> bool:
    if isinstance(value, nn.Module):
        return any(True for _ in value.state_dict())
    return isinstance(value, torch.Tensor)


@lru_cache(maxsize=50_000)
def _returned(function: cst.FunctionDef) -> list[Any]:
    found: list[Any] = []

    class Returns(cst.CSTVisitor):
        def visit_Return(self, node: cst.Return) -> None:
            found.append(node.value)

        def visit_Lambda(self, node: cst.Lambda) -> bool:
            return False

    function.body.visit(Returns())
    return found


@lru_cache(maxsize=50_000)
def _calls(node: Any) -> list[cst.Call]:
    found: list[cst.Call] = []

    class Calls(cst.CSTVisitor):
        def visit_Call(self, node: cst.Call) -> None:
            found.append(node)

    node.visit(Calls())
    return found


def keyword(name: str, value: cst.BaseExpression) -> cst.Arg:
    """An argument by keyword."""
    tight = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    return cst.Arg(value, cst.Name(name), tight)


def with_arguments(call: cst.Call, arguments: list[cst.Arg]) -> cst.Call:
    """A call with other arguments, on one line."""
    plain = [
        one.with_changes(comma=cst.MaybeSentinel.DEFAULT, whitespace_after_arg=cst.SimpleWhitespace(""))
        for one in arguments
    ]
    return call.with_changes(args=plain, whitespace_before_args=cst.SimpleWhitespace(""))


def with_keyword_only(given: cst.Parameters, kwonly: list[cst.Param]) -> cst.Parameters:
    """Parameters with others behind the star."""
    plain = [one.with_changes(comma=cst.MaybeSentinel.DEFAULT) for one in kwonly]
    star = (
        given.star_arg
        if isinstance(given.star_arg, cst.Param)
        else (cst.ParamStar() if plain else cst.MaybeSentinel.DEFAULT)
    )
    params = [one.with_changes(comma=cst.MaybeSentinel.DEFAULT) for one in given.params]
    return given.with_changes(params=params, kwonly_params=plain, star_arg=star)


def without_parameters(function: cst.FunctionDef, names: set[str]) -> cst.FunctionDef:
    """A function without some of its parameters, nor their lines in its docstring."""
    given = function.params
    params = given.with_changes(params=[one for one in given.params if one.name.value not in names])
    params = with_keyword_only(params, [one for one in given.kwonly_params if one.name.value not in names])
    changed = function.with_changes(params=params, whitespace_before_params=cst.SimpleWhitespace(""))
    document = docstring_of(changed.body)
    if document is None:
        return changed
    lines: list[str] = []
    skipping, depth = False, 0
    for line in document.split("\n"):
        indent = len(line) - len(line.lstrip())
        head = line.strip().partition(":")[0]
        if skipping and line.strip() and indent > depth:
            continue
        skipping = ":" in line and head in names
        if skipping:
            depth = indent
            continue
        lines.append(line)
    text = without_mention("\n".join(lines), names)
    if function.name.value == "__init__" and "Args:" not in document:
        text = ""
    text = re.sub(r"\n? *Args:\n(?=\s*(\n|$|Returns:|Raises:))", "\n", text)
    line = docstring_line(text if text.strip() else None, 8)
    return changed.with_changes(
        body=changed.body.with_changes(body=[*line, *without_docstring(changed.body)])
    )


def without_mention(text: str, names: set[str]) -> str:
    """A docstring without the sentences that speak of these parameters."""
    if not any(f"`{name}`" in text for name in names):
        return text
    parts = re.split(r"(?<=[.])(\s+)", text)
    kept = [one for one in parts if not any(f"`{name}`" in one for name in names)]
    return re.sub(r"\s*\n\s*\n\s*$", "", "".join(kept)).rstrip()


def _without_unused(function: cst.FunctionDef) -> cst.FunctionDef:
    """A function without what it assigns to names that it never reads; constants are put in."""
    read: dict[str, int] = {}
    bound: dict[str, int] = {}
    nodes: dict[str, Any] = {}

    class Names(cst.CSTVisitor):
        def visit_Assign(self, node: cst.Assign) -> bool:
            for target in node.targets:
                if isinstance(target.target, cst.Name):
                    name = target.target.value
                    bound[name] = bound.get(name, 0) + 1
                    nodes[name] = node
                else:
                    for one in names_in(target.target):
                        if one.value in bound_names(node):
                            bound[one.value] = bound.get(one.value, 0) + 2
                        else:
                            read[one.value] = read.get(one.value, 0) + 1
            node.value.visit(self)
            return False

        def visit_AugAssign(self, node: cst.AugAssign) -> None:
            if isinstance(node.target, cst.Name):
                bound[node.target.value] = 9

        def visit_Attribute(self, node: cst.Attribute) -> bool:
            node.value.visit(self)
            return False

        def visit_Arg(self, node: cst.Arg) -> bool:
            node.value.visit(self)
            return False

        def visit_Name(self, node: cst.Name) -> None:
            read[node.value] = read.get(node.value, 0) + 1

    for statement in function.body.body:
        statement.visit(Names())
    names = {one.name.value for one in parameters(function)}
    top = {
        small.targets[0].target.value: small.value
        for line in function.body.body
        if isinstance(line, cst.SimpleStatementLine)
        for small in line.body
        if isinstance(small, cst.Assign)
        and isinstance(small.targets[0].target, cst.Name)
        and len(small.targets) == 1
    }
    unused = {n for n, node in nodes.items() if not read.get(n) and n not in names and droppable(node.value)}
    constants = {
        n: node.value
        for n, node in nodes.items()
        if bound.get(n) == 1
        and n not in names
        and (
            is_constant(node.value)
            or code(node.value) == "{}"
            or (n in top and _another(node.value, bound, names | nodes.keys()))
        )
    }
    if not unused and not constants:
        return function

    class Less(cst.CSTTransformer):
        def leave_SimpleStatementLine(
            self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
        ) -> Any:
            small = updated_node.body[0]
            if isinstance(small, cst.Assign) and isinstance(small.targets[0].target, cst.Name):
                name = small.targets[0].target.value
                if (name in unused or name in constants) and len(small.targets) == 1:
                    return cst.RemoveFromParent()
            return updated_node

    changed = function.with_changes(body=function.body.visit(Less()))
    return changed.with_changes(body=substitute(changed.body, constants))


def _given_names(function: cst.FunctionDef, call: cst.Call) -> set[str]:
    """The parameters that a call gives."""
    if any(one.star for one in call.args):
        return set()
    names = [one.name.value for one in function.params.params if one.name.value != "self"]
    return {
        one.keyword.value if one.keyword else names[i]
        for i, one in enumerate(call.args)
        if one.keyword or i < len(names)
    }


@lru_cache(maxsize=50_000)
def _handed_on(node: Any) -> set[str]:
    """Names of functions and methods that are handed on instead of being called."""
    found: set[str] = set()

    class References(cst.CSTVisitor):
        def visit_Call(self, node: cst.Call) -> bool:
            target = node.func.value if isinstance(node.func, cst.Attribute) else node.func
            if not isinstance(target, cst.Name):
                target.visit(self)
            for one in node.args:
                one.value.visit(self)
            return False

        def visit_Attribute(self, node: cst.Attribute) -> None:
            found.add(node.attr.value)

        def visit_Name(self, node: cst.Name) -> None:
            found.add(node.value)

        def visit_Annotation(self, node: cst.Annotation) -> bool:
            return False

        def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
            node.body.visit(self)
            return False

        def visit_ClassDef(self, node: cst.ClassDef) -> bool:
            node.body.visit(self)
            return False

    node.visit(References())
    return found


def _another(value: cst.BaseExpression, bound: dict[str, int], names: set[str]) -> bool:
    """Return whether a value is a name that is bound once."""
    return isinstance(value, cst.Name) and value.value in names and bound.get(value.value, 0) == 0


def _read_of_self(node: Any) -> set[str]:
    return set(attributes_in(node))


@lru_cache(maxsize=50_000)
def _read_of_others(node: Any) -> set[str]:
    """Attributes that are read of anything but `self`."""
    found: set[str] = set()

    class Others(cst.CSTVisitor):
        def visit_Attribute(self, node: cst.Attribute) -> None:
            if code(node.value) not in ("self", "config"):
                found.add(node.attr.value)

    node.visit(Others())
    return found


class _Attributes(Tracking):
    """Removes assignments to attributes of `self`."""

    def __init__(self, unused: Callable[[str], bool]) -> None:
        self.unused = unused

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> Any:
        small = updated_node.body[0]
        if isinstance(small, cst.AnnAssign) and small.value is not None:
            name = self_attribute(small.target)
            return cst.RemoveFromParent() if name and self.unused(name) else updated_node
        if not isinstance(small, cst.Assign) or len(small.targets) != 1:
            return updated_node
        target, value = small.targets[0].target, small.value
        if (name := self_attribute(target)) is not None:
            return cst.RemoveFromParent() if self.unused(name) else updated_node
        if not (isinstance(target, cst.Tuple) and isinstance(value, cst.Tuple)):
            return updated_node
        pairs = list(zip(target.elements, value.elements, strict=False))
        kept = [(t, v) for t, v in pairs if not ((n := self_attribute(t.value)) and self.unused(n))]
        if len(kept) == len(pairs):
            return updated_node
        if not kept:
            return cst.RemoveFromParent()
        text = f"{', '.join(code(t.value) for t, _ in kept)} = {', '.join(code(v.value) for _, v in kept)}"
        changed = cst.parse_statement(text)
        assert isinstance(changed, cst.SimpleStatementLine)
        return changed.with_changes(
            leading_lines=updated_node.leading_lines, trailing_whitespace=updated_node.trailing_whitespace
        )


class _Empty(Tracking):
    """Removes branches that do nothing, and constructors that only call the base's without arguments."""

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> Any:
        if not updated_node.body.body:
            if updated_node.orelse is None and droppable(updated_node.test):
                return cst.RemoveFromParent()
            return updated_node.with_changes(body=cst.IndentedBlock([cst.parse_statement("pass")]))
        return updated_node

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        kept = []
        for one in updated_node.body.body:
            if isinstance(one, cst.FunctionDef) and one.name.value == "__init__" and not parameters(one):
                body = [code(x).strip() for x in without_docstring(one.body)]
                if body in ([], ["super().__init__()"], ["pass"]):
                    continue
            kept.append(one)
        if len(kept) == len(updated_node.body.body):
            return updated_node
        return updated_node.with_changes(body=updated_node.body.with_changes(body=kept))


def _is_given(node: Any, given: str) -> bool:
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == given


def _given_inlined(function: cst.FunctionDef, given: str) -> cst.FunctionDef:
    """Calls of `given` without what is None; local names for them replaced by the calls; `**given(...)` written out."""

    def less(_: Any, node: Any) -> Any:
        if _is_given(node, given):
            kept = [one for one in node.args if code(one.value) != "None"]
            return with_arguments(node, kept) if len(kept) != len(node.args) else node
        if isinstance(node, cst.Call) and any(
            one.star == "**" and _is_given(one.value, given) for one in node.args
        ):
            arguments: list[cst.Arg] = []
            for one in node.args:
                if one.star == "**" and _is_given(one.value, given):
                    arguments += [keyword(a.keyword.value, a.value) for a in one.value.args if a.keyword]
                else:
                    arguments.append(one)
            return with_arguments(node, arguments)
        return node

    changed = mapped(function, less)
    held: dict[str, cst.BaseExpression] = {}

    class Split(Tracking):
        def leave_SimpleStatementLine(
            self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
        ) -> Any:
            small = updated_node.body[0]
            if not isinstance(small, cst.Assign) or len(small.targets) != 1:
                return updated_node
            target, value = small.targets[0].target, small.value
            pairs = [(target, value)]
            if isinstance(target, cst.Tuple) and isinstance(value, cst.Tuple):
                pairs = [(t.value, v.value) for t, v in zip(target.elements, value.elements, strict=False)]
            if all(isinstance(t, cst.Name) and _is_given(v, given) for t, v in pairs):
                held.update({t.value: v for t, v in pairs if isinstance(t, cst.Name)})
                return cst.RemoveFromParent()
            return updated_node

    body = visited(changed.body, Split())
    if held:
        changed = changed.with_changes(body=substitute(body, held))
    return changed


def _unpacked_given(
    caller: cst.FunctionDef, name: str, place: int, names: tuple[str, ...]
) -> cst.FunctionDef:
    """A function that unpacks `x, more = name(...)` and hands on `**more`: with what `more` is, by keyword."""
    mores: list[str] = []

    class Targets(cst.CSTVisitor):
        def visit_Assign(self, node: cst.Assign) -> None:
            target = node.targets[0].target
            if (
                isinstance(node.value, cst.Call)
                and _called(node.value) == name
                and isinstance(target, cst.Tuple)
            ):
                mores.append(code(target.elements[place].value))

    caller.visit(Targets())
    if not mores:
        return caller

    def change(_: Any, node: Any) -> Any:
        if isinstance(node, cst.Call):
            arguments: list[cst.Arg] = []
            for one in node.args:
                if one.star == "**" and code(one.value) in mores:
                    arguments += [keyword(key, cst.Name(key)) for key in names]
                else:
                    arguments.append(one)
            if arguments != list(node.args):
                return with_arguments(node, arguments)
        if isinstance(node, cst.Assign) and isinstance(node.value, cst.Call) and _called(node.value) == name:
            target = node.targets[0].target
            if isinstance(target, cst.Tuple):
                elements = list(target.elements)
                fresh = names[0] if names else "_"
                elements[place] = elements[place].with_changes(value=cst.Name(fresh))
                return node.with_changes(targets=[cst.AssignTarget(target.with_changes(elements=elements))])
        return node

    return mapped(caller, change)


def _uses(node: Any, name: str) -> list[set[int] | None]:
    """How the results of calls of `name` are used: which elements nobody looks at; None where that is not known."""
    found: list[set[int] | None] = []
    counted = 0

    class Uses(cst.CSTVisitor):
        def __init__(self) -> None:
            self.function: Any = None

        def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
            self.function = node

        def visit_Assign(self, node: cst.Assign) -> None:
            target = node.targets[0].target
            if (
                isinstance(node.value, cst.Call)
                and _called(node.value) == name
                and isinstance(target, cst.Tuple)
            ):
                names = [code(one.value) for one in target.elements]
                read = [one.value for one in names_in(self.function.body)] if self.function else []
                unused = {
                    i
                    for i, one in enumerate(names)
                    if one == "_" or (one.isidentifier() and read.count(one) == 1)
                }
                found.append(unused)

        def visit_Subscript(self, node: cst.Subscript) -> None:
            if isinstance(node.value, cst.Call) and _called(node.value) == name:
                index = code(node.slice[0].slice) if len(node.slice) == 1 else ""
                found.append(set(range(9)) - {int(index)} if index.isdigit() else None)

        def visit_Call(self, node: cst.Call) -> None:
            nonlocal counted
            counted += _called(node) == name

    node.visit(Uses())
    return found if len(found) == counted else [None]


def _less(value: cst.Tuple, number: int) -> cst.BaseExpression:
    kept = [cst.Element(one.value) for i, one in enumerate(value.elements) if i != number]
    return kept[0].value if len(kept) == 1 else value.with_changes(elements=kept)


def _less_annotation(returns: cst.Annotation, number: int) -> cst.Annotation:
    value = returns.annotation
    if not isinstance(value, cst.Subscript) or code(value.value) != "tuple":
        return returns
    kept = [one for i, one in enumerate(value.slice) if i != number]
    if len(kept) == 1 and isinstance(kept[0].slice, cst.Index):
        return returns.with_changes(annotation=kept[0].slice.value)
    kept[-1] = kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    return returns.with_changes(annotation=value.with_changes(slice=kept))


def _without_result(caller: cst.FunctionDef, name: str, number: int, size: int) -> cst.FunctionDef:
    gone: list[str] = []

    def change(_: Any, node: Any) -> Any:
        if isinstance(node, cst.Assign) and isinstance(node.value, cst.Call) and _called(node.value) == name:
            target = node.targets[0].target
            if isinstance(target, cst.Tuple) and len(target.elements) == size:
                gone.append(code(target.elements[number].value))
                return node.with_changes(targets=[cst.AssignTarget(_less(target, number))])
        if (
            isinstance(node, cst.Subscript)
            and isinstance(node.value, cst.Call)
            and _called(node.value) == name
        ):
            index = int(code(node.slice[0].slice))
            if size == 2:
                return node.value
            moved = index - (index > number)
            return node.with_changes(slice=[cst.SubscriptElement(cst.Index(cst.Integer(str(moved))))])
        return node

    changed = mapped(caller, change)
    values = {one: constant(None) for one in gone if one.isidentifier() and one != "_"}
    return changed.with_changes(body=substitute(changed.body, values)) if values else changed
