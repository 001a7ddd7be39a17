"""Figures as files: forms, names, pages, and what cannot be written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import zoo.draw
from tests.browser import OpenPage
from zoo.core.errors import ZooError
from zoo.pages.files import save, save_new

PNG = b"\x89PNG\r\n\x1a\n"
HOSTILE = "</svg><script>document.title = 'taken'</script>\"'&\u202e"


def picture() -> Any:
    return zoo.draw.schedule(["noam"], steps=20)


def hostile_picture() -> Any:
    figure = zoo.draw.mask("full", lengths=[3])
    figure.suptitle("</svg><script>document.title = 'taken'</script>\"'&")
    return figure


@pytest.mark.parametrize(
    ("name", "begin"), [("a.png", PNG), ("a.svg", b"<?xml"), ("a.HTML", b"<!doctype html>")]
)
def test_the_name_decides_the_form_and_the_same_picture_gives_the_same_file(
    name: str, begin: bytes, tmp_path: Path
) -> None:
    first, second = tmp_path / name, tmp_path / f"again-{name}"
    save(picture(), first, "A title")
    save(picture(), second, "A title")
    assert first.read_bytes().startswith(begin)
    assert first.read_bytes() == second.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [name, f"again-{name}"]


def test_a_page_loads_nothing_and_runs_nothing_of_the_picture(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    save(hostile_picture(), path, HOSTILE)
    text = path.read_text(encoding="utf-8")
    assert text.count("<script") == 1  # the page's own
    assert "default-src &#39;none&#39;" in text
    assert "<svg" not in text
    assert text.count("<img") == text.count("data:image/svg+xml;base64,") == 1
    assert "\u202e" not in text


@pytest.mark.slow
def test_a_page_in_a_browser(open_page: OpenPage, tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    save(hostile_picture(), path, HOSTILE)
    page = open_page(path)
    assert page.title().startswith("</svg><script>")
    assert page.get_by_role("img").get_attribute("alt").startswith("</svg><script>")
    assert page.get_by_role("img").evaluate("one => one.complete && one.naturalWidth > 100")


def test_a_free_name_is_taken_and_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a-b.png").write_text("mine")
    found = [save_new(picture(), tmp_path, "a/b").name for _ in range(2)]
    assert found == ["a-b-2.png", "a-b-3.png"]
    assert (tmp_path / "a-b.png").read_text() == "mine"
    assert save_new(picture(), tmp_path, "../..").name == "picture.png"


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ZooError, match="must end in"):
        save(picture(), tmp_path / "a.gif")
    with pytest.raises(ZooError, match="there is no folder"):
        save(picture(), tmp_path / "gone" / "a.png")

    def full(_path: Path, _data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("zoo.pages.files.write_whole", full)
    with pytest.raises(ZooError, match="the disk is full"):
        save_new(picture(), tmp_path, "a")
    assert not list(tmp_path.iterdir())
