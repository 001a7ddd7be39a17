"""docs/gallery.md shows the pictures that `make gallery` draws."""

from __future__ import annotations

import re
from pathlib import Path

from tests.gallery import FOLDER, pictures

PAGE = (FOLDER.parent / "gallery.md").read_text(encoding="utf-8")


def test_the_page_shows_every_picture() -> None:
    shown = re.findall(r"!\[[^\]]+\]\(gallery/([\w-]+)\.png\)", PAGE)
    assert shown == list(pictures(Path(), Path()))


def test_the_files_are_there_and_small() -> None:
    files = {path.name: path.stat().st_size for path in FOLDER.iterdir()}
    pages = {"grade.html", "variants.html", "compare.html", "train.html"}
    assert files.keys() == {*(f"{name}.png" for name in pictures(Path(), Path())), "sheet.png", *pages}
    assert sum(files[name] for name in files.keys() - pages) < 1_000_000
    assert sum(files[name] for name in pages) < 2_000_000


def test_every_command_is_on_the_page() -> None:
    from zoo.cli.draw import draw

    assert set(re.findall(r"`zoo draw (\w+)", PAGE)) == set(draw.commands)
