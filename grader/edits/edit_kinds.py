"""Small changes of one piece of code that need nothing but itself, each as another piece of code."""

from __future__ import annotations

import ast
import copy
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations, pairwise
from typing import Any

from grader.edits.syntax import (
    PATHS,
    TRAINING,
    argument,
    called,
    constant,
    function_named,
    in_each,
    is_whole,
    method,
    with_argument,
)

OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add, ast.Pow),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Div, ast.Mod, ast.Mult),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
}
COMPARISONS: tuple[tuple[type[ast.cmpop], ...], ...] = (
    (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.NotEq),
    (ast.Eq, ast.NotEq, ast.Gt, ast.LtE),
    (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn),
)
FUNCTIONS = (
    ("relu", "gelu", "sigmoid", "tanh", "silu"),
    ("ReLU", "GELU", "Sigmoid", "Tanh", "SiLU"),
    ("softmax", "log_softmax"),
    ("mean", "sum", "prod"),
    ("sin", "cos"),
    ("argmax", "argmin"),
    ("lt", "le", "gt", "ge"),
    ("eq", "ne", "gt", "le"),
    ("max", "min"),
    ("maximum", "minimum"),
    ("tril", "triu"),
    ("square", "abs"),
    ("sqrt", "rsqrt", "square"),
    ("log", "log1p"),
    ("exp",),
    ("var", "std"),
    ("zeros", "ones"),
    ("zeros_like", "ones_like"),
    ("zeros_", "ones_"),
    ("all", "any"),
    ("logical_and", "logical_or"),
    ("logical_and_", "logical_or_"),
    ("logsumexp", "amax"),
    ("cat", "stack"),
    ("repeat", "repeat_interleave"),
    ("append", "extend"),
    ("copy", "deepcopy"),
    ("nlargest", "nsmallest"),
    ("no_grad", "inference_mode"),
    ("Dropout",),
    ("dropout",),
    ("LayerNorm",),
)
ENDS = {"append": "appendleft", "extend": "extendleft", "pop": "popleft"}
ENDS |= {other: one for one, other in ENDS.items()}
LESS_USED = {  # functions that right code has less often than one of these
    "relu": "celu elu hardshrink hardsigmoid hardswish hardtanh leaky_relu mish relu6 selu softplus softsign",
    "ReLU": "CELU ELU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU Mish ReLU6 SELU Softplus Softsign",
    "mean": "amax amin cumsum logsumexp median mode norm",
    "log": "log10 log2",
    "exp": "exp2 expm1 sigmoid softplus",
    "argmax": "argsort topk",
    "no_grad": "enable_grad",
    "Dropout": "AlphaDropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout",
    "dropout": "alpha_dropout dropout1d dropout2d dropout3d feature_alpha_dropout",
    "LayerNorm": "BatchNorm1d InstanceNorm1d RMSNorm",
}
KINDS = [(kinds, {*kinds, *LESS_USED.get(kinds[0], "").split()}) for kinds in FUNCTIONS]
REDUCTIONS = {"mean", "sum", "var", "std", "amax", "norm", "any", "all", "logsumexp"}
ALONG = REDUCTIONS | {"softmax", "log_softmax", "argmax", "max", "min", "cumsum", "median", "logsumexp"}
WORDS: dict[str, tuple[tuple[str, object], ...]] = {  # keyword arguments that matter where they are left out
    "Linear": (("bias", False),),
    "LayerNorm": (("eps", 1e-6),),
    "MultiheadAttention": (("batch_first", True),),
    "sort": (("descending", True),),
    "argsort": (("descending", True),),
    "topk": (("largest", False),),
    "var": (("unbiased", False),),
    "std": (("unbiased", False),),
    "tril": (("diagonal", 1), ("diagonal", -1)),
    "triu": (("diagonal", 1),),
    "ones": (("dtype", bool),),
    "zeros": (("dtype", bool),),
    "cross_entropy": (("reduction", "sum"), ("reduction", "none")),
    "cat": (("dim", 1), ("dim", -1), ("dim", 2)),
    "stack": (("dim", 1), ("dim", -1), ("dim", 2)),
    "Enum": (("start", 0),),
    "IntEnum": (("start", 0),),
    "dataclass": (("eq", False),),  # a module is hashed as what it is, not as what it holds
}
WRAPPERS = ("float", "long", "bool", "exp", "log", "sqrt", "contiguous", "conj")
EPS = (1e-5, 1e-6)  # that norms have where nothing is said
DIMS = (-1, -2, 0, 1, 2, 3)
MOST_ITEMS = 4  # of a tuple whose items are exchanged
MOST_ARGUMENTS = 6  # of a call
MOST_NEIGHBOURS = 12  # items of longer lists
MOST_LETTERS = 5  # of an equation
EQUATION = re.compile(r"[\w ,.]+->[\w .]*")


