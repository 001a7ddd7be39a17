"""Expressions that make the parts of a model, from how its own were made."""

# mypy: disable-error-code="attr-defined,no-any-return,arg-type"
# (nodes of libcst are told apart by what they hold)

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import libcst as cst
import torch
from torch import nn

from zoo.core.blueprint import Sizes
from zoo.core.errors import ZooError
from zoo.export.observe import Construction, Observer
from zoo.export.trees import code
from zoo.models.builder import Parts


@dataclass(frozen=True)
class Made:
    """A call of a class, or any other expression (`name` then, without arguments)."""

    name: str
    arguments: tuple[tuple[str, Made], ...] | None = None

    def __str__(self) -> str:
        if self.arguments is None:
            return self.name
        return f"{self.name}({', '.join(f'{name}={value}' if name else str(value) for name, value in self.arguments)})"


class Constructor:
    """Writes expressions for objects of a model that was watched when it was made."""

    def __init__(self, observer: Observer, sizes: Sizes, stand_ins: Mapping[type, type]) -> None:
        """`stand_ins` are the classes that stand for wrappers of a user's own parts."""
        self.observer, self.sizes, self.stand_ins = observer, asdict(sizes), stand_ins
        self.used: set[int] = set()
        self.classes: set[type] = set()

    def of(self, value: Any, name: str = "", hint: str = "") -> Made:
        """The expression for a value that is handed over as `name`, or kept as an attribute of this name.

        Raises:
            ZooError: for a value that no expression is known for.
        """
        if value is None or isinstance(value, (bool, str)):
            return Made(repr(value))
        if isinstance(value, (int, float)):
            known = name in self.sizes and self.sizes[name] == value
            if name == "head_dim" and value == self.sizes["d_model"] // self.sizes["num_heads"]:
                return Made("config.d_model // config.num_heads")
            return Made(f"config.{name}" if known else repr(value))
        if isinstance(value, (list, tuple)):
            return self._several(list(value), hint)
        if isinstance(value, torch.dtype):
            return Made(str(value))
        if id(value) in self.observer.facts.made:
            return self._object(value, hint)
        if type(value) is nn.Identity:
            return Made("nn.Identity", ())
        if callable(value) and isinstance(getattr(value, "__self__", None), Parts):
            with self.observer.watching(), torch.random.fork_rng(devices=[]):
                made = value()
            return Made(f"lambda: {self.of(made)}")
        if type(value).__init__ is object.__init__ or not isinstance(value, nn.Module):
            self.classes.add(type(value))
            return Made(type(value).__name__, ())
        raise ZooError(
            f"An argument '{name}' of class {type(value).__name__} cannot be written into a file. Parts can be "
            "exported that are made from numbers, texts, and other parts, in an `__init__` of their own."
        )

    def _object(self, value: Any, hint: str) -> Made:
        made = self.observer.facts.made[id(value)]
        if made.cls in self.stand_ins:
            made = Construction(self.stand_ins[made.cls], {"inner": made.arguments["inner"]})
        if isinstance(value, nn.Module):
            if id(value) in self.used:
                raise ZooError(
                    f"One {type(value).__name__} is used in several places of the model, which a file cannot say. "
                    "Give each place a part of its own."
                )
            self.used.add(id(value))
        self.classes.add(made.cls)
        arguments = []
        for name, one in made.arguments.items():
            if name == "*":
                if one:
                    raise ZooError(
                        f"{type(value).__name__} takes any number of arguments (*args), which cannot be exported."
                    )
                continue
            arguments.append((name, self.of(one, name, hint)))
        return Made(made.cls.__name__, tuple(arguments))

    def _several(self, values: list[Any], hint: str) -> Made:
        if not any(isinstance(one, nn.Module) for one in values):
            return Made(f"[{', '.join(str(self.of(one)) for one in values)}]")
        made = [self.of(one) for one in values]
        counts = [
            name for name, size in self.sizes.items() if size == len(values) and name.endswith("_layers")
        ]
        counts.sort(key=lambda name: not hint or hint not in name)
        count = f"config.{counts[0]}" if counts else str(len(values))
        one = merged(made)
        number = "number" if "number" in str(one) else "_"
        return Made(f"[{one} for {number} in range({count})]")


