"""Constants put in, and what follows from them: branches that are never taken go, and so does what they leave."""

# mypy: disable-error-code="attr-defined,no-any-return,arg-type"
# (nodes of libcst are told apart by what they hold)

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import libcst as cst
from torch import nn

from zoo.export.observe import OTHER, Facts, Key, atoms_of
from zoo.export.trees import (
    CONSTANTS,
    bound_names,
    code,
    is_constant,
    is_pure,
    names_in,
    parameters,
    source_of,
    visited,
)

JUMPS = (cst.Return, cst.Raise, cst.Continue, cst.Break)


def constant(value: object) -> cst.BaseExpression:
    """True, False, None or a text as a node."""
    return cst.parse_expression(repr(value)) if isinstance(value, str) else cst.Name(str(value))


class _Questions(cst.CSTTransformer):
    """Puts answers in the place of questions."""

    def __init__(self, answers: Mapping[cst.CSTNode, Any]) -> None:
        self.answers = answers

    def on_leave(self, original_node: Any, updated_node: Any) -> Any:
        if original_node in self.answers:
            return constant(self.answers[original_node])
        return super().on_leave(original_node, updated_node)


def answered(node: cst.FunctionDef, key: Key, facts: Facts) -> cst.FunctionDef:
    """A function of a source, with its constant parameters and the answers to its questions put in."""
    answers = {}
    asked = atoms_of(key[1], node)
    texts: dict[str, set[Any]] = {}
    for place, _, question in asked:
        texts.setdefault(code(question), set()).update(facts.atoms.get(key, {}).get(place, ()))
    bound = _reassigned(node)
    doubtful = _sometimes_none(node, key, facts)
    for place, _, question in asked:
        names = {one.value for one in names_in(question)}
        answer = facts.atom(key, place)
        if place not in facts.atoms.get(key, {}) and not names & bound and len(texts[code(question)]) == 1:
            answer = next(iter(texts[code(question)]))  # a line that never ran asks what another one does
        if answer is OTHER or isinstance(answer, str) or (_asks_for_none(question) and names & doubtful):
            continue
        answers[question] = answer
    body = node.body.visit(_Questions(answers))
    node = node.with_changes(body=body)
    values = {}
    changed = _reassigned(node)
    for one in parameters(node):
        name = one.name.value
        value = facts.argument(key, name)
        if value is not OTHER and name not in changed:
            values[name] = constant(value)
    body = substitute(node.body, values)
    return simplified(node.with_changes(body=body, params=_annotated(node.params, key, facts)))


def _asks_for_none(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Comparison) and code(node.comparisons[0].comparator) == "None"


def _sometimes_none(node: cst.FunctionDef, key: Key, facts: Facts) -> set[str]:
    """Names that are None at one place of a function and something else at another."""
    seen: dict[str, set[bool]] = {}
    for name, values in facts.arguments.get(key, {}).items():
        seen[name] = {value is None for value in values}
    for place, _, question in atoms_of(key[1], node):
        if (
            isinstance(question, cst.Comparison)
            and _asks_for_none(question)
            and isinstance(question.left, cst.Name)
        ):
            same = isinstance(question.comparisons[0].operator, cst.Is)
            for answer in facts.atoms.get(key, {}).get(place, ()):
                seen.setdefault(question.left.value, set()).add(answer is same)
    return {name for name, values in seen.items() if len(values) > 1}


def _annotated(given: cst.Parameters, key: Key, facts: Facts) -> cst.Parameters:
    """Parameters that are never None without it in their annotation, where they have no default that is None."""

    def fit(one: cst.Param) -> cst.Param:
        values = facts.arguments.get(key, {}).get(one.name.value, {None})
        if (
            None in values
            or one.annotation is None
            or (one.default is not None and code(one.default) == "None")
        ):
            return one
        return one.with_changes(annotation=cst.Annotation(without_none(one.annotation.annotation)))

    def bare(one: cst.Param) -> cst.Param:
        values = facts.arguments.get(key, {}).get(one.name.value, {None})
        if None in values or one.default is None or code(one.default) != "None" or made:
            return one
        return one.with_changes(default=None, equal=cst.MaybeSentinel.DEFAULT)

    made = source_of(key[1]).functions[key[2]].name.value == "__init__"
    ordered = list(given.params)
    for place in range(
        len(ordered) - 1, -1, -1
    ):  # a parameter without default comes before those that have one
        ordered[place] = bare(ordered[place])
        if ordered[place].default is not None:
            break
    kwonly = [fit(bare(one)) for one in given.kwonly_params]
    return given.with_changes(params=[fit(one) for one in ordered], kwonly_params=kwonly)


