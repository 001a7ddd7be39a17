"""One class out of a class and its bases, specialised to what was seen of its objects."""

# mypy: disable-error-code="attr-defined,no-any-return,arg-type"
# (nodes of libcst are told apart by what they hold)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import libcst as cst

from zoo.export.docstrings import docstring_line, joined_arguments, with_docstring
from zoo.export.observe import Facts, Key
from zoo.export.simplify import answered, in_parentheses, simplified, substitute
from zoo.export.trees import (
    Source,
    assigned_names,
    code,
    docstring_of,
    first_line,
    is_own,
    is_pure,
    names_in,
    parameters,
    source_of,
    walk,
    without_docstring,
)

ABSTRACT = ("ABC", "abc.ABC", "Protocol", "object")


@dataclass
class Unit:
    """A class, function or constant of the file.

    Attributes:
        name: its name in the file.
        node: its tree.
        modules: the module in which each of its names is looked up, by name of the method; "" for what is in none.
        value: the class or function itself, None of a constant.
    """

    name: str
    node: Any
    modules: dict[str, str] = field(default_factory=dict)
    value: Any = None


def bases_of(cls: type, roots: frozenset[str]) -> list[type]:
    """The class and those of its bases whose source comes along, in the order in which names are looked up."""
    return [one for one in cls.__mro__ if is_own(one.__module__, roots)]


def class_node(cls: type) -> tuple[Source, cst.ClassDef]:
    """The class as it is written."""
    source = source_of(cls.__module__)
    node = source.definitions.get(cls.__name__)
    assert isinstance(node, cst.ClassDef), cls
    return source, node


class Flattener:
    """Makes one class at a time."""

    def __init__(self, facts: Facts, roots: frozenset[str]) -> None:
        self.facts, self.roots = facts, roots
        self.never_none: dict[tuple[Any, str], set[str]] = {}
        """By class and method, the parameters that were None in no call."""

    def function(self, value: Any) -> Unit:
        """A function of the top level."""
        source = source_of(value.__module__)
        node = source.definitions[value.__name__]
        assert isinstance(node, cst.FunctionDef)
        key = (None, value.__module__, first_line(source, node))
        return Unit(value.__name__, answered(node, key, self.facts), {"": value.__module__}, value)

    def flattened(self, cls: type) -> Unit:
        """The class with what it inherits from others whose source comes along."""
        chain = bases_of(cls, self.roots)
        methods: dict[str, cst.FunctionDef] = {}
        others: dict[str, Any] = {}
        modules: dict[str, str] = {"": cls.__module__}
        external: list[str] = []
        for one in chain:
            _source, node = class_node(one)
            for statement in without_docstring(node.body):
                if isinstance(statement, cst.FunctionDef):
                    if statement.name.value not in methods:
                        self._add(cls, one, statement, methods, modules)
                elif isinstance(statement, cst.SimpleStatementLine):
                    name = _bound(statement)
                    if name and name not in others:
                        others[name] = statement
                        modules[name] = one.__module__
            for base in node.bases:
                text = code(base.value)
                direct = next((b for b in one.__bases__ if b.__name__ == text.rpartition(".")[2]), None)
                own = direct is not None and direct in chain
                if (
                    not own
                    and text not in ABSTRACT
                    and not text.startswith("Generic")
                    and text not in external
                ):
                    external.append(text)
                    modules.setdefault("bases", one.__module__)
        _, node = class_node(cls)
        document = docstring_of(node.body)
        if document is None:
            document = next((d for one in chain if (d := docstring_of(class_node(one)[1].body))), None)
        ordered = sorted(
            methods.values(),
            key=lambda one: (
                ["__init__", "forward"].index(one.name.value)
                if one.name.value in ("__init__", "forward")
                else 2
            ),
        )
        ordered = [one for one in ordered if not _is_abstract(one)]
        body = [*docstring_line(document, 4), *others.values(), *ordered]
        made = node.with_changes(
            bases=[cst.Arg(cst.parse_expression(text)) for text in external],
            keywords=[],
            lpar=cst.MaybeSentinel.DEFAULT,
            rpar=cst.MaybeSentinel.DEFAULT,
            leading_lines=[],
            lines_after_decorators=[],
            body=node.body.with_changes(body=body or [cst.parse_statement("pass")]),
        )
        return Unit(cls.__name__, made, modules, cls)

    def _key(self, cls: type, owner: type, node: cst.FunctionDef) -> Key:
        return cls, owner.__module__, first_line(source_of(owner.__module__), node)

    def _add(
        self,
        cls: type,
        owner: type,
        written: cst.FunctionDef,
        methods: dict[str, cst.FunctionDef],
        modules: dict[str, str],
    ) -> None:
        """Add a method, with what it calls by `super()` inside it or beside it."""
        name = written.name.value
        key = self._key(cls, owner, written)
        node = answered(written, key, self.facts)
        seen = self.facts.arguments.get(key, {})
        self.never_none.setdefault((cls, name), {one for one, values in seen.items() if None not in values})
        base = self._base(cls, owner, name)
        if base is not None and _calls_super(node, name):
            inner = answered(base[1], self._key(cls, base[0], base[1]), self.facts)
            if _calls_super(inner, name):  # two steps up: the base's own call first
                held: dict[str, cst.FunctionDef] = {}
                self._add(cls, base[0], base[1], held, modules)
                inner = held[name]
            document = joined_arguments(inner, node) if name == "__init__" else None
            node, beside = _inlined(node, inner)
            if document is not None:
                node = with_docstring(node, document)
            if beside is not None:
                methods[beside.name.value] = beside
                modules[beside.name.value] = base[0].__module__
            above = modules.get(f"{name} of base", "").split()  # where its own call of a base went
            modules[f"{name} of base"] = " ".join(dict.fromkeys([base[0].__module__, *above]))
        if name == "__init__" and (own := joined_arguments(node, node)) is not None:
            node = with_docstring(node, own)
        methods[name] = simplified(node)
        modules[name] = owner.__module__

    def _base(self, cls: type, owner: type, name: str) -> tuple[type, cst.FunctionDef] | None:
        """The next class whose method of this name `super()` of `owner` finds, if its source comes along."""
        rest = cls.__mro__[cls.__mro__.index(owner) + 1 :]
        for one in rest:
            if name not in vars(one):
                continue
            if not is_own(one.__module__, self.roots):
                return None
            _, node = class_node(one)
            for statement in node.body.body:
                if isinstance(statement, cst.FunctionDef) and statement.name.value == name:
                    return one, statement
            return None
        return None


