"""Figures as files: PNG, SVG, or a self-contained HTML page. Importing this imports neither matplotlib nor jinja2."""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from zoo.core.errors import ZooError
from zoo.core.files import reporting_os_errors, write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMS = ("png", "svg", "html")


def check_form(path: Path) -> str:
    """The form that a file's name asks for. Raises ZooError for another than png, svg or html, or no folder for it."""
    if path.is_dir():
        raise ZooError(f"-o {path}: this is a folder. Name a file in it, such as {path / 'picture.png'}.")
    form = path.suffix.lower().removeprefix(".")
    if form not in FORMS:
        raise ZooError(f"-o {path}: the name must end in .png, .svg or .html.")
    if not path.parent.is_dir():
        raise ZooError(f"-o {path}: there is no folder '{path.parent}'.")
    return form


def save(figure: Figure, path: Path, title: str = "") -> None:
    """Write a figure in the form that the name of `path` asks for, in one step.

    What is there is replaced. Raises ZooError if it cannot be written, or the name ends in something else.
    """
    data = encoded(figure, check_form(path), title)
    with reporting_os_errors(f"The picture cannot be written to '{path}'"):
        write_whole(path, data)


def save_new(figure: Figure, folder: Path, stem: str) -> Path:
    """Write a PNG in `folder` under a name that is free: STEM.png, STEM-2.png, ... Raises ZooError."""
    data = encoded(figure, "png")
    stem = re.sub(r"[^\w.=-]+", "-", stem).strip("-.")[:80] or "picture"
    with reporting_os_errors(f"The picture cannot be written to '{folder}'"):
        for number in count(1):
            path = folder / (f"{stem}.png" if number == 1 else f"{stem}-{number}.png")
            try:
                path.open("xb").close()  # takes the name, whoever else looks for one
            except FileExistsError:
                continue
            try:
                write_whole(path, data)
            except BaseException:
                path.unlink()
                raise
            return path
    raise AssertionError("unreachable")


def encoded(figure: Figure, form: str, title: str = "") -> bytes:
    """The figure as bytes of a PNG, an SVG, or a page with the SVG in it."""
    from zoo.draw.canvas import rendered

    if form != "html":
        return rendered(figure, form)
    return page(rendered(figure, "svg"), title or "Picture").encode()


def page(svg: bytes, title: str) -> str:
    """A page with one picture; `title` is what a screen reader says for it."""
    from zoo.pages.pictures import image
    from zoo.pages.rendering import render

    styles = ["zoo.pages/picture.css"]
    return render("zoo.pages/picture.html", styles=styles, title=title, picture=image(svg))
