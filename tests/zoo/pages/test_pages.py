"""Pages: what is escaped, what the policy allows, and the building blocks in a browser."""

from __future__ import annotations

import base64
import hashlib
import html
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from tests import ROOT
from tests.browser import OpenPage, opening
from zoo.core.errors import ZooError
from zoo.core.printable import visible
from zoo.pages.listing import LONGEST_LINE, MOST_LINES, Mark, listing
from zoo.pages.pictures import colour, heat_map, image
from zoo.pages.rendering import render, write

SVG = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">'
    b'<rect style="fill: red" width="9" height="9"/></svg>'
)
HOSTILE = "</script></style><script>document.title = 'taken'</script><img src=x onerror=alert(1)>\u202e\x00\x1b{{ 7 }}"
TEMPLATE = "tests.zoo.pages/sample.html"


def sample(name: str = "a sample", source: str = "def f(x):\n\treturn x  # same\n", **changes: Any) -> str:
    values = {
        "name": name,
        "rows": [("ten", 10), ("two", 2), (name, 7.5)],
        "cells": heat_map([[0.0, 1.0], [math.nan, 0.5]], other=[[0.0, 0.5], [math.nan, 0.5]]),
        "image": image(SVG),
        "lines": listing(source, [Mark(2, 1, 7)]),
    }
    return render(TEMPLATE, **values | changes)


def test_the_text_of_strangers_stays_text_and_what_hides_is_shown() -> None:
    page = sample(HOSTILE, source=HOSTILE + "\n" + HOSTILE)
    assert (
        page.count("<script") == page.count("</script") == page.count("<style") == page.count("</style") == 1
    )
    assert "<img src=x" not in page
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", page)
    assert html.escape(r"\u202e\x00\x1b{{ 7 }}") in page


@given(st.text(st.sampled_from("ab\\\t\n\r\x00\x1b\x85\u202e\u2028\u2069\u0301\ud800é界"), max_size=30))
def test_what_is_made_visible_can_be_printed_and_stays_as_it_is(text: str) -> None:
    shown = visible(text)
    assert all(c in "\n\t" or c.isprintable() for c in shown)
    assert visible(shown) == shown
    shown.encode()  # no surrogate is left


def test_what_is_no_string_is_shown_as_carefully() -> None:
    assert sample(Path(HOSTILE)).count(html.escape(visible(HOSTILE))) == sample(HOSTILE).count(
        html.escape(visible(HOSTILE))
    )


def test_a_value_that_is_missing_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="name"):
        render(TEMPLATE)