def _bound(statement: cst.SimpleStatementLine) -> str | None:
    small = statement.body[0]
    target = small.target if isinstance(small, cst.AnnAssign) else None
    if isinstance(small, cst.Assign):
        target = small.targets[0].target
    return target.value if isinstance(target, cst.Name) else None


def _is_abstract(node: cst.FunctionDef) -> bool:
    return any(code(one.decorator).endswith("abstractmethod") for one in node.decorators)


def _super_call(node: cst.BaseExpression, name: str) -> cst.Call | None:
    if isinstance(node, cst.Call) and code(node.func) == f"super().{name}":
        return node
    return None


def _calls_super(node: cst.FunctionDef, name: str) -> bool:
    return f"super().{name}(" in code(node.body)


def _inlined(node: cst.FunctionDef, base: cst.FunctionDef) -> tuple[cst.FunctionDef, cst.FunctionDef | None]:
    """A method with the base's body in the place of its call to it; or a call to the base's under a name of its own."""
    name = node.name.value
    beside: list[cst.FunctionDef] = []
    statements = without_docstring(base.body)

    class Inliner(cst.CSTTransformer):
        def leave_SimpleStatementLine(
            self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
        ) -> Any:
            small = updated_node.body[0]
            value = small.value if isinstance(small, (cst.Expr, cst.Return)) else None
            call = None if value is None else _super_call(value, name)
            if call is None:
                return updated_node
            if isinstance(small, cst.Expr) and any(isinstance(one, cst.Return) for one in _ends(statements)):
                return updated_node
            body = _with_arguments(base, call, statements)
            if body is None:
                return updated_node
            if not body:
                inlined.append(name)
                return cst.RemoveFromParent()
            inlined.append(name)
            body[0] = body[0].with_changes(
                leading_lines=[*updated_node.leading_lines, *body[0].leading_lines]
            )
            return cst.FlattenSentinel(body)

    inlined: list[str] = []
    changed = node.with_changes(body=node.body.visit(Inliner()))
    if inlined:
        return changed, None

    class Expressions(cst.CSTTransformer):
        def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
            if _super_call(updated_node, name) is None:
                return updated_node
            only = statements[0] if len(statements) == 1 else None
            if isinstance(only, cst.SimpleStatementLine) and isinstance(only.body[0], cst.Return):
                body = _with_arguments(base, updated_node, statements)
                if body is not None and len(body) == 1:
                    return in_parentheses(body[0].body[0].value)
            beside.append(base.with_changes(name=cst.Name(f"base_{name}")))
            return updated_node.with_changes(func=cst.parse_expression(f"self.base_{name}"))

    changed = changed.with_changes(body=changed.body.visit(Expressions()))
    return changed, beside[0] if beside else None


