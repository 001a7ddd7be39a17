"""Words for operations, axes and numbers, as the field has them."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

LETTERS = {
    "B": "batch", "N": "rows", "H": "heads", "T": "positions", "L": "target positions", "S": "source positions",
    "Tq": "queries", "Tk": "keys", "D": "features", "Dk": "features", "Dv": "value features", "d": "head features",
    "V": "vocabulary", "K": "beams",
}  # fmt: skip
"""Axes by the letters that shapes are written with."""

SIZES = {
    "d_model": "features", "num_heads": "heads", "d_ff": "hidden features", "tgt_vocab": "vocabulary",
    "beam": "beams", "max_len": "positions", "head_dim": "head features",
}  # fmt: skip
"""Axes by the argument that gives their size."""

SAME = {
    "truediv": "div", "true_divide": "div", "divide": "div", "subtract": "sub", "multiply": "mul", "negative": "neg",
    "mm": "matmul", "bmm": "matmul", "invert": "not", "bitwise_not": "not", "logical_not": "not", "bitwise_and": "and",
    "logical_and": "and", "bitwise_or": "or", "logical_or": "or", "bitwise_xor": "xor", "logical_xor": "xor",
    "rtruediv": "rdiv", "iadd": "add", "isub": "sub",
    "imul": "mul", "itruediv": "div", "iand": "and", "ior": "or", "concat": "cat", "concatenate": "cat",
    "swapaxes": "transpose", "view": "reshape", "radd": "add", "rmul": "mul", "greater": "gt", "less": "lt",
    "setitem": "set", "amax": "max", "amin": "min", "float_power": "pow", "ipow": "pow",
}  # fmt: skip
BINARY = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**", "matmul": "@", "and": "&", "or": "|", "xor": "^",
    "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=", "floordiv": "//", "remainder": "%",
}  # fmt: skip
REVERSED = {"rsub": "-", "rdiv": "/", "rpow": "**"}
REDUCTIONS = {
    "sum": "sum", "mean": "mean", "median": "median", "max": "maximum", "min": "minimum", "std": "standard deviation",
    "var": "variance", "prod": "product", "norm": "norm", "logsumexp": "log-sum-exp", "argmax": "argmax",
    "argmin": "argmin", "all": "all", "any": "any", "softmax": "softmax", "log_softmax": "log_softmax",
    "cumsum": "cumulative sum", "cumprod": "cumulative product", "flip": "flip", "sort": "sort", "topk": "topk",
}  # fmt: skip
UNARY = {
    "neg": "-{}", "not": "the inverse of {}", "square": "{} squared", "sqrt": "sqrt({})", "rsqrt": "1 / sqrt({})",
    "abs": "|{}|", "t": "{} transposed", "T": "{} transposed", "mT": "{} transposed", "reciprocal": "1 / {}",
    "clone": "{}", "to": "{}", "float": "{}", "double": "{}", "type": "{}", "contiguous": "{}", "long": "{}",
    "type_as": "{}", "detach": "{}, detached", "half": "{} in half precision", "bfloat16": "{} in bfloat16",
    "bool": "{} as bool",
}  # fmt: skip
LAYERS = {
    "linear": "linear layer",
    "layer_norm": "layer norm",
    "embedding": "embedding",
}
SILENT = frozenset(
    {"clone", "to", "float", "double", "type", "contiguous", "long", "type_as", "requires_grad"}
)
LAYOUTS = frozenset(
    {"reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "expand", "permute", "movedim", "repeat"}
)
POWERS: dict[str, Callable[[float], float]] = {
    "{}": lambda n: n, "sqrt({})": lambda n: n**0.5, "1/{}": lambda n: 1 / n, "1/sqrt({})": lambda n: n**-0.5,
}  # fmt: skip
_SHAPED = re.compile(r"\b([a-z_]\w*):?\s+(?:[a-z]+\s+)?\[([A-Za-z0-9_ ,.]+)\]")
OF_A_LIST = "a tensor made from a list"  # whose numbers came from plain Python
HUGE = 1e30  # says infinity


class Hole:
    """A tensor among the plain arguments of a recorded operation."""


HOLE = Hole()


@dataclass(frozen=True)
class Slot:
    """A piece of a phrase that depends on sizes: its text in one scenario, and what it may mean."""

    text: str
    meanings: tuple[str, ...]


Phrase = tuple["str | Slot", ...]


def form(phrase: Phrase) -> tuple[str | None, ...]:
    """Equal for phrases that differ in sizes alone."""
    return tuple(one if isinstance(one, str) else None for one in phrase)


def rendered(phrases: Sequence[Phrase]) -> str:
    """Phrases of one form, one a scenario, as a text: a slot gets the only meaning that fits in all of them, if any."""
    text = ""
    for pieces in zip(*phrases, strict=True):
        first = pieces[0]
        if isinstance(first, str):
            text += first
            continue
        slots = [one for one in pieces if isinstance(one, Slot)]
        shared = [word for word in first.meanings if all(word in one.meanings for one in slots)]
        text += f"{first.text} ({shared[0]})" if len(shared) == 1 and shared[0] != first.text else first.text
    return text


class Sizes:
    """What the sizes in one scenario mean.

    Args:
        shapes: arguments by name: their shapes.
        plain: plain arguments by name.
        texts: in which shapes are written with letters, "logits: [B, L, V]".
    """

    def __init__(
        self, shapes: Mapping[str, Sequence[int]], plain: Mapping[str, Any], texts: Iterable[str]
    ) -> None:
        self.numbers = {
            name: value
            for name, value in plain.items()
            if type(value) in (int, float) and value and name != "self"
        }
        width, heads = self.numbers.get("d_model"), self.numbers.get("num_heads")
        if width and heads and width % heads == 0:
            self.numbers["head_dim"] = width // heads
        self._axes: dict[str, int] = {}
        self._shapes: dict[tuple[int, ...], list[str]] = {}
        written: dict[str, list[str]] = {}
        for text in texts:
            for name, letters in _SHAPED.findall(text):
                written.setdefault(name, [one.strip() for one in letters.split(",")])
        for name, shape in shapes.items():
            letters = written.get(name, [])
            if letters[:1] == ["..."]:
                letters = ["..."] * (len(shape) - len(letters) + 1) + letters[1:]
            if len(letters) == len(shape):
                self._shapes.setdefault(tuple(shape), letters)
                self._axes |= {
                    letter: n for letter, n in zip(letters, shape, strict=True) if letter in LETTERS and n > 1
                }

    def axis(self, shape: Sequence[int], dim: int) -> tuple[str, ...]:
        """Return words for an axis of a value; none where it has no name."""
        if not -len(shape) <= dim < len(shape):
            return ()
        dim %= len(shape)
        letters = self._shapes.get(tuple(shape))
        if letters is not None and letters[dim] in LETTERS:
            return (LETTERS[letters[dim]],)
        size = shape[dim]
        if size == 1:
            return ()
        found = [LETTERS[letter] for letter, n in self._axes.items() if n == size]
        found += [SIZES[name] for name, n in self.numbers.items() if name in SIZES and n == size]
        found = list(dict.fromkeys(found))
        if "queries" in found and "keys" in found and shape[-1] == shape[-2]:
            return ("queries",) if dim == len(shape) - 2 else ("keys",)
        if dim == 0 and "batch" in found:
            return ("batch",)
        found = [word for word in found if word != "batch"]
        if len(found) > 1 and dim == len(shape) - 1:
            found = [word for word in found if word in ("features", "vocabulary", "keys")] or found
        return tuple(found)

    def dim(self, shape: Sequence[int], dim: int) -> Slot:
        """An axis in words."""
        return Slot(f"dim {dim}", self.axis(shape, dim))

    def number(self, value: float) -> Slot:
        """A number, with the sizes that it may be made of."""
        text = f"{value:.4g}" if isinstance(value, float) else str(value)
        if HUGE <= abs(value) < math.inf:
            text = f"the {'lowest' if value < 0 else 'largest'} number"
        if isinstance(value, bool) or not math.isfinite(value) or value in (0, 1, -1, 2, 0.5):
            return Slot(text, ())
        sizes = self.numbers | {LETTERS[letter]: n for letter, n in self._axes.items() if n > 2}
        near: dict[tuple[str, str], str] = {}  # one name for each size
        for shape, power in POWERS.items():
            for name, n in sizes.items():
                if n > 0 and math.isclose(power(n), value, rel_tol=1e-6):
                    near.setdefault((shape, SIZES.get(name, name)), shape.format(name))
        return Slot(text, tuple(near.values()))


def canonical(name: str) -> str:
    """One name for the ways to write an operation."""
    bare = name.strip("_") or name
    return SAME.get(bare, bare)


def arguments(text: str) -> tuple[list[Any], dict[str, Any]] | None:
    """The arguments that a record has as text, `HOLE` for each tensor; None if the text was cut off."""
    try:
        call = ast.parse(f"f({text})", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(call, ast.Call):
        return None
    return [_literal(one) for one in call.args], {
        word.arg: _literal(word.value) for word in call.keywords if word.arg
    }


def _literal(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        value = node.operand.value
        return -value if isinstance(value, (int, float)) else HOLE
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Name) and node.operand.id == "inf":
        return -math.inf
    if isinstance(node, (ast.Tuple, ast.List)):
        return tuple(map(_literal, node.elts))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "slice":
        return slice(*map(_literal, node.args))
    if isinstance(node, ast.Name):
        words = {"Ellipsis": Ellipsis, "inf": math.inf, "nan": math.nan}
        return words.get(node.id, HOLE)
    return HOLE if not isinstance(node, ast.Attribute) else ast.unparse(node)


class Speaker:
    """Says operations in words. Args: name: a tensor in words; sizes: of the scenario."""

    def __init__(self, name: Callable[[Any], Phrase], sizes: Sizes) -> None:
        self._name, self._sizes = name, sizes

    def say(
        self, operation: str, args: Sequence[Any], kwargs: Mapping[str, Any], shape: Sequence[int]
    ) -> Phrase:
        """An operation on arguments; tensors are whatever `name` takes. Args: shape: of the first tensor."""
        op, of = canonical(operation), [self._word(one) for one in args]
        kwargs = {name: value for name, value in kwargs.items() if name != "device"}  # changes no numbers
        first: Phrase = of[0] if of else ()
        dim = kwargs.get("dim", kwargs.get("axis", args[1] if len(args) > 1 else None))
        if op in BINARY and len(of) > 1:
            return (*self._inner(first), f" {BINARY[op]} ", *self._inner(of[1]))
        if op in REVERSED and len(of) > 1:
            return (*self._inner(of[1]), f" {REVERSED[op]} ", *self._inner(first))
        if op in REDUCTIONS and of:
            rest = self._options(kwargs, ("dim", "axis", "keepdim", "dtype", "_stacklevel"))
            return (f"{REDUCTIONS[op]} of ", *first, *self._over(shape, dim), *rest)
        if op in UNARY and of:
            before, after = UNARY[op].split("{}")
            wrapped = first if before.endswith("(") or not before else self._inner(first)
            return (before, *wrapped, after)
        if op in ("tensor", "as_tensor"):
            return (OF_A_LIST,)
        if op == "dropout" and of:
            on = kwargs.get("training", args[2] if len(args) > 2 else True)
            return ("dropout of ", *first, "" if on else " switched off")
        if op in LAYERS and of:
            return (f"{LAYERS[op]} of ", *(of[1] if op == "embedding" and len(of) > 1 else first))
        if op == "getitem" and len(args) > 1:
            return (*self._inner(first), "[", *self._index(args[1]), "]")
        if op == "set" and len(of) > 2:
            return (*self._inner(first), "[", *self._index(args[1]), "] set to ", *of[2])
        if op == "transpose" and len(args) > 2:
            return (
                *first,
                " with dims ",
                self._dim(shape, args[1]),
                " and ",
                self._dim(shape, args[2]),
                " swapped",
            )
        if op in LAYOUTS and of:
            return (*first, f" with {op}", *self._called(of[1:], kwargs))
        if op in ("masked_fill", "where") and len(of) > 2:
            if op == "where":
                return (*of[1], " where ", *self._inner(first), ", else ", *of[2])
            return (*first, " filled with ", *of[2], " where ", *self._inner(of[1]))
        if op in ("cat", "stack") and of:
            word = "concatenated" if op == "cat" else "stacked"
            along = dim if isinstance(dim, int) else 0
            return (*first, f" {word} along ", self._dim(shape, along))
        return (op, *self._called(of, kwargs))

    def _called(self, of: Sequence[Phrase], kwargs: Mapping[str, Any]) -> Phrase:
        parts: list[str | Slot] = ["("]
        shown = [
            *of,
            *((f"{name}=", *self._word(value)) for name, value in kwargs.items() if value is not None),
        ]
        for index, one in enumerate(shown):
            parts += [*([", "] if index else []), *one]
        return (*parts, ")")

    def _options(self, kwargs: Mapping[str, Any], but: Sequence[str]) -> Phrase:
        left = {name: value for name, value in kwargs.items() if name not in but and value is not None}
        return (" with ", *(p for n, v in left.items() for p in (f"{n}=", *self._word(v)))) if left else ()

    def _over(self, shape: Sequence[int], dim: Any) -> Phrase:
        if isinstance(dim, (tuple, list)) and dim and all(type(one) is int for one in dim):
            parts: list[str | Slot] = [" over "]
            for index, one in enumerate(dim):
                parts += [*([" and "] if index else []), self._dim(shape, one)]
            return tuple(parts)
        return (" over ", self._dim(shape, dim)) if type(dim) is int else (" over all dimensions",)

    def _dim(self, shape: Sequence[int], dim: Any) -> str | Slot:
        return self._sizes.dim(shape, dim) if type(dim) is int else str(dim)

    @staticmethod
    def _inner(phrase: Phrase) -> Phrase:
        return phrase if len(phrase) < 2 else ("(", *phrase, ")")

    def _index(self, index: Any) -> Phrase:
        if not isinstance(index, tuple):
            index = (index,)
        parts: list[str | Slot] = []
        for one in index:
            parts += [", "] if parts else []
            if isinstance(one, slice):
                start, stop, step = (
                    "" if n is None else str(n) if type(n) is int else "..."
                    for n in (one.start, one.stop, one.step)
                )
                parts.append(f"{start}:{stop}" + (f":{step}" if step else ""))
            else:
                parts += ["..."] if one is Ellipsis else self._word(one)
        return tuple(parts)

    def _word(self, value: Any) -> Phrase:
        if type(value) in (int, float):
            return (self._sizes.number(value),)
        if isinstance(value, (bool, str)) or value is None:
            return (str(value),)
        if value is Ellipsis or isinstance(value, slice):
            return self._index(value)
        if isinstance(value, (tuple, list)):
            parts: list[str | Slot] = []
            for index, one in enumerate(value[:6]):
                parts += [*([", "] if index else []), *self._word(one)]
            return ("(", *parts, ")")
        return self._name(value)


def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of a tensor, or of the first one in a list."""
    if isinstance(value, (list, tuple)):
        return shape_of(value[0]) if value else ()
    return tuple(value.shape) if isinstance(value, Tensor) else ()