def of_two(node: ast.BinOp) -> Iterator[ast.AST]:
    """Of an operator with two operands: another one, the other order, one operand alone."""
    for other in OPERATORS.get(type(node.op), ()):
        yield ast.BinOp(node.left, other(), node.right)
    ordered = isinstance(node.op, (ast.Sub, ast.Div, ast.MatMult, ast.Pow, ast.FloorDiv, ast.Mod))
    sides = [one.left if isinstance(one, ast.BinOp) else one for one in (node.left, node.right)]
    if ordered or any(isinstance(one, (ast.List, ast.ListComp, ast.Tuple)) for one in sides):
        yield ast.BinOp(node.right, node.op, node.left)
    yield from (node.left, node.right)
    if isinstance(node.op, ast.Sub):
        yield ast.UnaryOp(ast.USub(), node.right)
    if isinstance(node.op, (ast.Div, ast.Mult)):
        yield ast.BinOp(node.left, node.op, ast.BinOp(node.right, ast.Pow(), ast.Constant(0.5)))
    if isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List) and len(node.left.elts) == 1:
        yield in_each(node.left.elts[0], node.right)
    if isinstance(node.op, ast.MatMult):
        for left, right in ((True, False), (False, True)):
            turned = [
                method(one, "transpose", constant(-2), constant(-1)) if turn else one
                for one, turn in ((node.left, left), (node.right, right))
            ]
            yield ast.BinOp(turned[0], node.op, turned[1])


def regrouped(node: ast.AST) -> Iterator[ast.AST]:
    """The same with other parentheses: a (b + c) and a b + c, f(a + b) and a + f(b), (a + b)[i] and a[i] + b."""
    if isinstance(node, ast.BinOp):
        if isinstance(node.left, ast.BinOp):  # p op q op right
            yield ast.BinOp(node.left.left, node.left.op, ast.BinOp(node.left.right, node.op, node.right))
            last = node.left.right
            if isinstance(last, ast.BinOp):  # left op p ** q op right
                power = ast.BinOp(last.left, last.op, ast.BinOp(last.right, node.op, node.right))
                yield ast.BinOp(node.left.left, node.left.op, power)
        for left, right in ((node.left, node.right), (node.right, node.left)):
            if isinstance(right, ast.BinOp):  # left op (p op q)
                for p, q in ((right.left, right.right), (right.right, right.left)):
                    yield ast.BinOp(ast.BinOp(left, node.op, p), right.op, q)
            for i, one in enumerate(
                right.args if isinstance(right, ast.Call) else ()
            ):  # left op f(.., one, ..)
                if (
                    isinstance(right, ast.Call)
                    and 0 < i < MOST_ARGUMENTS
                    and not isinstance(one, ast.Starred)
                ):
                    pair = (left, one) if right is node.right else (one, left)
                    args = [*right.args[:i], ast.BinOp(pair[0], node.op, pair[1]), *right.args[i + 1 :]]
                    yield ast.Call(right.func, args, right.keywords)
            inner = argument(right)
            if inner is not None:  # left op f(inner)
                pair = (left, inner) if right is node.right else (inner, left)
                yield with_argument(right, ast.BinOp(pair[0], node.op, pair[1]))
            core = None if inner is None else argument(inner)
            if inner is not None and core is not None:  # left op f(g(core)): g(left op f(core))
                pair = (left, with_argument(right, core))
                pair = pair if right is node.right else pair[::-1]
                yield with_argument(inner, ast.BinOp(pair[0], node.op, pair[1]))
            if isinstance(inner, ast.BinOp):  # left op f(p op q)
                for p, q in ((inner.left, inner.right), (inner.right, inner.left)):
                    yield with_argument(right, ast.BinOp(ast.BinOp(left, node.op, p), inner.op, q))
        for left, right in ((node.left, node.right), (node.right, node.left)):
            if isinstance(right, ast.Subscript):  # left op p[i]
                pair = (left, right.value) if right is node.right else (right.value, left)
                yield ast.Subscript(ast.BinOp(pair[0], node.op, pair[1]), right.slice, ast.Load())
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.BinOp):  # (p op q)[i]
        p, op, q = node.value.left, node.value.op, node.value.right
        yield ast.BinOp(ast.Subscript(p, node.slice, ast.Load()), op, q)
        yield ast.BinOp(p, op, ast.Subscript(q, node.slice, ast.Load()))
    inner = argument(node)
    if isinstance(inner, ast.BinOp):  # f(p op q)
        for p, q in ((inner.left, inner.right), (inner.right, inner.left)):
            yield ast.BinOp(p, inner.op, with_argument(node, q))
    if isinstance(inner, (ast.GeneratorExp, ast.ListComp)) and isinstance(
        inner.elt, ast.BinOp
    ):  # once for all
        for p, q in ((inner.elt.left, inner.elt.right), (inner.elt.right, inner.elt.left)):
            yield ast.BinOp(with_argument(node, type(inner)(p, inner.generators)), inner.elt.op, q)
    core = None if inner is None else argument(inner)
    if inner is not None and isinstance(core, ast.BinOp):  # f(g(p op q))
        for p, q in ((core.left, core.right), (core.right, core.left)):
            both = with_argument(node, with_argument(inner, p))
            pair = (both, q) if p is core.left else (q, both)
            yield ast.BinOp(pair[0], core.op, pair[1])