def without_none(annotation: cst.BaseExpression) -> cst.BaseExpression:
    """`X | None` -> X."""
    if isinstance(annotation, cst.BinaryOperation) and code(annotation.right) == "None":
        return annotation.left
    return annotation


def _reassigned(node: cst.FunctionDef) -> set[str]:
    found: set[str] = set()
    for one in node.body.body:
        found |= bound_names(one)
    return found


ATOMS = (
    cst.Name,
    cst.Attribute,
    cst.Call,
    cst.Subscript,
    cst.SimpleString,
    cst.Integer,
    cst.Float,
    cst.Dict,
    cst.List,
)
"""Expressions that need no parentheses anywhere."""


def in_place_of(old: cst.BaseExpression, new: cst.BaseExpression) -> cst.BaseExpression:
    """An expression in the parentheses of the one that it replaces."""
    if not old.lpar or new.lpar or isinstance(new, ATOMS):
        return new
    return new.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def in_parentheses(new: cst.BaseExpression) -> cst.BaseExpression:
    """An expression that may stand anywhere."""
    return in_place_of(cst.Name("_", lpar=[cst.LeftParen()], rpar=[cst.RightParen()]), new)


class _Substitution(cst.CSTTransformer):
    """Puts expressions in the place of names; where a name is bound again, as in a lambda, it is left alone."""

    def __init__(self, values: Mapping[str, cst.BaseExpression]) -> None:
        self.values, self.hidden = values, [set[str]()]

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        return True

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.Attribute:
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        return updated_node.with_changes(keyword=original_node.keyword)

    def leave_Param(self, original_node: cst.Param, updated_node: cst.Param) -> cst.Param:
        return updated_node.with_changes(name=original_node.name)

    def visit_Lambda(self, node: cst.Lambda) -> None:
        self.hidden.append({*self.hidden[-1], *(one.name.value for one in parameters(node))})

    def leave_Lambda(self, original_node: cst.Lambda, updated_node: cst.Lambda) -> cst.Lambda:
        self.hidden.pop()
        return updated_node

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        name = original_node.value
        if name not in self.values or name in self.hidden[-1]:
            return updated_node
        value = self.values[name].deep_clone()
        return value if original_node.lpar else in_parentheses(value)


def substitute(node: Any, values: Mapping[str, cst.BaseExpression]) -> Any:
    """A node with expressions in the place of names."""
    return node.visit(_Substitution(values)) if values else node


def truth(node: cst.BaseExpression) -> bool | None:
    """The truth of a constant, None if it is none."""
    if isinstance(node, cst.Name) and node.value in CONSTANTS:
        return bool(CONSTANTS[node.value])
    if isinstance(node, cst.Integer):
        return node.value != "0"
    return None


