"""Formulas as MathML: what they show, that their text stays, that no text is refused."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.core.plugins import get_registry
from zoo.core.registry import Variant
from zoo.pages.formulas import DEEPEST, mathml


def parsed(text: str) -> ElementTree.Element:
    """The elements of a formula; raises where it is not well-formed."""
    return ElementTree.fromstring(f"<all>{' '.join(mathml(text))}</all>")


def written(text: str) -> str:
    return re.sub(r"\s", "", "".join(parsed(text).itertext()))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("softmax(Q K^T / sqrt(d)) V", "softmax(QKT/d)V"),
        ("x != pad and k <= q", "x≠padandk≤q"),
        ("l_init, h = 1 .. H", "linit,h=1…H"),
        ("e^(m-m') l + sum_k f(k)", "em−m′l+∑kf(k)"),
        ("length_penalty, feed-forward, fan_in", "length_penalty,feed-forward,fanin"),
        ("||x||; 2 pi", "‖x‖2π"),
    ],
)
def test_what_it_shows(text: str, shown: str) -> None:
    assert written(text) == shown


def test_roots_and_what_is_below_and_above_are_elements_of_their_own() -> None:
    found = parsed("softmax(Q K_h^T / sqrt(d/2))")
    below = found.find(".//msubsup")
    assert below is not None
    assert ["".join(one.itertext()) for one in below] == ["K", "h", "T"]
    assert ["".join(one.itertext()) for one in found.iter("msqrt")] == ["d/2"]
    power = parsed("(N^4 M)^(-1/16)").find("./math/msup")
    assert power is not None
    assert ["".join(one.itertext()) for one in power] == ["(N4M)", "−1/16"]


@pytest.mark.parametrize(
    "variant", [one for one in get_registry().variants() if one.formula], ids=lambda v: f"{v.axis}-{v.name}"
)
def test_every_formula_of_the_zoo_keeps_its_letters_and_numbers(variant: Variant) -> None:
    replaced = r"sqrt|sum|alpha|beta|eps|pi|Phi|[^\w.]|[_.]|\d+\.\d+"
    kept = re.findall(r"\w", re.sub(replaced, " ", variant.formula))
    text = written(variant.formula)
    for letter in set(kept):
        assert text.count(letter) >= kept.count(letter), letter


@given(st.text(st.sampled_from("ab12(){}[]^_'<>&\"/ ,;.-|=\n\u202e\x00√sqrtum"), max_size=80))
def test_no_text_is_refused_and_all_is_escaped(text: str) -> None:
    for one in mathml(text):
        ElementTree.fromstring(f"<all>{one}</all>")
    assert "\u202e" not in "".join(mathml(text))


def test_brackets_of_a_thousand_levels_are_signs() -> None:
    text = "".join(mathml("(" * 1000 + ")" * 1000))
    assert text.count("<mrow>") <= DEEPEST + 1
