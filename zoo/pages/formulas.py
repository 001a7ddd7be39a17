"""Formulas as MathML: the plain text of a variant, "softmax(Q K^T / sqrt(d)) V", set as mathematics.

Screen readers read MathML, and browsers draw it without a font or a script. All text is escaped, and none is refused:
what cannot be parsed is shown as plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from markupsafe import Markup

from zoo.core.printable import visible

TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<number>\d+(?:\.\d+)?)|(?P<word>[^\W\d_]{2,}(?:-[^\W\d_]{2,})+|[^\W\d_]+'*)"
    r"|(?P<sign><=|>=|!=|\|\||->|\.\.+|\S)"
)
WORDS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "eps": "ε", "theta": "θ", "lambda": "λ", "mu": "μ",
    "pi": "π", "sigma": "σ", "Phi": "Φ", "sum": "∑", "inf": "∞",
}  # fmt: skip
SIGNS = {"<=": "≤", ">=": "≥", "!=": "≠", "||": "‖", "->": "→", "..": "…", "*": "·", ".": "·", "-": "−"}
PAIRS = {"(": ")", "[": "]", "{": "}"}
ATOMS = {"word", "number", "bracket"}
"""Kinds of tokens of which two side by side are a product, or words."""
DEEPEST = 20
"""Levels of brackets that are understood; deeper ones are shown as signs."""
LONGEST = 2_000  # characters


def mathml(text: str) -> list[Markup]:
    """Each statement of a formula; statements end with a line, or with a semicolon.

    A statement is a `math` element, or several with commas between, where a line may break.
    """
    parts = [part.strip() for line in text[:LONGEST].splitlines() for part in line.split("; ")]
    return [Markup(", ").join(map(_math, _clauses(part))) for part in parts if part]


def _clauses(text: str) -> list[str]:
    """The parts of a statement between commas that are in no brackets."""
    found, depth = [""], 0
    for character in text:
        depth += (character in PAIRS) - (character in PAIRS.values())
        if character == "," and depth <= 0:
            found.append("")
        else:
            found[-1] += character
    return [one.strip() for one in found if one.strip()]


def _math(text: str) -> Markup:
    tokens = [(str(one.lastgroup), one[0]) for one in TOKEN.finditer(visible(text))]
    return Markup("<math>{}</math>").format(_row(_Reader(tokens).items()))


def _row(items: list[Markup]) -> Markup:
    return items[0] if len(items) == 1 else Markup("<mrow>{}</mrow>").format(Markup("").join(items))


class _Reader:
    """Reads tokens one after the other; all its methods return MathML."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens, self.at = tokens, 0

    def peek(self, ahead: int = 0) -> tuple[str, str]:
        there = self.at + ahead
        return self.tokens[there] if there < len(self.tokens) else ("end", "")

    def kind(self) -> str:
        kind, text = self.peek()
        return "bracket" if text in (*PAIRS, *PAIRS.values()) else kind

    def items(self, closing: str = "", depth: int = 0) -> list[Markup]:
        """Everything up to the sign `closing`, or to the end."""
        return list(self._until(closing, depth))

    def _until(self, closing: str, depth: int) -> Iterator[Markup]:
        before = "sign"
        while self.peek()[0] != "end" and self.peek()[1] != closing:
            if self.kind() == "space":
                self.at += 1
                after = self.kind()
                if {before, after} <= ATOMS:
                    yield _space("word" in (before, after))
                continue
            before = self.kind()
            yield self.scripted(depth)

    def scripted(self, depth: int) -> Markup:
        """An atom with what stands below and above it."""
        base = self.atom(depth)
        below = above = None
        while self.peek()[1] in ("_", "^") and self.peek(1)[0] not in ("end", "space"):
            sign = self.peek()[1]
            if (below if sign == "_" else above) is not None:
                break
            self.at += 1
            found = self.script(depth)
            below, above = (found, above) if sign == "_" else (below, found)
        if below is not None and above is not None:
            return Markup("<msubsup>{}{}{}</msubsup>").format(base, below, above)
        if below is not None:
            return Markup("<msub>{}{}</msub>").format(base, below)
        return base if above is None else Markup("<msup>{}{}</msup>").format(base, above)

    def script(self, depth: int) -> Markup:
        """Return what follows `_` or `^`: an atom, also a negative one, or what stands in brackets, without them."""
        text = self.peek()[1]
        if text in ("(", "{") and depth < DEEPEST:
            return self.bracketed(depth, bare=True)
        if text == "-":
            self.at += 1
            return Markup("<mrow><mo>−</mo>{}</mrow>").format(self.atom(depth))
        return self.atom(depth)

    def bracketed(self, depth: int, bare: bool = False) -> Markup:
        opening = self.peek()[1]
        self.at += 1
        inner = self.items(PAIRS[opening], depth + 1)
        closed = self.peek()[1] == PAIRS[opening]
        self.at += closed
        if bare:
            return _row(inner)
        end = [_sign(PAIRS[opening])] if closed else []
        return _row([_sign(opening), *inner, *end])

    def atom(self, depth: int) -> Markup:
        kind, text = self.peek()
        if text in PAIRS and depth < DEEPEST:
            return self.bracketed(depth)
        self.at += 1
        if kind == "number":
            return Markup("<mn>{}</mn>").format(text)
        if kind != "word":
            return _sign(text)
        if text == "sqrt" and self.peek()[1] == "(" and depth < DEEPEST:
            return Markup("<msqrt>{}</msqrt>").format(self.bracketed(depth, bare=True))
        while (
            self.peek()[1] == "_" and self.peek(1)[0] == "word" and len(text) > 3 and len(self.peek(1)[1]) > 2
        ):
            text += f"_{self.peek(1)[1]}"  # one name of two words
            self.at += 2
        name = text.rstrip("'")
        tag = "mo" if name == "sum" else "mi"
        found = Markup("<{0}>{1}</{0}>").format(Markup(tag), WORDS.get(name, name))
        primes = len(text) - len(name)
        return _row([found, Markup("<mo>{}</mo>").format("′" * primes)]) if primes else found


def _sign(text: str) -> Markup:
    return Markup('<mo stretchy="false">{}</mo>').format(SIGNS.get(text, text))


def _space(wide: bool) -> Markup:
    return Markup('<mspace width="{}em"></mspace>').format("0.3" if wide else "0.17")