class _Simplifier(cst.CSTTransformer):
    def leave_UnaryOperation(
        self, original_node: cst.UnaryOperation, updated_node: cst.UnaryOperation
    ) -> cst.BaseExpression:
        value = truth(updated_node.expression) if isinstance(updated_node.operator, cst.Not) else None
        return updated_node if value is None else constant(not value)

    def leave_BooleanOperation(
        self, original_node: cst.BooleanOperation, updated_node: cst.BooleanOperation
    ) -> cst.BaseExpression:
        deciding = isinstance(updated_node.operator, cst.Or)
        left, right = truth(updated_node.left), truth(updated_node.right)
        if left is not None:
            return in_place_of(updated_node, updated_node.left if left is deciding else updated_node.right)
        if right is not None and right is not deciding:
            return in_place_of(updated_node, updated_node.left)
        if right is deciding and _harmless(updated_node.left):
            return in_place_of(updated_node, updated_node.right)
        return updated_node

    def leave_BinaryOperation(
        self, original_node: cst.BinaryOperation, updated_node: cst.BinaryOperation
    ) -> cst.BaseExpression:
        if isinstance(updated_node.operator, cst.Multiply):
            for one, other in (
                (updated_node.left, updated_node.right),
                (updated_node.right, updated_node.left),
            ):
                if isinstance(one, cst.Float) and one.value == "1.0":
                    return in_place_of(updated_node, other)
        return updated_node

    def leave_IfExp(self, original_node: cst.IfExp, updated_node: cst.IfExp) -> cst.BaseExpression:
        value = truth(updated_node.test)
        if value is None:
            return updated_node
        return in_place_of(updated_node, updated_node.body if value else updated_node.orelse)

    def leave_Comparison(
        self, original_node: cst.Comparison, updated_node: cst.Comparison
    ) -> cst.BaseExpression:
        if len(updated_node.comparisons) != 1:
            return updated_node
        operator, right = updated_node.comparisons[0].operator, updated_node.comparisons[0].comparator
        if (known := _of_literals(updated_node.left, operator, right)) is not None:
            return constant(known)
        if (
            is_constant(updated_node.left)
            and is_constant(right)
            and isinstance(operator, (cst.Is, cst.IsNot))
        ):
            return constant((code(updated_node.left) == code(right)) is isinstance(operator, cst.Is))
        return updated_node

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> Any:
        value = truth(updated_node.test)
        if value is None:
            return updated_node
        if value:
            return _spliced(updated_node.body, updated_node.leading_lines)
        rest = updated_node.orelse
        if rest is None:
            return cst.RemoveFromParent()
        if isinstance(rest, cst.If):
            return rest.with_changes(leading_lines=updated_node.leading_lines)
        return _spliced(rest.body, updated_node.leading_lines)

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        """Without `**{}`, and without keywords that a module of torch takes by itself."""
        given: list[cst.Arg] = []
        for one in updated_node.args:
            if one.star == "*" and isinstance(one.value, cst.Tuple):
                given += [
                    cst.Arg(e.value, star="*" if isinstance(e, cst.StarredElement) else "")
                    for e in one.value.elements
                ]
            else:
                given.append(one)
        if len(given) > len(updated_node.args):
            return updated_node.with_changes(args=given)
        kept = [one for one in updated_node.args if not (one.star == "**" and code(one.value) == "{}")]
        function = code(updated_node.func)
        kind = getattr(nn, function.removeprefix("nn."), None) if function.startswith("nn.") else None
        if kind is not None:
            known = inspect.signature(kind).parameters
            kept = [
                one
                for one in kept
                if not (
                    one.keyword
                    and one.keyword.value in known
                    and is_constant(one.value)
                    and CONSTANTS[code(one.value)] is known[one.keyword.value].default
                )
            ]
        if len(kept) == len(updated_node.args):
            return updated_node
        if kept:
            kept[-1] = kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
        return updated_node.with_changes(args=kept)

    def leave_Else(self, original_node: cst.Else, updated_node: cst.Else) -> Any:
        return updated_node if updated_node.body.body else cst.RemoveFromParent()

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        updated_node = _returned_as_it_is(_returned_at_once(updated_node))
        for number, one in enumerate(updated_node.body[:-1], 1):
            if isinstance(one, cst.SimpleStatementLine) and isinstance(one.body[-1], JUMPS):
                return updated_node.with_changes(body=updated_node.body[:number])
        return updated_node

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> Any:
        only = updated_node.body[0] if len(updated_node.body) == 1 else None
        if isinstance(only, cst.Assert) and truth(only.test):
            return cst.RemoveFromParent()
        if isinstance(only, cst.Assign) and len(only.targets) == 1:
            return _assignment(updated_node, only)
        return updated_node


LITERALS = (cst.SimpleString, cst.Integer, cst.Float)