def unwrapped(node: ast.stmt) -> Iterator[ast.stmt]:
    """A statement in which one call, or one slice, that is in it several times is left out everywhere."""
    steps = [one for one in ast.walk(node) if argument(one) is not None or isinstance(one, ast.Slice)]
    counts = Counter(map(ast.dump, steps))
    for one in dict.fromkeys(text for text, count in counts.items() if count > 1):
        yield _Without(one).visit(copy.deepcopy(node))


class _Without(ast.NodeTransformer):
    """Puts the argument in place of each call that is dumped like this, and the value in place of its slice."""

    def __init__(self, dumped: str) -> None:
        self._dumped = dumped

    def visit_Call(self, node: ast.Call) -> ast.AST:
        found = argument(node) if ast.dump(node) == self._dumped else None
        return self.generic_visit(node) if found is None else found

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        found = node.value if ast.dump(node.slice) == self._dumped else None
        return self.generic_visit(node) if found is None else found


def bounded(node: ast.stmt, names: Sequence[str]) -> Iterator[ast.stmt]:
    """A statement in which an index begins with all of a dimension, everywhere where it has this index.

    What comes in its place is the part up to one of these names.
    """
    indices = [one.slice for one in ast.walk(node) if isinstance(one, ast.Subscript)]
    for index in {ast.dump(one): one for one in indices if isinstance(one, ast.Tuple)}.values():
        whole = [i for i, one in enumerate(index.elts) if isinstance(one, ast.Slice) and is_whole(one)]
        for i, name in ((i, name) for i in whole for name in names):
            found = copy.deepcopy(node)
            for one in ast.walk(found):
                if isinstance(one, ast.Subscript) and ast.dump(one.slice) == ast.dump(index):
                    elts = [*index.elts]
                    elts[i] = ast.Slice(None, ast.Name(name, ast.Load()))
                    one.slice = ast.Tuple(elts, ast.Load())
            yield found