def merged(made: Sequence[Made]) -> Made:
    """One expression for all of a list, with conditions on `number`, the place in it, where they differ."""
    first = made[0]
    if all(one == first for one in made):
        return first
    names = [name for name, _ in first.arguments or ()]
    alike = all(
        one.name == first.name and one.arguments is not None and [n for n, _ in one.arguments] == names
        for one in made
    )
    if alike:
        columns = zip(*(one.arguments or () for one in made), strict=True)
        return Made(
            first.name, tuple((column[0][0], merged([one for _, one in column])) for column in columns)
        )
    kinds = list(dict.fromkeys(made))
    kinds.sort(key=made.count)
    text = str(kinds[-1])
    for kind in reversed(kinds[:-1]):
        text = f"{kind} if {_condition([i for i, one in enumerate(made) if one == kind], made)} else {text}"
    return Made(text)


def _condition(places: list[int], made: Sequence[Made]) -> str:
    """Return where `number` is one of these places."""
    period = next(p for p in range(1, len(made) + 1) if all(made[i] == made[i % p] for i in range(len(made))))
    number = "number" if period * 2 > len(made) else f"number % {period}"
    some = places if number == "number" else [i for i in places if i < period]
    return f"{number} == {some[0]}" if len(some) == 1 else f"{number} in ({', '.join(map(str, some))})"


def configured(
    node: cst.FunctionDef, model: nn.Module, parameter: str, constructor: Constructor
) -> cst.FunctionDef:
    """The constructor of an assembly with expressions for its parts, and `config` in the place of what made them.

    Raises:
        ZooError: something else is done with what makes the parts.
    """
    body: list[Any] = []
    for statement in node.body.body:
        body += _split(statement)
    made = []
    for statement in body:
        text = code(statement)
        text = text.replace(f"{parameter}.sizes.", "config.")
        if _mentions(text, parameter):
            small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
            target = code(small.targets[0].target) if isinstance(small, cst.Assign) else ""
            name = target.removeprefix("self.")
            if not target.startswith("self.") or not hasattr(model, name):
                raise ZooError(
                    f"{type(model).__name__} cannot be exported: `{text.strip()}` in its constructor does more than to "
                    "assign a part to an attribute."
                )
            text = f"{target} = {constructor.of(getattr(model, name), name, name)}\n"
        changed = cst.parse_statement(text.strip("\n") + "\n")
        if isinstance(statement, cst.SimpleStatementLine) and isinstance(changed, cst.SimpleStatementLine):
            changed = changed.with_changes(
                leading_lines=statement.leading_lines, trailing_whitespace=statement.trailing_whitespace
            )
        made.append(changed)
    only = cst.Param(cst.Name("config"), cst.Annotation(cst.Name("Config")))
    own = [one for one in node.params.params if one.name.value == "self"]
    return node.with_changes(
        params=cst.Parameters(params=[*own, only]), body=node.body.with_changes(body=made)
    )


def _mentions(text: str, name: str) -> bool:
    return any(one == name for one in _words(text))


def _words(text: str) -> Iterable[str]:

    return re.findall(r"\w+", text)


def _split(statement: Any) -> list[Any]:
    """`a, b = x, y` as two statements; a docstring as none."""
    if not isinstance(statement, cst.SimpleStatementLine):
        return [statement]
    small = statement.body[0]
    if isinstance(small, cst.Expr) and isinstance(small.value, cst.SimpleString):
        return []
    pair = isinstance(small, cst.Assign) and len(small.targets) == 1
    if (
        not pair
        or not isinstance(small.targets[0].target, cst.Tuple)
        or not isinstance(small.value, cst.Tuple)
    ):
        return [statement]
    targets, values = small.targets[0].target.elements, small.value.elements
    if len(targets) != len(values):
        return [statement]
    return [
        cst.parse_statement(f"{code(target.value)} = {code(value.value)}")
        for target, value in zip(targets, values, strict=True)
    ]