def test_the_policy_allows_the_pages_own_elements_alone() -> None:
    for connect in (False, True):
        page = sample(connect=connect)
        policy = html.unescape(re.search(r'Content-Security-Policy" content="(.*?)"', page)[1])  # type: ignore[index]
        rules = {name: rest for name, _, rest in (one.partition(" ") for one in policy.split("; "))}
        assert rules.pop("default-src") == "'none'"
        assert rules.pop("connect-src", None) == ("'self'" if connect else None)
        for kind, tag in (("script-src", "script"), ("style-src", "style")):
            (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert rules.pop(kind) == f"'sha256-{digest}'"
        assert rules == {"img-src": "data:", "base-uri": "'none'", "form-action": "'none'"}


def test_a_page_is_written_whole_or_a_sentence_says_why(tmp_path: Path) -> None:
    write(tmp_path / "page.html", "new")
    assert (tmp_path / "page.html").read_text() == "new"
    with pytest.raises(ZooError, match="The page cannot be written to"):
        write(tmp_path / "gone" / "page.html", "new")


def test_importing_what_makes_pages_imports_no_torch() -> None:
    code = "import sys, zoo.pages.rendering, zoo.pages.listing, zoo.pages.pictures; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_all_templates_are_installed_with_the_package() -> None:
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for package in ("zoo", "grader"):
        listed = re.findall(r'"([^"]+)"', re.search(rf"^{package} = \[(.*)\]$", settings, re.MULTILINE)[1])  # type: ignore[index]
        found = [path for path in (ROOT / package).rglob("templates/*") if "__pycache__" not in path.parts]
        assert found
        for path in found:
            inside = path.relative_to(ROOT / package)
            assert any(inside.match(pattern) for pattern in listed), path


# Listings.


@given(st.text(st.sampled_from("def x():\n\r\t#'\"\\\x00\x0c\u202e\u2028é\ufeff "), max_size=60))
def test_a_listing_has_the_lines_of_python_and_all_of_their_text(source: str) -> None:
    raw = source.removeprefix("\ufeff").encode().splitlines()
    lines = listing(source)
    assert [line.number for line in lines] == [*range(1, max(1, len(raw)) + 1)]
    for line, text in zip(lines, raw, strict=False):
        shown = "".join(piece.text for piece in line.pieces)
        assert shown == visible(text.decode()).replace("\t", "    ").replace("\n", "")


def test_a_mark_covers_its_characters_and_no_others() -> None:
    lines = listing("def f(x):\n\treturn x\n", [Mark(2, 1, 7), Mark(1, 4), Mark(9, 0, 3)])
    assert [line.marked for line in lines] == [True, True]
    assert ["".join(p.text for p in line.pieces if p.marked) for line in lines] == ["f(x):", "return"]
    over_two = listing("x = f(\n    1)", [Mark(1, 4), Mark(2, 0, 6)])[1]
    assert [p.text for p in over_two.pieces if p.marked] == ["1", ")"]
    assert ("return", "k", True) in [(p.text, p.kind, p.marked) for p in lines[1].pieces]


def test_a_listing_of_something_huge_is_cut_off() -> None:
    lines = listing("x" * 5_000 + "\n" * 5_000)
    assert len(lines) == MOST_LINES
    assert "".join(piece.text for piece in lines[0].pieces) == "x" * LONGEST_LINE + " ..."


# Pictures.


def test_cells_have_the_value_its_colour_and_whether_it_is_another() -> None:
    cells = heat_map([[0.0, 1.0], [math.inf, True]], other=[[0.0, 0.5], [math.inf, False]])
    assert [[cell.text for cell in row] for row in cells] == [["0", "1"], ["inf", "True"]]
    assert [[cell.differs for cell in row] for row in cells] == [[False, True], [False, True]]
    assert cells[0][0].colour == colour(0.0) != cells[0][1].colour == colour(1.0)
    assert cells[1][0].colour == colour(None)
    assert (cells[0][0].light, cells[0][1].light) == (False, True)
    ((near, _),) = heat_map([[0.9996, 0.0]], other=[[1.0, 0.0]])
    assert (near.text, near.differs) == ("0.9996", True)  # not "1", framed beside "1"


def test_an_image_is_a_png_or_an_svg() -> None:
    assert image(SVG).startswith("data:image/svg+xml;base64,")
    assert image(b"\x89PNG...").startswith("data:image/png;base64,")
    with pytest.raises(ValueError, match="PNG or an SVG"):
        image(b"<html>")


# In a browser.


def test_blocks_in_a_browser(open_page: OpenPage, tmp_path: Path) -> None:
    write(tmp_path / "sample.html", sample())
    page = open_page(tmp_path / "sample.html")

    def names() -> list[str]:
        found: list[str] = page.locator("#rows tbody tr:visible th").all_inner_texts()
        return found

    assert names() == ["ten", "two", "a sample"]
    page.get_by_role("button", name="score").click()
    assert names() == ["two", "a sample", "ten"]
    assert page.locator("th[aria-sort=ascending]").inner_text().startswith("score")
    page.get_by_role("button", name="score").press("Enter")
    assert names() == ["ten", "a sample", "two"]
    page.get_by_label("Search rows").fill("SAM 7")
    assert names() == ["a sample"]
    assert page.locator(".filter output").inner_text() == "1 of 3"
    first, second = page.get_by_role("tab").all()
    assert page.locator("figure.heat").is_visible()
    first.press("ArrowRight")
    assert second.evaluate("one => one === document.activeElement")
    assert not page.locator("figure.heat").is_visible()
    picture = page.get_by_role("img", name="a red square")
    assert picture.evaluate("one => one.complete && one.naturalWidth") == 9
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details").get_attribute("open") is not None


def test_what_is_hostile_does_nothing_in_a_browser(open_page: OpenPage, tmp_path: Path) -> None:
    write(tmp_path / "sample.html", sample(HOSTILE, source=HOSTILE + "\n" + HOSTILE))
    page = open_page(tmp_path / "sample.html")
    assert page.title().startswith("</script></style><script>")
    assert page.locator("h1").inner_text().endswith(r"\u202e\x00\x1b{{ 7 }}")
    assert page.locator("script, img[src=x]").count() == 1


def test_a_page_can_be_read_without_its_script(browser: Any, tmp_path: Path) -> None:
    write(tmp_path / "sample.html", sample())
    page = browser.new_page(java_script_enabled=False)
    page.goto((tmp_path / "sample.html").as_uri())
    assert page.locator("figure:visible").count() == 2
    assert not page.locator(".filter").is_visible()
    page.close()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("<p>an image without words <img src='data:,'></p>", "image-alt"),
        ("<p class='c'>grey on grey</p>", "color-contrast"),
        ("<pre>" + "wide" * 200 + "</pre>", "!= 0"),
        ("<b>left</b><b>right</b>", "<b>left"),
    ],
)
def test_the_check_of_a_page_sees_what_is_wrong(
    open_page: OpenPage, tmp_path: Path, body: str, said: str
) -> None:
    style = ".c {color: #aaa; background: #bbb} main b {float: left; width: 9rem}"
    page = f"<!doctype html><html lang=en><title>x</title><style>{style}</style><main><h1>x</h1>{body}</main></html>"
    (tmp_path / "page.html").write_text(page)
    with pytest.raises(AssertionError, match=re.escape(said)):
        open_page(tmp_path / "page.html")


def test_a_page_that_asks_for_something_is_noticed(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(
        "<!doctype html><html lang=en><title>x</title><link rel=stylesheet href=a.css><main><h1>x</h1></main></html>"
    )
    opener = opening(browser)
    next(opener)(tmp_path / "page.html")
    with pytest.raises(AssertionError, match=r"a\.css"):
        next(opener)