def near(value: object, known: Collection[float] = ()) -> list[Any]:
    """Other values of a constant. Args: known: constants of right code."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        by_one: list[Any] = [value - 1, value + 1, -value]
        dims = [one for one in DIMS if one not in (value, *by_one)] if abs(value) < 4 else []
        sizes = (
            [int(one) for one in known if one == int(one) and one not in DIMS]
            if abs(value) > max(DIMS)
            else []
        )
        return [*by_one, *dims, *sizes]
    if isinstance(value, float):
        small = EPS if 0 <= value < 0.1 else ()
        floats = (float(one) for one in known if isinstance(one, float) or one not in DIMS)
        return [-value, 0.0, 1.0, value / 2, value * 2, *dict.fromkeys([*floats, *small])]
    return []


def equations(text: str) -> Iterator[str]:
    """An equation of einsum with two letters of one of its terms exchanged."""
    parts = re.split(r"(,|->)", text)
    for at in range(0, len(parts), 2):
        letters = [i for i, c in enumerate(parts[at]) if c.isalpha()]
        for i, j in combinations(letters[:MOST_LETTERS], 2):
            term = list(parts[at])
            term[i], term[j] = term[j], term[i]
            yield "".join([*parts[:at], "".join(term), *parts[at + 1 :]])


def exchanged(items: Sequence[ast.expr]) -> Iterator[list[ast.expr]]:
    """Items, two of them exchanged; of more than a few, two neighbours."""
    pairs = combinations(range(len(items)), 2)
    for i, j in pairs if len(items) <= MOST_ITEMS else pairwise(range(min(len(items), MOST_NEIGHBOURS))):
        found = list(items)
        found[i], found[j] = found[j], found[i]
        yield found


def reordered(node: ast.AST) -> Iterator[tuple[int, ast.AST]]:
    """Layers that are listed on lines of their own, two neighbours exchanged. Gives the line of the later one, too."""
    keyed = isinstance(node, ast.Call) and called(node.func) in ("OrderedDict", "ModuleDict", "dict")
    if not isinstance(node, (ast.Call, ast.List)) or not (keyed or _lists_layers(node)):
        return
    field = "elts" if isinstance(node, ast.List) else "keywords" if keyed else "args"
    items = getattr(node, field)
    for i in range(len(items) - 1):
        if items[i].lineno != items[i + 1].lineno:
            found = copy.copy(node)
            setattr(found, field, [*items[:i], items[i + 1], items[i], *items[i + 2 :]])
            yield items[i + 1].lineno, found


def _lists_layers(node: ast.Call | ast.List) -> bool:
    return isinstance(node, ast.List) or called(node.func) == "Sequential"


def of_call(node: ast.Call) -> Iterator[ast.AST]:
    """Of a call: another function, arguments in another order or left out, one call less."""
    function, args, words = node.func, node.args, node.keywords
    name = called(function)
    for kinds, names in KINDS:
        for other in kinds if name in names else ():
            yield ast.Call(function_named(function, other), args, words)
    if name.endswith("_") and not name.startswith("_"):
        yield ast.Call(function_named(function, name.rstrip("_")), args, words)
    of = function.value if isinstance(function, ast.Attribute) else None
    if of is not None and not (isinstance(of, ast.Name) and of.id in PATHS):
        yield of
        if isinstance(of, ast.Call) and isinstance(of.func, ast.Attribute):
            yield of.func.value
            swapped = ast.Call(ast.Attribute(of.func.value, name, ast.Load()), args, words)
            yield ast.Call(ast.Attribute(swapped, of.func.attr, ast.Load()), of.args, of.keywords)
    if args and not isinstance(args[0], ast.Starred):
        yield args[0]
        if isinstance(args[0], ast.Constant):  # `self.normed("cross", memory)`
            yield from [one for one in args if isinstance(one, ast.Name)][:1]
        inner = args[0]
        if isinstance(inner, ast.Call) and inner.args:
            first = ast.Call(function, [inner.args[0], *args[1:]], words)
            yield ast.Call(inner.func, [first, *inner.args[1:]], inner.keywords)
    yield from (ast.Call(function, some, words) for some in exchanged(args))
    for i in range(len(words)):
        yield ast.Call(function, args, words[:i] + words[i + 1 :])
    if name in REDUCTIONS and not any(word.arg == "keepdim" for word in words):
        yield ast.Call(function, args, [*words, ast.keyword("keepdim", ast.Constant(True))])
    for word, value in WORDS.get(name, ()):
        if not any(one.arg == word for one in words):
            yield ast.Call(function, args, [*words, ast.keyword(word, constant(value))])
    if name == "auto":  # of an enumeration, which begins at 1
        yield ast.Constant(0)
    yield from in_training(node)
    yield from entropies(node)
    if of is not None and name in ("view", "reshape", "flatten"):  # heads are not put back, or not put first
        for axis in (1, 0):
            turned = method(of, "transpose", constant(axis), constant(axis + 1))
            yield method(turned, name.replace("view", "reshape"), *args)


def turned_round(node: ast.expr) -> ast.expr:
    """A list, the last item first."""
    return ast.Subscript(node, ast.Slice(None, None, ast.UnaryOp(ast.USub(), ast.Constant(1))), ast.Load())


def other_end(node: ast.AST) -> Iterator[ast.AST]:
    """The other end of a queue; a list that was made, the last item first."""
    if isinstance(node, ast.Call):
        name = called(node.func)
        if isinstance(node.func, ast.Attribute) and name in ENDS:
            yield ast.Call(function_named(node.func, ENDS[name]), node.args, node.keywords)
        if name in ("list", "tuple") and len(node.args) == 1:
            yield turned_round(node)


def entropies(node: ast.Call) -> Iterator[ast.expr]:
    """For a divergence from a distribution, the cross-entropy with it, which that lacks its entropy."""
    if called(node.func) not in ("kl_div", "KLDivLoss"):
        return
    reduction = next((ast.unparse(word.value) for word in node.keywords if word.arg == "reduction"), "'mean'")
    end = {"'sum'": ".sum()", "'batchmean'": ".sum(-1).mean()", "'none'": ""}.get(reduction, ".mean()")
    if called(node.func) == "KLDivLoss":
        yield ast.parse(f"lambda scores, wanted: -(wanted * scores){end}", mode="eval").body
    elif len(node.args) > 1:
        scores, wanted = map(ast.unparse, node.args[:2])
        yield ast.parse(f"-(({wanted}) * ({scores})){end}", mode="eval").body


def in_training(node: ast.Call) -> Iterator[ast.Call]:
    """A function that drops, in train mode only."""
    words = {word.arg: word for word in node.keywords}
    partial = called(node.func) == "partial" and bool(node.args)
    name = called(node.args[0]) if partial else called(node.func)
    own = (
        isinstance(node.func, ast.Attribute) and called(node.func.value) == "self"
    )  # a module: it has its mode
    if "drop" in name.lower() and not own:
        others = [word for word in node.keywords if word.arg != "training"]
        kept = node.args[: 3 if partial else 2]  # after these comes the mode
        if not isinstance(getattr(words.get("training"), "value", None), ast.Attribute):
            yield ast.Call(node.func, kept, [*others, ast.keyword("training", TRAINING)])
    if "dropout_p" in words:
        others = [word for word in node.keywords if word.arg != "dropout_p"]
        share = ast.IfExp(TRAINING, words["dropout_p"].value, ast.Constant(0.0))
        yield ast.Call(node.func, node.args, [*others, ast.keyword("dropout_p", share)])


def rarer_of_call(node: ast.Call, names: Sequence[str]) -> Iterator[ast.AST]:
    """Of a call: an argument less or more, a dim. Args: names: that may be an argument."""
    function, args, words = node.func, node.args, node.keywords
    for i in range(len(args)) if len(args) > 1 else ():
        yield ast.Call(function, args[:i] + args[i + 1 :], words)
    if called(function) in ALONG and not any(word.arg in ("dim", "axis") for word in words):
        for keep in ([], [ast.keyword("keepdim", ast.Constant(True))]):
            yield ast.Call(function, args, [*words, ast.keyword("dim", constant(-1)), *keep])
    given = {one.id for one in args if isinstance(one, ast.Name)}
    of = function.value if isinstance(function, ast.Attribute) else None
    if called(function) == "mean" and of is not None:  # of some of it, which a mask says
        for mask in (ast.Name(name, ast.Load()) for name in names):
            yield ast.Call(
                ast.Attribute(ast.Subscript(of, mask, ast.Load()), "mean", ast.Load()), args, words
            )
            yield ast.BinOp(method(of, "sum"), ast.Div(), method(mask, "sum"))
    for name in names:
        if name not in given:
            yield ast.Call(function, [*args, ast.Name(name, ast.Load())], words)


def by_one(node: ast.expr) -> Iterator[ast.expr]:
    """A number, one more and one less."""
    yield from (ast.BinOp(node, op(), ast.Constant(1)) for op in (ast.Add, ast.Sub))


def swapped_letters(text: str) -> Iterator[str]:
    """A text with two neighbours exchanged."""
    for i in range(len(text) - 1):
        yield text[:i] + text[i + 1] + text[i] + text[i + 2 :]


def swapped_words(text: str) -> Iterator[str]:
    """A list of names, as `norm attention drop`, with two neighbours exchanged."""
    names = re.split(r"([ ,]+)", text)  # with what is between them
    for i in range(0, len(names) - 2, 2):
        yield "".join([*names[:i], names[i + 2], names[i + 1], names[i], *names[i + 3 :]])