def inlined_call(
    function: cst.FunctionDef, target: cst.FunctionDef, called: str, split: bool = False
) -> cst.FunctionDef | None:
    """`function` with the body of `target` in the place of its only call, `called(...)`; None where it does not fit.

    With `split`, `x = called(*f())` becomes `a, b = f()` and the body.
    """
    statements = without_docstring(target.body)
    if any(isinstance(one, cst.FunctionDef) for one in statements) or not statements:
        return None
    inliner = _CallInliner(function, target, called, statements)
    inliner.split = split
    changed = function.with_changes(body=function.body.visit(inliner))
    return changed if inliner.done else None


class _CallInliner(cst.CSTTransformer):
    """Puts a function's statements in the place of a call that is a statement, its expression in that of any other."""

    def __init__(
        self, function: cst.FunctionDef, target: cst.FunctionDef, called: str, statements: Sequence[Any]
    ) -> None:
        self.target, self.called, self.statements, self.done = target, called, statements, False
        self.split = False
        only = statements[0] if len(statements) == 1 else None
        small = only.body[0] if isinstance(only, cst.SimpleStatementLine) else None
        comment = isinstance(only, cst.SimpleStatementLine) and only.trailing_whitespace.comment is not None
        self.expression = small.value if isinstance(small, cst.Return) and not comment else None
        ends = _ends(statements)
        self.last = ends[-1] if ends else None
        self.returns = code(cst.Module(statements)).count("return")
        inner, outer = assigned_names(statements), assigned_names(function.body.body)
        own = {p.name.value for p in parameters(target)}
        free = {one.value for one in names_in(function.body)} - own
        self.clash = bool(inner & ({p.name.value for p in parameters(function)} | outer))
        self.clash_of_results = (inner | own) & outer or (inner - own) & free
        self.bound = [p.name.value for p in parameters(function)] + [
            name for one in function.body.body for name in assigned_names([one])
        ]

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> Any:
        small = updated_node.body[0]
        value = small.value if isinstance(small, (cst.Expr, cst.Return, cst.Assign)) else None
        if not isinstance(value, cst.Call):
            return updated_node
        if isinstance(small, cst.Assign) and code(value.func) == self.called and self._fits(small):
            return self._assigned(updated_node, small, value)
        if len(value.args) == 1 and value.args[0].star == "*" and not self.clash_of_results:
            return self._results_given(updated_node, small, value)
        fits = not isinstance(small, cst.Assign) and self.expression is None and not self.clash
        if code(value.func) != self.called or not fits:
            return updated_node
        last = isinstance(small, cst.Return) and isinstance(self.last, cst.Return)
        if not last and (isinstance(small, cst.Return) or self.returns):
            return updated_node
        body = _with_arguments(self.target, value, self.statements)
        if body is None:
            return updated_node
        self.done = True
        return cst.FlattenSentinel(body)

    def _fits(self, small: cst.Assign) -> bool:
        """Return whether no name of the statements is another's; that of the result may be theirs."""
        target = small.targets[0].target
        name = target.value if isinstance(target, cst.Name) and len(small.targets) == 1 else ""
        return not self.clash_of_results - ({name} if self.bound.count(name) == 1 else set())

    def _assigned(self, line: cst.SimpleStatementLine, small: cst.Assign, call: cst.Call) -> Any:
        """`x = called(...)`: the statements, and what they end in as `x`."""
        results = self.last.value if isinstance(self.last, cst.Return) and self.returns == 1 else None
        if results is None:
            return line
        names = [one.name.value for one in self.target.params.params if one.name.value != "self"]
        several = len(call.args) == 1 and call.args[0].star == "*" and not self.target.params.kwonly_params
        if several and not self.split:
            return line
        if several and len(names) > 1:
            first = cst.parse_statement(f"{', '.join(names)} = {code(call.args[0].value)}")
            body: list[Any] | None = [first, *self.statements]
        else:
            body = _with_arguments(self.target, call, self.statements, bind=True)
        if body is None:
            return line
        self.done = True
        end = body.pop()
        changed = end.with_changes(body=[small.with_changes(value=end.body[0].value)])
        return cst.FlattenSentinel([*body, changed])

    def _results_given(self, line: cst.SimpleStatementLine, small: Any, outer: cst.Call) -> Any:
        """`f(*called(...))`: the statements, and f with what they end in."""
        call = outer.args[0].value
        results = self.last.value if isinstance(self.last, cst.Return) and self.returns == 1 else None
        if not isinstance(call, cst.Call) or code(call.func) != self.called:
            return line
        if not isinstance(results, cst.Tuple):
            return line
        body = _with_arguments(self.target, call, self.statements, bind=True)
        if body is None:
            return line
        self.done = True
        elements = body.pop().body[0].value.elements
        given = [cst.Arg(e.value, star="*" if isinstance(e, cst.StarredElement) else "") for e in elements]
        changed = small.with_changes(value=outer.with_changes(args=given))
        return cst.FlattenSentinel([*body, line.with_changes(body=[changed])])

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        if code(updated_node.func) != self.called or self.expression is None:
            return updated_node
        body = _with_arguments(self.target, updated_node, self.statements)
        if body is None or len(body) != 1:
            return updated_node
        self.done = True
        return in_parentheses(body[0].body[0].value)


