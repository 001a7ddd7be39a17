"""Pages in a real browser, headless Chromium: the fixtures `browser` and `open_page`, for tests of pages.

Tests that use them are slow ones, and skipped where no Chromium is, or no playwright.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDE, NARROW, PAPER = (
    {"width": 1280, "height": 900},
    {"width": 360, "height": 740},
    {"width": 718, "height": 1000},  # A4 without its margins
)
SIDE_BY_SIDE = """() => [...document.querySelectorAll("main > *, .columns > *, .cards > *")].filter((one) => {
  const next = one.nextElementSibling;
  if (!next) return false;
  const [a, b] = [one.getBoundingClientRect(), next.getBoundingClientRect()];
  return a.height > 0 && b.height > 0 && a.width > 0 && b.width > 0 && b.top < a.bottom - 1;
}).map((one) => one.outerHTML.slice(0, 200))"""
TOO_WIDE = """() => [document.documentElement.scrollWidth - document.documentElement.clientWidth,
  [...document.querySelectorAll("body *")].filter((one) => {
    const box = one.getBoundingClientRect();
    return box.right > document.documentElement.clientWidth + 1 && box.width > 0 && !one.closest(".scroll, .source");
  }).slice(0, 5).map((one) => one.outerHTML.slice(0, 200))]"""

OpenPage = Callable[..., Any]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A `playwright.sync_api.Browser`."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None:
        pytest.skip("needs Chromium, and there is none in PATH")
    with playwright.sync_playwright() as engine:
        chromium = engine.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[OpenPage]:
    """See `opening`."""
    yield from opening(browser)


def opening(browser: Any) -> Iterator[OpenPage]:
    """Open a page and check what all pages promise; returns a `playwright.sync_api.Page`, wide and light.

    `open_page(path)` for a file, `open_page(url, within=prefix)` for a page that is served. Checked are: axe-core finds
    nothing, in light and in dark; 360 pixels are wide enough; print is one column; and to the end of the test there is
    no error and no warning in the console, and no request but the one for the page (or those that begin with `within`).
    """
    opened: list[tuple[Any, str, list[str], list[str]]] = []

    def open_(where: Path | str, within: str = "") -> Any:
        url = where.absolute().as_uri() if isinstance(where, Path) else where
        context = browser.new_context(viewport=WIDE)
        page = context.new_page()
        said: list[str] = []
        asked: list[str] = []
        page.on("console", lambda one: said.append(one.text) if one.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda one: asked.append(one.url))
        opened.append((context, within or url, said, asked))
        page.goto(url)
        check(page)
        return page

    yield open_
    for context, within, said, asked in opened:
        context.close()
        assert [one for one in asked if not one.startswith((within, "data:"))] == []
        assert not said


def check(page: Any) -> None:
    """Check a page as it is now in both colour schemes, in a narrow window and on paper."""
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        assert violations(page) == [], scheme
    page.set_viewport_size(NARROW)
    assert page.evaluate(TOO_WIDE) == [0, []]
    page.set_viewport_size(PAPER)
    page.emulate_media(media="print")
    assert page.evaluate(SIDE_BY_SIDE) == []
    assert page.evaluate(TOO_WIDE)[0] == 0
    page.emulate_media(media="screen")
    page.set_viewport_size(WIDE)


def violations(page: Any) -> list[str]:
    """What axe-core has against a page: rule, what it asks for, and the first element."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
    found = axe.Axe().run(page).response["violations"]
    return [f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:300]}" for one in found]