def _of_literals(left: Any, operator: Any, right: Any) -> bool | None:
    """Return the result of a comparison of literals; None for anything else."""
    if isinstance(left, cst.NamedExpr):  # (x := None) is not None
        known = is_constant(left.value) and code(right) == "None" and isinstance(operator, cst.IsNot)
        return False if known and code(left.value) == "None" else None
    if not isinstance(left, LITERALS):
        return None
    if isinstance(operator, (cst.Equal, cst.NotEqual)) and isinstance(right, LITERALS):
        return (left.evaluated_value == right.evaluated_value) is isinstance(operator, cst.Equal)
    if not isinstance(operator, (cst.In, cst.NotIn)) or not isinstance(right, (cst.Tuple, cst.List, cst.Set)):
        return None
    if not all(isinstance(one.value, LITERALS) for one in right.elements):
        return None
    among = left.evaluated_value in [one.value.evaluated_value for one in right.elements]
    return among is isinstance(operator, cst.In)


def _returned_at_once(block: cst.IndentedBlock) -> cst.IndentedBlock:
    """`x = f(); return x` as `return f()`."""
    lines = block.body[-2:]
    if len(lines) < 2 or not all(isinstance(one, cst.SimpleStatementLine) for one in lines):
        return block
    made, given = lines[0].body[0], lines[1].body[0]
    if not (isinstance(made, cst.Assign) and isinstance(given, cst.Return) and given.value):
        return block
    target = made.targets[0].target
    if len(made.targets) != 1 or not isinstance(target, cst.Name) or code(given.value) != target.value:
        return block
    line = lines[0].with_changes(body=[given.with_changes(value=made.value)])
    return block.with_changes(body=[*block.body[:-2], line])


def _returned_as_it_is(block: cst.IndentedBlock) -> cst.IndentedBlock:
    """`if x is None: return None; return x` as `return x`."""
    if len(block.body) < 2:
        return block
    first, last = block.body[-2:]
    if not isinstance(first, cst.If) or first.orelse or not isinstance(last, cst.SimpleStatementLine):
        return block
    name = code(last.body[0]).removeprefix("return ")
    inner = [code(one).strip() for one in first.body.body]
    if code(first.test) != f"{name} is None" or inner != ["return None"] or not name.isidentifier():
        return block
    return block.with_changes(body=[*block.body[:-2], last])


def _harmless(node: cst.BaseExpression) -> bool:
    """Return whether a condition can be left out."""
    if isinstance(node, cst.Comparison):
        return is_pure(node.left) and all(is_pure(one.comparator) for one in node.comparisons)
    return is_pure(node)


def _spliced(block: cst.BaseSuite, leading: Any) -> Any:
    body = list(block.body)
    if not body:
        return cst.RemoveFromParent()
    first = body[0]
    body[0] = first.with_changes(leading_lines=[*leading, *first.leading_lines])
    return cst.FlattenSentinel(body)


def _assignment(line: cst.SimpleStatementLine, only: cst.Assign) -> Any:
    """Without what is assigned to itself: `x = x`, and the like of it within a tuple."""
    target, value = only.targets[0].target, only.value
    if code(target) == code(value):
        return cst.RemoveFromParent()
    if not (isinstance(target, cst.Tuple) and isinstance(value, cst.Tuple)):
        return line
    if len(target.elements) != len(value.elements):
        return line
    pairs = [
        (one, other)
        for one, other in zip(target.elements, value.elements, strict=True)
        if code(one.value) != code(other.value)
    ]
    if len(pairs) == len(target.elements):
        return line
    if not pairs:
        return cst.RemoveFromParent()
    targets, values = zip(*pairs, strict=True)
    return line.with_changes(
        body=[only.with_changes(targets=[cst.AssignTarget(_tuple(targets))], value=_tuple(values))]
    )


def _tuple(elements: Any) -> cst.BaseExpression:
    if len(elements) == 1:
        return elements[0].value
    plain = [cst.Element(one.value) for one in elements]
    return cst.Tuple(plain, lpar=[], rpar=[])


def simplified(node: Any) -> Any:
    """A function (or class) with its constant conditions decided, until nothing changes."""
    while True:
        changed = visited(node, _Simplifier())
        if changed is node:
            return node
        node = changed


def mapped(node: Any, change: Callable[[Any, Any], Any]) -> Any:
    """A tree with `change(original, updated)` applied to each node, from the leaves up."""

    class Mapped(cst.CSTTransformer):
        def on_leave(self, original_node: Any, updated_node: Any) -> Any:
            return change(original_node, updated_node)

    return visited(node, Mapped())