def _ends(statements: Sequence[Any]) -> list[Any]:
    last = statements[-1] if statements else None
    return list(last.body) if isinstance(last, cst.SimpleStatementLine) else []


def _moves_into_lambda(values: Mapping[str, cst.BaseExpression], statements: Sequence[Any]) -> bool:
    """Return whether an argument would be computed in a lambda: later, and where names may mean something else."""
    found: list[bool] = []

    class Lambdas(cst.CSTVisitor):
        def visit_Lambda(self, node: cst.Lambda) -> None:
            own = {one.name.value for one in parameters(node)}
            for name in {one.value for one in names_in(node.body)} & values.keys() - own:
                read = {one.value for one in names_in(values[name])}
                found.append(isinstance(values[name], cst.Call) or bool(read & own))

    for one in statements:
        walk(one, Lambdas())
    return any(found)


def _with_arguments(
    base: cst.FunctionDef, call: cst.Call, statements: Sequence[Any], bind: bool = False
) -> list[Any] | None:
    """The base's statements with the call's arguments in the place of its parameters; None if they do not fit."""
    values = bound_arguments(base, call)
    if values is None or _moves_into_lambda(values, statements):
        return None
    first: list[Any] = []
    changed = assigned_names(statements)
    used = [one.value for statement in statements for one in names_in(statement)]
    calls = [n for n, v in values.items() if not (is_pure(v) or isinstance(v, (cst.Integer, cst.Float)))]
    # in another order, autograd would add up gradients in another order
    bind = bind or len(statements) > 1 or [name for name in used if name in calls] != calls
    for name, value in list(values.items()):
        if name in changed or (name in calls and bind):
            del values[name]
            if code(value) != name:
                first.append(cst.parse_statement(f"{name} = {code(value)}"))
    return [*first, *(substitute(one, values) for one in statements)]


def bound_arguments(function: cst.FunctionDef, call: cst.Call) -> dict[str, cst.BaseExpression] | None:
    """The expression that each parameter of `function` gets in a call; None where that cannot be read off."""
    given = function.params
    if any(one.star for one in call.args) or isinstance(given.star_arg, cst.Param) or given.star_kwarg:
        return None
    positional = [
        one.name.value for one in (*given.posonly_params, *given.params) if one.name.value != "self"
    ]
    found: dict[str, cst.BaseExpression] = {}
    for number, one in enumerate(call.args):
        if one.keyword is None and number >= len(positional):
            return None
        found[positional[number] if one.keyword is None else one.keyword.value] = one.value
    for parameter in parameters(function):
        if parameter.name.value not in found:
            if parameter.default is None:
                return None
            found[parameter.name.value] = parameter.default
    return found
